#!/usr/bin/env python3
"""Runs tests, prints little about passing tests, and repeats all failures at the end.

usage: Tests/Support/test_report.py NAME COMMAND...

Writes the command's output to .build/test-logs/NAME.log and shows everything except lines about single tests that begin
or pass. After a failure it repeats the failures at the end, because some readers only get the end of a long output. The
exit status is the command's; a sanitizer's report is always a failure.

A command that prints nothing for STALL_SECONDS hangs: it is ended after the stacks of all its processes are shown, and
the exit status is 124.
"""

import collections
import os
import re
import select
import signal
import subprocess
import sys
import time

import stacks

LAST_LINES = 40                 # lines of output shown after a failure
REPORT_LINES = 50               # lines of failures and crashes shown after those
BLOCK_LINES = 12                # lines of one failure in the report
LINE_BYTES = 400                # bytes of a line in the report
QUIET_SECONDS = 60              # without output, after which progress is shown
STALL_SECONDS = float(os.environ.get("TEST_STALL_SECONDS", 300))  # without output, after which the command is ended
STALLED = 124                   # the exit status of a stalled command, like timeout(1)'s

COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
# What Swift Testing and a sanitizer's report begin lines with.
HEAD = re.compile(rb"(?:\x1b\[[0-9;]*m)*(\xe2\x97\x87|\xe2\x9c\x94|\xe2\x9c\x98|\xe2\x9e\x9c|={18})")
STARTED, PASSED, FAILED = "◇".encode(), "✔".encode(), "✘".encode()
# After an argument with a NUL in it there is no line's end.
CUT = re.compile(rb"\xe2\x97\x87.*((?:\xe2\x9c\x94|\xe2\x9c\x98) (?:Test|Suite) )", re.DOTALL)
NAMED_TEST = re.compile(
    rb"(Test (?!case |run ).*?)(?: with \d+ test cases?)? (?:started\.|passed after|failed after|skipped)"
)
BUILDING = re.compile(rb"\[\d+/\d+\] ")
PROGRESS = re.compile(rb"\[\d+/\d+\] |Test Suite '|\t Executed \d+ test|Building for |Build complete|\s*$")
SANITIZER = re.compile(rb"(?:WARNING|ERROR|SUMMARY): (?:Thread|Address|UndefinedBehavior|Leak)Sanitizer")
CRASH = re.compile(
    rb"Fatal error|Precondition failed|unexpected signal code|\*\*\* (?:Signal|Program crashed)|Program crashed"
    rb"|^Crash|\berror: |LeakSanitizer|Thread \d+.* crashed"
)


