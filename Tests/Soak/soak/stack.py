"""The programs of a run: relays, the simulated APNs and the database, and how each is killed and restarted."""

import contextlib
import json
import sys

from launch.processes import Programs, free_port
from launch.programs import ROOT, UNLIMITED, Relay, Simulator

from . import activities
from .database import Database

EVENT_DEADLINE = 4  # seconds, RELAY_EVENT_DEADLINE
PUSH_TIMEOUT = 2  # seconds, APNS_PUSH_TIMEOUT
# What a killed relay held is sent again when its leases have expired: clock difference, attempts, margin, wait.
LEASE = 60 + 3 * PUSH_TIMEOUT + 5 + 5


class Stack(Programs):
    def __init__(self, database, binaries, keep, usual, relays=2):
        super().__init__(keep)
        self.binaries = (ROOT / binaries).resolve()
        self.kind = database
        self.usual = usual  # without the short times that a soak needs
        # SQLite allows one writing process.
        self.ports = [free_port() for _ in range(1 if database == "sqlite" else relays)]
        self.relays = [None] * len(self.ports)
        self.database = None
        # Long enough for delivery after a kill, short enough for pushes to expire within a run.
        self.time_to_live = 30 if database == "sqlite" else LEASE + 60

    def begin(self):
        latency = "20ms" if self.usual else "normal:15ms,5ms"
        self.simulator = self.add(Simulator(
            self.binaries, self.directory, "--any-key", "--keep", 200_000, "--latency", latency))
        self.control = self.simulator.call
        self.database = self.open_database()
        for index in range(len(self.relays)):
            self.start_relay(index)

    def end(self):
        for relay in filter(None, self.relays):
            relay.kill()
        if self.database:
            self.database.stop()

    def open_database(self):
        return Database(self.kind, self.directory)

    def database_url(self, index):
        """The database URL for a relay."""
        return self.database.url

    # Relays

    def start_relay(self, index):
        """Starts a relay and waits until it serves."""
        self._start_relay(index, self.ports[index])

    def _start_relay(self, index, port):
        settings = {
            **self.simulator.settings, **UNLIMITED, "PORT": str(port), "DATABASE_URL": self.database_url(index)}
        if not self.usual:
            settings |= {
                "APNS_TTL": f"{self.time_to_live}s", "APNS_PUSH_TIMEOUT": f"{PUSH_TIMEOUT}s",
                "RELAY_EVENT_DEADLINE": f"{EVENT_DEADLINE}s", "RELAY_RETRY_DELAY_MAX": "3s",
                "RELAY_ACTIVITY_INTERVAL": f"{activities.INTERVAL}s"}
        self.relays[index] = self.add(Relay(self.binaries, self.directory, settings, name=f"relay{index}"))

    def add_relays(self, count):
        """Starts further relays on the same database."""
        for _ in range(count):
            self.relays.append(None)
            port = free_port()
            self._start_relay(len(self.relays) - 1, port)
            self.ports.append(port)

    def kill_relay(self, index):
        """Kills a relay, as the loss of its machine would."""
        self.relays[index].kill()

    def stop_relay(self, index):
        """Stops the programs in order; a relay that doesn't exit with 0 is a fault."""
        if status := self.relays[index].stop():
            sys.exit(f"relay {index} ended with {status} after SIGTERM; its log: {self.relays[index].log}")

    def outcomes_of_schedules(self):
        """The last outcome of each schedule in a relay's log, by its ID."""
        outcomes = {}
        for relay in self.relays:
            with open(relay.log, "rb") as log:
                for line in log:
                    if b'"outcome"' not in line:
                        continue
                    with contextlib.suppress(ValueError):  # the end of a line that a killed relay started
                        entry = json.loads(line)
                        outcomes[entry.get("schedule")] = entry["outcome"]
        return outcomes

    def heal(self):
        """Ends every fault."""
        self.control("DELETE", "/rules")
        self.control("DELETE", "/limits")
        self.control("POST", "/resume", {})
