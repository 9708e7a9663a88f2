"""Measures events through the whole relay: wrk, relay, database and simulated APNs on one machine.

The reference for SQLite is h2load pushing directly to the same simulator; for database servers it is a relay on SQLite.
"""

import http.client
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from . import wrk
from .client import Material, h2load, run_h2load
from .programs import pushes_accepted, start_relay, start_simulator
from .storage import Servers

SECRETS = 10
BATCH = 100  # events per batch, as in load.lua
REGISTRARS = 16  # connections that register devices
REFERENCE_PUSHES = 100_000
# devices per secret, wrk's connections, minimum ratio to the reference's pushes per second
CASES = [(1, 64, 0.2), (10, 16, 0), (100, 4, 0.55)]
# what is sent, devices per secret, wrk's connections, secrets, minimum ratio to SQLite on Postgres and on MariaDB
SERVER_CASES = [
    ("event", 1, 64, SECRETS, (0.5, 0.4)), ("once", 1, 64, SECRETS, (0.5, 0.4)), ("event", 100, 4, SECRETS, (0.75, 0.75)),
    # As many devices as a small service has: PostgreSQL scans a smaller table from end to end for each look-up.
    ("event", 100, 4, 200, (0.75, 0.75))]
ENGINES = (("postgres", "Postgres"), ("mysql", "MariaDB"))

# the most that APNs' latency allows: pushes in flight and the latency of each
FAR_IN_FLIGHT, FAR_SECONDS, FAR_GOAL = 1_000, 0.05, 0.9


def measure(workplace):
    workplace.build("relay", "apns-simulator")
    material = Material(workplace)
    for devices, connections, goal in CASES:
        against_h2load(workplace, material, devices, connections, goal)
    far_away(workplace)
    batches(workplace)
    with Servers(workplace) as servers:
        for kind, devices, connections, secrets, goals in SERVER_CASES:
            for (engine, name), goal in zip(ENGINES, goals):
                url = servers.database(engine, f"relay_{kind}_{devices}_{secrets}")
                against_sqlite(workplace, servers, engine, name, kind, devices, connections, secrets, goal, url)


def against_h2load(workplace, material, devices, connections, goal):
    simulator = start_simulator(workplace)
    relay = serve(workplace, simulator, devices)
    result = workplace.result(
        f"events, {devices} device{'s'[:devices - 1]}", "/s", "h2load, pushes", goal=goal, each=devices)
    count = REFERENCE_PUSHES // (3 if workplace.quick else 1)
    theirs = h2load(material, simulator.port, 100, count)
    workplace.reproduce(theirs)
    compare(workplace, result, simulator, relay, devices, connections, lambda: run_h2load(workplace, theirs, count))
    workplace.stop(relay)
    workplace.stop(simulator)


def against_sqlite(workplace, servers, engine, name, kind, devices, connections, secrets, goal, url):
    """Compares a relay on a database server with one on SQLite, in turns."""
    simulator = start_simulator(workplace)
    local = serve(workplace, simulator, devices, database="local.db", secrets=secrets)
    relay = serve(workplace, simulator, devices, {"DATABASE_URL": url}, secrets=secrets)
    servers.analyze(engine, url)
    what = "events with eventID" if kind == "once" else "events"
    result = workplace.result(
        f"{what}, {devices} device{'s'[:devices - 1]}, {secrets} secrets, {name}", "/s", "SQLite", goal=goal)

    def reference():
        figures = wrk.run(workplace, local, command(workplace, local, connections, kind, secrets))
        return figures["rate"], figures["cpu"]

    compare(
        workplace, result, simulator, relay, devices, connections, reference, kind, secrets,
        cpu_of_server=lambda: servers.cpu(engine))
    workplace.stop(relay)
    workplace.stop(local)
    workplace.stop(simulator)


