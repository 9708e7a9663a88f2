"""Reads what test runners print: which tests failed and why, and how many ran."""

import collections
import re

LAST_LINES = 12                 # lines of output shown of a step in which no failure was recognised
BLOCK_LINES = 5                 # lines shown of one failure
LINE_BYTES = 300                # bytes shown of a line

COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
# What Swift Testing and a sanitizer's report begin lines with.
HEAD = re.compile(rb"(?:\x1b\[[0-9;]*m)*(\xe2\x97\x87|\xe2\x9c\x94|\xe2\x9c\x98|\xe2\x9e\x9c|={18})")
STARTED, PASSED, FAILED = "◇".encode(), "✔".encode(), "✘".encode()
# After an argument with a NUL in it there is no line's end.
CUT = re.compile(rb"\xe2\x97\x87.*((?:\xe2\x9c\x94|\xe2\x9c\x98) (?:Test|Suite) )", re.DOTALL)
NAMED_TEST = re.compile(
    rb"(Test (?!case |run ).*?)(?: with \d+ test cases?)? (?:started\.|passed after|failed after|skipped)")
PLACE = re.compile(rb" recorded an issue.* at (\S+\.swift):(\d+):\d+:")
COUNTS = (
    re.compile(rb"Test run with (\d+) tests? in \d+ suites? (?:passed|failed) after"),
    re.compile(rb"(?:# |\xe2\x84\xb9 )pass (\d+)$"),                  # Node
    re.compile(rb"Ran (\d+) tests? in [\d.]+s$"),                     # unittest
    re.compile(rb"(?:^|[ =])(\d+) passed\b(?:, \d+ failed)?"),        # pytest, and scripts of this project
)
SANITIZER = re.compile(rb"(?:WARNING|ERROR|SUMMARY): (?:Thread|Address|UndefinedBehavior|Leak)Sanitizer")
CRASH = re.compile(
    rb"Fatal error|Precondition failed|unexpected signal code|\*\*\* (?:Signal|Program crashed)|Program crashed"
    rb"|^Crash|\berror: |LeakSanitizer|Thread \d+.* crashed|^(?:FAIL|ERROR): |^not ok ")
BUILDING = re.compile(rb"\[\d+/\d+\] ")
NOISE = re.compile(rb"\[\d+/\d+\] |Test Suite '|\t Executed \d+ test|Building for |Build complete|\s*$")


class Output:
    """What one step has printed so far."""

    def __init__(self):
        self.last = collections.deque(maxlen=LAST_LINES)
        self.failures = []          # of tests, as lists of lines
        self.crashes = []           # other errors
        self.places = []            # of failed expectations: file and line
        self.open_tests = {}        # begun and not ended, in their order
        self.latest = b""
        self.passed = 0             # tests of Swift Testing that passed
        self.tests = 0              # tests that runners' closing lines name
        self.sanitizer = False
        self._block = None

    def take(self, line):
        """Reads a line, given without its line feed."""
        cut = CUT.match(line)
        if cut:
            line = line[cut.start(1):]
        head = HEAD.match(line)
        plain = COLOUR.sub(b"", line)
        if not head or head.group(1) != STARTED:
            if plain.strip():
                self.last.append(plain)
        for count in COUNTS:
            found = count.search(plain)
            if found:
                self.tests += int(found.group(1))
                break
        if SANITIZER.search(line) or (not head and CRASH.search(plain)):
            self.sanitizer = self.sanitizer or bool(SANITIZER.search(line))
            self._block = [plain]
            self.crashes.append(self._block)
        elif head:
            self._event(head.group(1), plain)
        elif BUILDING.match(plain):
            self._block = None
            self.latest = plain
        elif self._block is not None:
            self._block.append(plain)
        elif plain.strip() and not NOISE.match(plain):
            self.latest = plain

    def _event(self, symbol, line):
        self._block = None
        test = NAMED_TEST.search(line)
        if test:
            if symbol == STARTED:
                self.open_tests[test.group(1)] = None
                self.latest = test.group(1)
            else:
                self.open_tests.pop(test.group(1), None)
        if symbol == PASSED and test:
            self.passed += 1
        elif symbol == FAILED:
            place = PLACE.search(line)
            if place:
                self.places.append((place.group(1).decode(errors="replace"), int(place.group(2))))
            # The closing lines of tests, suites and the run repeat what their issues say.
            if b" recorded an issue" in line or not self.failures:
                self._block = [line]
                self.failures.append(self._block)

    def problems(self, lines):
        """At most so many lines that say what went wrong."""
        said = []
        for block in self.crashes + self.failures:
            said += [shortened(line) for line in block if line.strip()][:BLOCK_LINES]
        if not self.failures:
            said = said or [shortened(line) for line in self.last]
            said += [b"begun and not ended: " + shortened(test) for test in list(self.open_tests)[:3]]
        if len(said) > lines:
            said = said[:lines - 1] + [f"... and {len(said) - lines + 1} more lines, in the log".encode()]
        return said


def shortened(line):
    """Shortens a long line; keeps what follows the location of a failure, which may come after long arguments."""
    if len(line) <= LINE_BYTES:
        return line
    third = LINE_BYTES // 3
    place = PLACE.search(line)
    start = place.start(1) - len(b"at ") if place else 0
    if third < start < len(line) - 2 * third:
        pieces = line[:third], line[start:start + third], line[-third:]
    else:
        pieces = line[:third], line[-2 * third:]
    return " … ".encode().join(pieces)
