"""Starts the relay and the simulated APNs."""

import json
import subprocess
import urllib.request

from .workplace import BIN, free_port

TEAM, KEY = "TEAM123456", "KEY1234567"
TOPIC = "com.example.app"


def signing_key(workplace):
    """Creates a key pair like Apple's for the run."""
    file = workplace.directory / "key.p8"
    if not file.exists():
        _simulator("key", "--out", file)
    return file


def provider_token(workplace):
    """Signs a provider token for load generators that can't sign."""
    arguments = ["token", "--key", signing_key(workplace), "--key-id", KEY, "--team-id", TEAM]
    token = _simulator(*arguments)
    workplace.name("TOKEN", token, ".build/release/apns-simulator " + " ".join(map(str, arguments)))
    return token


def start_simulator(workplace, *flags):
    """Starts the simulated APNs on a free port; it accepts any key and keeps as few pushes as possible.

    It allows all streams from the start, because h2load sends before it knows the limit and would be refused.
    """
    directory = workplace.directory
    ready = directory / "simulator.json"
    ready.unlink(missing_ok=True)
    command = [
        BIN / "apns-simulator", "--any-key", "--keep", 1, "--initial-streams", 1_000, "--certificate-file",
        directory / "simulator.pem", "--production-port", free_port(), "--sandbox-port", 0, "--control-port", 0,
        "--ready-file", ready, *flags]
    simulator = workplace.serve(command)
    workplace.wait(simulator, lambda: ready.exists() and ready.read_text().strip())
    ports = json.loads(ready.read_text())
    simulator.port, simulator.control = ports["productionPort"], ports["controlPort"]
    workplace.reproduce(command)
    return simulator


def pushes_accepted(simulator):
    """Returns the number of pushes that the simulated APNs answered with 200."""
    with urllib.request.urlopen(f"http://127.0.0.1:{simulator.control}/stats", timeout=5) as answer:
        return json.load(answer)["production"]["accepted"]


def start_relay(workplace, simulator, settings, under=(), program=BIN / "relay", database="relay.db"):
    """Starts a relay with an empty database and the default log to a file, optionally `under` another program."""
    directory = workplace.directory
    for file in directory.glob(f"{database}*"):
        file.unlink()
    port = free_port()
    origin = f"https://localhost:{simulator.port}"
    environment = {
        # Enabled but never reached, so that their cost is included.
        "RELAY_EVENTS_PER_MINUTE": "10000000", "RELAY_REGISTRATIONS_PER_MINUTE": "10000000",
        "RELAY_UNKNOWN_SECRETS_PER_MINUTE": "10000000", "RELAY_DEVICE_PUSHES_PER_MINUTE": "10000000",
        "RELAY_DEVICE_SECRETS_PER_DAY": "10000000",
        "PORT": str(port), "RELAY_ADMIN_LISTEN": "127.0.0.1:0", "DATABASE_URL": f"sqlite:{directory}/{database}", "APNS_TEAM_ID": TEAM, "APNS_KEY_ID": KEY,
        "APNS_PRIVATE_KEY_FILE": str(signing_key(workplace)), "APNS_DEFAULT_BUNDLE_ID": TOPIC,
        "APNS_PRODUCTION_URL": origin, "APNS_SANDBOX_URL": origin,
        "APNS_CA_FILE": str(directory / "simulator.pem"), **settings}
    if program != BIN / "relay":
        # An older relay refuses settings that it doesn't know.
        known = subprocess.run([program, "serve", "--help"], check=True, capture_output=True, text=True).stdout
        environment = {name: value for name, value in environment.items() if f" {name}" in known}
    relay = workplace.serve([*under, program, "serve"], port, environment)
    workplace.reproduce(["env", *(f"{name}={value}" for name, value in environment.items()), *under, program, "serve"])
    return relay


def _simulator(*arguments):
    command = [str(part) for part in (BIN / "apns-simulator", *arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
