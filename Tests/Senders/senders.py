"""Sends with each sender and checks what the phone got."""

import json
import os
import subprocess
import urllib.request
from datetime import datetime, timedelta

import apprise
from gotify import Gotify
from python_ntfy import NtfyClient

URL, CONTROL = os.environ["SENDERS_URL"], os.environ["SENDERS_CONTROL"]
TOKEN, DEVICE = os.environ["SENDERS_TOKEN"], os.environ["SENDERS_DEVICE"]
HOST = URL.removeprefix("http://")
got = 0


def pushes():
    with urllib.request.urlopen(f"{CONTROL}/pushes?token={DEVICE}", timeout=30) as answer:
        return json.loads(answer.read())["pushes"]


def rings(sender, title, body, kind):
    """Checks that one more push came, with these texts."""
    global got
    got += 1
    received = pushes()
    assert len(received) == got, (sender, len(received), got)
    payload = json.loads(received[-1]["payload"]) if isinstance(received[-1]["payload"], str) else received[-1]["payload"]
    alert = payload["aps"]["alert"]
    assert (alert.get("title"), alert["body"], payload.get("kind")) == (title, body, kind), (sender, payload)
    print(f"{sender}: ok", flush=True)


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
assert later["time"] > datetime.now().timestamp() + 3_000 and len(pushes()) == got

created = Gotify(base_url=URL, app_token=TOKEN).create_message("done", title="Title", priority=5)
assert created["message"] == "done" and created["id"] > 0, created
rings("gotify", "Title", "done", "gotify")

notify(f"ntfy://{HOST}/apprise?auth=token&token={TOKEN}&priority=max&tags=fire", title="Title", body="text")
rings("Apprise, ntfy", "🔥 Title", "text", "apprise")
notify(f"gotify://{HOST}/{TOKEN}", title="Title", body="text")
rings("Apprise, Gotify", "Title", "text", "gotify")
notify(f"bark://{HOST}/{TOKEN}?level=passive", title="Title", body="text")
rings("Apprise, Bark", "Title", "text", "bark")
