"""Measures the queue: claims by several relays on one database, how fast one relay drains a backlog, and new events meanwhile."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from statistics import median

from launch import sql
from launch.programs import TOPIC, without_settings

from . import wrk
from .programs import pushes_accepted, start_relay, start_simulator
from .relay import SECRETS, register
from .storage import Servers
from .workplace import BIN

CLAIM_LIMIT = 512  # what a relay claims at once from a backlog
CLAIMED = 96_000  # pushes in the queue, of which three quarters are claimed
CLAIM_SECRETS = 1_000
DRAINED = 30_000
DRAIN_SECRETS = 1_000
DRAIN_RATE = 5_000  # pushes per second that one process should send
DRAIN_DEADLINE = 180  # seconds
DELAY_MILLISECONDS = 50
# Share of the backlog to wait for: retries at the end take their time.
DRAIN_SHARE = 0.95
BESIDE = 1_000_000  # queued pushes while new events arrive
BESIDE_SECONDS = 20
# Before the measurement: connections to APNs begin with one push at a time, and statements are prepared.
WARM_UP_SECONDS = 2
BESIDE_CONNECTIONS = 8  # about 100 events a second
BESIDE_GOAL = 1.2  # maximum p99 of new events during a drain, relative to an empty queue
FILL_STEP = 50_000  # rows per script


def measure(workplace, other=None):
    workplace.build("relay", "Bench", "apns-simulator")
    with Servers(workplace) as servers:
        for engine, name in (("postgres", "Postgres"), ("mysql", "MariaDB")):
            for claimers in (4, 8):
                claim(workplace, servers, engine, name, claimers)
        for engine, name in (("sqlite", "SQLite"), ("postgres", "Postgres"), ("mysql", "MariaDB")):
            drain(workplace, servers, engine, name, other)
        for engine, name in (("sqlite", "SQLite"), ("postgres", "Postgres"), ("mysql", "MariaDB")):
            beside(workplace, servers, engine, name)


def claim(workplace, servers, engine, name, claimers):
    """Compares several relays claiming from one queue with a single relay."""
    result = workplace.result(f"claims by {claimers} relays, {name}", "/s", "1 relay")
    shares = []
    for turn in range(workplace.runs):
        figures = []
        for number in (claimers, 1):
            url = servers.database(engine, f"claims_{claimers}_{number}_{turn}")
            count = CLAIMED // (3 if workplace.quick else 1)
            command = [
                BIN / "Bench", "claims", "--url", url, "--claimers", number, "--limit", CLAIM_LIMIT, "--secrets",
                CLAIM_SECRETS, "--count", count]
            workplace.reproduce(command)
            figures.append(json.loads(workplace.load(command).output.splitlines()[-1]))
        rates = [figure["count"] * 1e6 / figure["microseconds"] for figure in figures]
        cpu = [figure["cpuMicroseconds"] / figure["count"] for figure in figures]
        shares.append([figure["count"] / figure["claims"] for figure in figures])
        result.add(*rates, *cpu)
        workplace.progress(result, turn)
    several, one = (median(share[index] for share in shares) for index in range(2))
    result.remark = f"{several:.0f} pushes a claim, of one relay {one:.0f}"


def drain(workplace, servers, engine, name, other):
    """Compares how fast a relay and another build of it drain their queues, or checks the relay against the required rate."""
    programs = [(BIN / "relay", "relay")] + ([(other, "other")] if other else [])
    goal = 0 if other else 1
    result = workplace.result(
        f"drain, {DELAY_MILLISECONDS} ms away, {name}", "/s", programs[-1][1] if other else "required", goal)
    count = DRAINED // (3 if workplace.quick else 1)
    for turn in range(workplace.runs):
        figures = []
        for program, label in programs:
            if engine == "sqlite":
                url = f"sqlite:{workplace.directory}/drain-{label}-{turn}.db"
            else:
                url = servers.database(engine, f"drain_{label}_{turn}")
            migrate(program, url)
            fill(url, count)
            figures.append(drain_once(workplace, program, url, count))
        rates = [rate for rate, _ in figures] + [DRAIN_RATE]
        cpu = [cpu for _, cpu in figures] + [None]
        result.add(rates[0], rates[1], cpu[0], cpu[1])
        workplace.progress(result, turn)


def drain_once(workplace, program, url, count):
    """Returns pushes per second, and the relay's processor time per push in microseconds."""
    simulator = start_simulator(workplace, "--latency", f"{DELAY_MILLISECONDS}ms")
    relay = start_relay(workplace, simulator, {"DATABASE_URL": url}, program=program)
    began, first = None, 0
    deadline = time.monotonic() + DRAIN_DEADLINE
    while (accepted := pushes_accepted(simulator)) < count * DRAIN_SHARE:
        if time.monotonic() > deadline:
            sys.exit(f"{accepted} of {count} pushes were sent in {DRAIN_DEADLINE} s")
        if accepted and began is None:
            began, first, cpu = time.monotonic(), accepted, relay.cpu
        time.sleep(0.01)
    figures = (accepted - first) / (time.monotonic() - began), (relay.cpu - cpu) * 1e6 / (accepted - first)
    workplace.stop(relay)
    workplace.stop(simulator)
    return figures


