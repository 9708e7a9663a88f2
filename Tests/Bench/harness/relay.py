"""Measures events through the whole relay: wrk, the relay on SQLite and the simulated APNs on one machine.

The reference is h2load pushing directly to the same simulator.
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
REGISTRARS = 16  # connections that register devices
REFERENCE_PUSHES = 100_000
# devices per secret, wrk's connections, minimum ratio to the reference's pushes per second
CASES = [(1, 64, 0.2), (10, 16, 0), (100, 4, 0.55)]


# the maximum that APNs' latency allows: pushes in flight and the latency of each
FAR_IN_FLIGHT, FAR_SECONDS, FAR_GOAL = 1_000, 0.05, 0.9


def measure(workplace):
    workplace.build("relay", "apns-simulator")
    material = Material(workplace)
    for devices, connections, goal in CASES:
        against_h2load(workplace, material, "", devices, connections, goal)
    far_away(workplace)
    with Servers(workplace) as servers:
        for engine, name in (("postgres", "Postgres"), ("mysql", "MariaDB")):
            for devices, connections, _ in (CASES[0], CASES[-1]):
                url = servers.database(engine, f"relay_{devices}")
                against_h2load(workplace, material, f" on {name}", devices, connections, 0, {"DATABASE_URL": url})


def against_h2load(workplace, material, where, devices, connections, goal, settings=None):
    simulator = start_simulator(workplace)
    relay = serve(workplace, simulator, devices, settings or {})
    result = workplace.result(
        f"events, {devices} device{'s'[:devices - 1]}{where}", "/s", "h2load, pushes", goal=goal, each=devices)
    count = REFERENCE_PUSHES // (3 if workplace.quick else 1)
    theirs = h2load(material, simulator.port, 100, count)
    workplace.reproduce(theirs)
    compare(workplace, result, simulator, relay, devices, connections, lambda: run_h2load(workplace, theirs, count))
    workplace.stop(relay)
    workplace.stop(simulator)


def far_away(workplace):
    """Compares a thousand pushes in flight to a slow APNs with the maximum that its latency allows."""
    devices = 100
    simulator = start_simulator(workplace, "--latency", f"{FAR_SECONDS * 1000:.0f}ms")
    relay = serve(workplace, simulator, devices, {})
    result = workplace.result(
        f"events, {devices} devices, 50 ms away", "/s", "allowed, pushes", goal=FAR_GOAL, each=devices)
    allowed = FAR_IN_FLIGHT / FAR_SECONDS
    compare(workplace, result, simulator, relay, devices, FAR_IN_FLIGHT // devices, lambda: (allowed, None))
    workplace.stop(relay)
    workplace.stop(simulator)


def serve(workplace, simulator, devices, settings):
    relay = start_relay(workplace, simulator, {"RELAY_DEVICES_PER_SECRET_MAX": str(max(devices, 50)), **settings})
    register(relay.port, devices)
    return relay


def compare(workplace, result, simulator, relay, devices, connections, reference):
    ours = wrk.command(relay.port, connections, 1 if workplace.quick else 3, "event", SECRETS)
    workplace.reproduce(ours)
    middle, slow = [], []
    log = Path(relay.log)
    log_began, pushes = log.stat().st_size, 0
    for turn in range(workplace.runs):
        rate, cpu = reference()
        before = pushes_accepted(simulator)
        figures = wrk.run(workplace, relay, ours)
        if pushes_accepted(simulator) - before < figures["requests"] * devices:
            sys.exit(f"{figures['requests']} events were answered, but some devices got no push")
        pushes += figures["requests"] * devices
        middle.append(figures["p50"] / 1000)
        slow.append(figures["p99"] / 1000)
        result.add(figures["rate"], rate, figures["cpu"], cpu)
        workplace.progress(result, turn)
    result.remark = (
        f"{median(result.ours) * devices:,.0f} pushes/s, {median(result.cpu_ours) / devices:.1f} us a push, p50 {median(middle):.1f} ms, p99 {median(slow):.1f} ms, "
        f"peak {relay.peak_mebibytes:.0f} MiB{unlogged(log, log_began, pushes)}")


def unlogged(log, start, pushes):
    """Returns the fraction of pushes whose delivery log row was dropped because the database could not keep up."""
    with open(log, "rb") as file:
        file.seek(start)
        lines = [json.loads(line) for line in file if b'"delivery.dropped"' in line or b'"delivery.lost"' in line]
    rows = sum(line["rows"] for line in lines)
    return f", {rows / pushes:.0%} of the log dropped" if rows else ""


def register(port, devices, secrets=SECRETS):
    """Registers devices under each secret of wrk's events."""

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
