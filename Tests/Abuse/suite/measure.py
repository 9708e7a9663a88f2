"""Puts one server under one case's load, and measures what a well-behaved client and the machine feel."""

import asyncio
import multiprocessing
import os
import ssl
import sys
import traceback
from dataclasses import dataclass, field

from .probe import Probe

GRACE = 10  # seconds that an attacker may take to end
ATTACKER_NICENESS = 10  # what is measured is the server's fairness, not the scheduler's


@dataclass
class Figures:
    """What one run gave."""

    waits: list  # milliseconds, sorted
    failures: list
    growth_mib: float
    attacker: str
    problems: list = field(default_factory=list)

    def quantile(self, share):
        return self.waits[min(len(self.waits) - 1, int(len(self.waits) * share))]


def measure(case, attack, server, target, certificate, seconds):
    """Attacks for so many seconds and a little more."""
    memory = Memory(server.process.pid)
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
        said = ours.recv() if ours.poll(GRACE) else "did not end"
    except EOFError:
        said = "failed"
    finally:
        attacker.kill()
        attacker.join()
    failed = server.process.poll() is not None
    return Figures(
        sorted(probe.waits), probe.failures + (["the server ended"] if failed else []), memory.growth, said)


async def _settle(case, memory):
    for _ in range(round(case.settle * 20)):
        memory.sample()
        await asyncio.sleep(0.05)


def _attack(attack, target, seconds, said):
    os.nice(ATTACKER_NICENESS)
    try:
        said.send(str(attack(target, seconds) or ""))
    except Exception:
        traceback.print_exc(file=sys.stderr)
        said.send("failed")


class Memory:
    """The memory of a process and its children; what they share counts once."""

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
