"""Starts the relay and the simulated APNs, and lists the commands used."""

import subprocess

from launch.processes import free_port
from launch.programs import KEY, TEAM, Relay, Simulator

from .workplace import BIN


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
    simulator = workplace.add(Simulator(
        BIN, workplace.directory, "--any-key", "--keep", 1, "--initial-streams", 1_000, *flags, production_port=free_port()))
    workplace.reproduce(simulator.command)
    return simulator


def pushes_accepted(simulator):
    """Returns the number of pushes to which the simulated APNs responded with 200."""
    return simulator.call("GET", "/stats")["production"]["accepted"]


def start_relay(workplace, simulator, settings, under=(), program=None, database="relay.db"):
    """Starts a relay with an empty database and the default log to a file, optionally `under` another program."""
    directory = workplace.directory
    for file in directory.glob(f"{database}*"):
        file.unlink()
    settings = {
        # Enabled but never reached, so that their cost is included.
        "RELAY_EVENTS_PER_MINUTE": "10000000", "RELAY_REGISTRATIONS_PER_MINUTE": "10000000",
        "RELAY_UNKNOWN_SECRETS_PER_MINUTE": "10000000", "RELAY_DEVICE_PUSHES_PER_MINUTE": "10000000",
        "RELAY_DEVICE_SECRETS_PER_DAY": "10000000", "RELAY_ADMIN_LISTEN": "127.0.0.1:0", "PORT": str(free_port()),
        "DATABASE_URL": f"sqlite:{directory}/{database}", **simulator.settings, **settings}
    relay = workplace.add(Relay(BIN, directory, settings, program=program, under=under))
    variables = (f"{name}={value}" for name, value in relay.settings.items())
    workplace.reproduce(["env", *variables, *relay.command])
    return relay


def _simulator(*arguments):
    command = [str(part) for part in (BIN / "apns-simulator", *arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
