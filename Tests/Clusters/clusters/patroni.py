"""A Patroni cluster for a run: etcd, three PostgreSQL nodes with synchronous replication, HAProxy and PgBouncer."""

import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from launch import sql
from launch.databases import Postgres, give_away
from launch.processes import Program, find_program, free_port, listens, wait_until
from soak.database import Database

NODES = 3
START_DEADLINE = 180  # seconds until a new cluster has a primary and two standbys
REPLACE_DEADLINE = 120  # seconds from losing the primary or the synchronous standby until another node replaces it
REJOIN_DEADLINE = 180  # seconds until a node that comes back is a standby again
STOP_DEADLINE = 30  # seconds until killed processes have ended
PROBE_TIMEOUT = 2  # seconds for a response from Patroni's REST API
# Patroni's defaults, in seconds: another node becomes primary when the lost node's lock is that old.
LOCK = {"ttl": 30, "loop_wait": 10, "retry_timeout": 10}
# docs/operate/databases.md shows this configuration.
HAPROXY = """\
defaults
    mode tcp
    timeout connect 2s
    timeout client 40m
    timeout server 40m

listen postgres
    bind 127.0.0.1:{port}
    option httpchk GET /primary
    http-check expect status 200
    default-server inter 1s fall 3 rise 1 on-marked-down shutdown-sessions
"""
PGBOUNCER = """\
[databases]
relay = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = transaction
server_login_retry = 1
"""


class Node:
    def __init__(self, number, directory):
        self.name = f"node{number}"
        self.data = directory / self.name
        self.port, self.api = free_port(), free_port()
        self.patroni = None

    def get(self, path):
        """Status and JSON of Patroni's response; status 0 if there was none."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.api}{path}", timeout=PROBE_TIMEOUT) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, None
        except (OSError, ValueError):
            return 0, None

    def processes(self):
        """Patroni's process first, then every PostgreSQL process, recognized by its working directory."""
        found = [self.patroni.pid] if self.patroni and self.patroni.is_running else []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "cwd").startswith(str(self.data)):
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    def signal(self, number, processes):
        for process in processes:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def hang(self):
        """Freezes PostgreSQL, and kills Patroni, which would restart it."""
        processes = self.processes()
        self.signal(signal.SIGSTOP, processes)
        self.patroni.kill()

    def kill(self):
        """Kills the node as the loss of its machine would."""
        def has_ended():
            self.signal(signal.SIGKILL, self.processes())
            return not self.processes()
        wait_until(has_ended, f"{self.name} did not end", STOP_DEADLINE)


