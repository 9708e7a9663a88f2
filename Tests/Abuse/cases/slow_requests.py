"""Slow headers and bodies: one byte at a time on many connections."""

from suite.case import Case, addresses
from suite.crowd import Crowd

CASE = Case("slow heads and bodies, 2,000 connections", longest_ms=1_000, growth_mib=96)
HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
# Most of the body is sent at once, so the server has to hold it.
BODY = b"POST /v1/event HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16000\r\n\r\n" + b"x" * 15_000


def attack(target, seconds):
    def opened(connection):
        connection.send(BODY if connection.number % 2 else HEAD)

    def drip(crowd):
        for connection in list(crowd.connections):
            if connection.isOpen:
                try:
                    connection.send(b"x")
                except OSError:
                    connection.end()

    crowd = Crowd(target, 2_000, addresses(8), opened=opened, readable=lambda connection, data: None)
    crowd.run(seconds, drip, interval=0.5)
    return f"{crowd.made:,} connections, {crowd.most:,} at once"
