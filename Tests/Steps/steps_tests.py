#!/usr/bin/env python3
"""Tests of the steps. Run: Tests/Steps/steps_tests.py"""

import contextlib
import io
import os
import signal
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from steps import changed, packages, runner, stacks, table  # noqa: E402
from steps.output import Output  # noqa: E402
from steps.step import Step, Unknown, selected, startable  # noqa: E402

PASSING = """[1/2] Compiling A a.swift
◇ Suite "Rows" started.
◇ Test "one is kept" started.
{"time":"2026-11-21","level":"info"}
✔ Test "one is kept" passed after 0.001 seconds.
◇ Test "many are kept" started.
◇ Test case passing 1 argument text → "a
b" to "many are kept" started.
◇ Test case passing 1 argument text → "✔ Test "many are kept" with 2 test cases passed after 0.001 seconds.
✔ Suite "Rows" passed after 0.002 seconds.
"""
FAILING = """◇ Test "A comma between values and nowhere else" started.
✘ Test "A comma between values and nowhere else" recorded an issue at ParserTests.swift:105:33: Issue recorded
↳ other-ca.pem got nil
✘ Test "A comma between values and nowhere else" failed after 0.441 seconds with 1 issue.
✘ Suite "Rows" failed after 0.5 seconds with 1 issue.
"""
SUMMARY = "✔ Test run with 2 tests in 1 suite passed after 281.391 seconds.\n"
RACE = """==================
WARNING: ThreadSanitizer: data race (pid=1)
  Write of size 8 at 0x7b0400000 by thread T1:
    #0 Channel.close() Channel.swift:12
SUMMARY: ThreadSanitizer: data race Channel.swift:12 in Channel.close()
==================
"""
TRAP = b"Relay/Slots.swift:12: Fatal error: index \xff\xfe out of range\n"


def step(name, command="true", after=(), cores=1, background=False, limit=60, quiet=60, tiers=("test",)):
    return Step(name, f"does {name}", command, tiers, limit, after=after, cores=cores, background=background, quiet=quiet)


def read(output):
    """What is read from an output."""
    taken = Output()
    for line in (output if isinstance(output, bytes) else output.encode()).split(b"\n"):
        taken.take(line)
    return taken


class OutputTests(unittest.TestCase):
    def test_passing_tests_are_counted_though_an_argument_cuts_their_line(self):
        output = read(PASSING + SUMMARY)
        self.assertEqual((output.passed, output.tests, output.failures, output.open_tests), (2, 2, [], {}))

    def test_a_failure_is_found_among_much_else_with_its_place_and_explanation(self):
        output = read(FAILING + PASSING * 1000)
        said = b"\n".join(output.problems(30)).decode()
        self.assertIn("ParserTests.swift:105:33", said)
        self.assertIn("other-ca.pem got nil", said)
        self.assertEqual(output.places, [("ParserTests.swift", 105)])

    def test_a_crash_shows_its_message_and_the_running_test(self):
        begun = '◇ Test "slots are given back" started.\n'.encode()
        output = read(PASSING.encode() + begun + TRAP)
        said = b"\n".join(output.problems(30)).decode(errors="replace")
        self.assertIn("Fatal error: index \ufffd\ufffd out of range", said)
        self.assertIn('begun and not ended: Test "slots are given back"', said)

    def test_a_race_is_found(self):
        output = read(PASSING + RACE + PASSING + SUMMARY)
        self.assertTrue(output.sanitizer)
        self.assertIn("#0 Channel.close() Channel.swift:12", b"\n".join(output.problems(30)).decode())

    def test_a_build_that_fails_shows_its_errors(self):
        build = "[1/9] Compiling A a.swift\na.swift:1:2: error: no such thing\n  | here\n[2/9] Compiling B b.swift\n"
        self.assertEqual(read(build).problems(30), [b"a.swift:1:2: error: no such thing", b"  | here"])

    def test_the_report_is_short_for_any_output(self):
        line = "✘ Test \"x\" recorded an issue with 1 argument " + "long " * 1000 + " at A.swift:1:1: failed\n"
        said = read(line * 500).problems(20)
        self.assertEqual(len(said), 20)
        self.assertLess(max(map(len, said)), 400)
        self.assertTrue(said[0].endswith(b" at A.swift:1:1: failed"))

    def test_a_long_failure_keeps_its_place_and_its_cause(self):
        long = "long " * 1000
        line = "✘ Test \"x\" recorded an issue with 1 argument " + long + "at A.swift:1:1: too late: " + long + "end\n"
        said = read(line).problems(20)[0].decode()
        for part in ["Test \"x\" recorded an issue", " … at A.swift:1:1: too late: long", "long end"]:
            self.assertIn(part, said)

    def test_counts_of_other_runners(self):
        self.assertEqual(read("ℹ tests 12\nℹ pass 12\nℹ fail 0").tests, 12)
        self.assertEqual(read("Ran 5 tests in 0.003s\n\nOK").tests, 5)


