"""Tenants that post events, register and remove devices, and record the responses."""

import random
import threading
import time

from .activities import SESSIONS, Activities
from .client import REQUEST_TIMEOUT, Client
from .questions import Questions
from .schedules import Schedules
from .tokens import new_token

# How many events are posted at the same time, unless a run specifies otherwise.
POSTERS = 8
TENANTS = 24
DEVICES = 3  # per tenant at the start
# How often a tenant's unanswered request is sent again if it has an eventID.
ATTEMPTS = 4


class Tenant:
    def __init__(self, number):
        self.secret = f"secret-of-soak-tenant-{number}-{new_token()[:16]}"
        self.devices = set()
        self.lock = threading.Lock()


class Load:
    def __init__(self, stack, account, chance, rate, posters=POSTERS):
        self.stack = stack
        self.account = account
        self.chance = chance
        self.client = Client(stack)
        self.posters = posters
        self.pause = posters / rate
        self.tenants = [Tenant(number) for number in range(TENANTS)]
        self.threads = []
        self.is_over = threading.Event()
        self.numbers = iter(range(1, 1 << 60))
        self.number_lock = threading.Lock()
        parts = stack, account, self.client, self.tenants
        account.schedules, account.questions, account.activities = (
            Schedules(*parts), Questions(*parts), Activities(*parts))

    def start(self):
        for tenant in self.tenants:
            for _ in range(DEVICES):
                self._register(tenant)
        # A device for which APNs is always too busy: its pushes wait until they expire.
        busy = self._register(self.tenants[0])
        self.account.always_busy = busy
        self.keep_busy()
        parts = [self._churn, *[self._post] * self.posters]
        for part in (self.account.schedules, self.account.questions, *[self.account.activities] * SESSIONS):
            parts.append(lambda chance, part=part: part.run(chance, self.is_over))
        self.threads = [
            threading.Thread(target=part, args=[random.Random(self.chance.randrange(1 << 32))], daemon=True)
            for part in parts]
        for thread in self.threads:
            thread.start()

    def keep_busy(self):
        """Creates the rule for the device for which APNs is too busy; to be called again after rules were removed."""
        rule = {"id": "busy", "match": {"token": self.account.always_busy}, "reason": "TooManyRequests"}
        self.stack.control("PUT", "/rules", rule)

    def stop(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join(REQUEST_TIMEOUT * (ATTEMPTS + 1))
        if any(thread.is_alive() for thread in self.threads):
            raise SystemExit("a request was never answered")

    def end_questions(self):
        """Ends the questions that ring until somebody answers; to be called once the relays have recovered."""
        self.account.questions.end(self.chance, threading.Event())

    # Events

    def _number(self):
        with self.number_lock:
            return next(self.numbers)

    def _post(self, chance):
        while not self.is_over.is_set():
            tenant = chance.choice(self.tenants)
            session = f"ses_{self._number()}"
            event = {"secret": tenant.secret, "eventType": "complete", "sessionID": session}
            kind = chance.random()
            if kind < 0.3:
                event["eventID"] = f"id-{session}"
            if kind < 0.05:
                self._twice_at_once(event, chance)
            else:
                self._once(event, chance)
            time.sleep(chance.random() * 2 * self.pause)

    def _once(self, event, chance):
        """Posts an event; an event with an eventID is repeated until it gets a response."""
        for attempt in range(ATTEMPTS if "eventID" in event else 1):
            status, answer = self.client.post("/v1/event", event, chance.randrange(len(self.stack.ports)))
            if status == 200:
                self.account.answered(event["sessionID"], answer, attempts=attempt + 1)
                return answer
            self.account.refused(event["sessionID"], status)
            if self.is_over.is_set():
                break
            time.sleep(0.2)
        return None

    def _twice_at_once(self, event, chance):
        """Posts the same event at two relays simultaneously: one sends, both give the same response."""
        answers = [None, None]

        def post(index):
            status, answers[index] = self.client.post("/v1/event", event, index % len(self.stack.ports), raw=True)
            if status != 200:
                answers[index] = None
                self.account.refused(event["sessionID"], status)

        threads = [threading.Thread(target=post, args=[index]) for index in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for answer in answers:
            if answer is not None:
                attempts = 1 if None not in answers else 2
                self.account.answered(event["sessionID"], answer, attempts)
        if None not in answers:
            self.account.compared(event["sessionID"], answers)

    # Devices

    def _register(self, tenant):
        token = new_token()
        for _ in range(100):
            status, _ = self.client.post(
                "/v1/device/register", {"secret": tenant.secret, "deviceToken": token},
                self._number() % len(self.stack.ports))
            if status == 200:
                with tenant.lock:
                    tenant.devices.add(token)
                return token
            if self.is_over.wait(0.2):
                break
        return token

    def _churn(self, chance):
        """Removes a device now and then, through the tenant or through APNs, and replaces it."""
        while not self.is_over.wait(0.3 + chance.random()):
            tenant = chance.choice(self.tenants[1:])
            token = chance.choice(sorted(tenant.devices))
            if chance.random() < 0.5:
                self._unregister(tenant, token)
            else:
                self._give_up(tenant, token)
            tenant.devices.discard(token)
            self._register(tenant)

    def _unregister(self, tenant, token):
        request = {"secret": tenant.secret, "deviceToken": token}
        while self.client.post("/v1/device/unregister", request, self._number() % len(self.stack.ports))[0] != 200:
            if self.is_over.wait(0.2):
                # The device may have been removed although no response arrived.
                return self.account.given_up(token)
        self.account.removed(token)

    def _give_up(self, tenant, token):
        """Makes APNs forget the device, so the next event's response reports that it was removed."""
        since = int(time.time() * 1000) + 1000
        self.stack.control("PUT", "/tokens", {"token": token, "state": "unregistered", "since": since})
        self.account.given_up(token)
