"""The database of a run, a file or a separate server, and its contents at the end."""

import sqlite3

from launch import sql
from launch.databases import Databases, MariaDB, Postgres

NAME = "relay_soak"
SERVERS = {"postgres": Postgres, "mysql": MariaDB}


class Database:
    def __init__(self, kind, directory):
        self.kind = kind
        self.file = directory / "relay.db"
        self.servers = None
        self.url = f"sqlite:{self.file}"
        if kind != "sqlite":
            # Outside the run's directory, which only root can read: servers run as another user.
            self.name = SERVERS[kind].name
            self.servers = Databases([SERVERS[kind]]).__enter__()
            self.url = self.servers.create(self.name, NAME)

    @property
    def can_restart(self):
        return self.servers is not None

    def kill(self):
        self.servers.kill(self.name)

    def restart(self):
        self.servers.restart(self.name)

    def stop(self):
        if self.servers:
            self.servers.__exit__()

    def waiting(self, table):
        """The number of rows in a table that wait to be sent."""
        return int(self._rows(f"SELECT count(*) FROM {table}")[0][0])

    def ends(self):
        """Each push's rows in the delivery log: (status, error)."""
        ends = {}
        query = "SELECT id, status, coalesce(error, ''), coalesce(others, '') FROM delivery_log"
        for push, status, error, others in self._rows(query):
            # The ID of each further push and its device's ID, 36 characters each.
            for end in (push, *(others[i:i + 36] for i in range(0, len(others), 72))):
                ends.setdefault(end, []).append((status, error))
        return ends

    def sessions_of_failures(self, prefix):
        """The sessions with this prefix that have a failed push in the delivery log."""
        query = f"SELECT DISTINCT session_id FROM delivery_log WHERE status = 'failed' AND session_id LIKE '{prefix}%'"
        return {row[0] for row in self._rows(query)}

    def _rows(self, query):
        if self.kind == "sqlite":
            with sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, timeout=10) as connection:
                return connection.execute(query).fetchall()
        return [line.split("\t") for line in sql.run(self.url, query).splitlines()]
