"""Runs database servers for tests, in a separate directory and on free loopback ports.

The variables of a running set contain administrators' URLs and two directories:
  RELAY_TEST_POSTGRES_URL    postgres://…@127.0.0.1:PORT/postgres
  RELAY_TEST_PGBOUNCER_URL   the same server through PgBouncer in transaction mode
  RELAY_TEST_MYSQL_URL       mysql://…@127.0.0.1:PORT/mysql, a MariaDB server
  RELAY_TEST_GALERA_URL      a cluster of three MariaDB nodes, galera1 to galera3
  RELAY_TEST_POSTGRES18_URL, RELAY_TEST_MYSQL97_URL    PostgreSQL 18 and MySQL 9.7 (newest.py)
  RELAY_TEST_TLS             a directory: ca.pem signed the servers' certificate, which is valid for localhost but not for
                             127.0.0.1; other-ca.pem signed nothing; client.pem and client-key.pem are for clients
  RELAY_TEST_DATABASES       the directory, for `Tests/Support/databases kill` and `restart`

NAME.pid contains a server's process ID, NAME.command its command for a restart, NAME.log its output.
"""

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import sql
from .processes import STOP_DEADLINE, Failure, Program, find_program, free_port, processor_time, unprivileged, wait_until

START_DEADLINE = 60  # seconds until a server must respond
EXEC_DEADLINE = 30  # seconds until a process that replaces its program must have a command line again
BUFFERS_MIB = 64  # page cache of each server, unless DATABASE_BUFFERS_MIB says otherwise
PATH_MAX = 80  # bytes in the directory's path: socket paths have at most 107
MEMORY_MIN, SHM_MIN = 8 << 30, 4 << 30  # bytes that must be free before files are put in /dev/shm
GALERA_LIBRARY = "/usr/lib/galera/libgalera_smm.so"


class Server:
    """A server in a set's directory."""

    def __init__(self, databases):
        self.databases, self.directory = databases, databases.directory
        self.at, self.tls = self.directory / self.name, self.directory / "tls"
        self.port, self.password = free_port(), secrets.token_hex(16)

    @property
    def url(self):
        return f"{self.scheme}://relay:{self.password}@127.0.0.1:{self.port}/{self.scheme}"

    def launch(self):
        """Starts the server after `prepare` has created its files."""
        self.databases.launch(self.name, self.command())

    def wait(self):
        """Waits until the server responds."""
        self.databases.wait(self)


class Postgres(Server):
    name, scheme, variable = "postgres", "postgres", "RELAY_TEST_POSTGRES_URL"
    inside = ()  # prefix of a command that runs where the server's programs are
    options = ("-c", "max_prepared_transactions=0")

    def prepare(self):
        password = self.databases.write(f"{self.name}-password", self.password)
        self.databases.run([
            *(self.inside or unprivileged()), f"{self.programs()}/initdb", "-D", self.at, "-U", "relay",
            f"--pwfile={password}", "-E", "UTF8", "--locale=C.UTF-8", "--auth-local=scram-sha-256", "--auth-host=scram-sha-256"])

    @staticmethod
    def programs():
        """Returns the directory of the newest installed version's programs."""
        versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
        if not versions:
            raise SystemExit("PostgreSQL is not installed: Debian package postgresql")
        return max(versions, key=lambda path: int(re.sub(r"\D", "", path.parent.name)))

    def command(self):
        return [
            *self.inside, f"{self.programs()}/postgres", "-D", self.at, "-p", self.port, "-k", self.directory,
            "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200",
            "-c", f"shared_buffers={self.databases.buffers}MB", "-c", "ssl=on", "-c", f"ssl_cert_file={self.tls}/server.pem", "-c", f"ssl_key_file={self.tls}/server-key.pem",
            "-c", f"ssl_ca_file={self.tls}/ca.pem", "-c", "log_min_messages=warning", "-c", "log_min_error_statement=panic",
            *self.options]


