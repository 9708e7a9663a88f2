"""Leaves out requests that the document and the relay judge differently because a JSON schema can't express the rule.

A schema counts a string's characters, the relay its UTF-8 bytes. A schema knows no time zones, and can't compare two fields
or make one depend on another's value without listing every combination. Where such a rule decides, neither response would
be a fault; the relay's own tests have a case for each.
"""

import hashlib
import json
import sys
import zoneinfo

import schemathesis

# Schemathesis' generators recurse over nested schemas, sometimes deeper than Python's default of 1,000.
sys.setrecursionlimit(10_000)

# field: minimum and maximum, as in docs/reference/openapi.yaml
BOUNDS = {
    "secret": (16, 512), "sessionID": (1, 255), "serverID": (1, 255), "eventID": (1, 128), "deviceName": (0, 128),
    "deviceModel": (0, 128), "osVersion": (0, 128), "appVersion": (0, 128), "sound": (1, 255), "name": (1, 255),
    "category": (1, 255), "threadID": (1, 255), "text": (1, 4_096)}
# Members that a person would notice, which a background push must not have.
VISIBLE = {
    "title", "subtitle", "body", "badge", "sound", "category", "threadID", "interruptionLevel", "relevanceScore"}
TEXTS = {"title", "subtitle", "body"}
EVENT_FIELDS = {"eventType", "sessionID", "serverID", "title", "body", "category", "mutableContent"}
# Members that a reload of widgets or controls may have.
RELOAD = {"pushType", "priority", "ttl", "collapseID", "kind"}
# A notification of fewer bytes fits APNs' 4,096, whatever has to be escaped.
NOTIFICATION_BYTES_MAX = 2_000
# The limit for an event's category and sealed text with its identifiers, which its payload repeats.
SEALED_EVENT_BYTES_MAX = 700
# The limit for an event with a state for Live Activities.
STATE_EVENT_BYTES_MAX = 2_000
ZONES = zoneinfo.available_timezones()


@schemathesis.hook
def filter_case(context, case):
    body = case.body
    if not isinstance(body, dict):
        return True
    # The relay compares a bearer token with the secret.
    if any(name.lower() == "authorization" for name in case.headers or {}):
        return False
    return (
        counts_alike(body) and texts_say_something(body) and hours_make_sense(body) and sealed_fits(body)
        and notification_agrees(body) and schedule_agrees(body) and token_agrees(body) and outcomes_agree(body) and repeat_makes_sense(body) and activity_agrees(body))


@schemathesis.hook
def before_call(context, case, kwargs):
    """Makes no request wait for a reply, a result or outcomes, since an earlier request's secret may have a device. Adds a missing
    secret, which a header could have instead."""
    body = case.body
    if case.operation.path != "/mcp" and isinstance(body, dict) and "secret" not in body:
        body["secret"] = hashlib.sha256(repr(body).encode()).hexdigest()
    if case.operation.path in ("/v1/reply", "/v1/reply/wait", "/v1/outcomes") and isinstance(body, dict):
        timeout = body.get("timeout", 25 if case.operation.path == "/v1/reply/wait" else None)
        if isinstance(timeout, int) and not isinstance(timeout, bool) and 0 <= timeout <= 50:
            body["timeout"] = 0


def texts_say_something(body):
    """Whether every text is non-empty; an empty one counts as absent."""
    parts = [body, body.get("notification")]
    return not any(isinstance(part, dict) and part.get(name) == "" for part in parts for name in TEXTS)


def counts_alike(body):
    """Whether each text's size is within its limits both in characters and in bytes, or in neither."""
    for field, value in body.items():
        if isinstance(value, dict) and not counts_alike(value):
            return False
        # Both a sound and a schedule have a name.
        bounds = [BOUNDS[field]] if field in BOUNDS else []
        for fewest, most in bounds + [(1, 128)] * (field == "name"):
            if not isinstance(value, str):
                break
            size = len(value.encode("utf-8", "surrogatepass"))
            if (fewest <= len(value) <= most) != (fewest <= size <= most):
                return False
    return True


