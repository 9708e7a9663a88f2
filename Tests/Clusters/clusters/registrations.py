"""Registers phones one after the other at each relay, and checks that every confirmed registration still exists."""

import threading
import time

from soak.client import Client
from soak.tokens import masked, new_token

PAUSE = 0.1  # seconds between two registrations at one relay
PER_SECRET = 20  # devices
# Seconds from the moment that another node takes over a lost node's role until every relay has registered a device.
RECOVERY_DEADLINE = 60


class Registrations:
    def __init__(self, stack):
        self.stack = stack
        self.client = Client(stack)
        self.answered = {}  # secret -> masked tokens whose registration was answered with 200
        self.times = [[] for _ in stack.ports]  # per relay: (begin, end) of the requests answered with 200
        self.refused = 0
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self._run, args=[relay], daemon=True) for relay in range(len(stack.ports))]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()

    def _run(self, relay):
        while not self.is_over.is_set():
            secret = f"secret-of-registrations-{new_token()[:16]}"
            self.answered[secret] = []
            for _ in range(PER_SECRET):
                self._register(secret, relay)
                if self.is_over.wait(PAUSE):
                    return

    def _register(self, secret, relay):
        token, began = new_token(), time.monotonic()
        status, _ = self.client.post("/v1/device/register", {"secret": secret, "deviceToken": token}, relay)
        if status == 200:
            self.answered[secret].append(masked(token))
            self.times[relay].append((began, time.monotonic()))
        else:
            self.refused += 1

    def wait_for_all(self, since):
        """Waits until every relay has registered a device in a request that began after `since`."""
        end = time.monotonic() + RECOVERY_DEADLINE
        while not all(times and times[-1][0] > since for times in self.times):
            if time.monotonic() > end:
                last = {self.stack.way(relay): times[-1:] for relay, times in enumerate(self.times)}
                raise SystemExit(f"For {RECOVERY_DEADLINE} s not every relay registered a device after {since:.0f}: {last}")
            time.sleep(0.1)

    def outage(self, relay, since):
        """The longest time without a registration at one relay, among those that ended after `since`."""
        ends = [end for _, end in self.times[relay]]
        return max(later - earlier for earlier, later in zip(ends, ends[1:]) if later > since)

    def check(self, differences):
        """Records confirmed devices that aren't listed now as differences; returns how many. Asks all relays in turn."""
        lost = 0
        for number, (secret, tokens) in enumerate(self.answered.items()):
            status, answer = self.client.post("/v1/device/list", {"secret": secret}, number)
            if status != 200:
                differences.append(f"the devices of a secret can't be listed: status {status}")
                continue
            listed = {device["device"] for device in answer["devices"]}
            missing = [token for token in tokens if token not in listed]
            differences += [f"{token}: its registration was answered 200, and it is not there" for token in missing]
            lost += len(missing)
        return lost

    def count(self):
        return sum(map(len, self.answered.values()))
