"""Shared by all benchmarks: the programs, a temporary directory, load generators, and the results."""

import os
import resource
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, field
from statistics import median

from launch.processes import Programs, listens
from launch.programs import ROOT as PACKAGE

BIN = PACKAGE / ".build" / "release"
RUN_DEADLINE = 60  # seconds for one run of a load generator


@dataclass
class Result:
    """One result: the runs of the relay and the reference in pairs."""

    name: str
    unit: str
    reference: str
    goal: float = 0  # the minimum ratio to the reference; 0 for none
    most: float = 0  # the maximum ratio to the reference, for quantities that should be small; 0 for none
    each: int = 1  # reference units per unit of ours, such as pushes per event
    ours: list = field(default_factory=list)
    theirs: list = field(default_factory=list)
    cpu_ours: list = field(default_factory=list)  # microseconds per push, request or event
    cpu_theirs: list = field(default_factory=list)
    remark: str = ""

    def add(self, ours, theirs, cpu_ours=None, cpu_theirs=None):
        """Adds a pair of runs."""
        self.ours.append(ours)
        self.theirs.append(theirs)
        if cpu_ours is not None:
            self.cpu_ours.append(cpu_ours)
        if cpu_theirs is not None:
            self.cpu_theirs.append(cpu_theirs)

    @property
    def reached(self):
        """Whether the ratio meets its goal."""
        return self.ratio >= self.goal and (not self.most or self.ratio <= self.most)

    @property
    def ratio(self):
        """The median of the pairs' ratios; both runs of a pair had similar machine conditions."""
        return median(ours * self.each / theirs for ours, theirs in zip(self.ours, self.theirs))


@dataclass
class Run:
    """The output and processor time of a load generator."""

    output: str
    seconds: float
    cpu: float


class Workplace(Programs):
    def __init__(self, quick, runs, keep=None):
        super().__init__(keep)
        self.quick = quick
        self.runs = runs
        self.results = []
        self.commands = []
        self.names = {}
        self._load = None

    def end(self):
        if self._load:
            self._load.kill()

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def build(self, *products):
        for product in products:
            self.say(f"Building {product}")
            command = ["swift", "build", "-c", "release", "--product", product]
            done = subprocess.run(command, cwd=PACKAGE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                sys.exit(done.stdout)

    def progress(self, result, turn):
        """Prints the last pair of runs."""
        self.say(
            f"{result.name} ({turn + 1}/{self.runs}): {result.ours[-1]:,.0f}{result.unit}, "
            f"{result.reference} {result.theirs[-1]:,.0f}")

    def serve(self, command, port):
        """Starts a server and waits until it accepts connections on a port."""
        server = self.start(os.path.basename(command[0]), command)
        server.port = port
        server.wait_until_ready(lambda: listens(port))
        return server

    def load(self, command, environment=None):
        """Runs a load generator to completion."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        self._load = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=self.directory, env={**os.environ, **(environment or {})})
        try:
            output, _ = self._load.communicate(timeout=RUN_DEADLINE)
        except subprocess.TimeoutExpired:
            self._load.kill()
            output, _ = self._load.communicate()
            sys.exit(f"{command[0]} took longer than {RUN_DEADLINE} s:\n{output}")
        seconds = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if self._load.returncode:
            sys.exit(f"{' '.join(map(str, command))} failed:\n{output}")
        self._load = None
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Run(output, seconds, cpu)

    def result(self, *arguments, **options):
        result = Result(*arguments, **options)
        self.results.append(result)
        return result

    def name(self, name, value, made_by):
        """Makes the list of commands show `name` instead of a value that changes between runs."""
        self.names[name] = (value, self._short(made_by))

    def reproduce(self, command):
        """Adds a command to the list printed at the end."""
        line = " ".join(self._word(part) for part in command)
        if line not in self.commands:
            self.commands.append(line)

    def _word(self, part):
        text = self._short(part)
        return f'"{text}"' if "$" in text and " " in text else text if "$" in text else shlex.quote(text)

    def _short(self, text):
        text = str(text).replace(str(self.directory), "$BENCH").removeprefix(f"{PACKAGE}/")
        for name, (value, _) in self.names.items():
            text = text.replace(value, f"${name}")
        return text

