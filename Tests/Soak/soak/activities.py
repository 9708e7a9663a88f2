"""Live Activities of sessions: on each phone, the last state that arrives is the end."""

from .part import Part
from .tokens import masked, new_token

# Concurrent sessions, and phones that show each.
SESSIONS, PHONES = 3, 2
INTERVAL = 2  # seconds, RELAY_ACTIVITY_INTERVAL
SESSION = "ses_live_"


class Activity:
    def __init__(self, session):
        self.session = session
        self.updates = []  # (timestamp, event, apns-id) of the pushes that APNs accepted
        self.ended = None  # how the end was reported: sent or queued


class Activities(Part):
    def __init__(self, *parts):
        super().__init__(*parts)
        self.of = {}  # masked token -> activity

    def run(self, chance, is_over):
        number = chance.randrange(1 << 40)
        while not is_over.is_set():
            number += 1
            self._session(f"{SESSION}{number}", chance.choice(self.tenants[1:]), chance, is_over)

    def _session(self, session, tenant, chance, is_over):
        for _ in range(PHONES):
            token = new_token()
            self.of[masked(token)] = Activity(session)
            answer, _ = self.client.post_until_done("/v1/activity/register", {
                "secret": tenant.secret, "sessionID": session, "activityToken": token}, chance, 20, is_over)
            if answer is None:
                return
        event = {"secret": tenant.secret, "sessionID": session}
        for step in range(chance.randint(2, 30)):
            state = {"status": "working", "step": step}
            kind = "progress" if step else "start"
            self.client.post_until_done(
                "/v1/event", {**event, "eventType": kind, "contentState": state}, chance, 1, is_over)
            if is_over.wait(chance.random()):
                break
        # With an ID, so that the event can be posted until it gets a response.
        answer, attempts = self.client.post_until_done("/v1/event", {
            **event, "eventType": "complete", "eventID": f"end_{session}", "contentState": {"status": "done"},
        }, chance, 6, is_over)
        if answer is not None:
            self.account.answered(session, answer, attempts)
            for delivery in answer["deliveries"]:
                if delivery.get("activity"):
                    self.of[delivery["device"]].ended = delivery["status"]

    def received(self, device, push):
        """Notes a push that APNs accepted; returns true if it ends the activity."""
        aps = push["payload"]["aps"]
        self.of[device].updates.append((aps["timestamp"], aps["event"], push.get("headers", {}).get("apns-id")))
        return aps["event"] == "end"

    def settle(self):
        counts = self.account.counts
        for device, activity in self.of.items():
            name = f"{activity.session} {device}"
            counts["pushes to Live Activities"] += len(activity.updates)
            timestamps = {}
            for timestamp, _, push in activity.updates:
                if timestamps.setdefault(timestamp, push) != push:
                    self.account.differences.append(f"{name}: two states have the timestamp {timestamp}")
            if activity.ended != "sent":
                continue
            counts["Live Activities that ended"] += 1
            last = max(activity.updates, default=(0, "nothing", None))
            if last[1] != "end":
                self.account.differences.append(f"{name}: its end was sent, and it shows {last[1]}")
