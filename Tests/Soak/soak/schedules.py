"""Events that are sent later: each arrives, except those that were cancelled in time."""

import time

from .part import Part

# Seconds until a scheduled event is due.
DELAYS = (1, 12)
# Share of the schedules that are cancelled before they are due.
CANCELLED = 0.2
# Seconds before an event is due within which a cancellation may come too late.
MARGIN = 2
# Schedules per second.
RATE = 8
SESSION = "ses_later_"


class Schedules(Part):
    def __init__(self, *parts):
        super().__init__(*parts)
        self.due = {}  # sessions whose event has to arrive, and their schedules' IDs
        self.cancelled = set()  # sessions whose event must not arrive

    def run(self, chance, is_over):
        number = 0
        while not is_over.wait(chance.random() * 2 / RATE):
            number += 1
            self._schedule(number, chance.choice(self.tenants[1:]), chance, is_over)

    def _schedule(self, number, tenant, chance, is_over):
        session = f"{SESSION}{number}"
        delay = chance.randint(*DELAYS)
        # The name makes a repeated request replace the schedule that the first one stored.
        request = {"secret": tenant.secret, "eventType": "complete", "sessionID": session, "name": session, "in": delay}
        due = time.monotonic() + delay
        answer, attempts = self.client.post_until_done("/v1/schedule/create", request, chance, 4, is_over)
        if attempts > 1:
            self.account.repeated(session, attempts)
        if answer is None:
            return
        schedule = answer["id"]
        if chance.random() < CANCELLED:
            answer, _ = self.client.post_until_done(
                "/v1/schedule/cancel", {"secret": tenant.secret, "id": schedule}, chance, 1, is_over)
            if answer is None or attempts > 1:
                return
            if answer["cancelled"] == 1 and time.monotonic() < due - MARGIN:
                self.cancelled.add(session)
            if answer["cancelled"] == 1:
                return
        self.due[session] = schedule

    def settle(self, arrived, failed, outcomes):
        """Settles the account.

        Every session has arrived somewhere, or has a failed push in the delivery log, or a relay wrote into its own log
        that it failed: a relay that is killed loses the last rows of the delivery log.
        """
        self.account.counts["scheduled events"] += len(self.due)
        self.account.counts["scheduled events that were cancelled in time"] += len(self.cancelled)
        for session in sorted(self.due.keys() - arrived - failed):
            outcome = outcomes.get(self.due[session], "none")
            if outcome == "failed":
                self.account.counts["scheduled events that failed, as only a relay's log says"] += 1
                continue
            self.account.differences.append(
                f"{session}: scheduled, and neither arrived nor failed (schedule {self.due[session]}, outcome {outcome})")
        for session in sorted(self.cancelled & arrived):
            self.account.differences.append(f"{session}: cancelled before it was due, and arrived")
