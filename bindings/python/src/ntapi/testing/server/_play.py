"""Plays an answer on an exchange: in order, with its waits, and with its fault in its place."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from ..._args import shown_url
from ..._errors import ApiError
from ._answer import Fault
from ._latch import passed
from ._source import OF_THE_HOP, phrase
from ._wire import HungUpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from typing import Any, Optional

    from ._answer import Script
    from ._log import ReceivedRequest
    from ._source import Answered

    Line = tuple[bytes, bytes]


class BrokenError(Exception):
    """A fault has ended the exchange."""


class Exchange(ABC):
    """A request and the way back to its client, over one version of HTTP."""

    request: ReceivedRequest
    hung_up: asyncio.Event
    """Set when the client has closed its side, or has cancelled the stream."""
    grace = 0.0
    """Seconds that an answer may still take when the client has closed its side: over HTTP/1 it
    may have closed only that side.
    """

    @abstractmethod
    def head(self, status: int, reason: bytes, lines: Sequence[Line]) -> bytes:
        """The bytes of a head, which have to be sent next. A status below 200 is informational."""

    @abstractmethod
    async def send(self, data: bytes) -> None:
        """Sends the bytes of a head."""

    @abstractmethod
    async def cut_off(self, data: bytes) -> None:
        """Sends a part of a head. The rest never follows."""

    @abstractmethod
    async def send_body(self, piece: bytes) -> None:
        """Sends a part of the body."""

    @abstractmethod
    async def finish(self, trailers: Sequence[Line]) -> None:
        """Sends what comes after the body."""

    @abstractmethod
    async def breaks(self, fault: Fault) -> None:
        """Does what a fault says, except a stall. Raises BrokenError if the answer ends."""

    async def until(self, event: Coroutine[Any, Any, Any], grace: float = 0.0) -> Any:
        """Waits for an event. Raises HungUpError if the client does not wait for it."""
        waiting = asyncio.ensure_future(event)
        leaving = asyncio.ensure_future(self.hung_up.wait())
        try:
            await asyncio.wait([waiting, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done() and grace:
                await asyncio.wait([waiting], timeout=grace)
            if not waiting.done():
                raise HungUpError
            return waiting.result()
        finally:
            for each in (waiting, leaving):
                each.cancel()
            await asyncio.wait([waiting, leaving])


async def play(exchange: Exchange, answered: Answered) -> None:
    """Sends an answer. Raises BrokenError after a fault, and HungUpError if the client has left."""
    script = answered.script
    fault = script.fault
    # A client of HTTP/1.0 would take the first of them for the answer (RFC 9110, 15.2).
    knows_informational = exchange.request.http_version >= 1.1
    for status, given in script.informational if knows_informational else ():
        await exchange.send(exchange.head(status, phrase(status), _encoded(given)))
    await _wait(exchange, 0, script.hold)
    await _at("before", exchange, fault)
    head = exchange.head(answered.status, phrase(answered.status), answered.lines)
    if fault is not None and fault.place == "head":
        await exchange.cut_off(head[: fault.after])
        await _before_end(exchange, script)
        await _at("head", exchange, fault)
    await exchange.send(head)
    await _wait(exchange, script.body_delay, script.hold_body)
    await _Body(exchange, answered).play()
    await _before_end(exchange, script)
    if fault is not None and fault.kind == "reset_stream":
        await _at("end", exchange, fault)
    await exchange.finish(_fit_trailers(exchange.request, answered.trailers))
    await _at("end", exchange, fault)
    exchange.request._end("answered")


def _fit_trailers(request: ReceivedRequest, trailers: Sequence[Line]) -> list[Line]:
    """The trailers that may be sent: the body has come by then, so nothing can still say how it is
    framed (RFC 9110, 6.5.1). h11 and h2 would break the answer off.
    """
    fit = []
    for name, value in trailers:
        if name.lower() not in OF_THE_HOP:
            fit.append((name, value))
            continue
        problem = f"{name.decode()} is about the connection and cannot be a trailer: leave it out"
        request._log.add_problem(f"{request.method} {shown_url(request.url)}: {problem}")
    return fit


class _Body:
    """The body of an answer, with a fault in it if the script says so."""

    def __init__(self, exchange: Exchange, answered: Answered) -> None:
        self._script = script = answered.script
        self._exchange = exchange
        self._pieces = answered.pieces()
        self._fault = script.fault
        if script.fault is not None and script.fault.place != "body":
            self._fault = None
        self._sent = 0
        self._has_body = exchange.request.method != "HEAD" and answered.status not in (204, 304)
        self._length = -1
        """After this many bytes the client has the body, and may leave before the end is sent."""
        if not (script.fault or script.hold_trailers or script.trailers_delay):
            lengths = [value for name, value in answered.lines if name.lower() == b"content-length"]
            self._length = (int(lengths[0]) if lengths else -1) if self._has_body else 0

    async def play(self) -> None:
        if self._length == 0:
            self._exchange.request._end("answered")
        try:
            while (piece := await self._next()) is not None:
                fault = self._fault
                if fault is not None and self._sent + len(piece) >= fault.after:
                    rest = fault.after - self._sent
                    await self._send(piece[:rest])
                    piece = piece[rest:]
                    await self._break(fault)
                await self._send(piece)
            if self._fault is not None:
                await self._break(self._fault)
        except ApiError:
            # The stub breaks the connection at this place.
            await self._exchange.breaks(Fault("reset"))
        finally:
            await self._pieces.aclose()

    async def _next(self) -> Optional[bytes]:
        """The next piece that may be sent; None at the end."""
        while True:
            piece: Optional[bytes] = await self._exchange.until(
                _next(self._pieces), self._exchange.grace
            )
            if piece is None or self._has_body:
                return piece

    async def _send(self, piece: bytes) -> None:
        await self._exchange.send_body(piece)
        self._sent += len(piece)
        if self._sent == self._length:
            self._exchange.request._end("answered")

    async def _break(self, fault: Fault) -> None:
        """Returns only after a GOAWAY that lets the answer continue."""
        if fault.kind != "goaway":
            await _before_end(self._exchange, self._script)
        await _at("body", self._exchange, fault)
        self._fault = None


async def _next(pieces: Any) -> Optional[bytes]:
    async for piece in pieces:
        return bytes(piece)
    return None


async def _wait(exchange: Exchange, seconds: float, latch: Optional[int]) -> None:
    if seconds:
        await exchange.until(asyncio.sleep(seconds))
    if latch is not None:
        await exchange.until(passed(latch))


async def _before_end(exchange: Exchange, script: Script) -> None:
    """The waits before the end of an answer, or before the fault that ends it."""
    await _wait(exchange, script.trailers_delay, script.hold_trailers)


async def _at(place: str, exchange: Exchange, fault: Optional[Fault]) -> None:
    if fault is None or fault.place != place:
        return
    if fault.kind == "stall":
        await exchange.hung_up.wait()
        raise HungUpError
    await exchange.breaks(fault)


def _encoded(lines: Sequence[tuple[str, str]]) -> list[Line]:
    return [(name.encode(), value.encode()) for name, value in lines]
