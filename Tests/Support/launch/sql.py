"""Runs SQL on PostgreSQL and MariaDB with their command-line clients."""

import os
import re
import subprocess
import sys

DEADLINE = 600  # seconds for a script


def client(url):
    """Returns the command of a client for a database, and its environment."""
    if url.startswith("postgres"):
        return ["psql", "-XqAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", url], {**os.environ, "PGCONNECT_TIMEOUT": "5"}
    user, password, host, port, name = re.match(r"mysql://([^:@]+):([^@]*)@([^:/,]+):(\d+)[^/]*/(\w*)", url).groups()
    command = ["mariadb", "--no-defaults", "--protocol=tcp", "-NBr", "-u", user, "-h", host, "-P", port, name]
    return command, {**os.environ, "MYSQL_PWD": password}


def run(url, script):
    """Runs a script; returns the rows of its queries as lines with tabs."""
    command, environment = client(url)
    done = subprocess.run(
        command, input=script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, timeout=DEADLINE)
    if done.returncode:
        sys.exit(f"{command[0]} failed: {done.stderr or done.stdout}\n{script[:200]}")
    return done.stdout


def answers(url):
    """Whether a server answers queries."""
    command, environment = client(url)
    return subprocess.run(
        command, input="SELECT 1", capture_output=True, text=True, env=environment, timeout=DEADLINE).returncode == 0


def create_database(administrator, name):
    """Creates an empty database, replacing one with the same name, and returns its URL."""
    run(administrator, f"DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name};")
    return re.sub(r"/[^/?]*(\?|$)", rf"/{name}\1", administrator, count=1)
