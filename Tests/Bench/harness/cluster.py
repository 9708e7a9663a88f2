"""Measures events through several relays on one database server, in turns with a single relay as the reference."""

import json
import subprocess
import sys
from statistics import median

from . import wrk
from .programs import start_relay, start_simulator
from .relay import ENGINES, register
from .storage import Servers
from .workplace import RUN_DEADLINE

RELAYS = (2, 4)
CONNECTIONS = 64  # per relay: with fewer, fewer calls share a statement, and an event costs more
SECRETS = 10_000  # PostgreSQL scans a smaller table from end to end for each look-up
CASES = [("event", "events"), ("once", "events with eventID")]


def measure(workplace):
    workplace.build("relay", "apns-simulator")
    with Servers(workplace) as servers:
        for engine, name in ENGINES:
            for kind, what in CASES:
                for count in RELAYS:
                    url = servers.database(engine, f"cluster_{kind}_{count}")
                    compare(workplace, servers, engine, f"{what}, {count} relays, {name}", kind, count, url)


def compare(workplace, servers, engine, name, kind, count, url):
    simulator = start_simulator(workplace)
    relays = [start_relay(workplace, simulator, {"DATABASE_URL": url}) for _ in range(count)]
    register(relays[0].port, 1, SECRETS)
    servers.analyze(engine, url)
    result = workplace.result(name, "/s", "one relay")
    of_server, slow = [], []
    for turn in range(workplace.runs):
        alone = together(workplace, relays[:1], kind)
        before = servers.cpu(engine)
        figures = together(workplace, relays, kind)
        of_server.append((servers.cpu(engine) - before) * 1e6 / figures["requests"])
        slow.append(figures["p99"] / 1000)
        result.add(figures["rate"], alone["rate"], figures["cpu"], alone["cpu"])
        workplace.progress(result, turn)
    result.remark = f"p99 {median(slow):.1f} ms, database {median(of_server):.0f} us an event"
    for relay in relays:
        workplace.stop(relay)
    workplace.stop(simulator)


def together(workplace, relays, kind):
    """Loads relays at the same time; returns the sum of their rates and the longest p99."""
    seconds = 1 if workplace.quick else 3
    before = sum(relay.cpu for relay in relays)
    loads = [
        subprocess.Popen(
            [str(part) for part in wrk.command(relay.port, CONNECTIONS, seconds, kind, SECRETS)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for relay in relays]
    try:
        outputs = [load.communicate(timeout=RUN_DEADLINE)[0] for load in loads]
    finally:
        for load in loads:
            load.kill()
    each = [json.loads(output.splitlines()[-1]) for output in outputs]
    if any(figures["broken"] or figures["refused"] for figures in each):
        sys.exit("wrk got unexpected answers:\n" + "\n".join(outputs))
    requests = sum(figures["requests"] for figures in each)
    return {
        "requests": requests, "rate": sum(figures["requests"] * 1e6 / figures["microseconds"] for figures in each),
        "cpu": (sum(relay.cpu for relay in relays) - before) * 1e6 / requests,
        "p99": max(figures["p99"] for figures in each)}
