"""Runs database servers for tests, in a directory of their own on free loopback ports.

The variables of a running set are URLs of administrators, and where to find the rest:
  RELAY_TEST_POSTGRES_URL    postgres://…@127.0.0.1:PORT/postgres
  RELAY_TEST_PGBOUNCER_URL   the same server through PgBouncer in transaction mode
  RELAY_TEST_MYSQL_URL       mysql://…@127.0.0.1:PORT/mysql, a MariaDB server
  RELAY_TEST_GALERA_URL      a cluster of three MariaDB nodes, galera1 to galera3
  RELAY_TEST_POSTGRES18_URL, RELAY_TEST_MYSQL97_URL    PostgreSQL 18 and MySQL 9.7 (newest.py)
  RELAY_TEST_TLS             a directory: ca.pem signed the servers' certificate, which is for localhost and not for
                             127.0.0.1; other-ca.pem signed nothing; client.pem and client-key.pem are for clients
  RELAY_TEST_DATABASES       the directory, for `Tests/Support/databases kill` and `restart`

NAME.pid has the process ID of a server, NAME.command its command and environment for a restart, NAME.log its output.
"""

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import sql
from .processes import STOP_DEADLINE, Program, find_program, free_port, processor_time, unprivileged, wait_until

START_DEADLINE = 60  # seconds for a server to answer
BUFFERS_MIB = 64  # memory of each server for pages, unless DATABASE_BUFFERS_MIB says otherwise
PATH_MAX = 80  # bytes of the directory: socket paths have at most 107
# Files are kept in memory only if that much of it is free, and of /dev/shm.
MEMORY_MIN, SHM_MIN = 8 << 30, 4 << 30
USUAL = ("postgres", "pgbouncer", "mariadb")
GALERA_LIBRARY = "/usr/lib/galera/libgalera_smm.so"


class Server:
    """A server in a set's directory."""

    variable = None

    def __init__(self, databases):
        self.databases = databases
        self.directory = databases.directory
        self.at = self.directory / self.name
        self.port = free_port()
        self.password = secrets.token_hex(16)

    def prepare(self):
        """Creates the server's files; servers of a set do so at the same time."""

    def launch(self):
        """Starts the server; some of a set need others to answer."""
        self.databases.launch(self.name, self.command())

    def wait(self):
        """Waits until the server answers."""
        self.databases.wait(self.name, lambda: sql.answers(self.url))


class Postgres(Server):
    name, variable = "postgres", "RELAY_TEST_POSTGRES_URL"
    inside = ()  # what runs a command where the server's programs are
    options = ("-c", "max_prepared_transactions=0")

    def __init__(self, databases):
        super().__init__(databases)
        self.url = f"postgres://relay:{self.password}@127.0.0.1:{self.port}/postgres"

    def prepare(self):
        self.bin = self.programs()
        password = self.databases.write(f"{self.name}-password", self.password)
        self.databases.run([*(self.inside or unprivileged()), f"{self.bin}/initdb", "-D", self.at, "-U", "relay",
                            f"--pwfile={password}", "-E", "UTF8", "--locale=C.UTF-8", "--auth-local=scram-sha-256",
                            "--auth-host=scram-sha-256", *(["--no-sync"] if self.inside else [])])

    @staticmethod
    def programs():
        """Returns the directory of the newest installed version's programs."""
        versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
        if not versions:
            raise SystemExit("PostgreSQL is not installed: Debian package postgresql")
        return str(max(versions, key=lambda path: int(re.sub(r"\D", "", path.parent.name))))

    def command(self):
        tls = self.directory / "tls"
        return [*self.inside, f"{self.bin}/postgres", "-D", self.at, "-p", self.port, "-k", self.directory,
                "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200",
                "-c", f"shared_buffers={self.databases.buffers}MB", *self.options, "-c", "ssl=on",
                "-c", f"ssl_cert_file={tls}/server.pem", "-c", f"ssl_key_file={tls}/server-key.pem",
                "-c", f"ssl_ca_file={tls}/ca.pem", "-c", "log_min_messages=warning",
                "-c", "log_min_error_statement=panic"]


