"""MySQL 9.7 and PostgreSQL 18, which Debian 12 doesn't have, in a root file system of Debian unstable.

They don't sync to disk: only tests use them.
"""

import os
import shutil
import subprocess
import sys

from .databases import Postgres, Server, account_sql
from .processes import find_program
from .programs import ROOT

PACKAGES = ("mysql-server-core", "postgresql-18")
# Kept until ./dev clean takes it or the packages change.
DIRECTORY = ROOT / ".build-servers"
MADE, SYSTEM = DIRECTORY / "packages", DIRECTORY / "root"


def need_system():
    """Creates the root file system from the machine's mirror of Debian, or from Debian's own."""
    if MADE.exists() and MADE.read_text().split() == list(PACKAGES):
        return
    packages = " ".join(PACKAGES)
    if os.geteuid() != 0:
        raise SystemExit(f"{packages} run in a root file system of Debian unstable; run this as root")
    program = find_program("mmdebstrap", "mmdebstrap")
    print(f"Installing {packages} of Debian unstable in {SYSTEM}", file=sys.stderr)
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir()
    mirrors = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian", "Label: Debian"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.split()
    excluded = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "locale", "doc")]
    # An archived mirror's files have expired.
    done = subprocess.run([
        program, "--quiet", "--variant=apt", f"--include={','.join(PACKAGES)}",
        '--aptopt=Acquire::Check-Valid-Until "false"', *excluded, '--customize-hook=rm -rf "$1"/var/lib/apt/lists/*', "sid",
        SYSTEM, *sorted(mirrors)[:1]])
    if done.returncode:
        raise SystemExit(f"Cannot install {packages} of Debian unstable in {SYSTEM}: see mmdebstrap's messages above")
    MADE.write_text(packages + "\n")


class Postgres18(Postgres):
    name, variable = "postgres18", "RELAY_TEST_POSTGRES18_URL"
    options = ("-c", "fsync=off")

    def __init__(self, databases):
        super().__init__(databases)
        self.inside = inside(databases)

    @staticmethod
    def programs():
        return "/usr/lib/postgresql/18/bin"


class MySQL97(Server):
    name, variable = "mysql97", "RELAY_TEST_MYSQL97_URL"

    def __init__(self, databases):
        super().__init__(databases)
        self.url = f"mysql://relay:{self.password}@127.0.0.1:{self.port}/mysql"
        # A log of statements rules out READ COMMITTED, unless sessions log otherwise.
        self.common = [*inside(databases), "mysqld", "--no-defaults", f"--datadir={self.at}/data", f"--tmpdir={self.at}/tmp",
                       "--secure-file-priv=NULL", "--innodb-doublewrite=OFF"]

    def prepare(self):
        self.databases.make(self.at, self.at / "tmp")
        self.init = self.databases.write("mysql97.sql", account_sql(self.password, "CREATE USER IF NOT EXISTS"))
        self.databases.run([*self.common, "--initialize-insecure", "--skip-log-bin"])

    def command(self):
        tls = self.directory / "tls"
        return [*self.common, f"--init-file={self.init}", f"--socket={self.directory}/mysql97.sock",
                f"--pid-file={self.at}/mysqld.pid", f"--port={self.port}", "--bind-address=127.0.0.1", "--mysqlx=OFF",
                "--skip-name-resolve", "--max-connections=200", f"--log-bin={self.at}/log", "--binlog-format=STATEMENT",
                "--sync-binlog=0", f"--innodb-buffer-pool-size={self.databases.buffers}M",
                "--innodb-redo-log-capacity=100M", "--innodb-flush-log-at-trx-commit=0", "--innodb-fast-shutdown=2",
                "--performance-schema=OFF", f"--ssl-ca={tls}/ca.pem", f"--ssl-cert={tls}/server.pem",
                f"--ssl-key={tls}/server-key.pem"]


def inside(databases):
    """Returns what runs a command in the root file system."""
    return (ROOT / "Tests/Support/inside", SYSTEM, databases.directory)
