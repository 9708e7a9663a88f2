"""A tenant that posts new events at a steady rate and measures how long each takes."""

import threading
import time

from .client import Client
from .fairness import percentile
from .tokens import new_token

RATE = 100  # events per second, regardless of the response times
POSTERS = 8
SECRET = "secret-of-the-tenant-with-new-events"
SESSION = "ses_new_"


class Probe:
    def __init__(self, stack):
        self.stack = stack
        self.client = Client(stack)
        self.lock = threading.Lock()
        self.times = []  # (when the event was due, seconds until its response)
        self.sent = set()  # sessions that were reported as sent
        self.arrived = set()
        self.down = {}  # relay -> when it was killed, for relays that are being restarted
        self.outages = []  # (from, to) of outages that are over
        self.failures = []  # (from, to, status) of requests without a response
        self.is_over = threading.Event()

    def start(self):
        status, _ = self.client.post("/v1/device/register", {"secret": SECRET, "deviceToken": new_token()}, 0)
        if status != 200:
            raise SystemExit(f"a registration was answered {status}")
        self.began = time.monotonic() + 0.1
        self.threads = [threading.Thread(target=self._run, args=[number], daemon=True) for number in range(POSTERS)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()

    def killing(self, relay):
        """To be called before a relay is killed: no further events are posted to it."""
        self.down[relay] = time.monotonic()

    def serving(self, relay):
        self.outages.append((self.down[relay], time.monotonic()))
        del self.down[relay]

    def received(self, push):
        session = push.get("payload", {}).get("sessionID", "")
        if session.startswith(SESSION) and push.get("status") == 200:
            self.arrived.add(session)

    def _run(self, number):
        while True:
            due = self.began + number / RATE
            if self.is_over.wait(max(0, due - time.monotonic())):
                return
            relays = [relay for relay in range(len(self.stack.ports)) if relay not in self.down]
            if relays:
                self._post(f"{SESSION}{number}", relays[number % len(relays)], due)
            number += POSTERS

    def _post(self, session, relay, due):
        event = {"secret": SECRET, "eventType": "complete", "sessionID": session}
        # Measured from when the event was due: a late start counts as waiting.
        started = min(due, time.monotonic())
        status, answer = self.client.post("/v1/event", event, relay)
        if status == 0:  # a kept-alive connection that a kill closed
            status, answer = self.client.post("/v1/event", event, relay)
        ended = time.monotonic()
        with self.lock:
            if status != 200:
                self.failures.append((started, ended, status))
                return
            self.times.append((started, ended - started))
            if answer["sent"] == 1:
                self.sent.add(session)

    def between(self, start, end):
        """The seconds that the events took that were due in this period."""
        return [seconds for started, seconds in self.times if start <= started < end]

    def cut(self):
        """The number of requests cut by a kill, and the statuses of those that failed without a kill."""
        others = [
            status for start, end, status in self.failures
            if status or not any(killed <= end and served >= start for killed, served in self.outages)]
        return len(self.failures) - len(others), others


class Comparison:
    """The times of new events before and during a burst."""

    def __init__(self, before, during, p99_max):
        self.before, self.during, self.p99_max = before, during, p99_max
        self.differences = []
        if not before or not during:
            self.differences.append("no new event was measured")
            return
        if self.p99(during) > p99_max:
            self.differences.append(f"the p99 of new events was {self.p99(during):.2f} s, more than {p99_max} s")

    @staticmethod
    def p99(times):
        return percentile(times, 99)

    def print(self):
        if not self.before or not self.during:
            return
        print(f"{'new events':24}{'count':>8}{'p50':>12}{'p99':>12}")
        for name, times in [("before", self.before), ("while they were sent", self.during)]:
            print(f"{name:24}{len(times):8}{percentile(times, 50) * 1000:10.1f}ms{self.p99(times) * 1000:10.1f}ms")
        print(f"p50 {percentile(self.during, 50) / percentile(self.before, 50):.1f} and "
              f"p99 {self.p99(self.during) / self.p99(self.before):.1f} times what they were "
              f"(p99 at most {self.p99_max * 1000:.0f} ms)")
