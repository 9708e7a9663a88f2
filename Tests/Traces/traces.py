"""Checks what a relay exports; Tests/Traces/run starts it."""

import json
import re
import secrets
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Support"))
from launch.processes import wait_until  # noqa: E402
from launch.programs import Bridge, OpenCode, Phone, Stack, request  # noqa: E402
from receiver import Receiver  # noqa: E402

TOKEN = "collector-token-of-the-test"
TITLE = "A title that no trace may have"
SERVER, CLIENT, PRODUCER, CONSUMER = 2, 3, 4, 5
# Seconds for a response of the relay and for its stop, whatever the collector does. Either would take more than 10 if it waited
# for an export to a silent collector.
SLOWEST, STOP = 8, 9
SETTINGS = {
    "RELAY_ADMIN_LISTEN": "127.0.0.1:0", "RELAY_RETRY_DELAY_MAX": "100ms", "RELAY_TRACES_HEADERS": f"x-token={TOKEN}"}


def post(relay, path, body, **headers):
    data = json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(relay.url + path, data, headers), timeout=30) as answer:
        assert not any(name.lower().startswith("trace") for name in answer.headers), answer.headers
        return json.loads(answer.read())


def traceparent(flags="01"):
    trace, span = secrets.token_hex(16), secrets.token_hex(8)
    return trace, span, f"00-{trace}-{span}-{flags}"


def event(secret, **fields):
    return {"secret": secret, "eventType": "complete", "sessionID": "ses_1", "title": TITLE, **fields}


def dropped(relay):
    """The number of spans that the relay dropped, from its metrics."""
    metrics = request(f"{relay.admin}/metrics").decode()
    return int(re.search(r'^relay_trace_spans_total\{result="dropped"\} (\d+)$', metrics, re.MULTILINE)[1])


def nests(span, parent):
    assert parent.began <= span.began <= span.ended <= parent.ended, (span, parent)


def check_tree(stack, relay, receiver):
    """Sends one event to two phones: one is found in the other environment, the other's push is queued and sent later."""
    phones = [Phone.of(stack.simulator, relay) for _ in range(2)]
    secret = phones[0].secret
    for phone in phones:
        post(relay, "/v1/device/register", {"secret": secret, "deviceToken": phone.token})
    stack.simulator.call("PUT", "/rules", {"rules": [
        {"match": {"token": phones[0].token, "environment": "production"}, "reason": "BadDeviceToken", "count": 1},
        {"match": {"token": phones[1].token}, "reason": "ServiceUnavailable", "count": 1}]})
    trace, caller, header = traceparent()
    answer = post(relay, "/v1/event", event(secret, eventID="e1"), traceparent=header)
    assert (answer["sent"], answer["queued"]) == (1, 1), answer
    push = next(item["apnsID"] for item in answer["deliveries"] if item["status"] == "sent")
    wait_until(lambda: any(span.name == "retry" for span in receiver.spans), "the retry was exported")
    spans = [span for span in receiver.spans if span.trace == trace]
    root = next(span for span in spans if span.name == "POST /v1/event")
    assert (root.kind, root.parent, root.failed) == (SERVER, caller, False), root
    assert root.attributes["http.route"] == "/v1/event" and root.attributes["http.response.status_code"] == 200, root
    assert re.fullmatch("[0-9a-f]{12}", root.attributes["relay.tenant"]), root
    for span in spans:
        assert span is root or span.parent == root.id, span
        nests(span, root)
    names = [span.name for span in spans]
    assert names.count("admission") == names.count("devices") == names.count("claim") == names.count("complete") == 1, names
    assert names.count("enqueue") == 1, names
    assert next(span for span in spans if span.name == "claim").attributes["db.system.name"] == "sqlite"
    attempts = [span for span in spans if span.name == "push"]
    assert all(span.kind == CLIENT and span.attributes["server.address"] == "localhost" for span in attempts), attempts
    first, second = (span for span in attempts if span.attributes["relay.apns_id"] == push)
    assert (first.failed, first.attributes["error.type"], first.attributes["relay.attempt"]) == (True, "BadDeviceToken", 1), first
    assert (second.failed, second.attributes["relay.environment"], second.attributes["relay.attempt"]) == (False, "sandbox", 2), second
    assert first.ended <= second.began and second.attributes["http.request.resend_count"] == 1, (first, second)
    third, = (span for span in attempts if span.attributes["relay.apns_id"] != push)
    assert (third.failed, third.attributes["http.response.status_code"]) == (True, 503), third

    # The queued push has its own trace, whose ID is the push's.
    queued = next(span for span in spans if span.name == "queue")
    (other, begin), = queued.links
    assert queued.kind == PRODUCER and other == third.attributes["relay.apns_id"].replace("-", ""), queued
    later = {span.name: span for span in receiver.spans if span.trace == other}
    assert sorted(later) == ["push", "queue", "retry"], later
    assert later["queue"].id == begin and later["queue"].links == [(trace, root.id)], later
    assert (later["retry"].kind, later["retry"].parent, later["retry"].failed) == (CONSUMER, "", False), later
    assert later["push"].parent == later["retry"].id and later["push"].attributes["relay.attempt"] == 2, later
    nests(later["push"], later["retry"])
    print("a tree of spans: ok", flush=True)
    return secret, trace


def check_asynchronous(relay, receiver, secret):
    trace, _, header = traceparent()
    post(relay, "/v1/event", event(secret, eventID="e2", **{"async": True}), traceparent=header)
    wait_until(lambda: any((span.trace, span.name) == (trace, "schedule") for span in receiver.spans), "the event was exported")
    root, sending = (next(span for span in receiver.spans if (span.trace, span.name) == (trace, name))
                     for name in ("POST /v1/event", "schedule"))
    assert sending.parent == root.id, sending
    assert any(span.parent == sending.id and span.name == "push" for span in receiver.spans), receiver.spans
    print("an asynchronous event: ok", flush=True)


