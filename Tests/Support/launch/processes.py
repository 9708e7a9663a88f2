"""Starts programs in sessions of their own, waits until they serve, and stops them."""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Below the ephemeral range, from which the kernel could assign a port before it is used.
PORTS = range(20_000, 32_000)
PORT_ATTEMPTS = 100
START_DEADLINE = 40  # seconds until a program must serve
STOP_DEADLINE = 30  # seconds between SIGTERM and SIGKILL
INTERVAL = 0.02  # seconds between checks of a condition
TAIL = 2_000  # characters of a log that a failure prints
TICK = os.sysconf("SC_CLK_TCK")
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_given = []  # abstract sockets, whose names other processes can't take while this process is running


def listens(port):
    """Whether a program accepts connections on a port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port():
    """Returns a port of 127.0.0.1 that no program listens on and that no running launcher has returned."""
    for _ in range(PORT_ATTEMPTS):
        port = random.choice(PORTS)
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind(f"\0relay-port-{port}")
        except OSError:
            name.close()
            continue
        _given.append(name)
        if not listens(port):
            return port
    raise SystemExit("no free port found")


class Failure(SystemExit):
    """An error that ends the process unless it is caught."""


def wait_until(condition, what, seconds=START_DEADLINE, is_possible=lambda: True):
    """Waits until a condition is true and returns its value; exits with `what` after the deadline or once it is impossible."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if not is_possible() or time.monotonic() > end:
            raise Failure(f"{what} within {seconds} s")
        time.sleep(INTERVAL)
    return value


def say(text):
    """Prints a heading."""
    print(f"\033[1m{text}\033[0m", flush=True)


def find_program(name, package):
    """Returns the path of a program; Debian has servers in a directory that may not be on a user's PATH."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") or sys.exit(
        f"{name} is not installed: Debian package {package}")


def unprivileged():
    """Returns a command prefix that runs a command as an unprivileged user, because PostgreSQL refuses root."""
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"] if os.geteuid() == 0 else []


def stat(pid):
    """Returns the fields of /proc/PID/stat after the program's name; an empty list if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def processor_time(pid):
    """Returns the processor time used so far by a process, its children and the children of both that have ended, in seconds."""
    children = [other for other in filter(str.isdigit, os.listdir("/proc")) if stat(other)[1:2] == [str(pid)]]
    # A child that has ended counts with its parent, which is read last.
    return sum(sum(map(int, stat(process)[11:15])) for process in (*children, pid)) / TICK


class Program:
    """A running program, with its output in a log file.

    The kernel kills it when the thread that started it ends, unless it outlives. Start programs on the main thread.
    """

    def __init__(self, name, command, directory, environment=None, is_unprivileged=False, outlives=False):
        self.name = name
        self.command = [str(word) for word in command]
        self.log = Path(directory) / f"{name}.log"
        options = [*([] if outlives else ["--pdeathsig", "KILL"]), *(unprivileged()[1:-1] if is_unprivileged else [])]
        with open(self.log, "ab") as log:
            self._began = log.tell()
            self.process = subprocess.Popen(
                ["setpriv", *options, "--", *self.command] if options else self.command, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, cwd="/" if is_unprivileged else directory, env=environment, start_new_session=True)
        self.pid = self.process.pid

    @property
    def is_running(self):
        return self.process.poll() is None

    @property
    def output(self):
        """The output of this run of the program."""
        with open(self.log, "rb") as log:
            log.seek(self._began)
            return log.read().decode(errors="replace")

    def wait_until_ready(self, condition, seconds=START_DEADLINE):
        """Waits until a condition is true and returns its value; exits with the end of the log if it never is."""
        try:
            return wait_until(condition, "did not serve", seconds, lambda: self.is_running)
        except Failure as failure:
            what = failure if self.is_running else "did not start"
            self.kill()
            raise Failure(f"{self.name} {what} (log: {self.log}):\n{self.output[-TAIL:].rstrip()}") from None

    def stop(self, seconds=STOP_DEADLINE):
        """Ends the program with SIGTERM, or with SIGKILL after a deadline; returns its exit status."""
        if self.is_running:
            self.process.terminate()
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.returncode

    def kill(self):
        """Kills the program and its process group, as the loss of their machine would."""
        if self.is_running:
            os.killpg(self.pid, signal.SIGKILL)
            self.process.wait()

    @property
    def cpu(self):
        """Processor time used so far, in seconds."""
        return processor_time(self.pid)

    @property
    def peak_mebibytes(self):
        """Peak resident set size so far."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024


class Programs:
    """Programs and a directory for their files.

    When the block ends, even by a signal, the programs stop and the directory is removed.
    """

    may_exist = False  # whether a directory that is kept may already exist

    def __init__(self, keep=None):
        self.keep = keep
        self.running = []

    def __enter__(self):
        end_on_signals()
        self.directory = Path(self.keep or tempfile.mkdtemp(prefix="relay-")).resolve()
        if self.keep:
            self.directory.mkdir(parents=True, exist_ok=self.may_exist)
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.end()
        for program in reversed(self.running):
            program.stop()
        if not self.keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    def begin(self):
        """Starts the programs that a subclass runs from the beginning."""

    def end(self):
        """Releases a subclass's resources other than programs."""

    def add(self, program):
        """Registers a program to stop at the end, before those added earlier, and returns it."""
        self.running.append(program)
        return program

    def start(self, name, command, **options):
        """Starts a program in the directory."""
        return self.add(Program(name, command, self.directory, **options))

    def stop(self, program):
        """Stops a program before the end and returns its exit status."""
        self.running.remove(program)
        return program.stop()


def end_on_signals():
    """Makes SIGINT, SIGTERM and SIGHUP raise SystemExit once, so that a second Ctrl-C doesn't interrupt the clean-up."""
    def end(number, _):
        for other in ENDING:
            signal.signal(other, signal.SIG_IGN)
        raise SystemExit(128 + number)
    for number in ENDING:
        signal.signal(number, end)


def run(command, environment=None):
    """Runs a command and returns its exit status; a signal or the death of this process ends the command."""
    process = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "--", *command], env=environment)
    try:
        status = process.wait()
        return status if status >= 0 else 128 - status
    except SystemExit:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_DEADLINE)
        process.kill()
        raise
