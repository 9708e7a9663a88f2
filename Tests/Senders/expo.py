"""Sends with Expo's SDK for Python and checks tickets, receipts and the phone's pushes."""

import gzip
import json
import os
import time
import urllib.request

from exponent_server_sdk import DeviceNotRegisteredError, MessageTooBigError, PushClient, PushMessage

URL, CONTROL = os.environ["SENDERS_URL"], os.environ["SENDERS_CONTROL"]
TOKEN = os.environ["SENDERS_TOKEN"]
BOTH = {"apns": f"token={os.environ['SENDERS_DEVICE']}", "webpush": f"subscription={os.environ['SENDERS_BROWSER']}"}
# The phone that has no browser.
DEVICE = os.environ["SENDERS_ALONE_DEVICE"]
ALONE = f"ExponentPushToken[{os.environ['SENDERS_ALONE_TOKEN']}]"
DEADLINE = 60  # seconds until a queued push must have ended


def request(url, body=None, method=None, **headers):
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=30) as answer:
        return json.loads(answer.read())


def payloads(device=f"token={DEVICE}"):
    return [push["payload"] for push in request(f"{CONTROL}/pushes?{device}")["pushes"] if push["status"] in (200, 201)]


def error(ticket):
    try:
        ticket.validate_response()
    except Exception as problem:
        return type(problem)
    return None


def refuse(status, reason):
    """Makes APNs refuse the phone's next pushes, until it is called without a reason."""
    request(f"{CONTROL}/rules", {"rules": [{"match": {"token": DEVICE}, "status": status, "reason": reason}] if reason else []}, "PUT")


def receipt(ticket):
    """The receipt of a waiting push, once it exists."""
    end = time.monotonic() + DEADLINE
    while not (found := client.check_receipts_multiple([ticket])):
        assert time.monotonic() < end, "no receipt"
        time.sleep(0.1)
    return found[0]


client = PushClient(host=URL, timeout=30)
before = {transport: len(payloads(device)) for transport, device in BOTH.items()}
name = f"ExponentPushToken[{TOKEN}]"
messages = [PushMessage(to=name, title="Title", body=f"text {number}", data={"number": number}, sound="default") for number in range(98)]
messages.insert(10, PushMessage(to=f"ExponentPushToken[{TOKEN[:-8]}AAAAAAAA]", body="b"))
messages.insert(20, PushMessage(to=name, body="a" * 5_000))
tickets = client.publish_multiple(messages)
assert len(tickets) == 100
for position, ticket in enumerate(tickets):
    assert error(ticket) == {10: DeviceNotRegisteredError, 20: MessageTooBigError}.get(position), (position, ticket)
for transport, device in BOTH.items():
    assert len(payloads(device)) == before[transport] + 98, transport
got = payloads(BOTH["apns"])[before["apns"]:]
assert sorted(payload["body"]["number"] for payload in got) == list(range(98)), len(got)
assert got[0]["aps"]["sound"] == "default" and got[0]["aps"]["alert"]["title"] == "Title", got[0]
sent = [ticket for ticket in tickets if ticket.is_success()]
for receipts in (client.check_receipts_multiple(sent), client.check_receipts(sent)):
    assert {receipt.id for receipt in receipts} == {ticket.id for ticket in sent}
    assert all(receipt.is_success() for receipt in receipts)
print(f"exponent_server_sdk, 100 messages: ok by {' and '.join(BOTH)}", flush=True)

refuse(503, "ServiceUnavailable")
waiting = client.publish(PushMessage(to=ALONE, body="waits"))
assert waiting.is_success() and client.check_receipts_multiple([waiting]) == [], waiting
refuse(200, None)
assert receipt(waiting).is_success()
assert payloads()[-1]["aps"]["alert"]["body"] == "waits"
print("exponent_server_sdk, a push that waited: ok", flush=True)

# Compressed like requests of more than 1 KiB by Expo's SDK for Node.
body = json.dumps([{"to": [ALONE], "title": "Title", "body": "b" * 2_000}]).encode()
answer = request(f"{URL}/--/api/v2/push/send", gzip.compress(body), **{"Content-Type": "application/json", "Content-Encoding": "gzip"})
assert answer["data"][0]["status"] == "ok", answer
assert payloads()[-1]["aps"]["alert"]["body"] == "b" * 2_000
print("a compressed request: ok", flush=True)

refuse(503, "ServiceUnavailable")
waiting = client.publish(PushMessage(to=ALONE, body="waits", ttl=3_600))
refuse(410, "Unregistered")
failed = receipt(waiting)
assert error(failed) is DeviceNotRegisteredError, failed
assert error(client.publish(PushMessage(to=ALONE, body="b"))) is DeviceNotRegisteredError
print("exponent_server_sdk, a phone that is gone: ok", flush=True)
