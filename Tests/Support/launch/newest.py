"""MySQL 9.7 and PostgreSQL 18, which Debian 12 lacks, in a root file system of Debian unstable.

They don't sync to disk, because only tests use them.
"""

import os
import shutil
import subprocess
import sys

from .databases import MySQL, Postgres
from .processes import find_program
from .programs import ROOT

PACKAGES = "mysql-server-core postgresql-18"
# Kept until ./dev clean removes it or the packages change.
DIRECTORY = ROOT / ".build-servers"
MADE, SYSTEM = DIRECTORY / "packages", DIRECTORY / "root"


def mirrors():
    """Returns the machine's mirror of Debian, if it has one."""
    return sorted(subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian", "Label: Debian"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.split())[:1]


def need_system():
    """Creates the root file system from the machine's mirror of Debian, or from Debian's own."""
    if MADE.exists() and MADE.read_text().strip() == PACKAGES:
        return
    if os.geteuid() != 0:
        raise SystemExit(f"{PACKAGES} run in a root file system of Debian unstable; run this as root")
    program = find_program("mmdebstrap", "mmdebstrap")
    print(f"Installing {PACKAGES} of Debian unstable in {SYSTEM}", file=sys.stderr)
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir()
    excluded = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "locale", "doc")]
    # An archived mirror's files have expired.
    done = subprocess.run([
        program, "--quiet", "--variant=apt", f"--include={PACKAGES.replace(' ', ',')}",
        '--aptopt=Acquire::Check-Valid-Until "false"', *excluded, '--customize-hook=rm -rf "$1"/var/lib/apt/lists/*', "sid",
        SYSTEM, *mirrors()])
    if done.returncode:
        raise SystemExit(f"Cannot install {PACKAGES} of Debian unstable in {SYSTEM}: see mmdebstrap's messages above")
    MADE.write_text(PACKAGES + "\n")


def inside(server):
    """Returns the prefix of a command that runs in the root file system."""
    return ROOT / "Tests/Support/inside", SYSTEM, server.directory


class Postgres18(Postgres):
    name, variable = "postgres18", "RELAY_TEST_POSTGRES18_URL"
    inside = property(inside)
    options = ("-c", "fsync=off")

    @staticmethod
    def programs():
        return "/usr/lib/postgresql/18/bin"


class MySQL97(MySQL):
    name, variable, create = "mysql97", "RELAY_TEST_MYSQL97_URL", "CREATE USER IF NOT EXISTS"

    def base(self):
        return [*inside(self), "mysqld", *self.flags(), "--secure-file-priv=NULL", "--innodb-doublewrite=OFF"]

    def prepare(self):
        self.databases.make(self.at, self.at / "tmp")
        self.databases.run([*self.base(), "--initialize-insecure", "--skip-log-bin"])

    def command(self):
        # A statement-based log rules out READ COMMITTED, unless sessions log otherwise.
        return [
            *self.base(), *self.ssl_flags(), self.write_init(), "--mysqlx=OFF", f"--log-bin={self.at}/log",
            "--binlog-format=STATEMENT", "--sync-binlog=0", "--innodb-redo-log-capacity=100M", "--innodb-flush-log-at-trx-commit=0",
            "--innodb-fast-shutdown=2"]
