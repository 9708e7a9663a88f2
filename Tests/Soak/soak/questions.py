"""Permissions that ring until somebody acknowledges them or replies."""

import time

from .part import Part

EVERY, FOR = 60, 180
# Questions per second.
RATE = 1
# Shares of the ways in which a question ends.
ACKNOWLEDGED, REPLIED = 0.4, 0.3
# Seconds by which a repetition may be late: a killed relay's lease, and a fault.
LATE = 200
SESSION = "ses_ask_"


class Question:
    def __init__(self, secret, event, asked, pushes):
        self.secret = secret
        self.event = event
        self.asked = asked  # seconds since 1970, before it was posted for the first time
        self.pushes = pushes  # the apns-ids of its first ring
        self.is_quiet = False  # acknowledged before its first repetition
        self.reply = None


class Questions(Part):
    def __init__(self, *parts):
        super().__init__(*parts)
        self.asked = {}  # session -> question
        self.rings = {}  # session -> {apns-id: when it arrived, in milliseconds}

    def run(self, chance, is_over):
        number = 0
        while not is_over.wait(chance.random() * 2 / RATE):
            number += 1
            self._ask(f"{SESSION}{number}", chance.choice(self.tenants[1:]), chance, is_over)

    def _ask(self, session, tenant, chance, is_over):
        event = f"per_{session}"
        asked = time.time()
        answer, attempts = self.client.post_until_done("/v1/event", {
            "secret": tenant.secret, "eventType": "permission", "sessionID": session, "eventID": event,
            "repeat": {"every": EVERY, "for": FOR}}, chance, 4, is_over)
        if answer is None:
            return
        self.account.answered(session, answer, attempts)
        question = Question(tenant.secret, event, asked, {push.get("apnsID") for push in answer["deliveries"]})
        fate = chance.random()
        if fate < ACKNOWLEDGED:
            self._acknowledge(question, chance, is_over)
        elif fate < ACKNOWLEDGED + REPLIED:
            self._reply(session, question, chance, is_over)
        self.asked[session] = question

    def _acknowledge(self, question, chance, is_over):
        request = {"secret": question.secret, "eventID": question.event}
        answer, _ = self.client.post_until_done("/v1/ack", request, chance, 10, is_over)
        question.is_quiet = answer is not None and time.time() < question.asked + EVERY - 5

    def _reply(self, session, question, chance, is_over):
        request = {
            "secret": question.secret, "eventID": question.event, "action": "once", "text": f"text of {session}"}
        answer, _ = self.client.post_until_done("/v1/reply", request, chance, 10, is_over)
        if answer is None:
            return
        question.reply = request["text"]
        question.is_quiet = time.time() < question.asked + EVERY - 5

    def received(self, session, push):
        self.rings.setdefault(session, {}).setdefault(push.get("headers", {}).get("apns-id"), push["receivedAt"])

    def repetitions(self, session, question):
        """The apns-ids of its repeated pushes.

        If the event was posted again, a relay that was killed before it responded may have sent a first ring whose
        apns-ids nobody knows, so pushes that arrived before the first repetition is due don't count.
        """
        posted_again = self.account.attempts.get(session, 1) > 1
        due = (question.asked + EVERY - 1) * 1000 if posted_again else 0
        return {push for push, at in self.rings.get(session, {}).items() if push not in question.pushes and at >= due}

    def end(self, chance, is_over):
        """Acknowledges the questions that still ring, and asks each relay for every reply."""
        self.ended = time.time()
        for session, question in self.asked.items():
            if question.reply is None:
                request = {"secret": question.secret, "eventID": question.event}
                if self.client.post_until_done("/v1/ack", request, chance, 20, is_over)[0] is None:
                    self.account.differences.append(f"{session}: nobody took its acknowledgement")
                continue
            request = {"secret": question.secret, "eventID": question.event, "timeout": 0}
            for relay in range(len(self.stack.ports)):
                status, answer = self.client.post("/v1/reply/wait", request, relay)
                if status == 0:  # a kept-alive connection that the relay's restart closed
                    status, answer = self.client.post("/v1/reply/wait", request, relay)
                text = (answer or {}).get("reply", {}).get("text")
                if status != 200 or text != question.reply:
                    self.account.differences.append(
                        f"{session}: the reply was kept, and relay {relay} answers {status} without it")

    def settle(self):
        counts = self.account.counts
        for session, question in self.asked.items():
            again = self.repetitions(session, question)
            if question.is_quiet:
                counts["questions that were acknowledged or replied to at once"] += 1
                if again:
                    self.account.differences.append(f"{session}: rang again after its acknowledgement")
            elif question.reply is None and self.ended - question.asked > FOR + LATE:
                counts["questions that nobody answered"] += 1
                if not again:
                    self.account.differences.append(f"{session}: nobody answered it, and it rang only once")
            counts["repetitions that arrived"] += len(again)
