"""Shared by all benchmarks: the programs, a temporary directory, processes that are always stopped, and the results."""

import errno
import os
import random
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

PACKAGE = Path(__file__).resolve().parents[3]
BIN = PACKAGE / ".build" / "release"
START_DEADLINE = 20  # seconds for a server to listen
RUN_DEADLINE = 60  # seconds for one run of a load generator
STOP_DEADLINE = 5  # seconds between SIGTERM and SIGKILL
TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Result:
    """One result: the runs of the relay and the reference in pairs."""

    name: str
    unit: str
    reference: str
    goal: float = 0  # the minimum ratio to the reference; 0 for none
    most: float = 0  # the maximum ratio to the reference, of what should be small; 0 for none
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
        """Whether the ratio is as it should be."""
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


class Server:
    """A server process on a port of 127.0.0.1."""

    def __init__(self, process, port, log):
        self.process = process
        self.port = port
        self.log = log

    @property
    def cpu(self):
        """Processor time so far in seconds."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    @property
    def peak_mebibytes(self):
        """Peak resident set size so far."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024


class Workplace:
    def __init__(self, quick, runs, keep=None):
        self.quick = quick
        self.runs = runs
        self.keep = keep
        self.results = []
        self.commands = []
        self.names = {}
        self._servers = []
        self._load = None

    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(1))
        if self.keep:
            self.directory = Path(self.keep).resolve()
            self.directory.mkdir(parents=True)
        else:
            self.directory = Path(tempfile.mkdtemp(prefix="relay-bench-"))
        return self

    def __exit__(self, *_):
        if self._load:
            self._load.kill()
        for server in list(self._servers):
            self.stop(server)
        if not self.keep:
            shutil.rmtree(self.directory, ignore_errors=True)

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

    def serve(self, command, port=None, environment=None):
        """Starts a server; with `port`, waits until it accepts connections there."""
        log = open(self.directory / f"{Path(command[0]).name}.log", "ab")
        process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory,
            env={**os.environ, **(environment or {})}, start_new_session=True)
        server = Server(process, port, log.name)
        self._servers.append(server)
        if port:
            self.wait(server, lambda: _listens(port))
        return server

    def wait(self, server, condition):
        """Waits until a server is ready."""
        began = time.monotonic()
        while not condition():
            if server.process.poll() is not None or time.monotonic() - began > START_DEADLINE:
                sys.exit(f"{server.process.args[0]} does not serve:\n{Path(server.log).read_text()}")
            time.sleep(0.02)

    def stop(self, server):
        self._servers.remove(server)
        server.process.terminate()
        try:
            server.process.wait(STOP_DEADLINE)
        except subprocess.TimeoutExpired:
            server.process.kill()
            server.process.wait()

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
        """Shows `name` in the list of commands instead of a value that changes between runs."""
        self.names[name] = (value, self._short(made_by))

    def reproduce(self, command):
        """Adds a command to the list at the end."""
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


def free_port():
    """Returns an unused port below the kernel's ephemeral range."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED:
                return port


def _listens(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