def check_strangers(relay, receiver, secret):
    """Checks that a traceparent that doesn't count, or isn't valid, only changes the log."""
    traces = {}
    for name, (key, flags) in {"unknown": (secrets.token_hex(16), "01"), "unsampled": (secret, "00")}.items():
        traces[name], _, header = traceparent(flags)
        post(relay, "/v1/event", event(key), traceparent=header)
    for header in ("00-" + "0" * 32 + "-00f067aa0ba902b7-01", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                   "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", "x" * 5_000):
        assert post(relay, "/v1/event", event(secret), traceparent=header)["ok"]
    last, _, header = traceparent()
    post(relay, "/v1/event", event(secret), traceparent=header)
    wait_until(lambda: any(span.trace == last for span in receiver.spans), "the last event was exported")
    assert not any(span.trace in traces.values() for span in receiver.spans), traces
    print("strangers: ok", flush=True)
    return traces["unsampled"]


def check_secrecy(relay, receiver, secret, traces):
    assert all(headers["x-token"] == TOKEN for headers in receiver.headers)
    assert all(resource["service.name"] == "apn-relay" for resource in receiver.resources)
    exported, log = b"".join(receiver.bodies).decode(), Path(relay.log).read_text()
    for word in (secret, TOKEN, TITLE):
        assert word not in exported and word not in log, word
    for trace in traces:
        lines = [line for line in log.splitlines() if trace in line]
        assert lines and all('"event":"request"' in line for line in lines), (trace, lines)
    print("secrecy and the log: ok", flush=True)


def check_bridge(stack, relay, receiver):
    """Checks that the bridge's event is in a trace that the relay continues."""
    logged = lambda: [line for line in Path(relay.log).read_text().splitlines() if '"POST /v1/event"' in line]  # noqa: E731
    before = len(logged())
    phone = Phone.of(stack.simulator, relay)
    phone.register()
    opencode = stack.add(OpenCode(stack.directory))
    stack.add(Bridge(stack.programs, stack.directory, opencode, relay, phone.secret))
    opencode.call({"do": "session", "id": "ses_turn", "title": TITLE}, {"do": "begin", "id": "ses_turn"},
                  {"do": "end", "id": "ses_turn", "outcome": "completed", "text": TITLE})
    wait_until(lambda: phone.simulator.pushes(phone.token), "the bridge rang")
    lines = wait_until(lambda: logged()[before:], "the event was logged")
    trace = json.loads(lines[-1])["trace"]
    wait_until(lambda: any(span.trace == trace and span.kind == SERVER for span in receiver.spans), "the event was exported")
    root = next(span for span in receiver.spans if span.trace == trace and span.kind == SERVER)
    assert root.parent and not any(span.id == root.parent for span in receiver.spans), root
    print("the bridge: ok", flush=True)


def check_lies(stack):
    """Checks that misbehaving collectors neither slow the relay nor keep it from stopping."""
    refuse = lambda handler: receiver.answer(handler, 413)  # noqa: E731
    lies = {"413": refuse, "endless": Receiver.endless, "silent": Receiver.silent,
            "429": lambda handler: receiver.answer(handler, 429, [("Retry-After", "3600")])}
    for name, lie in lies.items():
        receiver = Receiver(lie)
        relay = stack.start_relay(name=f"lied-to-{name}", RELAY_TRACES_URL=receiver.url, RELAY_TRACES_RATIO="1", **SETTINGS)
        phone = Phone.of(stack.simulator, relay)
        phone.register()
        phone.deliver()
        wait_until(lambda: receiver.bodies, f"{name}: the relay exported")
        for _ in range(3):
            began = time.monotonic()
            phone.deliver()
            assert time.monotonic() - began < SLOWEST, name
        if name == "413":
            wait_until(lambda: dropped(relay), "the refused spans were counted")
        if name == "endless":
            # Retried, and then refused.
            receiver.behave = refuse
            wait_until(lambda: dropped(relay), "the spans were tried again")
        began = time.monotonic()
        relay.stop()
        assert time.monotonic() - began < STOP, f"{name}: the relay stopped late"
        receiver.close()
    print("collectors that lie: ok", flush=True)


receiver = Receiver()
with Stack({"RELAY_TRACES_URL": receiver.url, "RELAY_TRACES_RATIO": "1", **SETTINGS}) as stack:
    secret, trace = check_tree(stack, stack.relay, receiver)
    check_asynchronous(stack.relay, receiver, secret)
    check_bridge(stack, stack.relay, receiver)
    few = stack.start_relay(name="few", RELAY_TRACES_URL=receiver.url, RELAY_TRACES_RATIO="0", **SETTINGS)
    phone = Phone.of(stack.simulator, few)
    phone.register()
    unsampled = check_strangers(few, receiver, phone.secret)
    check_secrecy(stack.relay, receiver, secret, [trace])
    check_secrecy(few, receiver, phone.secret, [unsampled])
    # The last recorded spans are exported when the relay stops.
    last, _, header = traceparent()
    post(few, "/v1/event", event(phone.secret), traceparent=header)
    few.stop()
    # The receiver may still be reading what the relay sent before it ended.
    wait_until(lambda: any(span.trace == last for span in receiver.spans), "the last spans were exported")
    print("the last export: ok", flush=True)
    check_lies(stack)
