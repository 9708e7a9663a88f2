"""Compares the relay's HTTP server on one event loop with libevent's in C."""

import subprocess
from pathlib import Path

from launch.processes import free_port

from . import wrk
from .programs import start_relay, start_simulator

SOURCE = Path(__file__).resolve().parent.parent / "evhttp.c"
CONNECTIONS = 64
GOAL = 1.3  # of evhttp's rate on /health


def measure(workplace):
    workplace.build("relay", "apns-simulator")
    program = workplace.directory / "evhttp"
    compiler = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE, "-levent"]
    workplace.reproduce(compiler)
    subprocess.run(compiler, check=True)
    port = free_port()
    reference = workplace.serve([program, port], port)
    workplace.reproduce(reference.command)
    simulator = start_simulator(workplace)
    relay = start_relay(workplace, simulator, {"RELAY_LOOPS": "1"})
    compare(workplace, reference, relay, "health", GOAL)
    compare(workplace, reference, relay, "refused", 0)
    for server in (relay, simulator, reference):
        workplace.stop(server)


def compare(workplace, reference, relay, kind, goal):
    names = {"health": "GET /health", "refused": "refused POST /v1/event"}
    result = workplace.result(names[kind], "/s", "evhttp", goal=goal)
    seconds = 1 if workplace.quick else 2
    commands = [wrk.command(server.port, CONNECTIONS, seconds, kind) for server in (relay, reference)]
    for command in commands:
        workplace.reproduce(command)
    for turn in range(workplace.runs):
        theirs = wrk.run(workplace, reference, commands[1], kind == "refused")
        ours = wrk.run(workplace, relay, commands[0], kind == "refused")
        result.add(ours["rate"], theirs["rate"], ours["cpu"], theirs["cpu"])
        workplace.progress(result, turn)
