"""Listeners and connections: finds the scenario of each request, and survives any client."""

from __future__ import annotations

import asyncio
import socket
import ssl

from fault import scenarios
from fault.exchange import Exchange, Gone, Link, reset
from fault.http2 import OddServer
from fault.reading import MAX_HEAD, NotHTTP, read_body, read_head
from fault.registry import SCENARIOS
from fault.state import State

BACKLOG = 4096
REFUSALS = {
    "head": (b"", b"X-Flood: " + b"x" * 80 + b"\r\n"),
    "body": (b"Content-Length: 1000000000000\r\n\r\n", b"x" * 100),
    "chunks": (b"Transfer-Encoding: chunked\r\n\r\n", b"64\r\n" + b"x" * 100 + b"\r\n"),
}
"""A proxy's refusals: the end of the head or the beginning of the body, and what is repeated after
it.
"""
THEMES = scenarios.THEMES
"""Their import registers the scenarios."""


class FaultServer:
    """All listeners of one process, over one shared state."""

    def __init__(self) -> None:
        self.state = State()
        self.servers: list[asyncio.Server] = []
        self.sockets: list[socket.socket] = []

    async def listen(
        self, name: str, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
    ) -> int:
        """Opens one more listener on a free port of loopback; returns the port."""

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.state.connections += 1
            await self.converse(Link(reader, writer, name, self.state.connections))

        server = await asyncio.start_server(
            connected, "127.0.0.1", 0, limit=MAX_HEAD, backlog=BACKLOG, ssl=tls
        )
        self.servers.append(server)
        port = int(server.sockets[0].getsockname()[1])
        self.state.urls[name] = f"{'https' if tls else 'http'}://{host}:{port}"
        return port

    async def listen_and_close(self, name: str) -> None:
        """A listener that reads the start of a TLS handshake and hangs up."""

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await reader.read(65536)
                writer.close()
            except OSError:
                pass

        server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=BACKLOG)
        self.servers.append(server)
        self.state.urls[name] = f"https://localhost:{server.sockets[0].getsockname()[1]}"

    async def listen_silent(self, name: str, tls: ssl.SSLContext) -> None:
        """A listener with HTTP/2 that falls silent."""
        silent = OddServer(tls)
        server = await asyncio.start_server(silent.connected, "127.0.0.1", 0, ssl=tls)
        self.servers.append(server)
        self.state.urls[name] = f"https://localhost:{server.sockets[0].getsockname()[1]}"

    async def listen_flooding(self, name: str) -> None:
        """A proxy whose refusal of CONNECT never ends. The host name selects where: `head.test`,
        `body.test` or `chunks.test`.
        """

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                asked = await reader.readuntil(b"\r\n\r\n")
                kind = asked.removeprefix(b"CONNECT ").partition(b".")[0].decode()
                writer.write(
                    b"HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic realm=x\r\n"
                    + REFUSALS[kind][0]
                )
                while not writer.is_closing():
                    writer.write(REFUSALS[kind][1] * 500)
                    await writer.drain()
                    await asyncio.sleep(0)  # lets the loop see a closed connection
            except (OSError, asyncio.IncompleteReadError):
                writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=BACKLOG)
        self.servers.append(server)
        self.state.urls[name] = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    def open_blackhole(self, name: str) -> None:
        """A listener that never accepts, with a full backlog, so that connecting never ends."""
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        self.sockets.append(listener)
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
            self.sockets.append(filler)
        self.state.urls[name] = f"http://127.0.0.1:{listener.getsockname()[1]}"

    async def converse(self, link: Link) -> None:
        """Serves the requests of a connection until either side closes it."""
        # Not 0: over TLS, Python 3.11 would then wait forever after it has written everything.
        link.writer.transport.set_write_buffer_limits(high=1)
        try:
            while await self.serve(link):
                pass
        except NotHTTP:
            link.writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        except (Gone, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            link.writer.close()

    async def serve(self, link: Link) -> bool:
        """Serves a request. Returns whether the connection stays open."""
        request = await read_head(link.reader)
        if request is None:
            return False
        link.requests += 1
        name, _, rest = request.path.lstrip("/").partition("/")
        entry = SCENARIOS.get(name)
        if entry is None or entry.reads_body:
            request.body = await read_body(link.reader, request)
        exchange = Exchange(self.state, link, request, rest)
        if link.doomed:
            if name == "keepalive-count":
                self.state.hit(exchange.text("token"), request.method)
            if link.doomed == "reset":
                reset(link)
            return False
        if entry is None:
            await exchange.respond_json({"error": f"no scenario {name}"}, 404)
        else:
            await entry.action(exchange)
        return exchange.keep and not request.wants_close()