class PatroniCluster(Database):
    """The database for a run; `urls` are three ways to reach it."""

    def __init__(self):
        super().__init__("sqlite", Path("/nonexistent"))
        self.kind = "postgres"
        self.directory = Path(tempfile.mkdtemp(prefix="relay-patroni-", dir="/tmp"))
        self.others = []
        self.passwords = {name: secrets.token_hex(16) for name in ("admin", "replicator", "relay")}
        try:
            # Socket paths have at most 107 bytes, and unprivileged servers must be able to reach their files.
            self.directory.chmod(0o755)
            give_away(self.directory)
            self.nodes = [Node(number, self.directory) for number in range(1, NODES + 1)]
            self._start_etcd()
            for node in self.nodes:
                self.start(node)
            self._wait("the cluster has a primary and two standbys", self.is_whole, START_DEADLINE)
            self._create_database()
            self._start_haproxy()
            self._start_pgbouncer()
        except BaseException:
            self.stop()
            raise

    # Faults

    def primary(self):
        """The node that Patroni considers the primary."""
        return next((node for node in self.nodes if node.get("/primary")[0] == 200), None)

    def members(self):
        """Patroni's status of its members, as reported by any of them."""
        for node in self.nodes:
            status, cluster = node.get("/cluster")
            if status == 200:
                return cluster["members"]
        return []

    def synchronous_standby(self):
        """The standby that commits wait for."""
        names = [member["name"] for member in self.members() if member["role"] == "sync_standby"]
        return next((node for node in self.nodes if node.name in names), None)

    def is_whole(self):
        """Whether every node is running and one standby is synchronous."""
        roles = sorted(member["role"] for member in self.members() if member["state"] in ("running", "streaming"))
        return roles == sorted(["leader", "sync_standby"] + ["replica"] * (NODES - 2))

    def wait_until_whole(self):
        self._wait("every node is part of the cluster again", self.is_whole, REJOIN_DEADLINE)

    def wait_for_another_primary(self, lost):
        self._wait("another node is primary", lambda: self.primary() not in (None, lost), REPLACE_DEADLINE)

    def wait_for_another_standby(self, lost):
        self._wait("another standby is synchronous", lambda: self.synchronous_standby() not in (None, lost),
                   REPLACE_DEADLINE)

    def switch_over(self, primary):
        """Switches over as before maintenance: the synchronous standby becomes primary, and the primary a standby."""
        standby = self.synchronous_standby()
        request = urllib.request.Request(
            f"http://127.0.0.1:{primary.api}/switchover", method="POST",
            data=json.dumps({"leader": primary.name, "candidate": standby.name}).encode())
        with urllib.request.urlopen(request, timeout=REPLACE_DEADLINE) as answer:
            answer.read()

    # Programs

    def start(self, node):
        file = self._write(f"{node.name}.json", json.dumps(self._configuration(node)))
        node.patroni = self._serve(node.name, ["patroni", file])

    def _configuration(self, node):
        address = f"127.0.0.1:{node.port}"
        account = {name: {"username": name, "password": self.passwords[name]} for name in ("admin", "replicator")}
        return {
            "scope": "relay", "namespace": "/relay/", "name": node.name,
            "restapi": {"listen": f"127.0.0.1:{node.api}", "connect_address": f"127.0.0.1:{node.api}"},
            "etcd3": {"hosts": [f"127.0.0.1:{self.etcd_port}"]},
            "bootstrap": {
                "dcs": {**LOCK, "synchronous_mode": True, "postgresql": {"use_pg_rewind": True, "parameters": {
                    "max_connections": 120, "shared_buffers": "64MB"}}},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}]},
            "postgresql": {
                "listen": address, "connect_address": address, "data_dir": str(node.data), "bin_dir": str(Postgres.programs()),
                "pgpass": str(self.directory / f"{node.name}.pgpass"),
                "authentication": {"superuser": account["admin"], "replication": account["replicator"]},
                "pg_hba": ["local all all scram-sha-256", "host all all 127.0.0.1/32 scram-sha-256",
                           "host replication replicator 127.0.0.1/32 scram-sha-256"],
                "remove_data_directory_on_rewind_failure": True, "remove_data_directory_on_diverged_timelines": True,
                "parameters": {"unix_socket_directories": str(self.directory), "password_encryption": "scram-sha-256"}}}

    def _start_etcd(self):
        self.etcd_port, peer = free_port(), f"http://127.0.0.1:{free_port()}"
        client = f"http://127.0.0.1:{self.etcd_port}"
        self._start_other("etcd", self.etcd_port, [
            "etcd", "--name", "etcd", "--data-dir", self.directory / "etcd", "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"etcd={peer}"])

    def _start_haproxy(self):
        port = free_port()
        servers = "".join(f"    server {node.name} 127.0.0.1:{node.port} check port {node.api}\n" for node in self.nodes)
        file = self._write("haproxy.cfg", HAPROXY.format(port=port) + servers)
        self._start_other("haproxy", port, [find_program("haproxy", "haproxy"), "-db", "-f", file])
        self.urls["HAProxy"] = self._url("relay", f"127.0.0.1:{port}", "relay")
        self._wait("HAProxy has found the primary", lambda: sql.answers(self.urls["HAProxy"]), START_DEADLINE)

    def _start_pgbouncer(self):
        port = free_port()
        users = self._write("pgbouncer-users", f'"relay" "{self.passwords["relay"]}"\n')
        behind = self.urls["HAProxy"].split(":")[-1].split("/")[0]
        file = self._write("pgbouncer.ini", PGBOUNCER.format(port=port, server=behind, users=users))
        self._start_other("pgbouncer", port, [find_program("pgbouncer", "pgbouncer"), file])
        self.urls["PgBouncer and HAProxy"] = self._url("relay", f"127.0.0.1:{port}", "relay", "?prepared_statements=off")

    def _create_database(self):
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        self.administrator = self._url("admin", hosts, "postgres", "?target_session_attrs=read-write")
        # Behind PgBouncer the relay can't set this itself.
        sql.run(self.administrator, f"CREATE ROLE relay LOGIN PASSWORD '{self.passwords['relay']}'")
        sql.run(self.administrator, "ALTER ROLE relay SET statement_timeout = '4s'")
        sql.run(self.administrator, "CREATE DATABASE relay OWNER relay")
        self.urls = {"several hosts": self._url("relay", hosts, "relay")}
        self.url = self._url("relay", hosts, "relay", "?target_session_attrs=read-write")

    def _url(self, user, hosts, database, options=""):
        return f"postgres://{user}:{self.passwords[user]}@{hosts}/{database}{options}"

    def _write(self, name, text):
        file = self.directory / name
        file.touch(0o600)
        file.write_text(text)
        give_away(file)
        return file

    def _start_other(self, name, port, command):
        self.others.append(self._serve(name, command))
        self._wait(f"{name} listens", lambda: listens(port), START_DEADLINE)

    def _serve(self, name, command):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(self.directory)}
        return Program(name, command, self.directory, environment, is_unprivileged=True)

    def _wait(self, what, condition, deadline):
        end = time.monotonic() + deadline
        while not condition():
            if time.monotonic() > end:
                for log in sorted(self.directory.glob("*.log")):
                    print(f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}", file=sys.stderr)
                raise SystemExit(f"Waited {deadline} s until {what}")
            time.sleep(0.2)

    def stop(self):
        for node in getattr(self, "nodes", []):
            node.kill()
        for process in self.others:
            process.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