class Report:
    """Decides which lines to show and collects those to repeat at the end."""

    def __init__(self):
        self.last = collections.deque(maxlen=LAST_LINES)
        self.failures = []          # lists of lines
        self.crashes = []
        self.open_tests = {}        # begun and not ended, in their order
        self.latest = b""
        self.passed = 0
        self.sanitizer = False
        self.block = None           # collects continuation lines; None if the preceding line isn't shown
        self.showing = True

    def take(self, line):
        """Whether to show a line, given without its line feed."""
        self.last.append(line)
        cut = CUT.match(line)
        if cut:
            line = line[cut.start(1):]
        head = HEAD.match(line)
        if SANITIZER.search(line) or (not head and CRASH.search(line)):
            self.sanitizer = self.sanitizer or bool(SANITIZER.search(line))
            self.block = [line]
            self.crashes.append(self.block)
            self.showing = True
        elif head:
            self._event(head.group(1), COLOUR.sub(b"", line))
        elif self.block is not None and not BUILDING.match(line):
            self.block.append(line)
        elif PROGRESS.match(line):
            self.block = None
            if BUILDING.match(line):
                self.latest = line
            return False
        return self.showing

    def _event(self, symbol, line):
        self.block = None
        test = NAMED_TEST.search(line)
        if symbol == STARTED:
            self.showing = False
            if test:
                self.open_tests[test.group(1)] = None
                self.latest = test.group(1)
        elif symbol == PASSED:
            self.showing = b" Test " not in line[:12] or b"Test run" in line[:16]
            if test:
                self.open_tests.pop(test.group(1), None)
                self.passed += 1
        elif symbol == FAILED:
            self.showing = True
            self.block = [line]
            self.failures.append(self.block)
            if test:
                self.open_tests.pop(test.group(1), None)
        else:
            self.showing = True
            if test:
                self.open_tests.pop(test.group(1), None)

    def ending(self, name, status, log):
        """Yields the report after a failure."""
        yield b""
        yield f"---- {name} failed with status {status}; the last lines of {log}:".encode()
        yield from (shortened(line) for line in self.last)
        yield b""
        yield f"---- What failed in {name}:".encode()
        left = REPORT_LINES
        for block in self.crashes + self.failures:
            if left <= 0:
                yield b"... and more, in the log"
                break
            lines = [shortened(line) for line in block if line.strip()][:min(BLOCK_LINES, left)]
            left -= len(lines)
            yield from lines
        if not self.crashes and not self.failures:
            yield b"No line was recognised as a failure."
        for test in list(self.open_tests)[:5]:
            yield b"Begun and not ended: " + shortened(test)


def shortened(line):
    """Shortens the middle of a long line: the location of a failure is at its end, after a test's arguments."""
    if len(line) <= LINE_BYTES:
        return line
    return line[:LINE_BYTES * 2 // 5] + " … ".encode() + line[-LINE_BYTES * 3 // 5:]


def show(line):
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def end_stalled(process):
    """Shows the stacks of a hanging command and ends it with its descendants."""
    show(f"---- No output for {STALL_SECONDS:.0f} s. What the command is doing:".encode())
    pids = [process.pid, *stacks.descendants(process.pid)]
    for line in stacks.report(pids):
        show(line.encode())
    stacks.end(pids)


def lines_of(process, log, idle):
    """Yields the command's output lines and logs them; calls idle for each second without output.

    Returns whether the command was ended because it hung.
    """
    source, rest, heard = process.stdout.fileno(), b"", time.monotonic()
    while True:
        if not select.select([source], [], [], 1)[0]:
            # A descendant may hold its output open.
            if process.poll() is not None:
                break
            if time.monotonic() - heard > STALL_SECONDS:
                end_stalled(process)
                return True
            idle()
            continue
        heard = time.monotonic()
        piece = os.read(source, 65536)
        if not piece:
            break
        log.write(piece)
        log.flush()
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
    if rest:
        yield rest
    return False


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: Tests/Support/test_report.py NAME COMMAND...")
    name, command = sys.argv[1], sys.argv[2:]
    directory = os.environ.get("TEST_LOGS", ".build/test-logs")
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, name.replace(" ", "-") + ".log")
    report, shown_at, began = Report(), time.monotonic(), time.monotonic()

    def tell_where():
        nonlocal shown_at
        if time.monotonic() - shown_at < QUIET_SECONDS:
            return
        seconds = int(time.monotonic() - began)
        show(f"   {seconds} s, {report.passed} tests passed; ".encode() + report.latest[:200])
        shown_at = time.monotonic()

    with open(path, "wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        # Ctrl-C also reaches the command; wait for its last output.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        lines = lines_of(process, log, tell_where)
        while True:
            try:
                line = next(lines)
            except StopIteration as end:
                stalled = end.value
                break
            if report.take(line):
                show(line)
                shown_at = time.monotonic()
            else:
                tell_where()
        status = STALLED if stalled else process.wait()
    if status < 0:
        status = 128 - status
    if status == 0 and report.sanitizer:
        status = 1
    if status != 0:
        for line in report.ending(name, status, path):
            show(line)
    sys.exit(status)


if __name__ == "__main__":
    main()
