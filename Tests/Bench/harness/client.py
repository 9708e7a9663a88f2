"""The APNs client against a server, next to h2load against the same server."""

import hashlib
import json
import re
import subprocess
import sys

from .workplace import BIN, free_port

PAYLOAD_BYTES = 300
TOPIC = "com.example.app"
GOAL = 0.85  # of h2load's rate, with 100 in flight
DELAY_MILLISECONDS = 50

# pushes in flight, pushes a run without delay, pushes a run with it
CASES = [(1, 10_000, 30), (100, 150_000, 4_000), (1_000, 150_000, 20_000)]


class Material:
    """Keys, a certificate, device tokens and the payload, made anew for each run."""

    def __init__(self, workplace):
        self.directory = directory = workplace.directory / "client"
        directory.mkdir()
        self.tls_key, self.tls_certificate = directory / "tls.key", directory / "tls.pem"
        self.key, self.tokens, self.payload = directory / "key.p8", directory / "tokens", directory / "payload"
        self.documents = directory / "htdocs"
        _openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", self.tls_key, "-out",
            self.tls_certificate)
        _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.key)
        token = subprocess.run([BIN / "Bench", "token", "--key", self.key], check=True, capture_output=True, text=True)
        self.token = token.stdout.strip()
        self.devices = [hashlib.sha256(bytes([index])).hexdigest() for index in range(100)]
        self.tokens.write_text("\n".join(self.devices))
        frame = '{"aps":{"alert":{"title":"Session complete","body":"%s"}}}'
        self.payload.write_text(frame % ("x" * (PAYLOAD_BYTES - len(frame % ""))))
        # nghttpd answers 200 where there is a file, here an empty one.
        (self.documents / "3" / "device").mkdir(parents=True)
        for device in self.devices:
            (self.documents / "3" / "device" / device).touch()

    def addresses(self, port):
        """A file with the URL of every device, for h2load."""
        file = self.directory / f"urls-{port}"
        file.write_text("".join(f"https://127.0.0.1:{port}/3/device/{device}\n" for device in self.devices))
        return file


def measure(workplace):
    workplace.build("Bench")
    material = Material(workplace)
    port = free_port()
    server = workplace.serve(
        ["nghttpd", "-d", material.documents, "-m", "1000", "--address=127.0.0.1", port, material.tls_key,
         material.tls_certificate], port)
    workplace.reproduce(server.process.args)
    for in_flight, count, _ in CASES:
        result = workplace.result(
            f"client, {in_flight:,} in flight", "/s", "h2load", goal=GOAL if in_flight == 100 else 0)
        compare(workplace, material, result, port, in_flight, count // 4 if workplace.quick else count)
    workplace.stop(server)


def compare(workplace, material, result, port, in_flight, count):
    """Pushes over one connection: h2load and the client take turns."""
    theirs = h2load(material, port, in_flight, count)
    ours = [
        BIN / "Bench", "client", "--port", port, "--ca", material.tls_certificate, "--key", material.key, "--tokens",
        material.tokens, "--in-flight", in_flight, "--count", count, "--connections", 1]
    workplace.reproduce(theirs, TOKEN=material.token)
    workplace.reproduce(ours)
    for turn in range(workplace.runs):
        run = workplace.load(theirs)
        if f" {count} 2xx" not in run.output:
            sys.exit(f"h2load had other answers than 200:\n{run.output}")
        result.theirs.append(float(re.search(r"finished in .*?, ([\d.]+) req/s", run.output)[1]))
        result.cpu_theirs.append(run.cpu * 1e6 / count)
        run = workplace.load(ours)
        figures = json.loads(run.output)
        if figures["connections"] != 1:
            sys.exit(f"The client used {figures['connections']} connections")
        result.ours.append(count * 1e6 / figures["microseconds"])
        result.cpu_ours.append(run.cpu * 1e6 / count)
        workplace.say(
            f"{result.name} ({turn + 1}/{workplace.runs}): {result.ours[-1]:,.0f}/s, h2load {result.theirs[-1]:,.0f}/s")


def h2load(material, port, in_flight, count):
    """The same pushes from h2load; it can't change `apns-id` from one to the next, so its header blocks are smaller."""
    headers = {
        "authorization": material.token, "apns-topic": TOPIC, "apns-push-type": "alert", "apns-priority": "10",
        "apns-expiration": "2000000000", "apns-id": "9e3779b9-7f4a-7000-8000-7f4a7c157f4a"}
    command = ["h2load", "-n", count, "-c", 1, "-m", in_flight, "-t", 1, "-d", material.payload]
    command += ["-i", material.addresses(port)]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    return command


def _openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
