"""Uses every route with the client that openapi-python-client generates: its functions and typed models."""

import httpx
from relay_client import AuthenticatedClient, Client
from relay_client.api.activities import register_activity, unregister_activity
from relay_client.api.agents import mcp
from relay_client.api.devices import list_, register, unregister, web_push_key
from relay_client.api.events import event, notify
from relay_client.api.history import list_history, read_history
from relay_client.api.outcomes import list_outcomes
from relay_client.api.probes import health, ready
from relay_client.api.replies import acknowledge, reply, report_reply_result, wait_for_reply
from relay_client.api.schedules import cancel_schedule, create_schedule, list_schedules
from relay_client.models import (
    AcknowledgeRequest, ActivityRegisterRequest, ActivityUnregisterRequest, Challenged, DeviceList, EventAnswer,
    EventRequest, EventRequestContentState, EventType, HistoryAnswer, HistoryListRequest, HistoryReadRequest,
    ListRequest, McpRequest, McpRequestParams, Notification, NotificationPriority, NotifyRequest, Ok, OutcomesRequest, Preferences,
    QuietHours, Ready, Recurrence, RecurrenceUnit, Refusal, Registered, RegisterRequest, Repeat, ReplyOutcome,
    ReplyRequest, ReplyResultRequest, ReplyWaitRequest, ScheduleCancelRequest, ScheduleRequest, UnregisterRequest,
    UnregisterRequestWebPush, WebPush, WebPushKey, WebPushKeys)

from common import TOKENS, URL, LaterRelay, check_all_used

TOKEN = TOKENS["client"]
SECRET = "a secret of the generated client"
options = {"timeout": httpx.Timeout(30), "httpx_args": {"transport": LaterRelay()}, "raise_on_unexpected_status": True}
# The secret is sent as a bearer token, so no body contains it.
client = AuthenticatedClient(URL, token=SECRET, **options)
plain = Client(URL, **options)


def call(operation, kind, body=None, by=client):
    """Returns a route's response, which must be of the given type."""
    answer = operation.sync(client=by, **({} if body is None else {"body": body}))
    assert isinstance(answer, kind), f"{operation.__name__}: {answer}"
    return answer


def devices():
    assert call(health, Ok, by=plain).ok
    assert call(ready, Ready, by=plain).checks.storage == "ok"
    assert call(register, Registered, RegisterRequest(device_token=TOKEN)).ok
    key = call(web_push_key, WebPushKey, by=plain).public_key
    browser = WebPush(endpoint="https://web.push.apple.com/client", keys=WebPushKeys(p256dh=key, auth="A" * 22))
    assert call(register, Registered, RegisterRequest(web_push=browser)).ok
    assert [device.transport for device in call(list_, DeviceList, ListRequest()).devices] == ["apns", "webpush"]
    gone = UnregisterRequestWebPush(endpoint=browser.endpoint)
    assert call(unregister, Ok, UnregisterRequest(web_push=gone)).ok
    quiet = QuietHours(from_="22:00", to="07:00", time_zone="Mars/Olympus")
    wanted = RegisterRequest(device_token=TOKEN, device_name="Phone", preferences=Preferences(quiet_hours=quiet))
    assert call(register, Registered | Challenged, wanted).ignored == ["preferences.quietHours.timeZone"]
    # With the secret in the body.
    listed = call(list_, DeviceList, ListRequest(secret=SECRET), by=plain).devices
    assert [device.device_name for device in listed] == ["Phone"], listed
    assert listed[0].preferences.quiet_hours.time_zone == "Mars/Olympus" and len(listed[0].ignored) == 1
    refused = call(register, Refusal, RegisterRequest(device_token="x"))
    assert (refused.code, refused.field) == ("invalid_field", "deviceToken"), refused
    later = AuthenticatedClient(URL, token=SECRET, headers={"X-Later-Code": "1"}, **options)
    refused = call(register, Refusal, RegisterRequest(device_token="x"), by=later)
    assert refused.code == "code_of_a_later_version", refused


def activities():
    shown = ActivityRegisterRequest(session_id="ses_1", activity_token="cc" * 32, device_token=TOKEN)
    assert call(register_activity, Ok, shown).ok
    state = EventRequestContentState.from_dict({"step": 1})
    sent = call(event, EventAnswer, EventRequest(EventType.PROGRESS, session_id="ses_1", content_state=state))
    assert sent.activities.sent == 1, sent
    gone = ActivityUnregisterRequest(session_id="ses_1", activity_token="cc" * 32)
    assert call(unregister_activity, Ok, gone).ok


