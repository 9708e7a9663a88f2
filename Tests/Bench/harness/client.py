"""Compares the APNs client with h2load against the same server."""

import hashlib
import json
import re
import sys

from launch.processes import free_port
from launch.programs import TOPIC, make_certificate

from .programs import provider_token, signing_key, start_simulator
from .workplace import BIN

PAYLOAD_BYTES = 300
GOAL = 0.85  # of h2load's rate, with 100 in flight
DELAY_MILLISECONDS = 50
CPU_PUSHES_MIN = 4_000
SERVER_PUSHES = 120_000

# pushes in flight, pushes per run without delay, pushes per run with delay; a third of that with --quick
CASES = [(1, 10_000, 40), (100, 150_000, 6_000), (1_000, 150_000, 45_000)]


class Material:
    """The device tokens, the payload and nghttpd's files."""

    def __init__(self, workplace):
        self.directory = directory = workplace.directory
        self.key, self.token = signing_key(workplace), provider_token(workplace)
        self.tls_certificate, self.tls_key = make_certificate(directory)
        self.devices = [hashlib.sha256(bytes([index])).hexdigest() for index in range(100)]
        self.tokens, self.payload = directory / "tokens", directory / "payload"
        self.tokens.write_text("\n".join(self.devices))
        frame = '{"aps":{"alert":{"title":"Session complete","body":"%s"}}}'
        self.payload.write_text(frame % ("x" * (PAYLOAD_BYTES - len(frame % ""))))
        # nghttpd answers 200 for existing files; these are empty.
        self.documents = directory / "htdocs"
        (self.documents / "3" / "device").mkdir(parents=True, exist_ok=True)
        for device in self.devices:
            (self.documents / "3" / "device" / device).touch()

    def addresses(self, port):
        """Writes the URL of every device to a file for h2load."""
        file = self.directory / f"urls-{port}"
        file.write_text("".join(f"https://127.0.0.1:{port}/3/device/{device}\n" for device in self.devices))
        return file


def measure(workplace):
    workplace.build("Bench", "apns-simulator")
    material = Material(workplace)
    port = free_port()
    command = [
        "nghttpd", "-d", material.documents, "-m", 1_000, "--address=127.0.0.1", port, material.tls_key,
        material.tls_certificate]
    server = workplace.serve(command, port)
    workplace.reproduce(command)
    for in_flight, count, _ in CASES:
        goal = GOAL if in_flight == 100 else 0
        result = workplace.result(f"client, {in_flight:,} in flight, nghttpd", "/s", "h2load", goal)
        compare(workplace, material, result, port, material.tls_certificate, in_flight, count)
    compare_servers(workplace, material, server)
    workplace.stop(server)
    simulator = start_simulator(workplace, "--latency", f"{DELAY_MILLISECONDS}ms")
    for in_flight, _, count in CASES:
        name = f"client, {in_flight:,} in flight, {DELAY_MILLISECONDS} ms away"
        result = workplace.result(name, "/s", "h2load")
        trusted = workplace.directory / "simulator.pem"
        compare(workplace, material, result, simulator.port, trusted, in_flight, count)
    workplace.stop(simulator)


def compare(workplace, material, result, port, trusted, in_flight, count):
    """Pushes over one connection, alternating between h2load and the client."""
    if workplace.quick:
        count //= 3
    ours = [
        BIN / "Bench", "client", "--port", port, "--ca", trusted, "--key", material.key, "--tokens", material.tokens,
        "--in-flight", in_flight, "--count", count, "--connections", 1]
    theirs = h2load(material, port, in_flight, count)
    workplace.reproduce(theirs)
    workplace.reproduce(ours)
    for turn in range(workplace.runs):
        rate, their_cpu = run_h2load(workplace, theirs, count)
        run = workplace.load(ours)
        figures = json.loads(run.output)
        if figures["connections"] != 1:
            sys.exit(f"The client used {figures['connections']} connections")
        # With few pushes, program startup dominates processor time.
        cpu = (run.cpu * 1e6 / count, their_cpu) if count >= CPU_PUSHES_MIN else ()
        result.add(count * 1e6 / figures["microseconds"], rate, *cpu)
        workplace.progress(result, turn)


def compare_servers(workplace, material, reference):
    """Compares the simulated APNs, which validates every push, with nghttpd, which doesn't, under h2load."""
    simulator = start_simulator(workplace)
    count = SERVER_PUSHES // (3 if workplace.quick else 1)
    result = workplace.result("apns-simulator, 100 in flight", "/s", "nghttpd")
    commands = [h2load(material, server.port, 100, count) for server in (simulator, reference)]
    workplace.reproduce(commands[0])
    for turn in range(workplace.runs):
        figures = []
        for server, command in zip((reference, simulator), reversed(commands)):
            before = server.cpu
            rate, _ = run_h2load(workplace, command, count)
            figures.append((rate, (server.cpu - before) * 1e6 / count))
        (their_rate, their_cpu), (rate, cpu) = figures
        result.add(rate, their_rate, cpu, their_cpu)
        workplace.progress(result, turn)
    workplace.stop(simulator)


def h2load(material, port, in_flight, count, connections=1):
    """Sends the same pushes with h2load, whose header blocks are smaller because it can't vary `apns-id`."""
    headers = {
        "authorization": f"bearer {material.token}", "apns-topic": TOPIC, "apns-push-type": "alert", "apns-priority": "10",
        "apns-expiration": "2000000000", "apns-id": "9e3779b9-7f4a-7000-8000-7f4a7c157f4a"}
    command = ["h2load", "-n", count, "-c", connections, "-m", in_flight // connections, "-t", 1]
    command += ["-d", material.payload, "-i", material.addresses(port)]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    return command


def run_h2load(workplace, command, count):
    """Runs h2load once; returns pushes per second and processor time per push in microseconds."""
    run = workplace.load(command)
    if f" {count} 2xx" not in run.output:
        sys.exit(f"h2load got answers other than 200:\n{run.output}")
    return float(re.search(r"finished in .*?, ([\d.]+) req/s", run.output)[1]), run.cpu * 1e6 / count