class PgBouncer(Server):
    name, variable = "pgbouncer", "RELAY_TEST_PGBOUNCER_URL"

    def prepare(self):
        server = self.databases.servers["postgres"]
        self.url = server.url.replace(f":{server.port}/", f":{self.port}/")
        users = self.databases.write("pgbouncer-users", f'"relay" "{server.password}"\n')
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


def account_sql(password, create="CREATE OR REPLACE USER"):
    """The initial root account has no password and is local; it goes before clients can connect."""
    return (f"{create} relay@'%' IDENTIFIED BY '{password}';\nGRANT ALL PRIVILEGES ON *.* TO relay@'%' WITH GRANT OPTION;\n"
            "DROP USER IF EXISTS root@localhost;\n")


class MariaDB(Server):
    name, variable = "mariadb", "RELAY_TEST_MYSQL_URL"
    # Has each session begin otherwise than the relay needs it.
    odd_sql = "SET GLOBAL sql_select_limit = 3, sql_auto_is_null = 1, unique_checks = 0;\n"
    odd_flags = (
        "--character-set-server=utf8mb3", "--collation-server=utf8mb3_general_ci", "--skip-character-set-client-handshake",
        "--autocommit=0", "--completion-type=CHAIN", "--transaction-isolation=SERIALIZABLE", "--default-time-zone=+05:45",
        "--sql-mode=ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES", "--sql-safe-updates", "--max-sort-length=64",
        "--max-join-size=1000")

    def __init__(self, databases):
        super().__init__(databases)
        self.url = f"mysql://relay:{self.password}@127.0.0.1:{self.port}/mysql"

    def prepare(self):
        self.install()
        is_odd = self.databases.has_odd_sessions
        self.init = self.databases.write("mariadb.sql", account_sql(self.password) + (self.odd_sql if is_odd else ""))

    def install(self):
        """Creates the files of an empty server."""
        program = find_program("mariadb-install-db", "mariadb-server")
        self.databases.make(self.at, self.at / "data", self.at / "tmp")
        self.databases.run([
            *unprivileged(), program, "--no-defaults", f"--datadir={self.at}/data", f"--tmpdir={self.at}/tmp",
            "--skip-test-db", "--auth-root-authentication-method=normal", "--skip-name-resolve"])

    def flags(self):
        return [find_program("mariadbd", "mariadb-server"), "--no-defaults", f"--datadir={self.at}/data", f"--socket={self.at}/mariadb.sock",
                f"--pid-file={self.at}/mariadb.pid", f"--tmpdir={self.at}/tmp", f"--port={self.port}",
                "--bind-address=127.0.0.1", "--skip-name-resolve", "--max-connections=200",
                f"--innodb-buffer-pool-size={self.databases.buffers}M", "--innodb-log-file-size=48M",
                "--innodb-flush-log-at-trx-commit=1", "--performance-schema=OFF", "--key-buffer-size=1M",
                "--aria-pagecache-buffer-size=1M"]

    def command(self):
        tls = self.directory / "tls"
        return [*self.flags(), *(self.odd_flags if self.databases.has_odd_sessions else []), f"--init-file={self.init}",
                "--plugin-load-add=auth_ed25519", f"--ssl-ca={tls}/ca.pem", f"--ssl-cert={tls}/server.pem",
                f"--ssl-key={tls}/server-key.pem"]


class GaleraNode(MariaDB):
    def __init__(self, databases, number):
        self.name = f"galera{number}"
        super().__init__(databases)
        self.group = free_port()


