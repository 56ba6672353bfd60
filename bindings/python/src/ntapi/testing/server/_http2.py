"""A connection that speaks HTTP/2, and its streams, side by side."""

from __future__ import annotations

import asyncio

import h2.config
import h2.connection
import h2.events
import h2.exceptions
from hyperframe.frame import GoAwayFrame

from ..._headers import Headers
from ._log import in_ascii
from ._play import BrokenError, Exchange
from ._wire import HungUpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._answer import Fault
    from ._connection import Connection

    Line = tuple[bytes, bytes]

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client sends first (RFC 9113, 3.4)."""
_NO_ERROR = 0
_OF_HTTP1 = {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"}


class HTTP2Exchange(Exchange):
    """A request over HTTP/2 and the way back."""

    def __init__(self, server: HTTP2Server, stream: int) -> None:
        self._server = server
        self._stream = stream
        self.hung_up = asyncio.Event()
        self.body_arrived = asyncio.Event()

    @property
    def is_asked_to_continue(self) -> bool:
        """Whether the client waits for 100 before it sends the body."""
        expected = self.request.headers.get("Expect") or ""
        has_come = self.request.body or self.body_arrived.is_set()
        return expected.lower() == "100-continue" and not has_come

    def head(self, status: int, reason: bytes, lines: Sequence[Line]) -> bytes:
        fields = [(b":status", str(status).encode())]
        fields += ((name.lower(), value) for name, value in lines)
        fields = [field for field in fields if field[0] not in _OF_HTTP1]
        self._check()
        self._server.protocol.send_headers(self._stream, fields)
        return self._server.protocol.data_to_send()

    async def send(self, data: bytes) -> None:
        await self._ready()
        await self._server.connection.wire.write(data)

    async def cut_off(self, data: bytes) -> None:
        await self.send(data)
        self._server.is_silent = True

    async def send_body(self, piece: bytes) -> None:
        protocol = self._server.protocol
        while piece:
            await self._ready()
            room = min(
                protocol.local_flow_control_window(self._stream),
                protocol.max_outbound_frame_size,
            )
            if room <= 0:
                await self.until(self._server.next_window())
                continue
            protocol.send_data(self._stream, piece[:room])
            piece = piece[room:]
            await self._server.flush()

    async def finish(self, trailers: Sequence[Line]) -> None:
        await self._ready()
        if trailers:
            fields = [(name.lower(), value) for name, value in trailers]
            self._server.protocol.send_headers(self._stream, fields, end_stream=True)
        else:
            self._server.protocol.end_stream(self._stream)
        await self._server.flush()
        if not self.body_arrived.is_set():
            await self._server.reset(self._stream, _NO_ERROR)

    async def breaks(self, fault: Fault) -> None:
        if fault.kind == "reset_stream":
            await self._server.reset(self._stream, fault.code or 0)
        elif fault.kind == "goaway":
            last = self._stream if fault.last_stream is None else fault.last_stream
            await self._server.go_away(last, fault.code or 0)
            if last >= self._stream:
                return
        else:
            self._server.is_silent = True
            await self._server.connection.breaks(fault)
            if fault.kind == "half_close":
                await self._server.connection.wire.ended.wait()
        raise BrokenError

    async def _ready(self) -> None:
        """Raises HungUpError if nothing more can be sent. After another stream's fault, first waits
        until the client has hung up.
        """
        self._check()
        if self._server.is_silent:
            await self.hung_up.wait()
            raise HungUpError

    def _check(self) -> None:
        if self.hung_up.is_set():
            raise HungUpError


class HTTP2Server:
    """The streams of a connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        config = h2.config.H2Configuration(client_side=False, header_encoding=None)
        self.protocol = h2.connection.H2Connection(config)
        self._running: dict[int, tuple[HTTP2Exchange, asyncio.Task[None]]] = {}
        self._windows = asyncio.Event()
        self._is_leaving = False
        self.is_silent = False
        """Whether nothing more may be sent. After a part of a head, a client would take anything
        for the rest of the head. After a fault, the connection ends.
        """

    async def serve(self, first: bytes) -> None:
        """Reads frames until the connection ends."""
        self.protocol.initiate_connection()
        await self.flush()
        try:
            self.protocol.receive_data(first[: len(PREFACE)])
            unread = bytearray(first[len(PREFACE) :])
            data = first
            while data:
                for frame in _frames(unread):
                    for event in self.protocol.receive_data(frame):
                        self._take(event)
                    # A GOAWAY in the next frame would make h2 forget what is due.
                    await self.flush()
                data = await self.connection.wire.read()
                unread += data
        except h2.exceptions.ProtocolError as error:
            problem = f"connection {self.connection.number}: {error!r}"
            self.connection.server.log.add_problem(problem)
            await self.flush()
        except asyncio.CancelledError:
            for _, task in self._running.values():
                task.cancel()
            raise
        finally:
            await self._end()

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            self._begin(event)
        elif isinstance(event, (h2.events.WindowUpdated, h2.events.RemoteSettingsChanged)):
            self._windows.set()
            self._windows = asyncio.Event()
        elif isinstance(event, h2.events.DataReceived):
            self.protocol.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.ConnectionTerminated):
            # A client that goes away still waits for its answers (RFC 9113, 6.8). h2 would not send
            # them.
            self.protocol.state_machine.state = h2.connection.ConnectionState.SERVER_OPEN
        running = self._running.get(getattr(event, "stream_id", None) or 0)
        if running is None:
            return
        exchange = running[0]
        if isinstance(event, h2.events.DataReceived):
            exchange.request._add(event.data)
        elif isinstance(event, h2.events.TrailersReceived):
            exchange.request.trailers = Headers(event.headers)
        elif isinstance(event, h2.events.StreamEnded):
            exchange.request._complete(exchange.request.trailers)
            exchange.body_arrived.set()
        elif isinstance(event, h2.events.StreamReset):
            exchange.request.reset_code = int(event.error_code)
            exchange.hung_up.set()

    def _begin(self, event: h2.events.RequestReceived) -> None:
        exchange = HTTP2Exchange(self, event.stream_id)
        fields = {
            name: in_ascii(value).decode() for name, value in event.headers if name[:1] == b":"
        }
        lines = [(bytes(name), bytes(value)) for name, value in event.headers if name[:1] != b":"]
        exchange.request = self.connection.received(
            fields[b":method"],
            fields.get(b":path", fields.get(b":authority", "")),
            Headers(lines),
            2.0,
            fields.get(b":authority", ""),
        )
        task = asyncio.ensure_future(self._answer(exchange))
        self._running[event.stream_id] = exchange, task
        task.add_done_callback(lambda _: self._running.pop(event.stream_id, None))

    async def _answer(self, exchange: HTTP2Exchange) -> None:
        try:
            async with self.connection.answering(exchange):
                early = self.connection.server.queue.early()
                if early is None:
                    if exchange.is_asked_to_continue:
                        await exchange.send(exchange.head(100, b"Continue", []))
                    await exchange.until(exchange.body_arrived.wait())
                await self.connection.answer(exchange, early)
        except (BrokenError, HungUpError):
            pass
        except Exception as error:
            self.connection.server.log.add_problem(f"the server has failed: {error!r}")
            await self.connection.wire.reset()
        if self._is_leaving and len(self._running) == 1:
            await self.connection.wire.close()

    async def next_window(self) -> None:
        """Waits until the client has opened a window of flow control."""
        await self._windows.wait()

    async def flush(self) -> None:
        """Sends the frames that are due."""
        data = self.protocol.data_to_send()
        if data and not self.is_silent:
            await self.connection.wire.write(data)

    async def reset(self, stream: int, code: int) -> None:
        """Sends RST_STREAM."""
        try:
            self.protocol.reset_stream(stream, code)
        except h2.exceptions.StreamClosedError:
            return
        await self.flush()

    async def go_away(self, last: int, code: int) -> None:
        """Sends GOAWAY. The connection is closed after the last answer. h2 would refuse to send
        anything after it.
        """
        self._is_leaving = True
        await self.flush()
        if not self.is_silent:
            await self.connection.wire.write(GoAwayFrame(0, last, code).serialize())

    async def _end(self) -> None:
        """Ends the streams that are left."""
        left = list(self._running.values())
        for exchange, _ in left:
            exchange.hung_up.set()
        if left:
            await asyncio.wait([task for _, task in left])


def _frames(unread: bytearray) -> Iterator[bytes]:
    """Takes each frame that has come as a whole (RFC 9113, 4.1). The server can act between two
    frames that came together.
    """
    while len(unread) >= 9:
        end = 9 + int.from_bytes(unread[:3], "big")
        if len(unread) < end:
            return
        frame = bytes(unread[:end])
        del unread[:end]
        yield frame


async def serve(connection: Connection, first: bytes) -> None:
    """Answers the requests of a connection until it ends. `first` are bytes that were read."""
    await HTTP2Server(connection).serve(first)
