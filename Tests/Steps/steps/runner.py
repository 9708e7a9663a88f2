"""Runs steps beside each other and shows a person how they go.

Each step's whole output is in a log of its own. What is printed: when a step begins and ends, how long steps take that
take long, and of a failure which test failed, its output and the command that repeats it, once more at the end.
"""

import ctypes
import os
import re
import resource
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path

from . import stacks
from .output import Output
from .step import startable

ROOT = Path(__file__).resolve().parents[3]
LOGS = ROOT / ".build" / "test-logs"
END_SECONDS = 30                # for a process to end after it has closed its output
PROGRESS_SECONDS = 60           # between lines about steps that go on
END_LINES = 32                  # lines about failures at the very end
STACK_LINES = 200               # lines of stacks shown of a step that hangs
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
FUNC = re.compile(r"\bfunc (\w+)\(")
TYPE = re.compile(r"^(?:\w+ )*(?:struct|class|actor|extension|enum) (\w+)")


class Running:
    """A step's process and what it has printed."""

    def __init__(self, step):
        self.step, self.name = step, step.name
        self.background, self.cores = step.background, step.cores
        self.began = self.heard = self.shown = time.monotonic()
        self.output, self.rest, self.ending = Output(), b"", None
        self.processor_seconds = 0.0
        self.log_path = LOGS / f"{step.name}.log"
        self.log = open(self.log_path, "wb")
        self.process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", step.command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=self._prepare)

    def _prepare(self):
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    @property
    def seconds(self):
        return int(time.monotonic() - self.began)

    def read(self):
        """Takes what the step has printed; whether it can print more."""
        piece = os.read(self.process.stdout.fileno(), 65536)
        self.heard = time.monotonic()
        self.log.write(piece)
        *lines, self.rest = (self.rest + piece).split(b"\n")
        for line in lines:
            self.output.take(line)
        return bool(piece)

    def end(self, why=None):
        """Ends the step's processes; `why` makes it a failure."""
        self.ending = self.ending or why
        stacks.end([self.process.pid, *stacks.descendants(self.process.pid)])

    @property
    def exited(self):
        """Whether the process has exited, without waiting for it, so that `close` sees what it used."""
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def close(self):
        """Reads the last line and waits for the process, which has closed its output or is being ended."""
        if self.rest:
            self.output.take(self.rest)
        self.process.stdout.close()
        self.log.close()
        before = used_by_children()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.end("its output is closed, but it goes on")
            self.process.wait()
        self.processor_seconds = used_by_children() - before

    @property
    def problem(self):
        """Why the step failed; None if it passed."""
        if self.ending:
            return self.ending
        status = self.process.returncode
        if status:
            return f"signal {-status}" if status < 0 else f"status {status}"
        return "a sanitizer's report" if self.output.sanitizer else None

    def repeat(self):
        """The commands that repeat the failure: the step, and the tests that failed if their places are known."""
        yield f"./dev test --only {self.name}"
        tests = [test for test in dict.fromkeys(test_at(*place) for place in self.output.places) if test]
        if tests and "swift test" in self.step.command:
            scratch = re.search(r"--scratch-path \S+", self.step.command)
            flags = f"{scratch.group(0)} " if scratch else ""
            yield f"swift test --skip-build {flags}--filter '{'|'.join(tests[:5])}'"


def test_at(file, line, folders=(ROOT / "Tests", ROOT / "clients")):
    """The name, as --filter takes it, of the test at a line of a Swift file; None if there is none."""
    found = [path for folder in folders for path in folder.rglob(Path(file).name)]
    if len(found) != 1:
        return None
    lines = found[0].read_text().splitlines()
    # A thrown error is reported at the attribute before the function.
    at = next((number for number in range(line - 1, len(lines)) if "func " in lines[number]), None) \
        if "@Test" in lines[line - 1] else line - 1
    function = kind = None
    for number in range(at or 0, -1, -1):
        if not function and (match := FUNC.search(lines[number])):
            function = match[1]
            # Without the attribute it is a helper.
            if not any("@Test" in text for text in lines[max(0, number - 10):number + 1]):
                return None
        if match := TYPE.match(lines[number]):
            kind = match[1]
            break
    return f"{kind}/{function}" if kind and function else None