def far_away(workplace):
    """Compares a thousand pushes in flight to a slow APNs with the most that its latency allows."""
    devices = 100
    simulator = start_simulator(workplace, "--latency", f"{FAR_SECONDS * 1000:.0f}ms")
    relay = serve(workplace, simulator, devices)
    result = workplace.result(
        f"events, {devices} devices, 50 ms away", "/s", "allowed, pushes", goal=FAR_GOAL, each=devices)
    allowed = FAR_IN_FLIGHT / FAR_SECONDS
    compare(workplace, result, simulator, relay, devices, FAR_IN_FLIGHT // devices, lambda: (allowed, None))
    workplace.stop(relay)
    workplace.stop(simulator)


def batches(workplace):
    """Compares events with an eventID in batches of a hundred with such events sent one by one."""
    simulator = start_simulator(workplace)
    relay = serve(workplace, simulator, 1)
    result = workplace.result(f"events in batches of {BATCH}", "/s", "single events")
    batch, single = command(workplace, relay, 4, "batch"), command(workplace, relay, 64, "once")
    workplace.reproduce(batch)
    for turn in range(workplace.runs):
        theirs = wrk.run(workplace, relay, single)
        before = pushes_accepted(simulator)
        ours = wrk.run(workplace, relay, batch)
        if pushes_accepted(simulator) - before < ours["requests"] * BATCH:
            sys.exit(f"{ours['requests']} batches were answered, but some events got no push")
        result.add(ours["rate"] * BATCH, theirs["rate"], ours["cpu"] / BATCH, theirs["cpu"])
        workplace.progress(result, turn)
    workplace.stop(relay)
    workplace.stop(simulator)


def serve(workplace, simulator, devices, settings=None, database="relay.db", secrets=SECRETS):
    relay = start_relay(
        workplace, simulator, {"RELAY_DEVICES_PER_SECRET_MAX": str(max(devices, 50)), **(settings or {})},
        database=database)
    register(relay.port, devices, secrets)
    return relay


def command(workplace, relay, connections, kind, secrets=SECRETS):
    return wrk.command(relay.port, connections, 1 if workplace.quick else 3, kind, secrets)


def compare(
    workplace, result, simulator, relay, devices, connections, reference, kind="event", secrets=SECRETS,
    cpu_of_server=lambda: 0
):
    ours = command(workplace, relay, connections, kind, secrets)
    workplace.reproduce(ours)
    middle, slow, of_server = [], [], []
    log = Path(relay.log)
    log_began, pushes = log.stat().st_size, 0
    for turn in range(workplace.runs):
        rate, cpu = reference()
        before, server_before = pushes_accepted(simulator), cpu_of_server()
        figures = wrk.run(workplace, relay, ours)
        of_server.append((cpu_of_server() - server_before) * 1e6 / figures["requests"])
        if pushes_accepted(simulator) - before < figures["requests"] * devices:
            sys.exit(f"{figures['requests']} events were answered, but some devices got no push")
        pushes += figures["requests"] * devices
        middle.append(figures["p50"] / 1000)
        slow.append(figures["p99"] / 1000)
        result.add(figures["rate"], rate, figures["cpu"], cpu)
        workplace.progress(result, turn)
    result.remark = (
        f"{median(result.ours) * devices:,.0f} pushes/s, {median(result.cpu_ours) / devices:.1f} us a push, "
        f"p50 {median(middle):.1f} ms, p99 {median(slow):.1f} ms, peak {relay.peak_mebibytes:.0f} MiB")
    if any(of_server):
        result.remark += (
            f", database {median(of_server):.0f} us an event, {unlogged(log, log_began) / pushes:.1%} of the log dropped")


def unlogged(log, start):
    """Returns the number of rows missing from the delivery log because the database could not keep up."""
    with open(log, "rb") as file:
        file.seek(start)
        lines = [json.loads(line) for line in file if b'"delivery.dropped"' in line or b'"delivery.lost"' in line]
    return sum(line["rows"] for line in lines)


def register(port, devices, secrets=SECRETS):
    """Registers devices under each secret that wrk uses."""

    def registrar(index):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for number in range(index, secrets * devices, REGISTRARS):
            fields = {"secret": f"secret-of-the-bench-{number % secrets + 1}", "deviceToken": f"{number:064x}"}
            connection.request("POST", "/v1/device/register", json.dumps(fields))
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                sys.exit(f"The relay refused a registration: {body}")

    with ThreadPoolExecutor(REGISTRARS) as pool:
        list(pool.map(registrar, range(REGISTRARS)))
