"""The database of a run: a file, or a server of its own, and what it holds at the end."""

import os
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "Support" / "databases"
SEPARATOR = "\x1f"


class Database:
    def __init__(self, kind, directory):
        self.kind = kind
        self.file = directory / "relay.db"
        self.servers = None
        if kind == "sqlite":
            self.url = f"sqlite:{self.file}"
            return
        # Unprivileged servers must reach their files, which a private directory would not let them.
        self.servers = Path(subprocess.check_output(["mktemp", "-d", "/tmp/relay-soak-databases-XXXXXX"], text=True).strip())
        os.chmod(self.servers, 0o755)
        exports = subprocess.check_output([SCRIPT, "start", self.servers], text=True)
        variables = dict(re.findall(r"export (\w+)=(\S+)", exports))
        name = {"postgres": "RELAY_TEST_POSTGRES_URL", "mysql": "RELAY_TEST_MYSQL_URL"}[kind]
        self.administrator = variables[name].replace("\\", "")
        self._administer("CREATE DATABASE relay_soak")
        self.url = re.sub(r"/[^/?]+(\?|$)", r"/relay_soak\1", self.administrator, count=1)

    @property
    def can_restart(self):
        return self.servers is not None

    def kill(self):
        self._script("kill")

    def restart(self):
        self._script("restart")

    def _script(self, command):
        name = {"postgres": "postgres", "mysql": "mariadb"}[self.kind]
        subprocess.run([SCRIPT, command, self.servers, name], check=True, stdout=subprocess.DEVNULL)

    def stop(self):
        if self.servers:
            subprocess.run([SCRIPT, "stop", self.servers], stdout=subprocess.DEVNULL)
            shutil.rmtree(self.servers, ignore_errors=True)

    def waiting(self, table):
        """How many rows wait in a table to be sent."""
        return int(self._rows(f"SELECT count(*) FROM {table}")[0][0])

    def ends(self):
        """Each push's rows in the delivery log: (status, error)."""
        ends = {}
        for push, status, error in self._rows("SELECT id, status, coalesce(error, '') FROM delivery_log"):
            ends.setdefault(push, []).append((status, error))
        return ends

    def sessions_of_failures(self, prefix):
        """The sessions with this prefix that have a failed push in the delivery log."""
        sql = f"SELECT DISTINCT session_id FROM delivery_log WHERE status = 'failed' AND session_id LIKE '{prefix}%'"
        return {row[0] for row in self._rows(sql)}

    def _rows(self, sql):
        if self.kind == "sqlite":
            with sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, timeout=10) as connection:
                return connection.execute(sql).fetchall()
        return [line.split(SEPARATOR) for line in self._client(self.url, sql).splitlines()]

    def _administer(self, sql):
        self._client(self.administrator, sql)

    def _client(self, url, sql):
        if self.kind == "postgres":
            command = ["psql", url, "-X", "-q", "-A", "-t", "-F", SEPARATOR, "-v", "ON_ERROR_STOP=1", "-c", sql]
            return subprocess.check_output(command, text=True)
        user, password, host, port, name = re.match(r"\w+://([^:@]*)(?::([^@]*))?@([^:/]+):(\d+)/(\w*)", url).groups()
        command = ["mariadb", f"--user={user}", f"--host={host}", f"--port={port}", "--protocol=tcp", "--batch",
                   "--skip-column-names", "--raw", name, "-e", sql]
        environment = {**os.environ, "MYSQL_PWD": password or ""}
        return subprocess.check_output(command, text=True, env=environment).replace("\t", SEPARATOR)
