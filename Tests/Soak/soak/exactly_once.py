"""Accounts for occurrences that were due at one moment while relays were killed."""

from collections import Counter

# The number of schedules that a relay sends at once (Bounds.schedulesInFlightMax): a kill loses at most as many responses.
IN_FLIGHT = 32
# Milliseconds between the arrival of a push and the storing of its response, within which a kill loses the response.
ANSWER_TIME = 3_000
# Milliseconds after a kill until APNs has read what the relay had written.
LAST_WORDS = 1_000
# Milliseconds for which no other relay may send an occurrence whose sender was killed: its receipt's lease, which is
# longer than this by RELAY_EVENT_DEADLINE and storage calls (Bounds.claimLeaseMargin).
LEASE = 60_000


class Kill:
    def __init__(self, relay, at):
        self.relay = relay
        self.at = at  # in milliseconds
        self.lost = 0  # occurrences that were sent again because their responses were lost

    def __str__(self):
        return f"the kill of relay {self.relay} at {self.at}"


class OccurrenceAccount:
    """Counts arrivals; every occurrence is recognized by its eventID."""

    def __init__(self, due, lease=LEASE):
        self.due = due  # in milliseconds
        self.lease = lease  # 0 if a starting relay ends its predecessor's leases, as on SQLite
        self.expected = set()
        self.arrivals = {}  # eventID -> (milliseconds, connection) of pushes that APNs accepted
        self.unknown = Counter()
        self.last_of = {}  # connection -> its last push, in milliseconds
        self.kills = []
        self.differences = []

    def expect(self, schedule):
        self.expected.add(f"sched:{schedule}:{self.due}")

    def killed(self, relay, at):
        self.kills.append(Kill(relay, at))

    def received(self, push):
        """Notes a push of any kind."""
        at, connection = push["receivedAt"], push["connection"]
        self.last_of[connection] = max(at, self.last_of.get(connection, 0))
        event = push.get("payload", {}).get("eventID", "")
        if not event.startswith("sched:"):
            return
        if event not in self.expected:
            self.unknown[event] += 1
        elif push.get("status") == 200:
            self.arrivals.setdefault(event, []).append((at, connection))

    @property
    def repeated(self):
        return sum(len(times) - 1 for times in self.arrivals.values())

    def settle(self):
        """Finds all occurrences that didn't arrive exactly once, and the kills that explain them."""
        for event in sorted(self.expected - self.arrivals.keys()):
            self.differences.append(f"{event}: never arrived")
        for event, count in sorted(self.unknown.items()):
            self.differences.append(f"{event}: arrived {count} times, and no schedule has it")
        for event, arrivals in sorted(self.arrivals.items()):
            arrivals.sort()
            if arrivals[0][0] < self.due:
                self.differences.append(f"{event}: arrived {self.due - arrivals[0][0]} ms before it was due")
            for first, second in zip(arrivals, arrivals[1:]):
                self._settle_again(event, first, second)
        for kill in self.kills:
            if kill.lost > IN_FLIGHT:
                self.differences.append(
                    f"{kill.lost} occurrences were sent again after {kill}, and only {IN_FLIGHT} can have been in flight")
        return self.differences

    def _settle_again(self, event, first, second):
        kills = [kill for kill in self.kills if second[0] > kill.at and self._lost_answer(kill, *first)]
        if second[0] - first[0] < self.lease:
            self.differences.append(
                f"{event}: arrived again after {second[0] - first[0]} ms, while its sender's lease lasted")
        elif kills:
            # The kill that explains the fewest so far, so that close kills share the losses.
            min(kills, key=lambda kill: kill.lost).lost += 1
        else:
            self.differences.append(
                f"{event}: arrived again after {second[0] - first[0]} ms, and no kill lost the answer of {first[0]}")

    def _lost_answer(self, kill, at, connection):
        """Whether the push was in flight when the relay was killed, on a connection that ended with it."""
        return at >= kill.at - ANSWER_TIME and self.last_of[connection] <= kill.at + LAST_WORDS
