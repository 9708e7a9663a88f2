"""One device token under many secrets, all of which push to the same phone as fast as they can."""

import http.client
import json
import time

from suite.case import Case, Missed

PUSHES = 120  # per minute, to one device
SECRETS = 16  # per day, for one device
# The relays in other cases and in ./dev bench have higher limits.
CASE = Case(
    "one token under many secrets", longest_ms=1_000, growth_mib=32, nginx=False,
    # Accepted events have a log line each. The limits that bound them are never reached in these runs.
    log_kib=None,
    settings=(("RELAY_DEVICE_PUSHES_PER_MINUTE", str(PUSHES)), ("RELAY_DEVICE_SECRETS_PER_DAY", str(SECRETS))))
TRIED = 300
TOKEN = "ab" * 32


def attack(target, seconds):
    connection = http.client.HTTPConnection(target.host, target.port, timeout=10)

    def post(path, **fields):
        connection.request("POST", path, json.dumps(fields))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    began = time.monotonic()
    registered = []
    for number in range(TRIED):
        secret = f"secret-of-the-attacker-{number}"
        status, _ = post("/v1/device/register", secret=secret, deviceToken=TOKEN)
        if status == 200:
            registered.append(secret)
    asked = sent = 0
    while registered and time.monotonic() < began + seconds:
        _, answer = post(
            "/v1/event", secret=registered[asked % len(registered)], eventType="complete", sessionID="ses_1")
        asked += 1
        sent += answer.get("sent", 0)
    said = f"{len(registered)} of {TRIED} secrets registered, {sent:,} of {asked:,} pushes sent"
    # Wait for the bucket to fill.
    allowed = PUSHES + PUSHES / 60 * (time.monotonic() - began) + 1
    if len(registered) > SECRETS or sent > allowed:
        raise Missed(f"{said}, more than {SECRETS} secrets or {allowed:.0f} pushes")
    if sent < PUSHES:
        raise Missed(f"{said}, fewer than the {PUSHES} pushes that are allowed")
    return said