def used_by_children():
    """Processor seconds of the processes that have been waited for, and of those that they waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Run:
    """A run of some steps."""

    def __init__(self, steps, cores, keep_going=False, say=print):
        self.pending, self.cores, self.keep_going, self.print = list(steps), cores, keep_going, say
        self.running, self.passed, self.failed = [], [], []
        self.began = time.monotonic()
        self.selector = selectors.DefaultSelector()

    def say(self, text):
        self.print(f"{clock(time.monotonic() - self.began):>6}  {text}")

    def run(self):
        """Runs all steps and returns the exit status."""
        LOGS.mkdir(parents=True, exist_ok=True)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(130))
        try:
            while self.running or self.pending:
                self._start()
                self._listen()
        finally:
            for step in self.running:
                step.end()
                step.process.wait()
        self._close()
        return 1 if self.failed else 0

    def _start(self):
        failed = {step.name for step in self.failed}
        for step in [step for step in self.pending if failed & set(step.after)]:
            self.pending.remove(step)
            self.say(f"{step.name}: left out, because {' and '.join(sorted(failed & set(step.after)))} failed")
            failed.add(step.name)
        if self.failed and not self.keep_going:
            self.pending = []
        for step in startable(self.pending, self.running, {step.name for step in self.passed}, self.cores):
            self.pending.remove(step)
            self.say(f"{step.name}: {step.what}")
            running = Running(step)
            self.running.append(running)
            self.selector.register(running.process.stdout, selectors.EVENT_READ, running)

    def _listen(self):
        for key, _ in self.selector.select(timeout=1):
            step = key.data
            if not step.read():
                self._ended(step)
        for step in list(self.running):
            now = time.monotonic()
            if step.exited and now - step.heard > 1:
                self._ended(step)       # a process that outlived the step holds its output open
            elif step.ending is None and now - step.began > step.step.limit:
                self._hangs(step, f"not done after {step.step.limit} s")
            elif step.ending is None and now - step.heard > step.step.quiet:
                self._hangs(step, f"no output for {step.step.quiet} s")
            elif now - step.shown > PROGRESS_SECONDS:
                step.shown = now
                count = f"{step.output.passed} tests passed; " if step.output.passed else ""
                latest = step.output.latest[:100].decode(errors="replace")
                self.say(f"   {step.name}, {step.seconds} s: {count}{latest}")

    def _hangs(self, step, why):
        pids = [step.process.pid, *stacks.descendants(step.process.pid)]
        self.say(f"{step.name}: {why}. Stacks:")
        for number, line in enumerate(stacks.report(pids)):
            step.log.write(line.encode() + b"\n")
            if number < STACK_LINES:
                self.print(line)
        step.end(why)

    def _ended(self, step):
        if step not in self.running:
            return
        self.selector.unregister(step.process.stdout)
        self.running.remove(step)
        step.close()
        problem = step.problem
        count = f", {step.output.tests} tests" if step.output.tests else ""
        step.seconds_taken = step.seconds
        if problem is None:
            self.passed.append(step)
            self.say(f"{step.name}: passed in {step.seconds} s{count}")
            return
        self.failed.append(step)
        self.say(f"{step.name}: FAILED after {step.seconds} s: {problem}")
        for line in step.output.problems(END_LINES):
            self.print("    " + line.decode(errors="replace"))
        if not self.keep_going:
            for other in self.running:
                other.end(f"ended, because {step.name} failed")

    def _close(self):
        """The table of times and processor times, then what failed, then the counts."""
        self.print("\n   time  processors   tests")
        for step in sorted(self.passed + self.failed, key=lambda step: step.began):
            state = "" if step in self.passed else "  FAILED"
            tests = step.output.tests or ""
            self.print(f"{step.seconds_taken:>5} s {step.processor_seconds:>9.0f} s {tests:>7}  {step.name}{state}")
        broken = [step for step in self.failed if not (step.ending or "").startswith("ended, because")]
        for step in broken:
            self.print(f"\n{step.name} failed: {step.problem}. Log: {step.log_path.relative_to(ROOT)}")
            for line in step.output.problems(max(4, END_LINES // len(broken) - 6)):
                self.print("    " + line.decode(errors="replace"))
            self.print("  Repeat it with")
            for command in step.repeat():
                self.print(f"    {command}")
        tests = sum(step.output.tests for step in self.passed + self.failed)
        failures = sum(max(1, len(step.output.places)) for step in broken)
        self.print(f"\n{len(self.passed)} steps passed, {len(broken)} failed, in {clock(time.monotonic() - self.began)} min")
        self.print(f"{max(0, tests - failures)} passed, {failures} failed")
