#!/usr/bin/env python3
"""Tests of test_report.py. Run: Tests/Support/test_report_tests.py"""

import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import stacks

PROGRAM = Path(__file__).resolve().parent / "test_report.py"

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
FAILING = """◇ Test "TLS is verified" started.
✘ Test "TLS is verified" recorded an issue at TLSTests.swift:105:33: Issue recorded
↳ other-ca.pem got nil
✘ Test "TLS is verified" failed after 0.441 seconds with 1 issue.
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


class ReportTests(unittest.TestCase):
    def run_with(self, output, ending="exit 0"):
        """Returns the printed output, the log and the exit status for a command's output and ending."""
        if isinstance(output, str):
            output = output.encode()
        with tempfile.TemporaryDirectory() as directory:
            canned = Path(directory, "canned")
            canned.write_bytes(output)
            done = subprocess.run(
                [sys.executable, PROGRAM, "some tests", "sh", "-c", f'cat "$0"; {ending}', canned],
                env={**os.environ, "TEST_LOGS": directory}, stdout=subprocess.PIPE, timeout=30,
            )
            self.assertEqual(Path(directory, "some-tests.log").read_bytes(), output)
        return done.stdout.decode(errors="replace"), done.returncode

    def test_only_suites_are_shown_of_passing_tests(self):
        said, status = self.run_with(PASSING + SUMMARY)
        self.assertEqual(status, 0)
        self.assertEqual(said, '✔ Suite "Rows" passed after 0.002 seconds.\n' + SUMMARY)

    def test_a_failure_is_repeated_at_the_end_however_much_follows(self):
        said, status = self.run_with(FAILING + PASSING * 1000, "exit 3")
        self.assertEqual(status, 3)
        end = said.splitlines()[-50:]
        failed = end.index("---- What failed in some tests:")
        self.assertIn("TLSTests.swift:105:33", end[failed + 1])
        self.assertEqual(end[failed + 2], "↳ other-ca.pem got nil")
        self.assertIn('✔ Suite "Rows" passed after 0.002 seconds.', end[:failed])
        self.assertNotIn("Begun and not ended", said)

    def test_a_crash_shows_its_message_and_the_running_test(self):
        begun = '◇ Test "slots are given back" started.\n'.encode()
        said, status = self.run_with(PASSING.encode() + begun + TRAP, "kill -ILL $$")
        self.assertEqual(status, 128 + 4)
        end = said[said.index("---- What failed"):]
        self.assertIn("Fatal error: index \ufffd\ufffd out of range", end)
        self.assertIn('Begun and not ended: Test "slots are given back"', end)
        self.assertNotIn("are kept", end)

    def test_a_command_that_hangs_is_ended_with_its_stacks(self):
        begun = '◇ Test "TLS is verified" started.\n'
        with unittest.mock.patch.dict(os.environ, TEST_STALL_SECONDS="1.5"):
            said, status = self.run_with(begun, "sleep 300")
        self.assertEqual(status, 124)
        self.assertIn("No output for 2 s", said)
        self.assertRegex(said, r"---- process \d+: sleep 300\n(.*\n)*.*nanosleep")
        self.assertIn('Begun and not ended: Test "TLS is verified"', said)

    def test_a_step_that_takes_too_long_is_ended_with_its_stacks(self):
        script = '"$0" $$ 1 "the step" & sleep 301 & sleep 302 || echo "ended with $?"; exit 7'
        done = subprocess.run(
            ["bash", "-c", script, PROGRAM.with_name("watchdog")], stdout=subprocess.PIPE, timeout=60)
        said = done.stdout.decode(errors="replace")
        self.assertEqual(done.returncode, 7, said)
        self.assertIn("the step has not ended within 1 s", said)
        self.assertRegex(said, r"---- process \d+: sleep 301\n(.*\n)*---- process \d+: sleep 302\n")
        self.assertIn("ended with 143", said)

    def test_passwords_are_not_shown(self):
        with unittest.mock.patch("builtins.open", unittest.mock.mock_open(
            read_data=b"relay\0copy\0--to\0mysql://me:secret@db/relay\0")):
            self.assertEqual(stacks.command_line(1), "relay copy --to mysql://…@db/relay")

    def test_a_race_fails_a_run_that_ends_with_0(self):
        said, status = self.run_with(PASSING + RACE + PASSING + SUMMARY)
        self.assertEqual(status, 1)
        end = said[said.index("---- What failed"):]
        self.assertIn("#0 Channel.close() Channel.swift:12", end)
        self.assertIn("SUMMARY: ThreadSanitizer: data race", end)

    def test_a_build_that_fails_shows_its_errors_and_no_progress(self):
        build = "[1/9] Compiling A a.swift\na.swift:1:2: error: no such thing\n  | here\n[2/9] Compiling B b.swift\n"
        said, status = self.run_with(build * 20, "exit 1")
        self.assertEqual(status, 1)
        before, end = said.split("---- What failed in some tests:\n")
        self.assertNotIn("[1/9]", before[:before.index("----")])
        self.assertTrue(end.startswith("a.swift:1:2: error: no such thing\n  | here\n"))

    def test_the_report_is_short_for_any_output(self):
        line = "✘ Test \"x\" recorded an issue with 1 argument " + "long " * 1000 + " at A.swift:1:1: failed\n"
        said, status = self.run_with(line * 500, "exit 1")
        end = said[said.index("---- some tests failed"):]
        self.assertLess(len(end.splitlines()), 100)
        self.assertLess(max(map(len, end.splitlines())), 500)
        self.assertTrue(end.rstrip().splitlines()[-2].endswith(" at A.swift:1:1: failed"))

    def test_a_program_left_behind_is_not_waited_for(self):
        said, status = self.run_with(SUMMARY, "sleep 60 & exit 5")
        self.assertEqual(status, 5)

    def test_a_silent_failure_is_reported(self):
        said, status = self.run_with("", "exit 7")
        self.assertEqual(status, 7)
        self.assertIn("No line was recognised as a failure.", said)


if __name__ == "__main__":
    unittest.main()
