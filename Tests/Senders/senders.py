"""Sends with each sender and checks what the phone and the browser received."""

import json
import os
import secrets
import subprocess
import urllib.request
from datetime import datetime, timedelta

import apprise
from gotify import Gotify
from python_ntfy import NtfyClient

URL, CONTROL = os.environ["SENDERS_URL"], os.environ["SENDERS_CONTROL"]
TOKEN = os.environ["SENDERS_TOKEN"]
# The query that selects each transport's device in the simulator's list of pushes.
DEVICES = {"apns": f"token={os.environ['SENDERS_DEVICE']}", "webpush": f"subscription={os.environ['SENDERS_BROWSER']}"}
HOST = URL.removeprefix("http://")
got = 0


def pushes(device):
    with urllib.request.urlopen(f"{CONTROL}/pushes?{device}", timeout=30) as answer:
        return json.loads(answer.read())["pushes"]


def check(sender, device, count, title, body, kind):
    """Checks that a device has received this many pushes, the last one with these texts."""
    received = pushes(device)
    assert len(received) == count, (sender, device, len(received), count)
    payload = received[-1]["payload"]
    payload = json.loads(payload) if isinstance(payload, str) else payload
    if "notification" in payload:
        # Browsers need a title, so a text without one becomes the title.
        shown, data = payload["notification"], payload["notification"]["data"]
        title, body = (title, body) if title else (body, None)
    else:
        shown, data = payload["aps"]["alert"], payload
    assert (shown.get("title"), shown.get("body"), data.get("kind")) == (title, body, kind), (sender, device, payload)


def rings(sender, title, body, kind):
    """Checks that one more push with these texts arrived by each transport."""
    global got
    got += 1
    for device in DEVICES.values():
        check(sender, device, got, title, body, kind)
    print(f"{sender}: ok by {' and '.join(DEVICES)}", flush=True)


def curl(*arguments):
    done = subprocess.run(["curl", "--silent", "--show-error", "--fail", *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def notify(url, **details):
    sender = apprise.Apprise()
    assert sender.add(url), url.split(":")[0]
    assert sender.notify(**details), url.split(":")[0]


bearer = f"Authorization: Bearer {TOKEN}"
assert curl("-H", bearer, "-d", "Backup failed", f"{URL}/alerts")["event"] == "message"
rings("curl, ntfy", None, "Backup failed", "alerts")
assert curl("-u", f":{TOKEN}", "-H", "Title: T", "-H", "Tags: warning", "-T", os.devnull, f"{URL}/alerts?m=x")["topic"] == "alerts"
rings("curl with PUT and Basic, ntfy", "⚠️ T", "x", "alerts")
assert curl("-F", "message=form", "-H", f"X-Gotify-Key: {TOKEN}", f"{URL}/message")["message"] == "form"
rings("curl with a multipart form, Gotify", None, "form", "gotify")
assert curl(f"{URL}/{TOKEN}/Title/A%20text?group=g")["code"] == 200
rings("curl, Bark", "Title", "A text", "bark")

client = NtfyClient(topic="python", server=URL, auth=TOKEN)
view = NtfyClient.ViewAction(label="Open", url="https://example.org")
answer = client.send("Grüße", title="Title", priority=NtfyClient.MessagePriority.HIGH, tags=["tada", "x-tag"], actions=[view])
assert answer["topic"] == "python" and answer["priority"] == 4, answer
rings("python-ntfy", "🎉 Title", "Grüße", "python")
later = client.send("later", title="Title", schedule=datetime.now() + timedelta(hours=1))
assert later["time"] > datetime.now().timestamp() + 3_000 and all(len(pushes(device)) == got for device in DEVICES.values())

created = Gotify(base_url=URL, app_token=TOKEN).create_message("done", title="Title", priority=5)
assert created["message"] == "done" and created["id"] > 0, created
rings("gotify", "Title", "done", "gotify")

notify(f"ntfy://{HOST}/apprise?auth=token&token={TOKEN}&priority=max&tags=fire", title="Title", body="text")
rings("Apprise, ntfy", "🔥 Title", "text", "apprise")
notify(f"gotify://{HOST}/{TOKEN}", title="Title", body="text")
rings("Apprise, Gotify", "Title", "text", "gotify")
notify(f"bark://{HOST}/{TOKEN}?level=passive", title="Title", body="text")
rings("Apprise, Bark", "Title", "text", "bark")

# OpenChamber's servers register phones only with APNs tokens.
chamber = secrets.token_hex(32)
signed = subprocess.run(["node", "Tests/Senders/openchamber.mjs", URL, chamber], capture_output=True, text=True, check=True)
assert json.loads(signed.stdout) == [[False] + [True] * 99] * 2, signed.stdout
check("OpenChamber", f"token={chamber}", 1, "Agent response is ready – ✓", "A session", None)
print("OpenChamber, signed by Node: ok by apns", flush=True)