class SchedulingTests(unittest.TestCase):
    def names(self, steps):
        return [step.name for step in steps]

    def test_a_tier_has_its_steps_and_named_steps_bring_what_they_use(self):
        steps = [step("build"), step("late", after=("build",), tiers=("all",)), step("other")]
        self.assertEqual(self.names(selected(steps, "test")), ["build", "other"])
        self.assertEqual(self.names(selected(steps, only=["late"])), ["build", "late"])
        with self.assertRaises(Unknown):
            selected(steps, only=["missing"])

    def test_steps_share_the_processors(self):
        steps = [step("two", cores=2), step("one"), step("more")]
        self.assertEqual(self.names(startable(steps, [], set(), 2)), ["two"])
        self.assertEqual(self.names(startable(steps[1:], [], set(), 2)), ["one", "more"])
        self.assertEqual(self.names(startable([steps[0]], [steps[1]], set(), 2)), [])
        self.assertEqual(self.names(startable([step("huge", cores=9)], [], set(), 2)), ["huge"])

    def test_one_step_runs_in_the_background_beside_others(self):
        steps = [step("two", cores=2), step("slow", background=True), step("slower", background=True)]
        self.assertEqual(self.names(startable(steps, [], set(), 2)), ["two", "slow"])
        self.assertEqual(self.names(startable([steps[2]], [steps[1]], set(), 2)), [])

    def test_a_step_waits_for_what_it_uses_unless_that_is_no_part_of_the_run(self):
        build, test = step("build"), step("test", after=("build",))
        self.assertEqual(self.names(startable([build, test], [], set(), 2)), ["build"])
        self.assertEqual(self.names(startable([test], [build], set(), 2)), [])
        self.assertEqual(self.names(startable([test], [], {"build"}, 2)), ["test"])
        self.assertEqual(self.names(startable([test], [], set(), 2)), ["test"])


class TableTests(unittest.TestCase):
    def test_the_table_is_consistent(self):
        names = [step.name for step in table.STEPS]
        self.assertEqual(len(names), len(set(names)))
        for index, row in enumerate(table.STEPS):
            self.assertTrue(row.tiers and set(row.tiers) <= set(table.TIERS), row.name)
            self.assertTrue(set(row.needs) <= {*packages.SETS, "swift"}, row.name)
            for name in row.after:
                self.assertIn(name, names[:index], row.name)
                used = table.STEPS[names.index(name)]
                self.assertTrue(set(row.tiers) <= set(used.tiers), f"{row.name} uses {name}")
        self.assertFalse([row.name for row in table.STEPS if row.root and table.EVERYDAY in row.tiers])


class ChangedTests(unittest.TestCase):
    TARGETS = [
        {"name": "Network", "type": "library", "path": "Sources/Network"},
        {"name": "JSON", "type": "library", "path": "Sources/JSON"},
        {"name": "Relay", "type": "executable", "path": "Sources/Relay", "target_dependencies": ["Network", "JSON"]},
        {"name": "NetworkTests", "type": "test", "path": "Tests/NetworkTests", "target_dependencies": ["Network"]},
        {"name": "JSONTests", "type": "test", "path": "Tests/JSONTests", "target_dependencies": ["JSON"]},
        {"name": "RelayTests", "type": "test", "path": "Tests/RelayTests", "target_dependencies": ["Relay"]},
        {"name": "EndToEndTests", "type": "test", "path": "Tests/EndToEndTests"},
    ]

    def expect(self, files, tests):
        self.assertEqual(changed.affected(files, self.TARGETS), set(tests))

    def test_a_library_selects_its_dependents_and_the_tests_that_run_its_programs(self):
        self.expect(["Sources/Network/Loop.swift"], ["NetworkTests", "RelayTests", "EndToEndTests"])

    def test_a_test_selects_itself(self):
        self.expect(["Tests/JSONTests/ParseTests.swift"], ["JSONTests"])

    def test_names_with_a_common_prefix_are_distinguished(self):
        self.expect(["Sources/NetworkOther/a.swift"], [])

    def test_a_page_selects_the_tests_that_read_it(self):
        self.expect(["docs/reference/api.md"], ["RelayTests"])

    def test_the_package_selects_everything(self):
        self.expect(["Package.swift"], ["NetworkTests", "JSONTests", "RelayTests", "EndToEndTests"])

    def test_servers_run_only_for_drivers(self):
        commands = {step.name: step.command for step in changed.steps_for({"JSONTests", "EndToEndTests"})}
        self.assertEqual(set(commands), {"sources", "build", "tests", "programs"})
        self.assertNotIn(table.SERVERS, commands["tests"])
        self.assertIn("^(JSONTests)", commands["tests"])
        self.assertIn(table.SERVERS, changed.steps_for({"StorageMySQLTests"})[-1].command)
        self.assertEqual(changed.steps_for(set()), [])


