"""Pipelined requests on many connections whose responses are read, so the server always has work."""

from suite.case import Case, addresses
from suite.crowd import Crowd

CASE = Case("pipelining with reading, 1,000 connections", longest_ms=1_000, growth_mib=64)
REQUESTS = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 400


def attack(target, seconds):
    received = 0

    def readable(connection, data):
        nonlocal received
        received += len(data)

    def writable(connection):
        offset = connection.state or 0
        connection.state = (offset + connection.send(REQUESTS[offset:])) % len(REQUESTS)
        return True

    crowd = Crowd(target, 1_000, addresses(4), readable=readable, writable=writable)
    crowd.run(seconds)
    return f"{crowd.made:,} connections, {received >> 20:,} MiB of answers"
