"""Starts the relay, the simulated APNs, the bridge and a stand-in for an OpenCode server."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

from .processes import Program, Programs

ROOT = Path(__file__).resolve().parents[3]
TEAM, KEY, TOPIC = "ABCDE12345", "KEY1234567", "com.example.app"
REQUEST_DEADLINE = 30  # seconds for a response
# Without limits per minute and day, for tests that send more.
UNLIMITED = {
    f"RELAY_{name}": "0" for name in (
        "EVENTS_PER_MINUTE", "REGISTRATIONS_PER_MINUTE", "UNKNOWN_SECRETS_PER_MINUTE", "DEVICE_PUSHES_PER_MINUTE",
        "DEVICE_SECRETS_PER_DAY")}
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def binaries(directory=None):
    """Returns the directory of the programs: the given one, $BIN, or the debug build's."""
    return (ROOT / (directory or os.environ.get("BIN") or ".build/debug")).resolve()


def request(url, body=None, method=None, timeout=REQUEST_DEADLINE):
    """Sends a request, with JSON if there is a body, and returns the response's bytes."""
    data = None if body is None else json.dumps(body).encode()
    with _direct.open(urllib.request.Request(url, data, method=method), timeout=timeout) as response:
        return response.read()


def without_settings(environment):
    """Returns an environment without relay settings and without RELAY_TEST_ variables, which a relay would refuse."""
    return {
        name: value for name, value in environment.items()
        if not name.startswith(("RELAY_", "APNS_")) and name not in ("PORT", "HOST", "DATABASE_URL")}


def make_certificate(directory):
    """Creates tls.pem, a certificate for localhost and 127.0.0.1, and tls.key; returns their paths."""
    certificate, key = directory / "tls.pem", directory / "tls.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True)
    return certificate, key


class Simulator(Program):
    """The simulated APNs and Web Push services; a relay with `settings` can push to them."""

    def __init__(self, programs, directory, *flags, production_port=0):
        key, ready = directory / "key.p8", directory / "simulator.json"
        certificate = directory / "simulator.pem"
        program = programs / "apns-simulator"
        if not key.exists():
            subprocess.run([program, "key", "--out", key], check=True, stdout=subprocess.DEVNULL)
        ready.unlink(missing_ok=True)
        keys = [] if "--any-key" in flags else ["--public-key", f"{key}.pub", "--key-id", KEY, "--team-id", TEAM]
        super().__init__("simulator", [
            program, *keys, "--certificate-file", certificate, "--production-port", production_port, "--sandbox-port", 0,
            "--webpush-port", 0, "--control-port", 0, "--ready-file", ready, *flags], directory)
        self.wait_until_ready(lambda: ready.exists() and ready.read_text().strip())
        ports = json.loads(ready.read_text())
        self.port = ports["productionPort"]
        self.control = f"http://127.0.0.1:{ports['controlPort']}"
        self.certificate, self.web_push = certificate, ports["webPushURL"].removeprefix("https://")
        self.settings = {
            "APNS_TEAM_ID": TEAM, "APNS_KEY_ID": KEY, "APNS_PRIVATE_KEY_FILE": str(key), "APNS_DEFAULT_BUNDLE_ID": TOPIC,
            "APNS_CA_FILE": str(certificate), "APNS_PRODUCTION_URL": f"https://localhost:{self.port}",
            "APNS_SANDBOX_URL": f"https://localhost:{ports['sandboxPort']}",
            "RELAY_VAPID_SUBJECT": "mailto:trial@example.org", "RELAY_WEBPUSH_CA_FILE": str(certificate),
            "RELAY_WEBPUSH_HOSTS": self.web_push}

    def call(self, method, path, body=None):
        """Calls the control API and returns the JSON of its response."""
        return json.loads(request(self.control + path, body, method))

    def subscribe(self, vendor):
        """Makes a Web Push subscription and returns it as a browser registers it."""
        made = self.call("POST", "/webpush/subscriptions", {"vendor": vendor})
        return {"endpoint": made["endpoint"], "keys": made["keys"]}

    def pushes(self, token, query=""):
        """Returns the pushes to a device as lines of text."""
        return request(f"{self.control}/pushes?token={token}&format=text{query}").decode()


