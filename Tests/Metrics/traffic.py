"""Traffic for every series of the dashboard: pushes with each outcome, to each push service, immediate and queued."""

import json
from urllib.error import HTTPError

from launch.programs import Phone


def send(simulator, relay):
    """Sends a round of traffic through a relay."""
    phone = Phone.of(simulator, relay)
    phone.register()
    phone.deliver(eventType="permission", eventID="per_1")
    phone.post("/v1/ack", {"secret": phone.secret, "eventID": "per_1"})
    phone.post("/v1/schedule/create", {"secret": phone.secret, "in": 1, "eventType": "complete", "sessionID": "ses_1"})
    phone.post("/v1/activity/register", {
        "secret": phone.secret, "sessionID": "ses_1", "activityToken": "a0" + phone.token, "deviceToken": phone.token})
    event(phone, eventType="progress", contentState={"status": "working"})
    # Queued, sent with another provider token, and failed: each rule applies to one push.
    for reason in ("ServiceUnavailable", "ExpiredProviderToken", "PayloadTooLarge"):
        simulator.call("PUT", "/rules", {"reason": reason, "count": 1})
        event(phone)
    simulator.call("POST", "/goaway", {"reason": "Shutdown"})
    phone.post("/v1/device/register", {"secret": phone.secret, "webPush": simulator.subscribe("mozilla")})
    event(phone)
    simulator.call("PUT", "/tokens", {"token": phone.token, "state": "unregistered"})
    event(phone)
    try:
        phone.post("/v1/event", {})
    except HTTPError as error:
        assert error.code == 400, json.loads(error.read())


def event(phone, **fields):
    return phone.post("/v1/event", {"secret": phone.secret, "eventType": "complete", "sessionID": "ses_1", **fields})
