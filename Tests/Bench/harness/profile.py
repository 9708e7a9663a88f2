"""Profiles a push: runs the relay under callgrind, which counts instructions, because times are not reproducible.

Kernel time is not included.
"""

import glob
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from .programs import start_relay, start_simulator
from .relay import SECRETS, register

DEVICES = 100  # per secret
CONNECTIONS = 4  # from the load generator, each with one event in flight
WARM_UP, EVENTS = 40, 60
SETTLED = 3  # seconds until deferred writes, mainly to the delivery log, are done
LISTED = 25  # functions
NAME = 110  # maximum characters of a function's name


def measure(workplace):
    workplace.build("relay", "apns-simulator")
    simulator = start_simulator(workplace)
    counts = workplace.directory / "callgrind"
    relay = start_relay(
        workplace, simulator, {"RELAY_DEVICES_PER_SECRET_MAX": str(DEVICES)},
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}"])
    workplace.say("Registering devices, under callgrind")
    register(relay.port, DEVICES)
    body = workplace.directory / "event"
    body.write_text(
        '{"secret":"secret-of-the-bench-1","eventType":"complete","sessionID":"ses_bench","title":"Fix the build",'
        f'"body":"Done. {"All tests pass. " * 5}"}}')
    workplace.say(f"Sending {EVENTS} events to {DEVICES} devices each")
    send(workplace, relay, body, WARM_UP)
    control(relay, "--zero")
    send(workplace, relay, body, EVENTS)
    control(relay, "--dump")
    profile = Profile(sorted(glob.glob(f"{counts}.*"))[-1])
    workplace.stop(relay)
    workplace.stop(simulator)
    profile.show(EVENTS * DEVICES)


def send(workplace, relay, body, events):
    load = workplace.load([
        "h2load", "--h1", "-n", events, "-c", CONNECTIONS, "-d", body, f"http://127.0.0.1:{relay.port}/v1/event"])
    if f"{events} succeeded, 0 failed" not in load.output:
        sys.exit(f"Not every event was answered:\n{load.output}")
    time.sleep(SETTLED)


def control(relay, what):
    done = subprocess.run(
        ["callgrind_control", what, str(relay.pid)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"callgrind_control {what} failed:\n{done.stdout}")


class Profile:
    """A parsed callgrind file: instructions by library and by function, exclusive and inclusive."""

    def __init__(self, file):
        self.names, self.libraries = {}, {}
        self.alone, self.together, self.by_library = Counter(), Counter(), Counter()
        function = called = library = None
        is_call = False
        for line in open(file, errors="replace"):
            key, _, rest = line.rstrip("\n").partition("=")
            if key == "fn":
                function = self._named(self.names, rest)
            elif key == "cfn":
                called = self._named(self.names, rest)
            elif key in ("ob", "cob"):
                named = self._named(self.libraries, rest)
                library = named if key == "ob" else library
            elif key == "calls":
                is_call = True
            elif line[0].isdigit() or line[0] in "+-*":
                count = int(line.split()[1]) if len(line.split()) > 1 else 0
                if is_call:
                    self.together[called] += count
                    is_call = False
                else:
                    self.alone[function] += count
                    self.by_library[library] += count

    @staticmethod
    def _named(names, text):
        number, name = re.match(r"\((\d+)\)(?: (.*))?", text).groups()
        if name:
            names[number] = name
        return number

    def show(self, pushes):
        total = sum(self.alone.values())
        lines = [f"{total / pushes:,.0f} instructions a push", ""]
        for library, count in self.by_library.most_common(8):
            lines.append(f"{count / pushes:8,.0f} {count / total:4.0%}  {Path(self.libraries.get(library, '?')).name}")
        print("\n".join(lines))
        self._list("Functions, alone", self.alone, pushes)
        ours = Counter({
            name: count for name, count in self.together.items()
            if re.match(r"\$s(5Relay|4APNs|5HTTP2|13StorageSQLite)", self.names.get(name, "")) and count < total / 2})
        self._list("Functions of the relay, with what they called", ours, pushes)

    def _list(self, title, counts, pushes):
        """The functions with the most instructions, except unnamed ones."""
        named = [(self.names[name], count) for name, count in counts.most_common() if name in self.names]
        named = [(name, count) for name, count in named if not name.startswith("0x")][:4 * LISTED]
        demangled = subprocess.run(
            ["swift", "demangle", "--simplified", "--compact"], input="\n".join(name for name, _ in named), text=True,
            stdout=subprocess.PIPE, check=True).stdout.splitlines()
        # A coroutine has one function per part, with overlapping inclusive counts.
        most = {}
        for name, (_, count) in zip(demangled, named):
            most.setdefault(name, count)
        print(f"\n{title}")
        for name, count in list(most.items())[:LISTED]:
            print(f"{count / pushes:8,.0f}  {name[:NAME]}")