class Galera(Server):
    """A cluster of three MariaDB nodes."""

    name, variable = "galera", "RELAY_TEST_GALERA_URL"

    def __init__(self, databases):
        super().__init__(databases)
        self.nodes = [GaleraNode(databases, number) for number in (1, 2, 3)]
        for node in self.nodes:
            node.url = f"mysql://relay:{self.password}@127.0.0.1:{node.port}/mysql"
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        self.url = f"mysql://relay:{self.password}@{hosts}/mysql"
        self.group = "gcomm://" + ",".join(f"127.0.0.1:{node.group}" for node in self.nodes)

    def prepare(self):
        """Runs the first node once alone, so that the others can start from its data without a state transfer."""
        if not Path(GALERA_LIBRARY).exists():
            raise SystemExit("Galera is not installed: Debian package galera-4")
        first = self.nodes[0]
        first.install()
        init = self.databases.write("galera.sql", account_sql(self.password))
        self.databases.launch(first.name, [*self.flags(first), f"--init-file={init}", "--wsrep-new-cluster"])
        first.wait()
        self.databases.end([first.name])
        for node in self.nodes[1:]:
            subprocess.run(["cp", "-a", first.at, node.at], check=True)

    def flags(self, node):
        provider = (f"gmcast.listen_addr=tcp://127.0.0.1:{node.group};ist.recv_addr=127.0.0.1:{free_port()};"
                    "gcache.size=16M")
        return [*node.flags(), "--wsrep-on=ON", f"--wsrep-provider={GALERA_LIBRARY}",
                f"--wsrep-cluster-address={self.group}", "--wsrep-cluster-name=relay", f"--wsrep-node-name={node.name}",
                "--wsrep-node-address=127.0.0.1", "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
                f"--wsrep-provider-options={provider}"]

    def launch(self):
        for node in self.nodes:
            begins = ["--wsrep-new-cluster"] if node is self.nodes[0] else []
            self.databases.launch(node.name, [*self.flags(node), *begins])
            node.wait()

    def wait(self):
        """Every node has answered."""


class Databases:
    """A set of servers in a directory. Servers sync to disk as in production unless `syncs` is false."""

    def __init__(self, servers=USUAL, directory=None, has_odd_sessions=False, syncs=True, buffers=None, outlives=False):
        self.syncs, self.outlives, self.has_odd_sessions = syncs, outlives, has_odd_sessions
        self.buffers = buffers or int(os.environ.get("DATABASE_BUFFERS_MIB", BUFFERS_MIB))
        self.is_temporary = directory is None
        self.directory = Path(directory or tempfile.mkdtemp(
            prefix="relay-databases-", dir="/tmp" if syncs else memory_directory())).absolute()
        if len(str(self.directory)) > PATH_MAX:
            raise SystemExit(f"the path {self.directory} is too long for a Unix socket")
        self.names = servers
        self._programs = {}

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        if self.is_temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def start(self):
        """Starts the servers, those that don't need others at the same time; sets `servers` and `variables`."""
        self.make(self.directory)
        self.directory.chmod(0o711)
        make_certificates(self)
        kinds = all_kinds()
        self.servers = {name: kinds[name](self) for name in self.names}
        servers = self.servers.values()
        with ThreadPoolExecutor(len(servers)) as pool:
            list(pool.map(lambda server: server.prepare(), servers))
        for step in ("launch", "wait"):
            for server in servers:
                getattr(server, step)()
        self.variables = {
            "RELAY_TEST_DATABASES": str(self.directory), "RELAY_TEST_TLS": str(self.directory / "tls"),
            **{server.variable: server.url for server in servers}}

    def url(self, name):
        """The URL of a server's administrator."""
        return self.servers[name].url

    def cpu(self, name):
        """Processor time so far of a server and its children, in seconds."""
        return processor_time(self.pid(name))

    def stop(self):
        """Stops every server of the directory."""
        self.end([file.stem for file in self.directory.glob("*.pid")])

    # Files

    def make(self, *directories):
        for directory in directories:
            directory.mkdir(exist_ok=True)
        self.give_away(*directories)

    def write(self, name, text):
        """Writes a file that only the servers' user can read, and returns its path."""
        file = self.directory / name
        file.touch(0o600)
        file.write_text(text)
        self.give_away(file)
        return file

    @staticmethod
    def give_away(*files):
        """Gives root's files to the unprivileged user."""
        if os.geteuid() == 0:
            for file in files:
                shutil.chown(file, "nobody", "nogroup")

    # Processes

    def run(self, command):
        """Runs a command to completion, without its output unless it fails."""
        done = subprocess.run(
            list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=self.environment(), cwd="/", text=True, errors="replace")
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}")

    def environment(self):
        """libeatmydata disables fsync: SIGKILL still loses no write, and tests take half the time."""
        return {
            **os.environ, **({} if self.syncs else {"LD_PRELOAD": "libeatmydata.so"}),
            **({"DATABASE_OUTLIVE": "yes"} if self.outlives else {})}

    def launch(self, name, command):
        command = list(map(str, command))
        preload = None if self.syncs else "libeatmydata.so"
        (self.directory / f"{name}.command").write_text(json.dumps({"command": command, "preload": preload}))
        self._launch(name, command, self.environment())

    def _launch(self, name, command, environment):
        # One in another root file system needs root's rights for its mounts, and gives them up.
        is_inside = command[0].endswith("/Tests/Support/inside")
        program = Program(
            name, command, self.directory, environment, is_unprivileged=not is_inside, outlives=self.outlives)
        self._programs[name] = program
        (self.directory / f"{name}.pid").write_text(str(program.pid))
        # PostgreSQL doesn't start while the process of the killed server is left, even as a zombie.
        threading.Thread(target=program.process.wait, daemon=True).start()

    def wait(self, name, condition):
        def is_ready():
            if not self._programs[name].is_running:
                log = (self.directory / f"{name}.log").read_text(errors="replace")
                raise SystemExit(f"{name} did not start:\n{log[-2000:]}")
            return condition()
        wait_until(is_ready, f"{name} did not answer (log: {self.directory}/{name}.log)", START_DEADLINE)

    def pid(self, name):
        """Returns the process ID of a running server of this directory."""
        try:
            pid = int((self.directory / f"{name}.pid").read_text())
            # The ID may have been reused by another program; the command line of an ended one is empty.
            return pid if str(self.directory).encode() in Path(f"/proc/{pid}/cmdline").read_bytes() else None
        except (OSError, ValueError):
            return None

    def _signal(self, name, number):
        if pid := self.pid(name):
            try:
                os.killpg(pid, number)
            except ProcessLookupError:
                pass

    def end(self, names):
        """Stops servers, with SIGKILL after a deadline."""
        for name in names:
            # PostgreSQL's fast shutdown; the others stop on SIGTERM.
            self._signal(name, signal.SIGINT if name.startswith("postgres") else signal.SIGTERM)
        try:
            wait_until(lambda: not any(map(self.pid, names)), "the servers did not stop", STOP_DEADLINE)
        except SystemExit:
            for name in names:
                self.kill(name)

    def kill(self, name):
        """Kills a server, as the loss of its machine would."""
        pid = self.pid(name)
        self._signal(name, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), f"{name} did not end", STOP_DEADLINE)

    def restart(self, name):
        """Starts a killed server again."""
        stored = json.loads((self.directory / f"{name}.command").read_text())
        environment = self.environment()
        if stored["preload"]:
            environment["LD_PRELOAD"] = stored["preload"]
        self._launch(name, stored["command"], environment)


