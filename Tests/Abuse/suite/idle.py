"""Occupies a server with idle connections."""

from .case import addresses
from .crowd import Crowd

REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
PACE = 5_000  # connections a second: those that are refused or closed come again


def occupy(target, seconds, count):
    """Tries to hold as many connections as the server has room for, from so many addresses."""
    def opened(connection):
        # One request makes it a connection like any other client's.
        connection.send(REQUEST)

    crowd = Crowd(
        target, target.connections, addresses(count), opened=opened, readable=lambda connection, data: None, pace=PACE)
    crowd.run(seconds)
    return f"{crowd.made:,} connections, {crowd.most:,} at once"
