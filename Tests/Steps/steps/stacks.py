"""Shows the stacks of all threads of a hanging process and its descendants, and ends them.

Stacks are read with eu-stack (Debian package elfutils). Reading another user's process requires root.
"""

import os
import re
import shutil
import signal
import subprocess
import time

PROCESSES_MAX = 16              # processes shown
PROCESS_LINES_MAX = 400         # lines per process
READ_SECONDS = 20               # for reading the stacks of one process
END_SECONDS = 5                 # between SIGTERM and SIGKILL


def parents():
    """Returns the parent of every running process."""
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
    """Returns all descendants of `pid`, except `without` and their descendants."""
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
            # Database URLs contain passwords.
            text = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "?"
    return re.sub(r"://[^@\s/]*@", "://…@", text)[:200]


def stacks(pid):
    """Returns the stacks of a process as lines, with demangled Swift names."""
    tool = shutil.which("eu-stack")
    if tool is None:
        return ["(install the Debian package elfutils to see its stacks)"]
    try:
        # Its exit status is also nonzero for unnamed frames.
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
    """Yields lines about each process."""
    for pid in pids[:PROCESSES_MAX]:
        yield f"---- process {pid}: {command_line(pid)}"
        yield from stacks(pid)
    if len(pids) > PROCESSES_MAX:
        yield f"---- and {len(pids) - PROCESSES_MAX} processes more"


def end(pids):
    """Ends processes with SIGTERM, then after END_SECONDS with SIGKILL."""
    for number, seconds in ((signal.SIGTERM, END_SECONDS), (signal.SIGKILL, 0)):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        until = time.monotonic() + seconds
        while time.monotonic() < until and any(pid in parents() for pid in pids):
            time.sleep(0.1)
