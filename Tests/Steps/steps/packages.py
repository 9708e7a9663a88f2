"""Which Debian packages the commands of ./dev need, and their installation."""

import os
import shutil
import subprocess
import sys

SETS = {
    "build": """libcurl4-openssl-dev libevent-dev libmariadb-dev libnghttp2-dev libpq-dev libqrencode-dev libsqlite3-dev
        libssl-dev pkg-config zlib1g-dev""",
    "run": "ca-certificates curl python3 tzdata",
    "test": """curl elfutils fish libeatmydata1 mandoc nghttp2-client nghttp2-server node-typescript nodejs openssl procps
        python3-venv tzdata zbar-tools zsh""",
    "databases": "galera-4 mariadb-client mariadb-server pgbouncer postgresql",
    # For the root file system of Debian unstable with MySQL 9.7 and PostgreSQL 18.
    "newest": "debian-archive-keyring mmdebstrap",
    "deploy": "curl docker-compose openssl python3-venv systemd",
    # For the kubectl of Debian unstable.
    "kubernetes": "debian-archive-keyring openssl python3-venv",
    "machine": "curl mmdebstrap openssl procps systemd-container",
    "proxies": "caddy curl haproxy nginx-light openssl python3",
    "metrics": "curl prometheus",
    "browser": "chromium curl firefox-esr python3",
    "image": """buildah catatonit containers-storage crun curl mmdebstrap netavark openssl podman python3-venv uidmap""",
    "cluster": "etcd-server haproxy patroni pgbouncer postgresql python3",
    "package": "binutils dpkg-dev python3-venv",
    "release": "binutils buildah dpkg-dev git nodejs openssh-client python3-venv",
    "abuse": "gcc libc6-dev libssl-dev nginx-light openssl python3",
    "bench": "gcc libc6-dev nghttp2-client nghttp2-server openssl python3 sqlite3 valgrind wrk",
}
# Packages that would start a service; the project starts their programs itself, in directories of its own.
SERVICES = ("caddy", "etcd", "haproxy", "mariadb", "nginx", "patroni", "pgbouncer", "prometheus")
POLICY = "/usr/sbin/policy-rc.d"
NO_CLUSTER = "/etc/postgresql-common/createcluster.d/no-main.conf"


class Missing(Exception):
    """What is missing, and what to do about it."""


def packages(sets):
    """The packages of some sets, each once."""
    return sorted({package for name in sets for package in SETS[name].split()})


def missing(names):
    """Which of these packages are not installed."""
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", *names], capture_output=True, text=True)
    installed = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("installed ")}
    return [name for name in names if name not in installed]


def as_root(*command, **options):
    prefix = [] if os.geteuid() == 0 else ["sudo"]
    return subprocess.run([*prefix, *command], check=True, **options)


def need(*sets, say=print):
    """Installs what is missing of some sets, without starting or enabling any service."""
    if not shutil.which("dpkg-query"):
        raise Missing(f"Requires Debian 12 or newer, or Ubuntu 24.04. Packages: {' '.join(packages(sets))}")
    wanted = missing(packages(sets))
    if not wanted:
        return
    if os.geteuid() != 0 and not shutil.which("sudo"):
        raise Missing(f"Install these Debian packages as root, then run this again: {' '.join(wanted)}")
    say(f"Installing Debian packages: {' '.join(wanted)}")
    try:
        install(wanted)
    except subprocess.CalledProcessError as error:
        raise Missing(f"Cannot install Debian packages: {error}") from error


def install(wanted):
    # Debian runs this script before it starts a service. An existing one belongs to the machine.
    held_back = not os.path.exists(POLICY)
    if held_back:
        as_root("tee", POLICY, input=b"#!/bin/sh\nexit 101\n", stdout=subprocess.DEVNULL)
        as_root("chmod", "755", POLICY)
    try:
        if "postgresql" in wanted:
            as_root("mkdir", "-p", os.path.dirname(NO_CLUSTER))
            as_root("tee", NO_CLUSTER, input=b"create_main_cluster = false\n", stdout=subprocess.DEVNULL)
        as_root("apt-get", "update", "-q", stdout=subprocess.DEVNULL)
        as_root(
            "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-q", "--no-install-recommends", *wanted,
            stdout=subprocess.DEVNULL)
    finally:
        if held_back:
            as_root("rm", "-f", POLICY)
    for service in SERVICES:
        if any(service in package for package in wanted) and shutil.which("systemctl"):
            subprocess.run(
                [*([] if os.geteuid() == 0 else ["sudo"]), "systemctl", "--quiet", "disable", service],
                stderr=subprocess.DEVNULL)


def need_swift():
    """Checks the compiler's version."""
    if not shutil.which("swift"):
        raise Missing("Requires Swift 6.3, but 'swift' is not on the PATH. Install it from swift.org/install")
    done = subprocess.run(["swift", "--version"], capture_output=True, text=True)
    words = (done.stdout + done.stderr).split("Swift version ")
    if done.returncode != 0:
        libraries = subprocess.run(["ldd", shutil.which("swift")], capture_output=True, text=True).stdout
        absent = [line.split()[0] for line in libraries.splitlines() if "not found" in line]
        raise Missing(
            f"Cannot run Swift:\n{done.stdout}{done.stderr}\nInstall the Debian packages listed at swift.org/install. "
            f"Missing shared libraries: {' '.join(absent)}")
    version = words[1].split()[0] if len(words) > 1 else "an unknown version"
    numbers = [int(part) if part.isdigit() else 0 for part in version.split("-")[0].split(".")]
    if numbers[:2] < [6, 3]:
        raise Missing(f"Requires Swift 6.3 or newer, found {version}. Install it from swift.org/install")


def main():
    """Installs the sets that the arguments name; 'swift' checks the compiler."""
    sets = sys.argv[1:]
    try:
        if "swift" in sets:
            need_swift()
        need(*(name for name in sets if name != "swift"))
    except Missing as error:
        sys.exit(str(error))
