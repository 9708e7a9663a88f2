"""The faults of a run, one after the other."""

import sys
import time

# How long a fault lasts, in seconds.
SHORT, LONG = 0.5, 3.0


class Faults:
    def __init__(self, stack, account, random):
        self.stack = stack
        self.account = account
        self.random = random
        kinds = [
            self.kill_relay, self.restart_relay, self.goaway, self.too_many, self.server_errors, self.black_hole,
            self.resets, self.cuts, self.refused_connections, self.stream_limit]
        if stack.database.can_restart:
            kinds.append(self.kill_database)
        self.kinds = kinds

    def run(self, end):
        """Injects faults until the time is over, each kind once before any comes again."""
        left = []
        while time.monotonic() < end:
            time.sleep(0.3 + self.random.random() * 2)
            if not left:
                left = self.random.sample(self.kinds, len(self.kinds))
            fault = left.pop()
            with self.account.fault(fault.__name__):
                fault()
            print(f"  {fault.__name__.replace('_', ' ')}", file=sys.stderr, flush=True)

    def _last(self):
        time.sleep(SHORT + self.random.random() * (LONG - SHORT))

    def _relay(self):
        return self.random.randrange(len(self.stack.relays))

    def _rule(self, rule):
        self.stack.control("PUT", "/rules", {"id": "fault", **rule})
        self._last()
        self.stack.control("DELETE", "/rules?id=fault")

    def kill_relay(self):
        relay = self._relay()
        self.stack.kill_relay(relay)
        time.sleep(self.random.random())
        self.stack.start_relay(relay)

    def restart_relay(self):
        relay = self._relay()
        self.stack.stop_relay(relay)
        self.stack.start_relay(relay)

    def kill_database(self):
        self.stack.database.kill()
        time.sleep(self.random.random() * 2)
        self.stack.database.restart()

    def goaway(self):
        for _ in range(3):
            last = self.random.choice(["received", "answered"])
            self.stack.control("POST", "/goaway", {"reason": "Shutdown", "lastStream": last})
            time.sleep(self.random.random() * 0.3)

    def too_many(self):
        rule = {"reason": "TooManyRequests", "share": 0.6}
        if self.random.random() < 0.5:
            rule["retryAfter"] = 1
        self._rule(rule)

    def server_errors(self):
        self._rule({"reason": self.random.choice(["InternalServerError", "ServiceUnavailable"]), "share": 0.6})

    def black_hole(self):
        self.stack.control("POST", "/stall", {"includeNew": True})
        self._last()
        self.stack.control("POST", "/resume", {})

    def resets(self):
        self._rule({"action": "reset", "share": 0.2})

    def cuts(self):
        for _ in range(3):
            self.stack.control("POST", "/close", {})
            time.sleep(self.random.random() * 0.5)

    def refused_connections(self):
        self.stack.control("PUT", "/limits", {"acceptConnections": False})
        self.stack.control("POST", "/close", {})
        self._last()
        self.stack.control("PUT", "/limits", {"acceptConnections": True})

    def stream_limit(self):
        for _ in range(3):
            self.stack.control("PUT", "/limits", {"streams": self.random.choice([1, 5, 50, 500])})
            time.sleep(self.random.random())
        self.stack.control("DELETE", "/limits")