class PgBouncer(Server):
    name, scheme, variable = "pgbouncer", "postgres", "RELAY_TEST_PGBOUNCER_URL"

    def prepare(self):
        server = self.databases.servers["postgres"]
        self.password = server.password
        users = self.databases.write("pgbouncer-users", f'"relay" "{self.password}"\n')
        self.file = self.databases.write("pgbouncer.ini", f"""\
[databases]
* = host=127.0.0.1 port={server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = transaction
default_pool_size = 5
max_client_conn = 500
""")

    def command(self):
        return [find_program("pgbouncer", "pgbouncer"), self.file]


class MySQL(Server):
    """The parts that MariaDB and MySQL share."""

    scheme, create = "mysql", "CREATE OR REPLACE USER"

    def write_init(self, more=""):
        """Writes the SQL that replaces the passwordless root before clients can connect; returns the flag for it."""
        return "--init-file=" + str(self.databases.write(f"{self.name}.sql", f"""\
{self.create} relay@'%' IDENTIFIED BY '{self.password}';
GRANT ALL PRIVILEGES ON *.* TO relay@'%' WITH GRANT OPTION;
DROP USER IF EXISTS root@localhost;
{more}"""))

    def flags(self):
        return [
            "--no-defaults", f"--datadir={self.at}/data", f"--tmpdir={self.at}/tmp", f"--socket={self.at}/server.sock",
            f"--pid-file={self.at}/server.pid", f"--port={self.port}", "--bind-address=127.0.0.1", "--skip-name-resolve",
            "--max-connections=200", f"--innodb-buffer-pool-size={self.databases.buffers}M", "--performance-schema=OFF"]

    def ssl_flags(self):
        return [f"--ssl-ca={self.tls}/ca.pem", f"--ssl-cert={self.tls}/server.pem", f"--ssl-key={self.tls}/server-key.pem"]


class MariaDB(MySQL):
    name, variable = "mariadb", "RELAY_TEST_MYSQL_URL"
    # Session defaults that the relay must override.
    odd_sql = "SET GLOBAL sql_select_limit = 3, sql_auto_is_null = 1, unique_checks = 0;\n"
    odd_flags = (
        "--character-set-server=utf8mb3", "--collation-server=utf8mb3_general_ci", "--skip-character-set-client-handshake",
        "--autocommit=0", "--completion-type=CHAIN", "--transaction-isolation=SERIALIZABLE", "--default-time-zone=+05:45",
        "--sql-mode=ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES", "--sql-safe-updates", "--max-sort-length=64",
        "--max-join-size=1000")

    def prepare(self):
        self.databases.make(self.at, self.at / "data", self.at / "tmp")
        self.databases.run([
            *unprivileged(), find_program("mariadb-install-db", "mariadb-server"), "--no-defaults",
            f"--datadir={self.at}/data", f"--tmpdir={self.at}/tmp", "--skip-test-db", "--auth-root-authentication-method=normal", "--skip-name-resolve"])

    def base(self):
        return [
            find_program("mariadbd", "mariadb-server"), *self.flags(), "--innodb-log-file-size=256M",
            "--innodb-flush-log-at-trx-commit=1", "--key-buffer-size=1M", "--aria-pagecache-buffer-size=1M"]

    def command(self):
        odd_flags, odd_sql = (self.odd_flags, self.odd_sql) if self.databases.has_odd_sessions else ((), "")
        return [
            *self.base(), *self.ssl_flags(), *odd_flags, self.write_init(odd_sql), "--plugin-load-add=auth_ed25519"]


class GaleraNode(MariaDB):
    def __init__(self, databases, number, password):
        self.name = f"galera{number}"
        super().__init__(databases)
        self.password, self.group = password, free_port()


