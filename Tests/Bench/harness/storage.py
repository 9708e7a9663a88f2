"""Measures look-ups and registrations in the three databases, with few rows and with a million.

The reference for a look-up in the large table is the same look-up in the small one.
"""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys

from launch import sql
from launch.databases import Databases, MariaDB, Postgres
from launch.programs import without_settings

from .workplace import BIN

SMALL, LARGE = 1_000, 1_000_000
IN_FLIGHT = 64
# Sized so that each run takes at least a second: SQLite handles ten times as many calls as a server.
LOOKUPS = {"sqlite": 400_000, "postgres": 40_000, "mysql": 40_000}
REGISTRATIONS = 10_000
BUFFERS_MIB = 512  # a server's page cache, large enough to measure the B-tree and not the disk
GOAL = 0.667  # a look-up among a million rows may cost at most 1.5 times one among a thousand
SERVERS = {"postgres": "postgres", "mysql": "mariadb"}


def measure(workplace):
    workplace.build("relay", "Bench")
    large = LARGE // (10 if workplace.quick else 1)
    with Servers(workplace) as servers:
        files = {rows: sqlite_with(workplace, rows) for rows in (SMALL, large)}
        places = {rows: {"sqlite": files[rows]} for rows in files}
        for rows in (SMALL, large):
            for engine in ("postgres", "mysql"):
                places[rows][engine] = servers.database(engine, f"bench_{rows}")
        for rows in (SMALL, large):
            for engine in ("postgres", "mysql"):
                workplace.say(f"Copying {rows:,} registrations to {engine}")
                relay("copy", "--from", places[rows]["sqlite"], "--to", places[rows][engine])
        for engine in ("sqlite", "postgres", "mysql"):
            urls = (places[large][engine], places[SMALL][engine])
            compare(workplace, engine, "look-ups", LOOKUPS[engine], urls, (large, SMALL), GOAL)
            compare(workplace, engine, "registrations", REGISTRATIONS, urls, (large, SMALL), 0)


def compare(workplace, engine, kind, count, urls, rows, goal):
    count //= 10 if workplace.quick else 1
    result = workplace.result(f"{engine}, {kind}, {rows[0]:,} rows", "/s", f"{rows[1]:,} rows", goal=goal)
    commands = [
        [BIN / "Bench", "storage", "--url", url, "--rows", number, "--in-flight", IN_FLIGHT, "--count", count, "--kind", kind]
        for url, number in zip(urls, rows)]
    for turn in range(workplace.runs):
        figures = [json.loads(workplace.load(command).output.splitlines()[-1]) for command in commands]
        rates = [figure["count"] * 1e6 / figure["microseconds"] for figure in figures]
        cpu = [figure["cpuMicroseconds"] / figure["count"] for figure in figures]
        result.add(rates[0], rates[1], cpu[0], cpu[1])
        workplace.progress(result, turn)


def sqlite_with(workplace, rows):
    """Creates a SQLite database with one device per secret."""
    file = workplace.directory / f"bench-{rows}.db"
    relay("migrate", "--database-url", f"sqlite:{file}")
    database = sqlite3.connect(file)
    with database:
        database.executemany(
            "INSERT INTO device_registration (id, secret_hash, device_token, bundle_id, apns_env, created_at, updated_at)"
            " VALUES (?, ?, ?, 'com.example.app', 'production', ?, ?)", map(device, range(rows)))
    database.close()
    return f"sqlite:{file}"


def device(number):
    secret = f"secret-of-the-bench-{number}".encode()
    token = hashlib.sha256(b"token" + secret).hexdigest()
    at = 1_700_000_000_000 + number
    identifier = f"{at:012x}7{token[:3]}8{token[3:6]}{token[6:18]}"
    parts = (identifier[:8], identifier[8:12], identifier[12:16], identifier[16:20], identifier[20:32])
    return "-".join(parts), hashlib.sha256(secret).hexdigest(), token, at, at


def relay(*arguments):
    done = subprocess.run(
        [BIN / "relay", *arguments], env=without_settings(os.environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True)
    if done.returncode:
        sys.exit(f"relay {arguments[0]} failed:\n{done.stdout}")


class Servers(Databases):
    """PostgreSQL and MariaDB servers for the duration of the run."""

    def __init__(self, workplace):
        workplace.say("Starting PostgreSQL and MariaDB")
        super().__init__((Postgres, MariaDB), buffers=BUFFERS_MIB)

    def cpu(self, engine):
        """Processor time used so far by a server and its children, in seconds."""
        return super().cpu(SERVERS[engine])

    def database(self, engine, name):
        """Creates a database and returns its URL."""
        return self.create(SERVERS[engine], name)

    @staticmethod
    def analyze(engine, url):
        """Collects statistics on registrations, which a server does by itself within minutes."""
        sql.run(url, f"ANALYZE {'TABLE ' if engine == 'mysql' else ''}device_registration")
