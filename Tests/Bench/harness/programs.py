"""The relay and the simulated APNs as servers of a run."""

import json
import subprocess
import urllib.request

from .workplace import BIN, free_port

TEAM, KEY = "TEAM123456", "KEY1234567"
TOPIC = "com.example.app"


def signing_key(workplace):
    """A key as Apple hands them out, made anew for the run."""
    file = workplace.directory / "key.p8"
    if not file.exists():
        _simulator("key", "--out", file)
    return file


def provider_token(workplace):
    """A token signed now with the key of the run, for load generators that can't sign."""
    arguments = ["token", "--key", signing_key(workplace), "--key-id", KEY, "--team-id", TEAM]
    token = _simulator(*arguments)
    workplace.name("TOKEN", token, ".build/release/apns-simulator " + " ".join(map(str, arguments)))
    return token


def start_simulator(workplace, *flags):
    """The simulated APNs on a free port, which takes any key and remembers as few pushes as it can.

    It allows all streams from the start: h2load sends before it knows the limit, and would be refused.
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
    """How many pushes the simulated APNs has answered with 200."""
    with urllib.request.urlopen(f"http://127.0.0.1:{simulator.control}/stats", timeout=5) as answer:
        return json.load(answer)["production"]["accepted"]


def start_relay(workplace, simulator, settings, under=()):
    """A relay with an empty database, which logs to a file as it does by default; `under` another program if wanted."""
    directory = workplace.directory
    for file in directory.glob("relay.db*"):
        file.unlink()
    port = free_port()
    origin = f"https://localhost:{simulator.port}"
    environment = {
        # On, but never reached: what is measured includes their cost.
        "RELAY_EVENTS_PER_MINUTE": "10000000", "RELAY_REGISTRATIONS_PER_MINUTE": "10000000",
        "RELAY_UNKNOWN_SECRETS_PER_MINUTE": "10000000",
        "PORT": str(port), "RELAY_ADMIN_LISTEN": "127.0.0.1:0", "DATABASE_URL": f"sqlite:{directory}/relay.db", "APNS_TEAM_ID": TEAM, "APNS_KEY_ID": KEY,
        "APNS_PRIVATE_KEY_FILE": str(signing_key(workplace)), "APNS_DEFAULT_BUNDLE_ID": TOPIC,
        "APNS_PRODUCTION_URL": origin, "APNS_SANDBOX_URL": origin,
        "APNS_CA_FILE": str(directory / "simulator.pem"), **settings}
    relay = workplace.serve([*under, BIN / "relay", "serve"], port, environment)
    workplace.reproduce(["env", *(f"{name}={value}" for name, value in environment.items()), *under, BIN / "relay", "serve"])
    return relay


def _simulator(*arguments):
    command = [str(part) for part in (BIN / "apns-simulator", *arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
