"""Compares this relay with another build of it, such as the last release, request by request in one run."""

import shutil
from statistics import median

from . import wrk
from .programs import start_relay, start_simulator
from .relay import SECRETS, register
from .storage import Servers
from .workplace import BIN

# what is sent, devices per secret, wrk's connections, secrets
CASES = [
    ("event", 1, 64, SECRETS), ("event", 100, 4, SECRETS), ("once", 1, 64, 1_000), ("register", 1, 16, SECRETS),
    ("list", 1, 64, SECRETS), ("refused", 1, 64, SECRETS)]
# Many secrets, because a relay that reads several events' rows in one statement gains most if they share a secret.
SERVER_CASES = [("event", 1, 64, 1_000), ("once", 1, 64, 1_000), ("register", 1, 16, 1_000), ("event", 100, 4, SECRETS)]
NAMES = {
    "event": "events", "once": "events with eventID", "register": "registrations", "list": "device lists",
    "refused": "refusals"}


def measure(workplace, other, least=0):
    """Compares all cases; `least` is the minimum ratio."""
    workplace.build("relay", "apns-simulator")
    # Copied in the same way: a program's location can change its speed by a few percent.
    programs = [workplace.directory / "relay-ours", workplace.directory / "relay-other"]
    for source, copy in zip((BIN / "relay", other), programs):
        shutil.copy2(source, copy)
    # Each runs first equally often.
    workplace.runs += workplace.runs % 2
    for case in CASES:
        compare(workplace, programs, least, "SQLite", *case, lambda number: {})
    with Servers(workplace) as servers:
        for engine, name in (("postgres", "Postgres"), ("mysql", "MariaDB")):
            for index, case in enumerate(SERVER_CASES):
                urls = [servers.database(engine, f"against_{index}_{number}") for number in range(2)]
                compare(workplace, programs, least, name, *case, lambda number: {"DATABASE_URL": urls[number]})


def compare(workplace, relays, least, database, kind, devices, connections, secrets, settings):
    """Runs the relays in turns, each time as a new process: two processes of one program can differ by a fifth."""
    simulator = start_simulator(workplace)
    limit = {"RELAY_DEVICES_PER_SECRET_MAX": str(max(devices, 50))}
    programs = [{"database": "ours.db", "program": relays[0]}, {"database": "other.db", "program": relays[1]}]
    result = workplace.result(f"{NAMES[kind]}, {devices} device{'s'[:devices - 1]}, {database}", "/s", "other", goal=least)
    peaks = [0, 0]
    for turn in range(workplace.runs):
        figures = [None, None]
        for number in ((0, 1), (1, 0))[turn % 2]:
            relay = start_relay(workplace, simulator, {**limit, **settings(number)}, **programs[number])
            register(relay.port, devices, secrets)
            command = wrk.command(relay.port, connections, 1 if workplace.quick else 3, kind, secrets)
            figures[number] = wrk.run(workplace, relay, command, kind == "refused")
            peaks[number] = max(peaks[number], relay.peak_mebibytes)
            workplace.stop(relay)
        ours, theirs = figures
        result.add(ours["rate"], theirs["rate"], ours["cpu"], theirs["cpu"])
        workplace.progress(result, turn)
    ratio = median(ours / theirs for ours, theirs in zip(result.cpu_ours, result.cpu_theirs))
    result.remark = f"CPU {ratio:.2f}, peak {peaks[0]:.0f} and {peaks[1]:.0f} MiB"
    workplace.stop(simulator)
