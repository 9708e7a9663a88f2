"""What one tenant's 10,000 waiting pushes cost another tenant."""

import http.client
import json
import threading
import time

from .tokens import new_token

BACKLOG = 10_000
BUSY_DEVICES = 50
RATE = 100  # events per second from the other tenant
SECONDS = 20  # per measurement
GOAL = 1.2  # the maximum growth of its p99


def measure(stack):
    port = stack.ports[0]
    quiet, busy = "secret-of-the-quiet-tenant", "secret-of-the-busy-tenant"
    register(port, quiet, [new_token()])
    tokens = [new_token() for _ in range(BUSY_DEVICES)]
    register(port, busy, tokens)
    rules = [{"id": str(number), "match": {"token": token}, "reason": "ServiceUnavailable"}
             for number, token in enumerate(tokens)]
    stack.control("PUT", "/rules", {"rules": rules})
    post_at_rate(port, quiet, 3)  # warms connections and caches
    before = post_at_rate(port, quiet, SECONDS)
    fill(stack, port, busy)
    first = stack.control("GET", "/stats")["production"]["pushes"]
    after = post_at_rate(port, quiet, SECONDS)
    retried = stack.control("GET", "/stats")["production"]["pushes"] - first - len(after)
    waiting = stack.database.waiting("pending_push")
    ratio = percentile(after, 99) / percentile(before, 99)
    print(f"{'':24}{'p50':>10}{'p99':>10}")
    for name, times in [("alone", before), (f"beside {waiting} waiting", after)]:
        print(f"{name:24}{percentile(times, 50) * 1000:8.2f}ms{percentile(times, 99) * 1000:8.2f}ms")
    print(f"{retried} retries of the other tenant in {SECONDS} s; p99 {ratio:.2f} of what it was (at most {GOAL})")
    return 0 if ratio <= GOAL and waiting >= 0.9 * BACKLOG and retried > 0 else 1


def fill(stack, port, secret):
    """Posts events until the given number of pushes is waiting."""
    began = time.monotonic()
    while stack.database.waiting("pending_push") < BACKLOG:
        if time.monotonic() - began > 120:
            raise SystemExit("the queue does not fill")
        threads = [threading.Thread(target=post, args=[port, secret]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def register(port, secret, tokens):
    for token in tokens:
        answer(port, "/v1/device/register", {"secret": secret, "deviceToken": token})


def post(port, secret):
    answer(port, "/v1/event", {"secret": secret, "eventType": "complete", "sessionID": "ses_1"})


def answer(port, path, body, connection=None):
    mine = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    mine.request("POST", path, json.dumps(body))
    response = mine.getresponse()
    content = response.read()
    if response.status != 200:
        raise SystemExit(f"{path} was answered {response.status}: {content}")
    if not connection:
        mine.close()


def post_at_rate(port, secret, seconds):
    """Posts events at a rate that doesn't depend on the responses; returns how long each took."""
    body = {"secret": secret, "eventType": "complete", "sessionID": "ses_1"}
    times, lock = [], threading.Lock()
    count, posters = RATE * seconds, 8
    began = time.monotonic() + 0.1

    def run(offset):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for number in range(offset, count, posters):
            due = began + number / RATE
            time.sleep(max(0, due - time.monotonic()))
            started = time.monotonic()
            answer(port, "/v1/event", body, connection)
            # Measured from when the event was due: a late start counts as waiting.
            with lock:
                times.append(time.monotonic() - min(due, started))

    threads = [threading.Thread(target=run, args=[offset]) for offset in range(posters)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share / 100))]