class RunTests(unittest.TestCase):
    def run_steps(self, *steps, keep_going=False, cores=2):
        """Returns what a run of steps prints, and its exit status."""
        said = io.StringIO()
        kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        with tempfile.TemporaryDirectory(dir=runner.ROOT) as directory, \
                unittest.mock.patch.object(runner, "LOGS", Path(directory)), contextlib.redirect_stdout(said):
            status = runner.Run(list(steps), cores, keep_going).run()
        for number, handler in kept.items():
            signal.signal(number, handler)
        return said.getvalue(), status

    def canned(self, text):
        return f"printf '%s' {self.quoted(text)}"

    def quoted(self, text):
        return "'" + text.replace("'", "'\\''") + "'"

    def test_a_run_ends_with_times_and_counts(self):
        said, status = self.run_steps(step("rows", self.canned(SUMMARY)), step("after", after=("rows",)))
        self.assertEqual(status, 0)
        self.assertRegex(said, r"\d s +\d+ s       2  rows\n")
        self.assertTrue(said.endswith("\n2 passed, 0 failed\n"), said)

    def test_the_processor_time_of_a_step_is_that_of_its_processes(self):
        busy = "python3 -c 'import time\nwhile time.process_time() < 1.2: pass'"
        said, _ = self.run_steps(step("busy", f"bash -c {self.quoted(busy)}; true"), step("idle", "sleep 0.1"))
        self.assertRegex(said, r"\d s         1 s +busy\n")
        self.assertRegex(said, r"\d s         0 s +idle\n")

    def test_a_failure_is_repeated_at_the_end_with_the_commands_that_repeat_it(self):
        command = "true swift test; " + self.canned(FAILING) + "; exit 3"
        with unittest.mock.patch.object(runner, "test_at", lambda file, line: f"{file}/{line}"):
            said, status = self.run_steps(
                step("rows", command), step("after", after=("rows",)), step("other", "sleep 0.2"))
        self.assertEqual(status, 1)
        end = said.splitlines()[-40:]
        self.assertTrue(any("ParserTests.swift:105:33" in line for line in end))
        self.assertIn("    ./dev test --only rows", end)
        self.assertIn("    swift test --skip-build --filter 'ParserTests.swift/105'", end)
        self.assertIn("after: left out, because rows failed", said)
        self.assertTrue(end[-1].endswith("1 failed"))

    def test_a_failed_test_is_found_by_its_place(self):
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, "RowTests.swift").write_text(
                "@Suite\nstruct RowTests {\n    @Test(\"1\")\n    func one() {\n        #expect(false)\n    }\n}\n"
                + "extension Row {\n" + "\n" * 20 + "    func two() {\n        #expect(false)\n    }\n}\n")
            for line in (3, 5):
                self.assertEqual(runner.test_at("RowTests.swift", line, [Path(directory)]), "RowTests/one")
            self.assertIsNone(runner.test_at("RowTests.swift", 30, [Path(directory)]))
            self.assertIsNone(runner.test_at("OtherTests.swift", 4, [Path(directory)]))

    def test_other_steps_run_on_if_they_should(self):
        said, status = self.run_steps(step("bad", "exit 1"), step("good", "sleep 0.1; echo hello"), keep_going=True, cores=1)
        self.assertEqual(status, 1)
        self.assertIn("good: passed", said)

    def test_a_step_that_hangs_is_ended_with_its_stacks(self):
        said, status = self.run_steps(step("slow", "echo begun; sleep 301 & sleep 302", quiet=5))
        self.assertEqual(status, 1)
        self.assertIn("slow failed: no output for 5 s", said)
        self.assertRegex(said, r"---- process \d+: sleep 30[12]\n(.*\n)*.*nanosleep")

    def test_a_step_that_takes_too_long_is_ended(self):
        said, status = self.run_steps(step("slow", "while :; do echo x; sleep 0.2; done", limit=1))
        self.assertIn("slow failed: not done after 1 s", said)

    def test_a_program_left_behind_is_not_waited_for(self):
        began = time.monotonic()
        said, status = self.run_steps(step("rows", "sleep 60 & exit 5"))
        self.assertIn("rows failed: status 5", said)
        self.assertLess(time.monotonic() - began, 30)

    def test_a_race_fails_a_run_that_ends_with_0(self):
        said, status = self.run_steps(step("rows", self.canned(RACE + SUMMARY)))
        self.assertEqual(status, 1)

    def test_passwords_are_not_shown(self):
        with unittest.mock.patch("builtins.open", unittest.mock.mock_open(
                read_data=b"relay\0copy\0--to\0mysql://me:secret@db/relay\0")):
            self.assertEqual(stacks.command_line(1), "relay copy --to mysql://…@db/relay")


if __name__ == "__main__":
    unittest.main()