class Galera(Server):
    """A cluster of three MariaDB nodes."""

    name, variable = "galera", "RELAY_TEST_GALERA_URL"

    def __init__(self, databases):
        super().__init__(databases)
        self.nodes = [GaleraNode(databases, number, self.password) for number in (1, 2, 3)]

    @property
    def url(self):
        return f"mysql://relay:{self.password}@{self._addresses('port')}/mysql"

    def _addresses(self, port):
        return ",".join(f"127.0.0.1:{getattr(node, port)}" for node in self.nodes)

    def prepare(self):
        """Runs the first node once by itself, so that the others can start from its data without a state transfer."""
        if not Path(GALERA_LIBRARY).exists():
            raise SystemExit("Galera is not installed: Debian package galera-4")
        first = self.nodes[0]
        first.prepare()
        self._launch(first, first.write_init(), "--wsrep-new-cluster")
        self.databases.end([first.name])
        for node in self.nodes[1:]:
            subprocess.run(["cp", "-a", first.at, node.at], check=True)

    def _launch(self, node, *flags):
        provider = f"gmcast.listen_addr=tcp://127.0.0.1:{node.group};ist.recv_addr=127.0.0.1:{free_port()};gcache.size=16M"
        self.databases.launch(node.name, [
            *node.base(), "--wsrep-on=ON", f"--wsrep-provider={GALERA_LIBRARY}", "--wsrep-cluster-name=relay",
            f"--wsrep-cluster-address=gcomm://{self._addresses('group')}", f"--wsrep-node-name={node.name}",
            "--wsrep-node-address=127.0.0.1", "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
            f"--wsrep-provider-options={provider}", *flags])
        node.wait()

    def launch(self):
        for node in self.nodes:
            self._launch(node, *(["--wsrep-new-cluster"] if node is self.nodes[0] else []))

    def wait(self):
        """Does nothing: `launch` has waited for every node."""


USUAL = (Postgres, PgBouncer, MariaDB)


class Databases:
    """A set of servers in a directory. Servers sync to disk as in production unless `syncs` is false."""

    def __init__(self, kinds=USUAL, directory=None, has_odd_sessions=False, syncs=True, buffers=None, outlives=False):
        self.syncs, self.outlives, self.has_odd_sessions = syncs, outlives, has_odd_sessions
        self.buffers = buffers or int(os.environ.get("DATABASE_BUFFERS_MIB", BUFFERS_MIB))
        self.directory = Path(directory or tempfile.mkdtemp(
            prefix="relay-databases-", dir="/tmp" if syncs else memory_directory())).absolute()
        if len(str(self.directory)) > PATH_MAX:
            raise SystemExit(f"the path {self.directory} is too long for a Unix socket")
        self.kinds = kinds
        self._programs = {}

    def __enter__(self):
        """Starts the servers in parallel; sets `servers` and `variables`."""
        try:
            self.make(self.directory)
            self.directory.chmod(0o711)
            make_certificates(self)
            self.servers = {kind.name: kind(self) for kind in self.kinds}
            servers = self.servers.values()
            with ThreadPoolExecutor(len(servers)) as pool:
                list(pool.map(lambda server: server.prepare(), servers))
            for server in servers:
                server.launch()
            for server in servers:
                server.wait()
        except BaseException:
            self.__exit__()
            raise
        self.variables = {
            "RELAY_TEST_DATABASES": str(self.directory), "RELAY_TEST_TLS": str(self.directory / "tls"),
            **{server.variable: server.url for server in servers}}
        return self

    def __exit__(self, *_):
        """Stops every server in the directory and removes it."""
        self.end([file.stem for file in self.directory.glob("*.pid")])
        shutil.rmtree(self.directory, ignore_errors=True)

    def make(self, *directories):
        for directory in directories:
            directory.mkdir(exist_ok=True)
        give_away(*directories)

    def write(self, name, text):
        """Writes a file that only the servers' user can read, and returns its path."""
        file = self.directory / name
        file.touch(0o600)
        file.write_text(text)
        give_away(file)
        return file

    def run(self, command):
        """Runs a command to completion and hides its output unless it fails."""
        done = subprocess.run(
            list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=environment(self.syncs), cwd="/", text=True, errors="replace")
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}")

    def launch(self, name, command):
        command = list(map(str, command))
        (self.directory / f"{name}.command").write_text(json.dumps([command, self.syncs]))
        self.restart(name)

    def restart(self, name):
        """Starts a server with its stored command."""
        command, syncs = json.loads((self.directory / f"{name}.command").read_text())
        # A server in another root file system needs root for its mounts and then drops it.
        is_inside = command[0].endswith("/Tests/Support/inside")
        program = self._programs[name] = Program(
            name, command, self.directory, environment(syncs, self.outlives), not is_inside, self.outlives)
        (self.directory / f"{name}.pid").write_text(str(program.pid))
        # PostgreSQL doesn't start while the killed server's process still exists, even as a zombie.
        threading.Thread(target=program.process.wait, daemon=True).start()

    def wait(self, server):
        self._programs[server.name].wait_until_ready(lambda: sql.answers(server.url), START_DEADLINE)

    def pid(self, name):
        """Returns the process ID of a server running in this directory."""
        try:
            pid = int((self.directory / f"{name}.pid").read_text())
            # Another program may have reused the ID.
            return pid if str(self.directory).encode() in command_line(pid) else None
        except (OSError, ValueError):
            return None

    def create(self, name, database):
        """Creates a database on a server and returns its URL."""
        return sql.create_database(self.servers[name].url, database)

    def cpu(self, name):
        """Processor time used so far by a server and its children, in seconds."""
        return processor_time(self.pid(name))

    def _signal(self, name, number):
        with contextlib.suppress(ProcessLookupError):
            if pid := self.pid(name):
                os.killpg(pid, number)

    def end(self, names):
        """Stops servers, with SIGKILL after a deadline."""
        for name in names:
            # PostgreSQL's fast shutdown; the other servers stop on SIGTERM.
            self._signal(name, signal.SIGINT if name.startswith("postgres") else signal.SIGTERM)
        with contextlib.suppress(Failure):
            wait_until(lambda: not any(map(self.pid, names)), "the servers did not stop", STOP_DEADLINE)
        for name in names:
            self.kill(name)

    def kill(self, name):
        """Kills a server, as the loss of its machine would."""
        if pid := self.pid(name):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), f"{name} did not end", STOP_DEADLINE)


