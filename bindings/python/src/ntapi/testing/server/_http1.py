"""A connection that speaks HTTP/1, and its requests, one after the other."""

from __future__ import annotations

import h11

from ..._args import shown_url
from ..._headers import Headers
from ._log import in_ascii
from ._play import BrokenError, Exchange
from ._source import phrase, plain
from ._tunnel import tunnel
from ._wire import HungUpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._answer import Fault
    from ._connection import Connection

    Line = tuple[bytes, bytes]

_LONGEST_HEAD = 1 << 20


class HTTP1Exchange(Exchange):
    """A request over HTTP/1 and the way back."""

    grace = 1.0

    def __init__(self, connection: Connection, protocol: h11.Connection) -> None:
        self._connection = connection
        self._protocol = protocol
        self._has_length = False
        self.hung_up = connection.wire.ended

    def head(self, status: int, reason: bytes, lines: Sequence[Line]) -> bytes:
        self._has_length = any(name.lower() == b"content-length" for name, _ in lines)
        kind = h11.InformationalResponse if status < 200 else h11.Response
        return self._bytes(kind(status_code=status, headers=list(lines), reason=reason))

    async def send(self, data: bytes) -> None:
        await self._connection.wire.write(data)

    async def cut_off(self, data: bytes) -> None:
        await self.send(data)

    async def send_body(self, piece: bytes) -> None:
        if piece:
            await self.send(self._bytes(h11.Data(data=piece)))

    async def finish(self, trailers: Sequence[Line]) -> None:
        if trailers and self._has_length:
            request = f"{self.request.method} {shown_url(self.request.url)}"
            problem = "the answer has a Content-Length, so HTTP/1.1 cannot send its trailers"
            self._connection.server.log.add_problem(f"{request}: {problem}: leave it out")
        is_chunked = not self._has_length and self.request.http_version >= 1.1
        lines = list(trailers) if is_chunked else []
        await self.send(self._bytes(h11.EndOfMessage(headers=lines)))

    async def breaks(self, fault: Fault) -> None:
        await self._connection.breaks(fault)
        if fault.kind == "half_close":
            await self._connection.wire.drain()
        raise BrokenError

    def _bytes(self, event: Any) -> bytes:
        return self._protocol.send(event) or b""


class _Protocol(h11.Connection):
    """h11 for one request and its answer. h11 would refuse a request line with bytes that are not
    ASCII.
    """

    def __init__(self, received: bytes) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=_LONGEST_HEAD)
        self._has_line = False
        if received:
            self.receive_data(received)

    def receive_data(self, data: bytes) -> None:
        if not self._has_line:
            line, end, rest = data.partition(b"\n")
            self._has_line = bool(end)
            data = in_ascii(line) + end + rest
        super().receive_data(data)


async def serve(connection: Connection, first: bytes) -> None:
    """Answers the requests of a connection until it ends. `first` are bytes that were read."""
    protocol = _Protocol(first)
    try:
        while True:
            event = await _next(connection, protocol)
            if not isinstance(event, h11.Request):
                return
            await _exchange(connection, protocol, event)
            if protocol.our_state is not h11.DONE or protocol.their_state is not h11.DONE:
                await connection.wire.close(protocol.their_state is not h11.DONE)
                return
            protocol = _Protocol(protocol.trailing_data[0])
    except h11.RemoteProtocolError as error:
        connection.server.log.add_problem(f"connection {connection.number}: {error}")
        if protocol.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            exchange = HTTP1Exchange(connection, protocol)
            answer = plain(400, f"this is not HTTP/1.1: {error}")
            lines = [*answer.lines, (b"Connection", b"close")]
            await exchange.send(exchange.head(400, phrase(400), lines) + answer.text)
        await connection.wire.close(is_unread=True)


async def _next(connection: Connection, protocol: h11.Connection) -> Any:
    while True:
        event = protocol.next_event()
        if event is not h11.NEED_DATA:
            return event
        data = await connection.wire.read()
        if not data and protocol.their_state is h11.SEND_BODY:
            # In the middle of a request; h11 would call it a mistake.
            raise HungUpError
        protocol.receive_data(data)


async def _exchange(connection: Connection, protocol: h11.Connection, head: h11.Request) -> None:
    exchange = HTTP1Exchange(connection, protocol)
    target = head.target.decode("latin-1")
    headers = Headers(head.headers.raw_items())
    version = float(head.http_version.decode())
    method = head.method.decode()
    exchange.request = connection.received(method, target, headers, version)
    async with connection.answering(exchange):
        if method == "CONNECT":
            await _connect(connection, protocol, exchange)
            return
        early = connection.server.queue.early()
        if early is None:
            if protocol.they_are_waiting_for_100_continue:
                await exchange.send(exchange.head(100, b"Continue", []))
            while not isinstance(event := await _next(connection, protocol), h11.EndOfMessage):
                exchange.request._add(bytes(event.data))
            exchange.request._complete(Headers(event.headers.raw_items()))
        await connection.answer(exchange, early)


async def _connect(
    connection: Connection, protocol: h11.Connection, exchange: HTTP1Exchange
) -> None:
    """Answers CONNECT: with what was queued for it, or with a tunnel."""
    while not isinstance(await _next(connection, protocol), h11.EndOfMessage):
        pass
    exchange.request._complete(Headers())
    queued = connection.server.queue.connect()
    if queued is not None:
        await connection.answer(exchange, queued)
        return
    await exchange.send(exchange.head(200, b"Connection established", []))
    early, _ = protocol.trailing_data
    exchange.request._end("answered")
    await tunnel(connection.server, connection.wire, exchange.request.target, early)
    raise BrokenError
