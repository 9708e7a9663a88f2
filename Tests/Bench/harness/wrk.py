"""Generates HTTP load with wrk, using one thread."""

import json
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "load.lua"


def command(port, connections, seconds, *kind):
    return [
        "wrk", "-t", 1, "-c", connections, "-d", f"{seconds}s", "-s", SCRIPT, f"http://127.0.0.1:{port}", "--", *kind]


def run(workplace, server, command, are_refused=False):
    """Runs wrk once; returns its counters and the server's processor time per request in microseconds."""
    before = server.cpu
    output = workplace.load(command).output
    cpu = server.cpu - before
    figures = json.loads(output.splitlines()[-1])
    refused = figures["requests"] if are_refused else 0
    if figures["broken"] or figures["refused"] != refused:
        sys.exit(f"wrk got unexpected answers:\n{output}")
    figures["rate"] = figures["requests"] * 1e6 / figures["microseconds"]
    figures["cpu"] = cpu * 1e6 / figures["requests"]
    return figures
