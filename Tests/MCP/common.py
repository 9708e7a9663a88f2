"""What the scripts share: the relay's and the simulator's addresses, a phone for each test, and what it received."""

import json
import os
import secrets
import time
import urllib.error
import urllib.request

RELAY = os.environ["MCP_TEST_URL"]
CONTROL = os.environ["MCP_TEST_CONTROL"]
MCP = RELAY + "/mcp"
TOOLS = ["send_notification", "ask_user", "list_devices", "schedule_notification", "list_scheduled", "cancel_scheduled"]
SECONDS_MAX = 30                # for any response


def request(url, body=None, headers=None, method=None):
    """Sends a request; returns status, headers and body."""
    data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
    asked = urllib.request.Request(url, data, headers or {}, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=SECONDS_MAX) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


class Phone:
    """A phone, registered under a secret of its own."""

    def __init__(self):
        self.secret = secrets.token_hex(16)
        self.token = secrets.token_hex(32)
        status, _, body = request(
            RELAY + "/v1/device/register",
            {"secret": self.secret, "deviceToken": self.token, "deviceName": "Ada's phone"})
        assert status == 200, body

    @property
    def headers(self):
        return {"Authorization": f"Bearer {self.secret}"}

    def reply(self, event, action, text):
        """Replies to an event as the person would."""
        status, _, body = request(
            RELAY + "/v1/reply", {"secret": self.secret, "eventID": event, "action": action, "text": text})
        assert status == 200, body

    def payloads(self):
        """The payloads of all pushes that APNs accepted for the phone, without those that remove a notification."""
        status, _, body = request(f"{CONTROL}/pushes?token={self.token}")
        assert status == 200, body
        return [push["payload"] for push in json.loads(body)["pushes"] if "clear" not in push["payload"]]

    def expect_notifications(self, titles):
        """Whether the phone received these notifications, in order."""
        payloads = self.payloads()
        assert [payload["aps"]["alert"]["title"] for payload in payloads] == titles, payloads
        return payloads

    def wait_for_notifications(self, titles):
        """Waits until the phone has received these notifications, in order; the relay sends scheduled ones by itself."""
        end = time.monotonic() + SECONDS_MAX
        while len(self.payloads()) < len(titles) and time.monotonic() < end:
            time.sleep(0.05)
        return self.expect_notifications(titles)

    def expect_agent(self, name):
        """Waits until the relay shows that an agent with this name is connected, which it stores after responding."""
        end = time.monotonic() + SECONDS_MAX
        while True:
            _, _, body = request(RELAY + "/v1/device/list", {"secret": self.secret})
            agent = json.loads(body).get("agent")
            if agent and agent.get("client") == name:
                assert agent["status"] == "connected", agent
                return
            assert time.monotonic() < end, agent
            time.sleep(0.05)

    def expect_hidden(self, answer):
        """Whether a response contains neither the secret nor the token."""
        assert self.secret not in answer and self.token not in answer
