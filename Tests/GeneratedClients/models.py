"""Uses every route with the models that datamodel-code-generator makes: each request and answer is checked by them."""

import httpx
import relay_models as models

from common import TOKENS, URL, LaterRelay, check_all_used

TOKEN = TOKENS["models"]
SECRET = "a secret of the generated models"
headers = {"Authorization": f"Bearer {SECRET}", "Content-Type": "application/json"}
relay = httpx.Client(base_url=URL, transport=LaterRelay(), headers=headers, timeout=30)


def post(path, request, kind, status=200, **members):
    """The answer of a route as a model."""
    body = request.model_validate(members).model_dump_json(by_alias=True, exclude_unset=True)
    answer = relay.post(path, content=body)
    assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text}"
    return kind.model_validate_json(answer.content)


assert models.Ok.model_validate_json(relay.get("/health").content).ok
assert models.Ready.model_validate_json(relay.get("/ready").content).checks.apns
preferences = {"timeZone": "Mars/Olympus", "badge": "unread", "eventTypes": ["permission", "complete", "build"]}
registered = post(
    "/v1/device/register", models.RegisterRequest, models.Registered, deviceToken=TOKEN, preferences=preferences)
assert registered.ignored.root == ["preferences.timeZone"], registered
assert post("/v1/device/list", models.ListRequest, models.DeviceList).devices[0].preferences.badge == "unread"
key = models.WebPushKey.model_validate_json(relay.get("/v1/webpush/key").content).publicKey
browser = {"endpoint": "https://web.push.apple.com/models", "keys": {"p256dh": key, "auth": "A" * 22}}
post("/v1/device/register", models.RegisterRequest, models.Registered, webPush=browser)
browsers = [device.service for device in post("/v1/device/list", models.ListRequest, models.DeviceList).devices]
assert browsers == [None, "web.push.apple.com"], browsers
post("/v1/device/unregister", models.UnregisterRequest, models.Ok, webPush={"endpoint": browser["endpoint"]})
refused = post("/v1/device/list", models.ListRequest, models.Refusal, 400, secret="another")
assert (refused.code, refused.field.value) == ("invalid_field", "secret"), refused
relay.headers["X-Later-Code"] = "1"
refused = post("/v1/device/list", models.ListRequest, models.Refusal, 400, secret="another")
assert refused.code == "code_of_a_later_version", refused
del relay.headers["X-Later-Code"]

shown = {"sessionID": "ses_2", "activityToken": "dd" * 32}
post("/v1/activity/register", models.ActivityRegisterRequest, models.Ok, **shown, deviceToken=TOKEN)
progress = {"eventType": "progress", "sessionID": "ses_2", "contentState": {"step": 1}}
assert post("/v1/event", models.EventRequest, models.EventAnswer, **progress).activities.sent == 1
post("/v1/activity/unregister", models.ActivityUnregisterRequest, models.Ok, **shown)

asked = {"eventType": "permission", "sessionID": "ses_2", "eventID": "e2", "title": "May I?"}
sent = post("/v1/event", models.EventRequest, models.EventAnswer, **asked)
assert sent.sent == 1 and sent.deliveries[0].status.value == "sent", sent
assert post("/v1/presence", models.PresenceRequest, models.Ok, seconds=0).ok
post("/v1/ack", models.AcknowledgeRequest, models.AcknowledgeAnswer, eventID="e2")
post("/v1/reply", models.ReplyRequest, models.ReplyAnswer, eventID="e2", action="once")
waited = post("/v1/reply/wait", models.ReplyWaitRequest, models.ReplyWaitAnswer, eventID="e2", timeout=0)
assert waited.reply.action.root == "once", waited
result = {"eventID": "e2", "outcome": "taken"}
assert post("/v1/reply/result", models.ReplyResultRequest, models.ReplyResultAnswer, **result).result.outcome.value == "taken"
notification = {"title": "t", "sound": {"name": "default", "volume": 0.5}, "kind": "build", "data": {"a": 1}}
assert post("/v1/notify", models.NotifyRequest, models.EventAnswer, notification=notification).sent == 1

batch = [{"eventType": "complete", "sessionID": "ses_2", "eventID": "b2"}, {"eventType": "complete"}]
results = post("/v1/events", models.EventsRequest, models.EventsAnswer, events=batch).results
assert [(result.status, result.ok) for result in results] == [(200, True), (400, False)], results

# Outcomes are listed some seconds after they happened.
page = post("/v1/outcomes", models.OutcomesRequest, models.OutcomesAnswer, limit=1, timeout=20)
assert page.outcomes[0].type.value == "push" and page.outcomes[0].apnsID, page
page = post("/v1/outcomes", models.OutcomesRequest, models.OutcomesAnswer, since="2026-01-01T00:00:00Z")
assert {"push", "acknowledgement", "reply"} >= {outcome.type.value for outcome in page.outcomes}, page

assert post("/v1/history/list", models.HistoryListRequest, models.HistoryAnswer).items
assert post("/v1/history/read", models.HistoryReadRequest, models.HistoryReadAnswer, all=True).unread.root == 0

every = {"unit": "day", "at": ["08:00"], "timeZone": "+05:30"}
created = post(
    "/v1/schedule/create", models.ScheduleRequest, models.ScheduleCreated, every=every, notification={"title": "t"})
listed = post("/v1/schedule/list", models.ListRequest, models.ScheduleList).schedules
assert [schedule.id for schedule in listed] == [created.id], listed
cancelled = post(
    "/v1/schedule/cancel", models.ScheduleCancelRequest, models.ScheduleCancelled, id=created.id.root)
assert cancelled.cancelled == 1

made = relay.post("/v1/token/create", json={"scope": "send", "name": "CI"}).json()
assert [token["tokenID"] for token in relay.post("/v1/token/list", json={}).json()["tokens"]] == [made["tokenID"]]
assert relay.post("/v1/token/revoke", json={"tokenID": made["tokenID"]}).json()["revoked"] == 1
assert relay.post("/v1/presence", json={"seconds": 0}).json()["ok"]

ping = {"jsonrpc": "2.0", "id": "a", "method": "ping"}
assert post("/mcp", models.McpRequest, models.McpAnswer, **ping).id.root == "a"
post("/v1/device/unregister", models.UnregisterRequest, models.Ok, deviceToken=TOKEN)
check_all_used()
print("datamodel-code-generator: every route works")
