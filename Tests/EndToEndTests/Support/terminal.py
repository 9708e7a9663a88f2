"""Runs a program at a terminal of its own and answers its questions: terminal.py ANSWERS PROGRAM ARGUMENT...

ANSWERS is a JSON list of strings, each typed when the program has asked something. "^C" stands for the key. Prints a JSON
object: the exit status, the terminal's contents, the standard output, whether each answer was visible as it was
typed, and whether the terminal's settings were restored at the end.
"""

import fcntl
import json
import os
import pty
import select
import subprocess
import sys
import termios
import time

DEADLINE = time.monotonic() + 30
answers, command = json.loads(sys.argv[1]), sys.argv[2:]
ours, theirs = pty.openpty()
before = termios.tcgetattr(theirs)


def own_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


program = subprocess.Popen(
    command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, start_new_session=True, preexec_fn=own_terminal)
said, shown = b"", []


def hear(wait):
    """Reads the program's output, waiting at most `wait` seconds for it."""
    global said
    if select.select([ours], [], [], wait)[0]:
        said += os.read(ours, 4096)


for answer in answers:
    start = len(said)
    while not said[start:].rstrip(b"\r\n").endswith((b": ", b"? ", b"] ")) and program.poll() is None:
        if time.monotonic() > DEADLINE:
            sys.exit(f"no question in {said!r}")
        hear(0.1)
    shown.append(bool(termios.tcgetattr(theirs)[3] & termios.ECHO))
    os.write(ours, b"\x03" if answer == "^C" else answer.encode() + b"\n")
output = program.stdout.read().decode()
status = program.wait(30)
while select.select([ours], [], [], 0)[0]:
    said += os.read(ours, 4096)
print(json.dumps({
    "status": status, "terminal": said.decode(), "output": output, "shown": shown,
    "isRestored": termios.tcgetattr(theirs) == before,
}))
