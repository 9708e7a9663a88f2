"""Events through the whole relay: wrk, the relay on SQLite and the simulated APNs on one machine.

The reference is h2load pushing to the same simulator: what is left of that rate when there is a relay before it.
"""

import http.client
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from . import wrk
from .client import Material, h2load, run_h2load
from .programs import pushes_accepted, start_relay, start_simulator

SECRETS = 10
REGISTRARS = 16  # connections that register devices
REFERENCE_PUSHES = 100_000
# devices under each secret, wrk's connections
CASES = [(1, 64), (10, 16), (100, 4)]


def measure(workplace):
    workplace.build("relay", "apns-simulator")
    material = Material(workplace)
    for devices, connections in CASES:
        simulator = start_simulator(workplace)
        relay = start_relay(workplace, simulator, {"RELAY_DEVICES_PER_SECRET_MAX": str(max(devices, 50))})
        register(relay.port, devices)
        compare(workplace, material, simulator, relay, devices, connections)
        workplace.stop(relay)
        workplace.stop(simulator)


def compare(workplace, material, simulator, relay, devices, connections):
    result = workplace.result(f"events, {devices} device{'s'[:devices - 1]}", "/s", "h2load, pushes", each=devices)
    count = REFERENCE_PUSHES // (3 if workplace.quick else 1)
    theirs = h2load(material, simulator.port, 100, count)
    ours = wrk.command(relay.port, connections, 1 if workplace.quick else 3, "event", SECRETS)
    workplace.reproduce(theirs)
    workplace.reproduce(ours)
    middle, slow = [], []
    for turn in range(workplace.runs):
        rate, cpu = run_h2load(workplace, theirs, count)
        before = pushes_accepted(simulator)
        figures = wrk.run(workplace, relay, ours)
        if pushes_accepted(simulator) - before < figures["requests"] * devices:
            sys.exit(f"{figures['requests']} events were answered, but not every device got its push")
        middle.append(figures["p50"] / 1000)
        slow.append(figures["p99"] / 1000)
        result.add(figures["rate"], rate, figures["cpu"], cpu)
        workplace.progress(result, turn)
    result.remark = (
        f"{median(result.ours) * devices:,.0f} pushes/s, p50 {median(middle):.1f} ms, p99 {median(slow):.1f} ms, "
        f"peak {relay.peak_mebibytes:.0f} MiB")


def register(port, devices):
    """Devices under each of the secrets that wrk's events name."""

    def registrar(index):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for number in range(index, SECRETS * devices, REGISTRARS):
            fields = {"secret": f"secret-of-the-bench-{number % SECRETS + 1}", "deviceToken": f"{number:064x}"}
            connection.request("POST", "/v1/device/register", json.dumps(fields))
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                sys.exit(f"The relay refused a registration: {body}")

    with ThreadPoolExecutor(REGISTRARS) as pool:
        list(pool.map(registrar, range(REGISTRARS)))