def all_kinds():
    from . import newest
    kinds = (Postgres, PgBouncer, MariaDB, Galera, newest.Postgres18, newest.MySQL97)
    return {kind.name: kind for kind in kinds}


def memory_directory():
    """Returns /dev/shm if there is plenty of memory: contract tests on PostgreSQL take half the time."""
    available = int(re.search(r"MemAvailable: *(\d+)", Path("/proc/meminfo").read_text())[1]) << 10
    try:
        is_plenty = shutil.disk_usage("/dev/shm").free >= SHM_MIN and available >= MEMORY_MIN
    except OSError:
        is_plenty = False
    return "/dev/shm" if is_plenty and os.access("/dev/shm", os.W_OK) else "/tmp"


def make_certificates(databases):
    """Creates a CA, a server certificate for localhost, a client certificate, and a CA that signed nothing."""
    tls = databases.directory / "tls"
    tls.mkdir()
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    def openssl(*words):
        databases.run(["openssl", *words])

    for name in ("ca", "other-ca"):
        openssl("req", "-x509", *key, "-days", 30, "-subj", f"/CN=relay test {name}", "-keyout", tls / f"{name}-key.pem",
                "-out", tls / f"{name}.pem")
    (tls / "names").write_text("subjectAltName=DNS:localhost\n")
    for name in ("server", "client"):
        openssl("req", *key, "-subj", f"/CN=relay test {name}", "-keyout", tls / f"{name}-key.pem", "-out", tls / f"{name}.csr")
        openssl("x509", "-req", "-in", tls / f"{name}.csr", "-CA", tls / "ca.pem", "-CAkey", tls / "ca-key.pem",
                "-CAcreateserial", "-days", 30, "-extfile", tls / "names", "-out", tls / f"{name}.pem")
    for file in tls.glob("*-key.pem"):
        file.chmod(0o600)
    databases.give_away(tls, *tls.iterdir())
