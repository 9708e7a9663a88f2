"""The programs of a run: relays, the simulated APNs, the database, and how each is killed and started again."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from . import activities
from .database import Database

PACKAGE = Path(__file__).resolve().parents[3]
START_DEADLINE = 40  # seconds until a program has to serve
STOP_DEADLINE = 30  # seconds from SIGTERM to the end of a relay
EVENT_DEADLINE = 4  # seconds, RELAY_EVENT_DEADLINE
PUSH_TIMEOUT = 2  # seconds, APNS_PUSH_TIMEOUT
# What a killed relay held comes back when its leases have run out: clocks' difference, attempts, margin, wait.
LEASE = 60 + 3 * PUSH_TIMEOUT + 5 + 5


class Stack:
    def __init__(self, database, binaries, keep, usual, relays=2):
        self.keep = Path(keep).resolve() if keep else None
        self.binaries = (PACKAGE / binaries).resolve()
        self.kind = database
        self.usual = usual  # without the short times that a soak needs
        # SQLite has one writing process.
        self.ports = [free_port() for _ in range(1 if database == "sqlite" else relays)]
        self.relays = [None] * len(self.ports)
        # Long enough to be delivered after a kill, short enough to see pushes expire within a run.
        self.time_to_live = 30 if database == "sqlite" else LEASE + 60

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        if self.keep:
            self.directory = self.keep
            self.directory.mkdir(parents=True)
        else:
            self.directory = Path(tempfile.mkdtemp(prefix="relay-soak-"))
        try:
            self._start_simulator()
            self.database = self.open_database()
            for index in range(len(self.relays)):
                self.start_relay(index)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in [*self.relays, getattr(self, "simulator", None)]:
            if process and process.poll() is None:
                process.kill()
                process.wait()
        if hasattr(self, "database"):
            self.database.stop()
        if not self.keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    def open_database(self):
        return Database(self.kind, self.directory)

    def database_url(self, index):
        """What a relay connects to."""
        return self.database.url

    # The simulated APNs

    def _start_simulator(self):
        key = self.directory / "key.p8"
        subprocess.run([self.binaries / "apns-simulator", "key", "--out", key], check=True, stdout=subprocess.DEVNULL)
        ready = self.directory / "simulator.json"
        latency = "20ms" if self.usual else "normal:15ms,5ms"
        self.simulator = self._serve("simulator", [
            self.binaries / "apns-simulator", "--any-key", "--keep", 200_000, "--latency", latency,
            "--certificate-file", self.directory / "simulator.pem", "--production-port", 0, "--sandbox-port", 0,
            "--control-port", 0, "--ready-file", ready], {})
        self._wait(self.simulator, "simulator", lambda: ready.exists() and ready.read_text().strip())
        ports = json.loads(ready.read_text())
        self.apns_port, self.control_port = ports["productionPort"], ports["controlPort"]

    def control(self, method, path, body=None, timeout=30):
        """Asks the simulator's control API."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.control_port}{path}", method=method,
            data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    # Relays

    def start_relay(self, index):
        """Starts a relay and waits until it serves."""
        self._start_relay(index, self.ports[index])

    def _start_relay(self, index, port):
        origin = f"https://localhost:{self.apns_port}"
        environment = {
            "PORT": str(port), "RELAY_ADMIN_LISTEN": "127.0.0.1:0", "DATABASE_URL": self.database_url(index),
            "APNS_TEAM_ID": "TEAM123456", "APNS_KEY_ID": "KEY1234567",
            "APNS_PRIVATE_KEY_FILE": str(self.directory / "key.p8"),
            "APNS_DEFAULT_BUNDLE_ID": "com.example.app", "APNS_PRODUCTION_URL": origin, "APNS_SANDBOX_URL": origin,
            "APNS_CA_FILE": str(self.directory / "simulator.pem"), "RELAY_EVENTS_PER_MINUTE": "0",
            "RELAY_REGISTRATIONS_PER_MINUTE": "0", "RELAY_UNKNOWN_SECRETS_PER_MINUTE": "0",
            "RELAY_DEVICE_PUSHES_PER_MINUTE": "0", "RELAY_DEVICE_SECRETS_PER_DAY": "0"}
        if not self.usual:
            environment |= {
                "APNS_TTL": f"{self.time_to_live}s", "APNS_PUSH_TIMEOUT": f"{PUSH_TIMEOUT}s",
                "RELAY_EVENT_DEADLINE": f"{EVENT_DEADLINE}s", "RELAY_RETRY_DELAY_MAX": "3s",
                "RELAY_ACTIVITY_INTERVAL": f"{activities.INTERVAL}s"}
        self.relays[index] = self._serve(f"relay{index}", [self.binaries / "relay", "serve"], environment)
        self._wait(self.relays[index], f"relay{index}", lambda: listens(port))

    def add_relays(self, count):
        """Starts further relays on the same database."""
        for _ in range(count):
            self.relays.append(None)
            port = free_port()
            self._start_relay(len(self.relays) - 1, port)
            self.ports.append(port)

    def kill_relay(self, index):
        """As the loss of its machine would."""
        self.relays[index].kill()
        self.relays[index].wait()

    def stop_relay(self, index):
        """In order; a relay that doesn't end with 0 is a fault of its own."""
        self.relays[index].terminate()
        status = self.relays[index].wait(STOP_DEADLINE)
        if status != 0:
            sys.exit(f"relay {index} ended with {status} after SIGTERM; its log: {self._log(f'relay{index}')}")

    def outcomes_of_schedules(self):
        """The last outcome that a relay's log has of each schedule, by its ID."""
        outcomes = {}
        for index in range(len(self.relays)):
            with open(self._log(f"relay{index}"), "rb") as log:
                for line in log:
                    if b'"outcome"' not in line:
                        continue
                    with contextlib.suppress(ValueError):  # the end of a line that a killed relay began
                        entry = json.loads(line)
                        outcomes[entry.get("schedule")] = entry["outcome"]
        return outcomes

    def heal(self):
        """Ends every fault."""
        self.control("DELETE", "/rules")
        self.control("DELETE", "/limits")
        self.control("POST", "/resume", {})

    # Processes

    def _log(self, name):
        return self.directory / f"{name}.log"

    def _serve(self, name, command, environment):
        with open(self._log(name), "ab") as log:
            return subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory,
                env={**os.environ, **environment}, start_new_session=True)

    def _wait(self, process, name, condition):
        began = time.monotonic()
        while not condition():
            if process.poll() is not None or time.monotonic() - began > START_DEADLINE:
                tail = self._log(name).read_text(errors="replace")[-2000:]
                raise SystemExit(f"{name} does not serve:\n{tail}")
            time.sleep(0.02)


def free_port():
    """A port that nobody listens on now, below those that the kernel gives to connections: it is used again and again."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        if not listens(port):
            return port


def listens(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