def hours_make_sense(body):
    preferences = body.get("preferences")
    own = preferences.get("timeZone") if isinstance(preferences, dict) else None
    if isinstance(own, str) and own not in ZONES:
        return False
    hours = preferences.get("quietHours") if isinstance(preferences, dict) else None
    if not isinstance(hours, dict):
        return True
    zone = hours.get("timeZone")
    return hours.get("from") != hours.get("to") and (not isinstance(zone, str) or zone in ZONES)


def repeat_makes_sense(body):
    """Whether a repetition has an ID, belongs to a permission or notification, and lasts at least as long as its interval."""
    repeat = body.get("repeat")
    if not isinstance(repeat, dict):
        return True
    every, total = repeat.get("every"), repeat.get("for")
    if isinstance(every, (int, float)) and isinstance(total, (int, float)) and total < every:
        return False
    return "eventID" in body and body.get("async") is not True and body.get("eventType", "permission") == "permission"


def sealed_fits(body):
    """Whether a sealed event has no readable text and leaves room for its identifiers."""
    if "eventType" not in body or not {"sealed", "category"} & body.keys():
        return True
    if "sealed" in body and {"title", "body"} & body.keys():
        return False
    return len(json.dumps(body)) <= SEALED_EVENT_BYTES_MAX


def notification_agrees(body):
    """Whether a notification's parts go together as Apple requires."""
    beside = {} if "eventType" in body else {name: body[name] for name in TEXTS & body.keys()}
    notification = body.get("notification", {} if beside else None)
    if not isinstance(notification, dict):
        return True
    if beside.keys() & notification.keys():
        return False
    notification = beside | notification
    if len(json.dumps([notification, body.get("sealed")])) > NOTIFICATION_BYTES_MAX:
        return False
    data = notification.get("data")
    if "sealed" in body:
        if not TEXTS & notification.keys() or notification.get("pushType") == "background":
            return False
        if isinstance(data, dict) and {"sealed", "kind", "eventType"} & data.keys():
            return False
    if "kind" in notification and isinstance(data, dict) and "kind" in data:
        return False
    if notification.get("pushType") in ("widgets", "controls"):
        return not notification.keys() - RELOAD and not {"sealed", "repeat"} & body.keys()
    if notification.get("pushType", "alert") == "background":
        return (
            not VISIBLE & notification.keys() and notification.get("priority", 5) == 5
            and notification.get("mutableContent") is not True and notification.get("contentAvailable") is not False)
    if notification.get("mutableContent") is True and not TEXTS & notification.keys():
        return False
    return bool((TEXTS | {"badge", "sound"}) & notification.keys())


def activity_agrees(body):
    """Whether a start token comes with its attributes' type, and an event has the state that it needs and room for it."""
    token = body.get("pushToStartToken")
    if isinstance(token, str) and token and not isinstance(body.get("attributesType"), str):
        return False
    if "contentState" in body:
        return len(json.dumps(body)) <= STATE_EVENT_BYTES_MAX
    return body.get("eventType") not in ("start", "progress", "end")


def token_agrees(body):
    """Whether a token has no expiry time: a schema doesn't know which times are past."""
    return not ("scope" in body and isinstance(body.get("expiresAt"), str))


def outcomes_agree(body):
    """Whether a list of outcomes has neither a cursor, whose bytes must be UTF-8, nor a time, whose day may not exist."""
    return not isinstance(body.get("cursor"), str) and not isinstance(body.get("since"), str)


def schedule_agrees(body):
    """Whether a schedule's time is within reach, its unit has the members that it needs, and it sends one thing."""
    if not {"at", "in", "every"} & body.keys():
        return True
    if "notification" in body and EVENT_FIELDS & body.keys():
        return False
    if isinstance(body.get("at"), str):
        return False
    every = body.get("every")
    if not isinstance(every, dict) or every.get("unit") not in ("hour", "day", "week", "month"):
        return True
    return every["unit"] == "hour" and not every.keys() & {"at", "on", "timeZone", "until"}
