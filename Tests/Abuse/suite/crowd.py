"""Many non-blocking connections in one process."""

import errno
import resource
import selectors
import socket
import time


def allow_descriptors():
    """Raises the limit on open files to its maximum and returns it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class Crowd:
    """Keeps a number of connections open and replaces those that the server closes.

    The callbacks `opened(connection)`, `readable(connection, data)` and `writable(connection)` may use `connection.state`.
    `writable` is called for as long as it returns true.
    """

    def __init__(
            self, target, count, sources, opened=None, readable=None, writable=None, pace=None, receive_buffer=None):
        self.target = target
        self.sources = sources
        self.opened, self.readable, self.writable = opened, readable, writable
        self.receive_buffer = receive_buffer  # SO_RCVBUF of each connection
        self.selector = selectors.DefaultSelector()
        self.made = 0
        self.failed = 0
        self.pace = pace  # maximum connections per second
        self.missing = count
        self.connections = set()
        self.most = 0

    def run(self, seconds, tick=None, interval=0.1):
        """Runs for the given number of seconds and calls `tick(crowd)` at intervals."""
        began = time.monotonic()
        due = began
        while (now := time.monotonic()) < began + seconds:
            self._open(now - began)
            if tick and now >= due:
                due = now + interval
                tick(self)
            for key, events in self.selector.select(0.02):
                key.data.event(events)
        for connection in list(self.connections):
            connection.end()

    def _open(self, elapsed):
        # In batches, so that open connections are served in between.
        for _ in range(min(self.missing, 256)):
            if self.pace and self.made > self.pace * elapsed:
                return
            try:
                self.connections.add(Connection(self))
            except OSError:
                self.failed += 1
                return
            self.made += 1
            self.missing -= 1
            self.most = max(self.most, len(self.connections))


class Connection:
    def __init__(self, crowd):
        self.crowd = crowd
        self.number = crowd.made
        self.state = None
        self.socket = socket.socket()
        try:
            self.socket.setblocking(False)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if crowd.receive_buffer:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, crowd.receive_buffer)
            # Delays the choice of a port until connect, so that each source address can use all ports.
            self.socket.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
            self.socket.bind((crowd.sources[self.number % len(crowd.sources)], 0))
            status = self.socket.connect_ex((crowd.target.host, crowd.target.port))
            if status not in (0, errno.EINPROGRESS):
                raise OSError(status, "connect")
        except OSError:
            self.socket.close()
            raise
        self.isOpen = False
        crowd.selector.register(self.socket, selectors.EVENT_WRITE, self)

    def event(self, events):
        try:
            if not self.isOpen:
                self.isOpen = True
                if self.crowd.opened:
                    self.crowd.opened(self)
                if self in self.crowd.connections:
                    self._watch()
                return
            if events & selectors.EVENT_READ:
                self._read()
            if events & selectors.EVENT_WRITE and self.socket.fileno() >= 0:
                self._watch(self.crowd.writable and self.crowd.writable(self))
        except BlockingIOError:
            pass
        except OSError:
            self.end()

    def send(self, data):
        """Sends what the kernel accepts and returns the number of bytes."""
        try:
            return self.socket.send(data)
        except BlockingIOError:
            return 0

    def _watch(self, writes=True):
        reads = selectors.EVENT_READ if self.crowd.readable else 0
        writes = selectors.EVENT_WRITE if writes and self.crowd.writable else 0
        if reads | writes:
            self.crowd.selector.modify(self.socket, reads | writes, self)
        else:
            self.crowd.selector.unregister(self.socket)

    def _read(self):
        data = self.socket.recv(65536)
        if not data:
            self.end()
        else:
            self.crowd.readable(self, data)

    def end(self):
        """Closes the connection; the crowd opens another."""
        if self not in self.crowd.connections:
            return
        self.crowd.connections.discard(self)
        self.crowd.missing += 1
        try:
            self.crowd.selector.unregister(self.socket)
        except KeyError:
            pass
        self.socket.close()
