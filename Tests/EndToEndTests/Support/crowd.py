"""Holds many idle connections to a relay until it is killed: crowd.py PORT COUNT.

A process of its own, so that thousands of descriptors stay out of the tests' process.
"""

import resource
import selectors
import socket
import sys

port, count = int(sys.argv[1]), int(sys.argv[2])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
if hard < count + 100:
    sys.exit(f"{count} connections need {count + 100} file descriptors; raise `ulimit -Hn`")
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
# Several at a time: on a busy machine, each request and its response take turns with other programs.
while len(held) < count:
    batch = []
    for _ in range(min(100, count - len(held))):
        batch.append(socket.create_connection(("127.0.0.1", port), timeout=30))
        # At once: the relay closes connections without a request after RELAY_HEAD_DEADLINE.
        batch[-1].sendall(b"GET /health HTTP/1.1\r\nHost: relay.test\r\n\r\n")
    for connection in batch:
        answer = connection.recv(4096)
        if not answer.startswith(b"HTTP/1.1 200"):
            sys.exit(f"a connection after {len(held)} others was answered {answer[:80]!r}")
    held += batch
print("held", len(held), flush=True)

# If a held connection ends in any way, the relay is at fault.
selector = selectors.DefaultSelector()
for connection in held:
    selector.register(connection, selectors.EVENT_READ)
selector.select()
sys.exit("a held connection was ended")
