"""A step, which steps a run has, and which of them can start."""

from dataclasses import dataclass

QUIET_SECONDS = 300             # without output, after which a step counts as hanging


@dataclass(frozen=True)
class Step:
    """One check: a command that a person could type in the repository's root."""

    name: str
    what: str
    command: str
    tiers: tuple                # "test", "all", "nightly"
    limit: int                  # seconds
    needs: tuple = ()           # sets of Debian packages, see packages.py
    after: tuple = ()           # steps whose results it uses
    cores: int = 1              # processors that it can keep busy
    background: bool = False    # may start when no processor is free; one such step at a time
    root: bool = False          # enters root file systems
    quiet: int = QUIET_SECONDS


class Unknown(Exception):
    """No step has this name."""


def selected(steps, tier=None, only=()):
    """The steps of a tier, or those named and what they are built from, in the table's order."""
    if not only:
        return [step for step in steps if tier in step.tiers]
    known = {step.name: step for step in steps}
    wanted, waiting = set(), list(only)
    while waiting:
        name = waiting.pop()
        if name not in known:
            raise Unknown(name)
        if name not in wanted:
            wanted.add(name)
            waiting += known[name].after
    return [step for step in steps if step.name in wanted]


def startable(pending, running, ended, cores):
    """The steps to start now, in their order. `ended` has the names of those that passed.

    Steps in the foreground share the processors; one that wants more than are left waits for the others, and steps after
    it in the table may go first. A step waits only for steps of this run.
    """
    here = {step.name for step in [*pending, *running]}
    free = cores - sum(step.cores for step in running if not step.background)
    crowded = any(step.background for step in running)
    starting = []
    for step in pending:
        if any(name in here for name in step.after if name not in ended):
            continue
        if step.background:
            if not crowded:
                starting.append(step)
                crowded = True
        elif step.cores <= free or free == cores:
            starting.append(step)
            free -= step.cores
    return starting
