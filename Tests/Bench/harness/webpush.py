"""Compares Web Push's encryption with OpenSSL's key agreement, and its sender with h2load against the same server."""

import json
import re
import sys

from launch.processes import free_port
from launch.programs import make_certificate

from .client import run_h2load
from .workplace import BIN

PAYLOAD_BYTES = 300
OVERHEAD_BYTES = 103  # of the encryption
CONNECTIONS = 4
IN_FLIGHT = 100
PUSHES = 30_000  # a third with --quick


def measure(workplace):
    workplace.build("Bench")
    certificate, key = make_certificate(workplace.directory)
    documents, body, urls = (workplace.directory / name for name in ("webpush", "body", "webpush-urls"))
    (documents / "push").mkdir(parents=True, exist_ok=True)
    body.write_text("x" * (PAYLOAD_BYTES + OVERHEAD_BYTES))
    port = free_port()
    # nghttpd answers 200 for existing files; these are empty.
    for number in range(100):
        (documents / "push" / str(number)).touch()
    urls.write_text("".join(f"https://localhost:{port}/push/{number}\n" for number in range(100)))
    server = workplace.serve(["nghttpd", "-d", documents, "-m", 100, "--address=127.0.0.1", port, key, certificate], port)
    count = PUSHES // (3 if workplace.quick else 1)
    ours = [BIN / "Bench", "webpush", "--port", port, "--ca", certificate, "--in-flight", IN_FLIGHT, "--count", count,
            "--connections", CONNECTIONS]
    theirs = ["h2load", "-n", count, "-c", CONNECTIONS, "-m", IN_FLIGHT // CONNECTIONS, "-t", 1, "-d", body, "-i", urls,
              "-H", "authorization: vapid t=" + "x" * 230 + ", k=" + "x" * 87, "-H", "ttl: 86400", "-H", "urgency: high",
              "-H", "content-encoding: aes128gcm", "-H", "content-type: application/octet-stream"]
    agreement = ["openssl", "speed", "-seconds", 1, "ecdhp256"]
    for command in (ours, theirs, agreement):
        workplace.reproduce(command)
    encryption = workplace.result("webpush, encryption", "/s", "openssl speed ecdhp256")
    sending = workplace.result(f"webpush, {IN_FLIGHT} in flight, nghttpd", "/s", "h2load")
    for turn in range(workplace.runs):
        agreements = float(re.search(r"([\d.]+)\s*$", workplace.load(agreement).output)[1])
        rate, their_cpu = run_h2load(workplace, theirs, count)
        figures = json.loads(workplace.load(ours).output)
        if figures["errors"]:
            sys.exit(f"{figures['errors']} of {count} pushes failed")
        cpu = figures["encryptionCPUMicroseconds"] / count
        encryption.add(1e6 / cpu, agreements, cpu, 1e6 / agreements)
        sending.add(count * 1e6 / figures["microseconds"], rate, figures["cpuMicroseconds"] / count, their_cpu)
        workplace.progress(encryption, turn)
        workplace.progress(sending, turn)
    workplace.stop(server)
