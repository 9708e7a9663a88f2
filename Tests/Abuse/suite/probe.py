"""A well-behaved client that measures how long its requests take."""

import asyncio
import ssl
import time

INTERVAL = 0.025  # seconds between requests, whether or not earlier ones have been answered
PATIENCE = 30  # seconds before a request counts as failed
SOURCE = "127.0.9.9"
REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Probe:
    def __init__(self, port, context):
        self.port = port
        self.context = context
        self.waits = []  # milliseconds
        self.failures = []
        self.kept = None

    async def run(self, seconds, sample):
        """Sends requests, alternately on a new and on a kept-alive connection, and calls `sample` after each."""
        began = time.monotonic()
        asked = []
        number = 0
        while time.monotonic() < began + seconds:
            asked.append(asyncio.create_task(self._ask(number % 2 == 0)))
            number += 1
            sample()
            await asyncio.sleep(max(0, began + number * INTERVAL - time.monotonic()))
        while any(not each.done() for each in asked):
            sample()
            await asyncio.wait(asked, timeout=0.1)
        await asyncio.gather(*asked)
        if self.kept:
            self.kept[1].transport.abort()

    async def _ask(self, anew):
        began = time.monotonic()
        try:
            async with asyncio.timeout(PATIENCE):
                await (self._once() if anew else self._again())
        except (OSError, ssl.SSLError, asyncio.IncompleteReadError, TimeoutError, ValueError) as error:
            self.failures.append(f"{type(error).__name__} {error}".strip())
        self.waits.append((time.monotonic() - began) * 1000)

    async def _connect(self):
        name = "localhost" if self.context else None
        return await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self.context, server_hostname=name, local_addr=(SOURCE, 0))

    async def _once(self):
        connection = await self._connect()
        try:
            await self._exchange(connection)
        finally:
            connection[1].transport.abort()

    async def _again(self):
        """Uses the kept connection unless it is busy. The server may have closed it, so a failure is retried on a new one."""
        connection, self.kept = self.kept, None
        if connection:
            try:
                await self._exchange(connection)
                self.kept = self.kept or connection
                return
            except (OSError, ssl.SSLError, asyncio.IncompleteReadError):
                connection[1].transport.abort()
        connection = await self._connect()
        await self._exchange(connection)
        if self.kept:
            connection[1].transport.abort()
        else:
            self.kept = connection

    async def _exchange(self, connection):
        reader, writer = connection
        writer.write(REQUEST)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise ValueError(head.split(b"\r\n", 1)[0].decode())
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        await reader.readexactly(length)