def events():
    asked = EventRequest(
        EventType.PERMISSION, session_id="ses_1", event_id="e1", title="May I?", repeat=Repeat(every=60, for_=120))
    sent = call(event, EventAnswer, asked)
    assert (sent.sent, [delivery.status for delivery in sent.deliveries]) == (1, ["sent"]), sent
    assert sent.deliveries[0].apns_id
    assert call(acknowledge, object, AcknowledgeRequest(event_id="e1")).acknowledged_at
    assert call(reply, object, ReplyRequest(event_id="e1", action="once", text="yes")).replied_at
    waited = call(wait_for_reply, object, ReplyWaitRequest(event_id="e1", timeout=0))
    assert (waited.reply.action, waited.reply.text) == ("once", "yes"), waited
    reported = call(
        report_reply_result, object, ReplyResultRequest(event_id="e1", outcome=ReplyOutcome.REFUSED, reason="changed"))
    again = call(reply, object, ReplyRequest(event_id="e1", action="once", text="yes"))
    assert again.result == reported.result and again.result.outcome is ReplyOutcome.REFUSED, again
    assert call(notify, EventAnswer, NotifyRequest(title="Only a title")).sent == 1
    full = NotifyRequest(notification=Notification(title="t", badge="unread", sound="default", priority=NotificationPriority(10)))
    assert call(notify, EventAnswer, full).sent == 1
    later = NotifyRequest(notification=Notification(title="t"), async_=True)
    assert call(notify, Ok, later).ok


def batches():
    batch = [{"eventType": "complete", "sessionID": "ses_1", "eventID": "b1"}, {"eventType": "complete"}]
    results = send("/v1/events", {"events": batch})["results"]
    assert [(result["status"], result["ok"]) for result in results] == [(200, True), (400, False)], results


def outcomes():
    # Outcomes are listed a few seconds after they happened.
    first = call(list_outcomes, object, OutcomesRequest(limit=1, timeout=20))
    assert first.outcomes[0].type_ == "push" and first.outcomes[0].apns_id, first
    rest = call(list_outcomes, object, OutcomesRequest(cursor=first.cursor))
    assert first.outcomes[0] not in rest.outcomes and rest.cursor, rest


def history():
    page = call(list_history, HistoryAnswer, HistoryListRequest(limit=2))
    assert len(page.items) == 2 and page.unread >= 2, page
    assert call(read_history, object, HistoryReadRequest(ids=[page.items[0].id])).read == 1
    assert call(read_history, object, HistoryReadRequest(all_=True)).unread == 0


def schedules():
    every = Recurrence(RecurrenceUnit.WEEK, at=["09:20"], on=["mon", "fri"], time_zone="Asia/Calcutta")
    weekly = ScheduleRequest(every=every, name="standup", notification=Notification(title="Standup"))
    first = call(create_schedule, object, weekly)
    once = ScheduleRequest(in_=3600, event_type=EventType.COMPLETE, session_id="ses_1")
    assert call(create_schedule, object, once).next_at
    listed = call(list_schedules, object, ListRequest()).schedules
    assert sorted(schedule.id for schedule in listed)[0] == first.id and len(listed) == 2, listed
    assert any(schedule.every and schedule.every.time_zone == "Asia/Calcutta" for schedule in listed)
    for wanted in [ScheduleCancelRequest(name="standup"), ScheduleCancelRequest(id=listed[0].id)]:
        assert call(cancel_schedule, object, wanted).ok


def agents():
    params = McpRequestParams.from_dict({"name": "list_devices", "arguments": {}})
    answer = call(mcp, object, McpRequest("2.0", "tools/call", id=1, params=params))
    assert answer.id == 1 and "content" in answer.result.additional_properties, answer


def send(path, body):
    """Sends an unmodified body to a route and returns the response."""
    return client.get_httpx_client().post(path, json=body).raise_for_status().json()


def tokens():
    assert send("/v1/presence", {"seconds": 0})["ok"]
    made = send("/v1/token/create", {"scope": "send", "name": "CI"})
    assert [token["tokenID"] for token in send("/v1/token/list", {})["tokens"]] == [made["tokenID"]]
    assert send("/v1/token/revoke", {"tokenID": made["tokenID"]})["revoked"] == 1


devices()
tokens()
activities()
events()
batches()
outcomes()
history()
schedules()
agents()
assert call(unregister, Ok, UnregisterRequest(device_token=TOKEN)).ok
check_all_used()
print("openapi-python-client: every route works")
