"""The results of every push: the relays' responses, what the simulated APNs received, and the delivery log."""

import contextlib
import sys
import threading
import time
from collections import Counter

from . import questions, schedules
from .stack import EVENT_DEADLINE, LEASE, PUSH_TIMEOUT
from .tokens import masked

# After a device's removal was confirmed, pushes under way may still arrive: an event until its deadline or a claimed
# push after its wait, and then the time of the push itself in either environment.
REMOVAL_GRACE = max(EVENT_DEADLINE, 5) + 2 * PUSH_TIMEOUT + 1
# Faults after which a response may be lost, so that a push is sent again although it arrived.
LOSING = {"kill_relay", "restart_relay", "kill_database", "goaway", "black_hole", "resets", "cuts",
          "refused_connections", "lose_node"}
# Seconds after such a fault within which lost pushes are sent again: a lease, plus the longest back-off and what precedes it.
LOSS_MEMORY = LEASE + 20
# Seconds after which another relay takes over the schedules of a killed relay.
SCHEDULE_LEASE = 150


class Account:
    def __init__(self, stack):
        self.stack = stack
        self.lock = threading.Lock()
        self.answers = {}  # session -> {masked token: delivery}
        self.attempts = {}  # session -> how often it was posted
        self.refusals = {}  # session -> statuses
        self.arrivals = {}  # (session, masked token) -> times in milliseconds
        self.attempted = Counter()
        self.removals = {}  # masked token -> when its removal was confirmed, in milliseconds
        self.doomed = set()  # masked tokens that APNs no longer knows
        self.ends_of_activities = set()  # (session, masked token) of activities whose end was accepted
        self.strays = []  # pushes to devices that had been removed
        self.faults = []  # (name, from, to) in milliseconds
        self.differences = []
        self.counts = Counter()
        self.always_busy = None
        self.schedules = self.questions = self.activities = None
        self.cursor = 0
        self.is_over = threading.Event()

    # During the run

    def start(self):
        self.collector = threading.Thread(target=self._collect, daemon=True)
        self.collector.start()

    @contextlib.contextmanager
    def fault(self, name):
        began = milliseconds()
        yield
        self.faults.append((name, began, milliseconds()))

    def answered(self, session, answer, attempts):
        if isinstance(answer, bytes):
            import json
            answer = json.loads(answer)
        with self.lock:
            deliveries = {delivery["device"]: delivery for delivery in answer["deliveries"]}
            counts = [answer, answer.get("activities", {})]
            if len(deliveries) != sum(part.get(name, 0) for part in counts for name in ("sent", "failed", "queued")):
                self.differences.append(f"{session}: the counts are not those of its deliveries: {answer}")
            self.answers[session] = deliveries
            self.attempts[session] = max(attempts, self.attempts.get(session, 0))
            for device, delivery in deliveries.items():
                if delivery.get("removed"):
                    self.removals.setdefault(device, milliseconds())

    def repeated(self, session, attempts):
        """Notes that a request whose response was lost was repeated, so it may have been executed twice."""
        with self.lock:
            self.attempts[session] = max(attempts, self.attempts.get(session, 0))

    def compared(self, session, answers):
        self.counts["events posted twice at once, answered both times"] += 1
        if answers[0] != answers[1]:
            self.differences.append(f"{session}: two answers to one eventID: {answers}")

    def refused(self, session, status):
        with self.lock:
            self.refusals.setdefault(session, []).append(status)
            self.counts[f"events answered {status}" if status else "events without an answer"] += 1

    def removed(self, token):
        with self.lock:
            self.removals.setdefault(masked(token), milliseconds())

    def given_up(self, token):
        with self.lock:
            self.doomed.add(masked(token))

    def _collect(self):
        while not self.is_over.is_set():
            try:
                self._collect_page()
            except OSError as error:
                if not self.is_over.is_set():
                    print(f"the simulator doesn't answer: {error}", file=sys.stderr)
                    time.sleep(0.5)

    def _collect_page(self, wait=1):
        page = self.stack.control("GET", f"/pushes?since={self.cursor}&limit=5000&wait={wait}")
        if page.get("missed"):
            self.differences.append(f"{page['missed']} pushes were not looked at in time")
        for push in page["pushes"]:
            self._received(push)
        self.cursor = page["next"]
        return page.get("more", False)

    def _received(self, push):
        device = "…" + push["deviceToken"][-8:]
        session = push.get("payload", {}).get("sessionID", "")
        is_accepted = push.get("status") == 200
        with self.lock:
            self.attempted[device] += 1
            if self.activities and device in self.activities.of:
                if is_accepted and self.activities.received(device, push):
                    self.ends_of_activities.add((self.activities.of[device].session, device))
                return
            if is_accepted:
                self.arrivals.setdefault((session, device), []).append(push["receivedAt"])
                if session.startswith(questions.SESSION):
                    self.questions.received(session, push)
            removed = self.removals.get(device)
            if removed is not None and push["receivedAt"] > removed + REMOVAL_GRACE * 1000:
                self.strays.append((session, device, push["receivedAt"] - removed))

    # At the end

    def wait_for_ends(self):
        """Waits until nothing is pending; pushes to the device for which APNs is always busy expire."""
        end = time.monotonic() + self.stack.time_to_live + LEASE + SCHEDULE_LEASE + 60
        self.stack.control("PUT", "/rules", {
            "id": "busy", "match": {"token": self.always_busy}, "reason": "TooManyRequests"})
        while True:
            pushes, later = self.stack.database.waiting("pending_push"), self.stack.database.waiting("schedule")
            print(f"  {pushes} pushes and {later} schedules wait", file=sys.stderr, flush=True)
            if pushes == later == 0:
                break
            if time.monotonic() > end:
                self.differences.append(f"{pushes} pushes and {later} schedules still wait, all past their time")
                break
            time.sleep(2)
        for index in range(len(self.stack.relays)):
            self.stack.stop_relay(index)
        self.is_over.set()
        self.collector.join()
        while self._collect_page(wait=0):
            pass

    def settle(self):
        ends = self.stack.database.ends()
        for session, deliveries in self.answers.items():
            for device, delivery in deliveries.items():
                self.counts[f"pushes answered {delivery['status']}"] += 1
                self._settle_push(session, device, delivery, ends)
        self._settle_duplicates()
        if self.schedules:
            failed = self.stack.database.sessions_of_failures(schedules.SESSION)
            outcomes = self.stack.outcomes_of_schedules()
            self.schedules.settle({session for session, _ in self.arrivals}, failed, outcomes)
            self.questions.settle()
            self.activities.settle()
        for session, device, late in self.strays:
            self.differences.append(f"{session} {device}: sent {late} ms after the device's removal was answered")
        if not self.answers:
            self.differences.append("no event was answered")
        self._print()
        return 1 if self.differences else 0

    def _settle_push(self, session, device, delivery, ends):
        arrived = (session, device) in self.arrivals or (session, device) in self.ends_of_activities
        status = delivery["status"]
        if status == "sent" and not arrived:
            self.differences.append(f"{session} {device}: reported as sent but did not arrive")
        if status == "failed" and arrived and not self.may_have_arrived(session, device, delivery["reason"]):
            self.differences.append(f"{session} {device}: reported as failed ({delivery['reason']}) but arrived")
        if status != "queued":
            return
        rows = ends.get(delivery["apnsID"], [])
        if len(rows) > 1:
            self.differences.append(f"{session} {device}: queued, and its end is written down {len(rows)} times")
        if rows:
            state, error = rows[0]
            self.counts[f"queued pushes that ended as {error or state}"] += 1
            if state == "sent" and not arrived:
                self.differences.append(f"{session} {device}: written down as sent but did not arrive")
            if error == "DeviceRemoved" and not self.is_gone(device):
                self.differences.append(f"{session} {device}: ended as {error}, and nobody removed the device")
        elif arrived:
            self.differences.append(f"{session} {device}: queued and arrived, and no end is written down")
        else:
            self.differences.append(f"{session} {device}: queued, and neither arrived nor ended")

    def is_gone(self, device):
        return device in self.removals or device in self.doomed

    def may_have_arrived(self, session, device, reason):
        """Whether a push that was reported as failed may have arrived all the same."""
        # In flight when the event's deadline passed, and not storable: its fate could not be known.
        if reason in ("QueueFull", "QueueUnavailable", "QueueUnconfirmed"):
            return True
        if reason == "DeviceRemoved":
            return self.is_gone(device)
        # It arrived, its response was lost, and it was sent again after the device was gone.
        if reason == "Unregistered":
            return self.is_gone(device) and self._may_be_sent_again(session, self.arrivals[session, device])
        # A relay sent an activity's end and was killed before it responded. When the event was posted again, the
        # simulator refused a second end, which APNs would accept and the device would drop.
        return (reason == "BadRequestPayload" and (session, device) in self.ends_of_activities
                and self.attempts[session] > 1)

    def _settle_duplicates(self):
        for (session, device), times in self.arrivals.items():
            if len(times) < 2 or session.startswith(questions.SESSION):
                continue
            self.counts["pushes that arrived again after a lost answer"] += len(times) - 1
            if not self._may_be_sent_again(session, times):
                self.differences.append(f"{session} {device}: arrived {len(times)} times, and no answer was lost: {times}")
        for session, device in self.arrivals:
            if session not in self.answers and not session.startswith(schedules.SESSION):
                self.counts["pushes of events without an answer that arrived"] += 1

    def _may_be_sent_again(self, session, times):
        """Whether the event was posted again, or a response to one of its pushes may be lost."""
        posted_again = session in self.refusals or self.attempts.get(session, 1) > 1
        return posted_again or self._answer_may_be_lost(min(times), max(times))

    def _answer_may_be_lost(self, first, second):
        """Whether a fault that loses responses was between the two, or shortly before and not yet recovered from."""
        return any(
            name in LOSING and began - 1000 <= second and ended + LOSS_MEMORY * 1000 >= first
            for name, began, ended in self.faults)

    def _print(self):
        faults = Counter(name for name, _, _ in self.faults)
        print("Faults: " + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(faults.items())))
        print(f"Events answered: {len(self.answers)}; devices removed: {len(self.removals)}; "
              f"pushes received: {sum(self.attempted.values())}, accepted: {sum(map(len, self.arrivals.values()))}")
        for what, count in sorted(self.counts.items()):
            print(f"{count:8} {what}")
        for difference in self.differences[:20]:
            print(f"DIFFERENCE {difference}")
        if len(self.differences) > 20:
            print(f"DIFFERENCE and {len(self.differences) - 20} more")
        print("The account " + ("does not add up" if self.differences else "adds up"))


def milliseconds():
    return int(time.time() * 1000)
