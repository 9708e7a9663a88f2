"""Fills a server with idle connections."""

from .case import addresses
from .crowd import Crowd

REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
PACE = 5_000  # connections per second; refused and closed ones are retried


def occupy(target, seconds, count):
    """Tries to occupy all of the server's connections, from `count` addresses."""
    def opened(connection):
        # After one request it looks like any client's keep-alive connection.
        connection.send(REQUEST)

    crowd = Crowd(
        target, target.connections, addresses(count), opened=opened, readable=lambda connection, data: None, pace=PACE)
    crowd.run(seconds)
    return f"{crowd.made:,} connections, {crowd.most:,} at once"
