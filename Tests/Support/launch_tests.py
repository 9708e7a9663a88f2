#!/usr/bin/env python3
"""Tests of the launcher. Run: Tests/Support/launch_tests.py"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
from launch import databases, processes, programs, sql  # noqa: E402

HERE = Path(__file__).resolve().parent
PATIENT = 10  # seconds for operations that take milliseconds
SLEEPS = [sys.executable, "-uc", "import time; print('ready'); time.sleep(600)"]
# Ignores SIGTERM.
STUBBORN = [sys.executable, "-uc", "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready'); time.sleep(600)"]


class ProgramTests(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def start(self, command=SLEEPS, name="program"):
        program = processes.Program(name, command, self.directory)
        self.addCleanup(program.kill)
        program.wait_until_ready(lambda: "ready" in program.output, PATIENT)
        return program

    def test_a_free_port_is_below_the_ephemeral_range_and_not_in_use(self):
        with socket.socket() as listener, mock.patch.object(processes.random, "choice") as choice:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            # Outside the range, so no other launcher has it.
            free = processes.PORTS[0] - 1
            choice.side_effect = [listener.getsockname()[1], free, free, free - 1]
            self.assertEqual(processes.free_port(), free)
            # No server uses the port yet, but it was returned before.
            self.assertEqual(processes.free_port(), free - 1)
        ephemeral = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        self.assertLess(processes.PORTS[-1], max(ephemeral, 32_768))

    def test_a_program_that_ends_early_fails_with_its_output(self):
        program = processes.Program("early", ["sh", "-c", "echo no database; exit 3"], self.directory)
        with self.assertRaises(SystemExit) as failure:
            program.wait_until_ready(lambda: False, PATIENT)
        self.assertRegex(str(failure.exception), "(?s)^early did not start .*no database$")

    def test_a_program_that_is_not_ready_in_time_is_killed(self):
        program = self.start()
        with self.assertRaisesRegex(SystemExit, "program did not serve within 0 s"):
            program.wait_until_ready(lambda: False, 0)
        self.assertFalse(program.is_running)

    def test_the_output_is_that_of_the_last_run(self):
        for number in (1, 2):
            program = self.start([*SLEEPS[:2], f"import time; print('ready', {number}); time.sleep(600)"])
            program.kill()
        self.assertEqual(program.output, "ready 2\n")

    def test_sigterm_ends_a_program_and_sigkill_one_that_ignores_it(self):
        self.assertEqual(self.start().stop(PATIENT), -signal.SIGTERM)
        self.assertEqual(self.start(STUBBORN).stop(0), -signal.SIGKILL)

    def test_programs_stop_in_reverse_order_and_their_directory_goes(self):
        stopped = []
        with processes.Programs() as running:
            for name in ("first", "second"):
                program = running.add(mock.Mock())
                program.stop.side_effect = lambda name=name: stopped.append(name)
        self.assertEqual(stopped, ["second", "first"])
        self.assertFalse(running.directory.exists())

    def test_programs_stop_if_one_does_not_start(self):
        class Failing(processes.Programs):
            def begin(self):
                self.first = self.start("first", SLEEPS)
                raise SystemExit("the second did not start")

        failing = Failing()
        with self.assertRaises(SystemExit), failing:
            pass
        self.assertFalse(failing.first.is_running)
        self.assertFalse(failing.directory.exists())

    def launcher(self, body):
        """Starts a Python process with the launcher and returns it with the ID that it prints."""
        script = f"import sys\nsys.dont_write_bytecode = True\nsys.path.insert(0, {str(HERE)!r})\n" \
                 f"from launch.processes import *\n{body}"
        process = subprocess.Popen([sys.executable, "-uc", script], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process, int(process.stdout.readline())

    def expect_end(self, pid):
        end = time.monotonic() + PATIENT
        while time.monotonic() < end:
            if not processes.stat(pid) or processes.stat(pid)[0] == "Z":
                return
            time.sleep(0.01)
        self.fail(f"process {pid} still runs")

    def test_every_ending_signal_stops_the_programs(self):
        for number in processes.ENDING:
            process, pid = self.launcher(
                f"with Programs() as running:\n    print(running.start('p', {SLEEPS!r}).pid)\n    time.sleep(600)")
            process.send_signal(number)
            self.assertEqual(process.wait(PATIENT), 128 + number)
            self.expect_end(pid)

    def test_a_killed_launcher_takes_its_programs_along(self):
        # Until the program has started, it doesn't know that it has to end.
        process, pid = self.launcher(
            f"p = Program('p', {SLEEPS!r}, {str(self.directory)!r})\np.wait_until_ready(lambda: 'ready' in p.output)\n"
            "print(p.pid)\ntime.sleep(600)")
        process.kill()
        self.expect_end(pid)

    def test_a_command_gives_its_status_and_is_ended_with_the_launcher(self):
        self.assertEqual(processes.run(["sh", "-c", "exit 7"]), 7)
        self.assertEqual(processes.run(["sh", "-c", "kill -TERM $$"]), 128 + signal.SIGTERM)
        process, pid = self.launcher("end_on_signals()\nrun(['sh', '-c', 'echo $$; exec sleep 600'])")
        process.terminate()
        self.assertEqual(process.wait(PATIENT), 128 + signal.SIGTERM)
        self.expect_end(pid)


class EnvironmentTests(unittest.TestCase):
    def test_a_relay_gets_none_of_the_caller_s_settings(self):
        settings = ("PORT", "HOST", "DATABASE_URL", "RELAY_TEST_TLS", "APNS_TEAM_ID")
        environment = {"PATH": "/bin", **dict.fromkeys(settings, "1")}
        self.assertEqual(programs.without_settings(environment), {"PATH": "/bin"})

    def test_the_name_of_a_new_database_replaces_the_administrator_s(self):
        cases = {
            "mysql://relay:p@127.0.0.1:1/mysql": "mysql://relay:p@127.0.0.1:1/new",
            "postgres://relay:p@127.0.0.1:1/postgres?sslmode=require": "postgres://relay:p@127.0.0.1:1/new?sslmode=require",
            "postgres://relay:p@127.0.0.1:1,127.0.0.1:2/postgres": "postgres://relay:p@127.0.0.1:1,127.0.0.1:2/new"}
        with mock.patch.object(sql, "run"):
            for administrator, url in cases.items():
                self.assertEqual(sql.create_database(administrator, "new"), url)

    def test_a_password_is_not_in_a_command(self):
        command, environment = sql.client("mysql://relay:secret@127.0.0.1:1/mysql")
        self.assertNotIn("secret", " ".join(command))
        self.assertEqual(environment["MYSQL_PWD"], "secret")


class DatabasesTests(unittest.TestCase):
    def setUp(self):
        directory = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="db-", dir="/tmp")))
        directory.chmod(0o755)
        self.databases = databases.Databases((), directory)

    def test_a_reused_process_id_is_not_a_server(self):
        (self.databases.directory / "mariadb.pid").write_text(str(os.getpid()))
        self.assertIsNone(self.databases.pid("mariadb"))

    def test_a_killed_server_starts_again_with_the_same_command(self):
        self.databases.launch("server", ["sh", "-c", f"echo {self.databases.directory}; sleep 600; :"])
        self.addCleanup(self.databases.kill, "server")
        first = self.running("server")
        self.databases.kill("server")
        self.assertIsNone(self.databases.pid("server"))
        self.databases.restart("server")
        self.assertNotEqual(self.running("server"), first)

    def test_a_server_that_replaces_its_program_is_still_running(self):
        program = self.databases.directory / "again"
        program.write_text("#!/bin/sh\nexec $0\n")
        program.chmod(0o755)
        self.databases.launch("server", [program])
        self.addCleanup(self.databases.kill, "server")
        first = self.running("server")
        self.assertEqual({self.databases.pid("server") for _ in range(2000)}, {first})

    def running(self, name):
        """Returns a server's process ID once it runs."""
        processes.wait_until(lambda: self.databases.pid(name), f"{name} did not start", PATIENT)
        return self.databases.pid(name)

    def test_odd_sessions_are_chosen(self):
        for is_odd in (False, True):
            self.databases.has_odd_sessions = is_odd
            with mock.patch.object(databases, "find_program", side_effect=lambda name, package: name):
                server = databases.MariaDB(self.databases)
                self.assertEqual(set(server.odd_flags) <= set(map(str, server.command())), is_odd)
                self.assertEqual("sql_select_limit" in (server.directory / "mariadb.sql").read_text(), is_odd)

    def test_a_path_too_long_for_a_socket_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "too long"):
            databases.Databases((), "/tmp/" + "x" * 80)


if __name__ == "__main__":
    unittest.main()