def command_line(pid):
    """Returns a process's command line, empty if it has ended; waits while it replaces its program and has none."""
    end = time.monotonic() + EXEC_DEADLINE
    while True:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if line or state in "ZX" or time.monotonic() > end:
            return line


def environment(syncs, outlives=False):
    """Preloads libeatmydata, which disables fsync: even so, SIGKILL loses no write, and tests take half the time."""
    preload = {} if syncs else {"LD_PRELOAD": "libeatmydata.so"}
    return {**os.environ, **preload, **({"DATABASE_OUTLIVE": "yes"} if outlives else {})}


def give_away(*files):
    """Makes the unprivileged user the owner of root's files."""
    if os.geteuid() == 0:
        for file in files:
            shutil.chown(file, "nobody", "nogroup")


def memory_directory():
    """Returns /dev/shm if there is plenty of memory: contract tests on PostgreSQL take half the time."""
    available = int(re.search(r"MemAvailable: *(\d+)", Path("/proc/meminfo").read_text())[1]) << 10
    is_plenty = available >= MEMORY_MIN and os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free >= SHM_MIN
    return "/dev/shm" if is_plenty else "/tmp"


def make_certificates(databases):
    """Creates a CA, a server certificate for localhost, a client certificate, and a CA that signed nothing."""
    tls = databases.directory / "tls"
    tls.mkdir()
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    (tls / "names").write_text("subjectAltName=DNS:localhost\n")

    def openssl(name, *words):
        databases.run(["openssl", *words, "-subj", f"/CN=relay test {name}", "-keyout", f"{tls}/{name}-key.pem"])

    for name in ("ca", "other-ca"):
        openssl(name, "req", "-x509", *key, "-days", 30, "-out", f"{tls}/{name}.pem")
    for name in ("server", "client"):
        openssl(name, "req", *key, "-out", f"{tls}/{name}.csr")
        databases.run(["openssl", "x509", "-req", "-in", f"{tls}/{name}.csr", "-CA", tls / "ca.pem", "-CAkey",
                       tls / "ca-key.pem", "-CAcreateserial", "-days", 30, "-extfile", tls / "names", "-out", f"{tls}/{name}.pem"])
    for file in tls.glob("*-key.pem"):
        file.chmod(0o600)
    give_away(tls, *tls.iterdir())