class Relay(Program):
    """A relay, or another build of it, `program`; `url` is the address that it logs, and `port` its port."""

    def __init__(self, programs, directory, settings, *flags, name="relay", program=None, under=(), inherited=None):
        self.settings = {
            "PORT": "0", "RELAY_ADMIN_LISTEN": "off", "DATABASE_URL": f"sqlite:{directory}/relay.db", **settings}
        if program:
            # An older relay refuses unknown settings.
            known = subprocess.run([program, "serve", "--help"], check=True, capture_output=True, text=True).stdout
            self.settings = {name: value for name, value in self.settings.items() if f" {name}" in known}
        environment = without_settings(os.environ) if inherited is None else inherited
        super().__init__(
            name, [*under, program or programs / "relay", "serve", *flags], directory, {**environment, **self.settings})
        start = json.loads(self.wait_until_ready(self._start))
        self.url, self.admin = start["listening"], start.get("admin")
        self.port = urllib.parse.urlsplit(self.url).port

    def _start(self):
        return next((line for line in self.output.splitlines(True) if '"event":"start"' in line and line[-1] == "\n"), None)


class OpenCode(Program):
    """A stand-in for an OpenCode server."""

    def __init__(self, directory):
        super().__init__(
            "opencode", [sys.executable, "-u", ROOT / "Tests/EndToEndTests/Support/opencode.py", "2"], directory)
        lines = self.wait_until_ready(lambda: [line for line in self.output.splitlines() if line.startswith("port ")])
        self.url = f"http://127.0.0.1:{lines[0].split()[1]}"

    def call(self, *calls):
        """Runs several scripted calls at once."""
        request(f"{self.url}/_do", {"do": "all", "calls": calls})


class Bridge(Program):
    """A bridge from an OpenCode server to a relay, without this user's own bridge settings."""

    def __init__(self, programs, directory, opencode, relay, secret):
        state = directory / "bridge"
        shutil.rmtree(state, ignore_errors=True)
        state.mkdir(mode=0o700)
        file = state / "secret"
        file.touch(0o600)
        file.write_text(secret)
        super().__init__("bridge", [
            programs / "agent-bridge", "serve", "--opencode-url", opencode.url, "--relay-url", relay.url,
            "--state-directory", state], directory, {"PATH": os.environ["PATH"]})
        self.wait_until_ready(lambda: "connected to OpenCode" in self.output)


class Phone:
    """A simulated phone; `post` sends a body to one of the relay's paths and returns the response's JSON."""

    def __init__(self, simulator, post):
        self.simulator, self.post = simulator, post
        self.secret, self.token = secrets.token_hex(16), secrets.token_hex(32)
        self.expected = 0

    @classmethod
    def of(cls, simulator, relay):
        return cls(simulator, lambda path, body: json.loads(request(relay.url + path, body)))

    def register(self):
        response = self.post("/v1/device/register", {"secret": self.secret, "deviceToken": self.token})
        if not response.get("ok"):
            raise SystemExit(f"The device was not registered: {response}")

    def deliver(self, **fields):
        """Posts an event and checks that the phone received its push; returns the response."""
        event = {"secret": self.secret, "eventType": "complete", "sessionID": "ses_1", "title": "Done", **fields}
        response = self.post("/v1/event", event)
        self.expected += 1
        if response.get("sent") != 1:
            raise SystemExit(f"The push was not sent: {response}")
        got = self.simulator.pushes(self.token).count("200 accepted")
        if got != self.expected:
            raise SystemExit(f"The phone got {got} pushes instead of {self.expected}")
        return response


class Stack(Programs):
    """A simulated APNs and a relay."""

    def __init__(self, settings=None, programs=None, keep=None):
        super().__init__(keep)
        self.settings = settings or {}
        self.programs = binaries(programs)

    def begin(self):
        self.simulator = self.add(Simulator(self.programs, self.directory))
        self.relay = self.start_relay()

    def start_relay(self, name="relay", **settings):
        """Starts a relay with the stack's settings and further ones."""
        database = {"DATABASE_URL": f"sqlite:{self.directory}/{name}.db"}
        return self.add(Relay(
            self.programs, self.directory, {**self.simulator.settings, **database, **self.settings, **settings}, name=name))
