"""Runs one case against one server and measures latency and memory."""

import asyncio
import multiprocessing
import os
import ssl
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from .case import Missed
from .probe import Probe

GRACE = 10  # seconds that the attacker may take to finish
FAILED = ("failed", ["the attacker failed"])  # the remark and the problems
ATTACKER_NICENESS = 10  # so the kernel's scheduler favours the server and the client
# Where Linux schedules by session (autogroup, see sched(7)), a nice value counts only within a session.
AUTOGROUP = Path("/proc/self/autogroup")
AUTOGROUP_ENABLED = Path("/proc/sys/kernel/sched_autogroup_enabled")


@dataclass
class Figures:
    """The results of one run."""

    waits: list  # milliseconds, sorted
    failures: list
    growth_mib: float
    attacker: str
    log_kib: float = 0  # growth of the log per second
    problems: list = field(default_factory=list)  # of the attack itself

    def quantile(self, share):
        return self.waits[min(len(self.waits) - 1, int(len(self.waits) * share))]


def measure(case, attack, server, target, certificate, seconds):
    """Starts the attack, waits until it has settled, then measures for the given number of seconds."""
    memory = Memory(server.pid)
    context = ssl.create_default_context(cafile=certificate) if case.tls else None
    ours, theirs = multiprocessing.Pipe(duplex=False)
    attacker = multiprocessing.Process(target=_attack, args=(attack, target, case.settle + seconds, theirs), daemon=True)
    memory.sample()
    attacker.start()
    theirs.close()
    probe = Probe(target.port, context)
    try:
        asyncio.run(_settle(case, memory))
        asyncio.run(probe.run(seconds, memory.sample))
        said, problems = ours.recv() if ours.poll(GRACE) else ("did not end", ["the attacker did not end"])
    except EOFError:
        said, problems = FAILED
    finally:
        attacker.kill()
        attacker.join()
    failed = not server.is_running
    return Figures(
        sorted(probe.waits), probe.failures + (["the server ended"] if failed else []), memory.growth, said,
        problems)


async def _settle(case, memory):
    for _ in range(round(case.settle * 20)):
        memory.sample()
        await asyncio.sleep(0.05)


def niceness():
    """The niceness of this process compared with other sessions."""
    try:
        if AUTOGROUP_ENABLED.read_text().strip() == "1":
            return int(AUTOGROUP.read_text().split()[-1])
    except (OSError, ValueError, IndexError):
        pass
    return os.nice(0)


def _lower_priority():
    os.setsid()
    os.nice(ATTACKER_NICENESS)
    try:
        AUTOGROUP.write_text(str(ATTACKER_NICENESS))
    except OSError:
        pass


def _attack(attack, target, seconds, said):
    _lower_priority()
    try:
        said.send((str(attack(target, seconds) or ""), []))
    except Missed as missed:
        said.send((str(missed), [str(missed)]))
    except Exception:
        traceback.print_exc(file=sys.stderr)
        said.send(FAILED)


class Memory:
    """Memory of a process and its children; shared pages count once."""

    def __init__(self, pid):
        self.pid = pid
        self.first = None
        self.most = 0

    def sample(self):
        now = sum(_proportional_kib(pid) for pid in [self.pid, *_children(self.pid)])
        self.first = now if self.first is None else self.first
        self.most = max(self.most, now)

    @property
    def growth(self):
        return (self.most - self.first) / 1024


def _proportional_kib(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


def _children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []
