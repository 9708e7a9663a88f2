"""Pipelined requests on many connections that never read a response."""

from suite.case import Case, addresses
from suite.crowd import Crowd

CASE = Case("pipelining without reading, 1,000 connections", longest_ms=1_000, growth_mib=64)
REQUESTS = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 400


def attack(target, seconds):
    def writable(connection):
        offset = connection.state or 0
        connection.state = (offset + connection.send(REQUESTS[offset:])) % len(REQUESTS)
        return True

    crowd = Crowd(target, 1_000, addresses(4), writable=writable, receive_buffer=4096)
    crowd.run(seconds)
    return f"{crowd.made:,} connections"
