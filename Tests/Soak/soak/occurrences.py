"""Many occurrences due in one second while relays are killed: each arrives once, and new events don't wait for them."""

import math
import sys
import threading
import time
from datetime import datetime, timezone

from .account import milliseconds
from .client import Client
from .exactly_once import LEASE, OccurrenceAccount
from .probe import Comparison, Probe
from .tokens import new_token

COUNT = 10_000
SECRETS = 100  # at least
EACH = 100  # maximum schedules per secret: RELAY_SCHEDULES_PER_SECRET_MAX
CREATORS = 8
TRIALS = 400  # schedules that are created first, to measure how long that takes
BEFORE = 15  # seconds for which new events are measured before the burst
P99_MAX = 1.0  # maximum seconds for new events while occurrences are sent
KILLS = 4
QUIET = 5  # seconds without an arrival, after which the rest is waiting for leases
# Seconds after which everything must have arrived: a killed relay's leases, about two minutes, and time to send.
PATIENCE = 240
STALL = 60  # seconds until the first arrival


def measure(stack, count):
    run = Run(stack, count)
    run.create()
    run.probe.start()
    run.send()
    run.await_leases()
    return run.settle()


class Run:
    def __init__(self, stack, count):
        self.stack = stack
        self.count = count
        self.client = Client(stack)
        self.probe = Probe(stack)
        self.secrets = [f"secret-of-{new_token()}" for _ in range(max(SECRETS, math.ceil(count / EACH)))]
        self.account = None
        self.cursor = 0
        self.last_arrival = 0  # in milliseconds
        self.is_over = threading.Event()

    # Before the burst

    def create(self):
        """Creates the schedules, due when creation is done and new events have been measured."""
        self._each(self._register, self.secrets)
        began = time.monotonic()
        trials = min(TRIALS, self.count)
        later = math.ceil(time.time()) + 3_600
        self._each(lambda number: self._create(number, later), range(trials))
        seconds = (time.monotonic() - began) / trials * self.count
        due = math.ceil(time.time() + 1.5 * seconds + BEFORE + 15)
        # A relay that opens a SQLite file is its only writer, and ends its predecessor's leases.
        self.account = OccurrenceAccount(due * 1000, 0 if self.stack.kind == "sqlite" else LEASE)
        # The trial's schedules are replaced, because they have the same names.
        self._each(lambda number: self.account.expect(self._create(number, due)), range(self.count))
        left = due - time.time()
        say(f"{len(self.account.expected)} schedules of {len(self.secrets)} secrets are due in {left:.0f} s")
        if left < BEFORE + 3:
            raise SystemExit("creating the schedules took much longer than the first of them did; try again")

    def _register(self, secret):
        self._post("/v1/device/register", {"secret": secret, "deviceToken": new_token()}, 0)

    def _create(self, number, due):
        """A schedule's ID."""
        at = datetime.fromtimestamp(due, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return self._post("/v1/schedule/create", {
            "secret": self.secrets[number % len(self.secrets)], "name": f"occurrence-{number}", "at": at, "window": 0,
            "eventType": "complete", "sessionID": f"ses_{number}", "title": f"Occurrence {number}"}, number)["id"]

    def _post(self, path, body, relay):
        status, answer = self.client.post(path, body, relay)
        if status != 200:
            raise SystemExit(f"{path} was answered {status}: {answer}")
        return answer

    def _each(self, call, values):
        """Calls a function for each value, on several threads."""
        values, lock, failures = iter(values), threading.Lock(), []

        def run():
            try:
                while not failures:
                    with lock:
                        value = next(values, None)
                    if value is None:
                        return
                    call(value)
            except BaseException as failure:  # passed on to the caller's thread
                failures.append(failure)

        threads = [threading.Thread(target=run) for _ in range(CREATORS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    # During the burst

    def send(self):
        """Kills relays while the occurrences are sent, until no more arrive."""
        self.collector = threading.Thread(target=self._collect, daemon=True)
        self.collector.start()
        time.sleep(max(0, self.account.due / 1000 - time.time()))
        self.due = time.monotonic()
        say("they are due")
        self._await_first()
        for number in range(KILLS):
            if not self._await_arrivals(self.count * (number + 1) // (KILLS + 1)):
                break
            self._kill(number % len(self.stack.ports))
        self._await_arrivals(self.count)
        # Without the silence after the last arrival.
        self.sent = time.monotonic() - (milliseconds() - self.last_arrival) / 1000
        self.probe.stop()

    def _arrived(self):
        return len(self.account.arrivals)

    def _await_first(self):
        while not self._arrived():
            if time.monotonic() - self.due > STALL:
                raise SystemExit(f"no occurrence arrived within {STALL} s")
            time.sleep(0.01)

    def _await_arrivals(self, count):
        """Waits for `count` arrivals while unleased occurrences remain; false if no more arrive or all are there."""
        began = milliseconds()
        while self._arrived() < count:
            if milliseconds() - max(began, self.last_arrival) > QUIET * 1000:
                return False
            time.sleep(0.01)
        return self._arrived() < self.count

    def _kill(self, relay):
        self.probe.killing(relay)
        self.account.killed(relay, milliseconds())
        self.stack.kill_relay(relay)
        say(f"relay {relay} was killed when {self._arrived()} had arrived")
        self.stack.start_relay(relay)
        self.probe.serving(relay)

    def _collect(self):
        while not self.is_over.is_set():
            try:
                self._collect_page(wait=1)
            except OSError as error:
                say(f"the simulator doesn't answer: {error}")
            # Fetching pages of one push each would keep this process, which measures times, busy.
            time.sleep(0.05)

    def _collect_page(self, wait):
        page = self.stack.control("GET", f"/pushes?since={self.cursor}&limit=5000&wait={wait}")
        if page.get("missed"):
            self.account.differences.append(f"{page['missed']} pushes were not looked at in time")
        for push in page["pushes"]:
            before = self._arrived()
            self.account.received(push)
            self.probe.received(push)
            if self._arrived() > before:
                self.last_arrival = push["receivedAt"]
        self.cursor = page["next"]
        return page.get("more", False)

    # After the burst

    def await_leases(self):
        """Waits until everything that killed relays held has been sent."""
        self.early = self._arrived()
        end = time.monotonic() + PATIENCE
        while True:
            left = self.stack.database.waiting("schedule")
            queued = self.stack.database.waiting("pending_push")
            say(f"{self._arrived()} of {self.count} have arrived; {left} schedules and {queued} pushes wait")
            if left == queued == 0:
                break
            if time.monotonic() > end:
                self.account.differences.append(f"{left} schedules and {queued} pushes still wait after {PATIENCE} s")
                break
            time.sleep(10)
        for index in range(len(self.stack.relays)):
            self.stack.stop_relay(index)
        self.is_over.set()
        self.collector.join()
        while self._collect_page(wait=0):
            pass

    def settle(self):
        account, probe = self.account, self.probe
        comparison = Comparison(
            probe.between(self.due - BEFORE, self.due), probe.between(self.due, self.sent), P99_MAX)
        comparison.print()
        cut, failures = probe.cut()
        differences = account.settle() + comparison.differences
        if not account.kills:
            differences.append("no relay was killed while occurrences were sent: they were too few")
        differences += [f"a new event was answered {status}, and no relay was being killed" for status in failures]
        differences += [
            f"{session}: reported as sent but did not arrive" for session in sorted(probe.sent - probe.arrived)]
        print(f"{len(probe.sent)} new events were reported as sent, and {cut} were cut by a kill")
        lost = " + ".join(str(kill.lost) for kill in account.kills)
        print(f"{self.count} occurrences due in one second, {len(account.kills)} kills: {self._arrived()} arrived, "
              f"{self.early} of them within {self.sent - self.due:.0f} s and {self._arrived() - self.early} after leases; "
              f"{account.repeated} arrived again, and kills had lost the answers of {lost}")
        for difference in differences[:20]:
            print(f"DIFFERENCE {difference}")
        if len(differences) > 20:
            print(f"DIFFERENCE and {len(differences) - 20} more")
        print("Exactly once, except where a kill lost APNs' answer" if not differences else "The account does not add up")
        return 1 if differences else 0


def say(text):
    print(f"  {text}", file=sys.stderr, flush=True)
