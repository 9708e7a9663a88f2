"""Which test targets a change may affect, from the dependencies in Package.swift, and the steps that test them.

Programs count as dependencies of the tests that run them.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from . import table
from .step import Step, selected

ROOT = Path(__file__).resolve().parents[3]
# Dependencies of tests that Package.swift doesn't list: programs they start and files they read.
PROGRAMS = {"EndToEndTests": ["Relay", "APNsSimulator", "AgentBridge"]}
READ_BY_TESTS = [
    (re.compile(r"(docs/.*|[A-Z]+\.md|deploy/.*|dev)$"), "RelayTests"),
    (re.compile(r"clients/(web|js/src)/.*"), "RelayTests"),
    (re.compile(r"docs/reference/simulator\.md$"), "APNsSimulatorTests"),
]


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def base(since):
    """Where the changes begin: `since`, or else the merge base with the upstream branch, or else the last commit."""
    if since:
        return git("rev-parse", "--verify", "--quiet", f"{since}^{{commit}}") or sys.exit(
            f"Unknown revision {since}")
    for upstream in ("@{upstream}", "origin/main"):
        fork = git("merge-base", "HEAD", upstream)
        if fork and (fork != git("rev-parse", "HEAD") or git("status", "--porcelain")):
            return fork
    return "HEAD" if git("status", "--porcelain") else "HEAD~1"


def changed_files(since):
    tracked = git("diff", "--name-only", base(since)) or ""
    untracked = git("ls-files", "--others", "--exclude-standard") or ""
    return [name for name in (tracked + "\n" + untracked).splitlines() if name]


def affected(files, targets):
    """Returns the names of the test targets affected by changes in `files`; `targets` comes from SwiftPM."""
    tests = {target["name"] for target in targets if target["type"] == "test"}
    if "Package.swift" in files:
        return tests
    reached = set()
    for file in files:
        reached |= {target["name"] for target in targets if file.startswith(target["path"] + "/")}
        reached |= {name for pattern, name in READ_BY_TESTS if pattern.match(file)}
    while True:
        more = {
            target["name"] for target in targets
            if reached & {*target.get("target_dependencies", []), *PROGRAMS.get(target["name"], [])}
        } - reached
        if not more:
            return reached & tests
        reached |= more


def steps_since(since):
    """The steps that test what has changed since a revision; none if no test is affected."""
    described = subprocess.run(
        ["swift", "package", "describe", "--type", "json"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return steps_for(affected(changed_files(since), json.loads(described.stdout)["targets"]))


def steps_for(targets):
    """The steps that test these targets. Database servers run only if a driver or what drivers share is among them."""
    if not targets:
        return []
    steps = selected(table.STEPS, only=["sources", "build"])
    units = "|".join(sorted(targets - {"EndToEndTests"}))
    if units:
        servers = table.SERVERS + " " if {"StoragePostgresTests", "StorageMySQLTests"} & targets else ""
        steps.append(Step(
            "tests", f"tests of {units.replace('|', ', ')}",
            f"{servers}{table.TESTS} --skip {table.GALERA} --filter '^({units})\\.'", (), 900,
            needs=("test", "databases") if servers else ("test",), after=("build",), cores=2))
    if "EndToEndTests" in targets:
        steps.append(Step(
            "programs", "end-to-end tests", f"{table.TESTS} --filter '{table.ENDS}'", (), 900, needs=("test",),
            after=("build",)))
    return steps