def beside(workplace, servers, engine, name):
    """Compares new events while a queue drains with new events alone; once, because filling the queue takes minutes."""
    count = BESIDE // (10 if workplace.quick else 1)
    result = workplace.result(
        f"p99 of new events while {count:,} pushes drain, {name}", " ms", "empty queue", most=BESIDE_GOAL)
    url = f"sqlite:{workplace.directory}/beside.db" if engine == "sqlite" else servers.database(engine, "beside")
    simulator = start_simulator(workplace, "--latency", f"{DELAY_MILLISECONDS}ms")
    relay = start_relay(workplace, simulator, {"DATABASE_URL": url})
    register(relay.port, 1)
    paced(workplace, relay, WARM_UP_SECONDS)
    alone = paced(workplace, relay)
    workplace.stop(relay)
    fill(url, count)
    relay = start_relay(workplace, simulator, {"DATABASE_URL": url})
    before = pushes_accepted(simulator)
    relay.wait_until_ready(lambda: pushes_accepted(simulator) > before + DRAIN_RATE)
    paced(workplace, relay, WARM_UP_SECONDS)
    began, first = time.monotonic(), pushes_accepted(simulator)
    busy = paced(workplace, relay)
    sent = pushes_accepted(simulator) - first - busy["requests"]
    rate = sent / (time.monotonic() - began)
    if pushes_accepted(simulator) - before > count * DRAIN_SHARE:
        sys.exit("The queue was empty before the new events ended.")
    result.add(busy["p99"] / 1000, alone["p99"] / 1000, busy["cpu"], alone["cpu"])
    result.remark = f"drains {rate:,.0f}/s"
    workplace.progress(result, 0)
    workplace.stop(relay)
    workplace.stop(simulator)


def paced(workplace, relay, seconds=None):
    seconds = seconds or BESIDE_SECONDS // (4 if workplace.quick else 1)
    return wrk.run(workplace, relay, wrk.command(relay.port, BESIDE_CONNECTIONS, seconds, "paced", SECRETS))


def migrate(program, url):
    subprocess.run(
        [program, "migrate"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**without_settings(os.environ), "DATABASE_URL": url})


def fill(url, count):
    """Inserts due pushes into a queue with SQL, because an older relay's table has fewer columns."""
    now = int(time.time() * 1000)
    run = runner(url)
    has_parts = "bucket" in run("SELECT * FROM pending_push LIMIT 0", names=True)
    columns = "secret_hash, id, device_id, due_at, bucket, event_type, session_id, payload, push_type, priority, " \
        "attempts, created_at, expires_at"
    if not has_parts:
        columns = columns.replace(" bucket,", "")
    payload = '{"aps":{"alert":{"title":"Session complete","body":"%s"}}}' % ("x" * 250)
    payload = f"CAST('{payload}' AS BLOB)" if url.startswith("sqlite") else f"'{payload}'"
    rest = f"'complete', 'ses_1', {payload}, 'alert', 10, 1, {now - 60_000}, {now + 3_600_000}"
    each = count // DRAIN_SECRETS
    step = max(1, FILL_STEP // each)
    for start in range(0, DRAIN_SECRETS, step):
        devices, pushes = [], []
        for secret in range(start, min(start + step, DRAIN_SECRETS)):
            digest = hashlib.sha256(f"drained-{secret}".encode()).hexdigest()
            device = f"00000000-0000-7000-8000-{secret:012x}"
            devices.append((device, digest, f"d{secret:063x}", TOPIC, "production", now, now))
            for number in range(each):
                identifier = f"{digest[:8]}-0000-7000-8000-{secret * count + number:012x}"
                # The part of the queue, if the queue has parts.
                push = (digest, identifier, device, now - 60_000 + number, int(digest[:2], 16) >> 2)
                pushes.append(", ".join(map(repr, push if has_parts else push[:4])) + ", " + rest)
        run("\n".join(
            [insertion("device_registration", "id, secret_hash, device_token, bundle_id, apns_env, created_at, updated_at",
                       [", ".join(map(repr, device)) for device in devices])]
            + [insertion("pending_push", columns, part) for part in parts(pushes)]))


def parts(rows):
    return [rows[start:start + 500] for start in range(0, len(rows), 500)]


def insertion(table, columns, rows):
    return f"INSERT INTO {table} ({columns}) VALUES " + ", ".join(f"({row})" for row in rows) + ";"


def runner(url):
    """Returns a function that runs a script in a database or, with `names`, lists a query's columns."""
    if url.startswith("sqlite:"):
        def run(script, names=False):
            with sqlite3.connect(url.removeprefix("sqlite:")) as database:
                if names:
                    return [column[0] for column in database.execute(script).description]
                return database.executescript("BEGIN;" + script + "COMMIT;")
        return run

    def run(script, names=False):
        if names:
            script = "SELECT column_name FROM information_schema.columns WHERE table_name = 'pending_push'" + (
                " AND table_schema = database()" if url.startswith("mysql") else "")
        return sql.run(url, script)
    return run
