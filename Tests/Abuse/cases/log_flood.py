"""Two connections that request a nonexistent path as fast as they can. Servers log each refusal."""

from suite.case import Case, Missed, addresses
from suite.crowd import Crowd

CASE = Case("log flood: 404s on 2 connections", longest_ms=1_000, growth_mib=16, log_kib=8)
REQUESTS = b"GET /missing HTTP/1.1\r\nHost: localhost\r\n\r\n" * 400
ANSWER = b"HTTP/1.1 404 "
LEAST = 1_000  # responses per second; fewer would not be a flood


def attack(target, seconds):
    answers = 0

    def readable(connection, data):
        nonlocal answers
        rest, offset = connection.state or (b"", 0)
        data = rest + data
        answers += data.count(ANSWER)
        # A response's first line may be cut off; what remains is too short to be counted twice.
        connection.state = (data[1 - len(ANSWER):], offset)

    def writable(connection):
        rest, offset = connection.state or (b"", 0)
        connection.state = (rest, (offset + connection.send(REQUESTS[offset:])) % len(REQUESTS))
        return True

    crowd = Crowd(target, 2, addresses(2), readable=readable, writable=writable)
    crowd.run(seconds)
    if answers < LEAST * seconds:
        raise Missed(f"{answers:,} answers of status 404 in {seconds:g} s are too few for a flood")
    return f"{answers:,} answers of status 404"
