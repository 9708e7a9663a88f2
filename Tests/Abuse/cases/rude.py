"""Connections that are reset at once, in the middle of a handshake, or that send something else than TLS."""

import socket
import struct

from suite.case import Case, addresses
from suite.crowd import Crowd

CASE = Case("rude handshakes, churn", longest_ms=1_000, growth_mib=64, tls=True)

# The record and message headers of a ClientHello of 512 bytes.
HALF_HELLO = bytes([22, 3, 1, 2, 4, 1, 0, 2, 0, 3, 3]) + bytes(100)
RUDENESS = [b"", HALF_HELLO, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", bytes(range(256)) * 16]


def attack(target, seconds):
    def opened(connection):
        connection.send(RUDENESS[crowd.made % len(RUDENESS)])
        # No orderly end: the server finds its socket reset.
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if crowd.made % 2:
            connection.end()
        else:
            connection.state = 0

    def tick(crowd):
        # The others stay for a moment.
        for connection in list(crowd.connections):
            if connection.state is not None:
                connection.state += 1
                if connection.state > 5:
                    connection.end()

    crowd = Crowd(target, 500, addresses(16), opened=opened)
    crowd.run(seconds, tick)
    return f"{crowd.made:,} connections"
