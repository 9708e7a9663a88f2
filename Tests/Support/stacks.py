"""What a process that hangs is doing: the stacks of every thread of it and of all that it started; and its end.

Stacks are read with eu-stack (Debian package elfutils). Reading those of another user's process takes root.
"""

import os
import re
import shutil
import signal
import subprocess
import time

PROCESSES_MAX = 16              # whose stacks are shown
PROCESS_LINES_MAX = 400         # of one process
READ_SECONDS = 20               # that reading one process may take
END_SECONDS = 5                 # between SIGTERM and SIGKILL


def parents():
    """The parent of every process that runs."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                # A program's name, in parentheses, may contain anything.
                state, parent = file.read().rsplit(")", 1)[1].split()[:2]
        except (OSError, IndexError, ValueError):
            continue
        if state != "Z":
            found[int(name)] = int(parent)
    return found


def descendants(pid, without=()):
    """Every process that `pid` has started, directly or not, except those of `without` and what they have started."""
    children, found, waiting = {}, [], [pid]
    for child, parent in parents().items():
        children.setdefault(parent, []).append(child)
    while waiting:
        for child in sorted(children.get(waiting.pop(0), [])):
            if child not in without:
                found.append(child)
                waiting.append(child)
    return found


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            # URLs of databases carry passwords.
            text = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "?"
    return re.sub(r"://[^@\s/]*@", "://…@", text)[:200]


def stacks(pid):
    """The lines of a process' stacks, with Swift's names as they are in the source."""
    tool = shutil.which("eu-stack")
    if tool is None:
        return ["(install the Debian package elfutils to see its stacks)"]
    try:
        # Its exit status also tells of frames without a name.
        read = subprocess.run(
            [tool, "-p", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=READ_SECONDS)
        text = read.stdout
        if shutil.which("swift"):
            text = subprocess.run(
                ["swift", "demangle", "--simplified"], input=text, stdout=subprocess.PIPE, timeout=READ_SECONDS).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"(its stacks could not be read: {error})"]
    lines = text.decode(errors="replace").splitlines()
    if len(lines) > PROCESS_LINES_MAX:
        lines = lines[:PROCESS_LINES_MAX] + [f"… {len(lines) - PROCESS_LINES_MAX} lines more"]
    return lines


def report(pids):
    """Lines about each of some processes."""
    for pid in pids[:PROCESSES_MAX]:
        yield f"---- process {pid}: {command_line(pid)}"
        yield from stacks(pid)
    if len(pids) > PROCESSES_MAX:
        yield f"---- and {len(pids) - PROCESSES_MAX} processes more"


def end(pids):
    """Ends processes: with SIGTERM, and after END_SECONDS with SIGKILL."""
    for number, seconds in ((signal.SIGTERM, END_SECONDS), (signal.SIGKILL, 0)):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        until = time.monotonic() + seconds
        while time.monotonic() < until and any(pid in parents() for pid in pids):
            time.sleep(0.1)
