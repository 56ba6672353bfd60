"""Asks a stub what to answer. The stub sees the request as if a client had made it in memory."""

from __future__ import annotations

import sys
from http import HTTPStatus
from typing import NamedTuple

from ... import codes
from ..._args import shown_url
from ..._async_client import AsyncClient
from ..._bridge.enums import Clock, ErrorDomain, LogFlags
from ..._bridge.library import lib
from ..._errors import ApiError
from ..._headers import header_text
from ...arg import add_header, base_url, data, method, option, timeout
from ._answer import TAG, Fault, Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from typing import Optional

    from ..._stream import AsyncStream
    from ..._types import Args
    from ..clock import ManualClock
    from ..doubles import Stub
    from ._log import ReceivedRequest

    Line = tuple[bytes, bytes]

_ALONE = (
    option("plain_exchange"),
    *(timeout(float("inf"), clock) for clock in (Clock.IDLE, Clock.ATTEMPT, Clock.TOTAL)),
)
"""A plain exchange without timeouts: the stub's answer may come at any time."""
OF_THE_HOP = {
    b"connection",
    b"expect",
    b"host",
    b"content-length",
    b"keep-alive",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
}
"""Lines about the connection, which a stub does not see, and which cannot be trailers."""
_FRAMING = {b"transfer-encoding", TAG.lower().encode()}


_WITHOUT_EFFECT = {
    "circuitBreaker": False,
    "maximumResponseSize": sys.maxsize,
    "rateLimit": {"requests": 1e9, "burst": 1_000_000, "maximum_pause": 0},
}
"""Values in place of those that a program may have given to all clients."""


class _Asker(AsyncClient):
    """Passes the requests of a server on to its stub."""

    # No interceptors that a program has given to all clients.
    interceptors = ()


class Answered(NamedTuple):
    """The head of an answer, the script for the wire, and the source of the body."""

    status: int
    lines: list[Line]
    script: Script
    text: bytes = b""
    stream: Optional[AsyncStream[bytes]] = None

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The body, as the stub gives it. Raises ApiError where the stub breaks the connection."""
        if self.text:
            yield self.text
        if self.stream is not None:
            async for piece in self.stream:
                yield piece

    @property
    def trailers(self) -> tuple[Line, ...]:
        """The trailers, once the whole body was read."""
        response = None if self.stream is None else self.stream.response
        return () if response is None else response.trailers.raw

    async def close(self) -> None:
        if self.stream is not None:
            await self.stream.close()


def phrase(status: int) -> bytes:
    """The text behind a status in the status line."""
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b""


def plain(status: int, text: str) -> Answered:
    """An answer of the server itself."""
    body = f"{text}\n".encode()
    lines = [
        (b"Content-Type", b"text/plain; charset=utf-8"),
        (b"Content-Length", str(len(body)).encode()),
    ]
    return Answered(status, lines, Script(), body)


def _broken(fault: Fault) -> Answered:
    script = Script()
    script.fault = fault
    return Answered(200, [], script)


class Source:
    """The client that asks. It belongs to the server's loop."""

    def __init__(self, clock: Optional[ManualClock]) -> None:
        # It logs nothing: it does not know what the server's client has marked as secret.
        self._client = _Asker("http://server.invalid", clock=clock, log_flags=LogFlags.NONE)
        for name, value in _WITHOUT_EFFECT.items():
            self._client.set_default(name, value)
        # A recorder of all clients already records the server's clients.
        lib.ntapi_client_hide(self._client._handle.pointer)

    async def close(self) -> None:
        await self._client.close()

    async def ask(self, stub: Stub, request: ReceivedRequest) -> Answered:
        """What a stub answers to a request."""
        # A request keeps the stub with which it was begun.
        self._client.stub = stub
        try:
            stream = self._client.stream("", *_args(request))
            await stream.__aenter__()
        except ApiError as error:
            return _failed(error, request)
        tag = stream.headers.get(TAG)
        lines = [line for line in stream.headers.raw if line[0].lower() not in _FRAMING]
        script = Script(tag)
        if script.is_chunked:
            lines = [line for line in lines if line[0].lower() != b"content-length"]
        return Answered(stream.status, lines, script, stream=stream)


def _args(request: ReceivedRequest) -> list[Args]:
    args: list[Args] = [_ALONE, method(request.method), base_url(request.url)]
    args += (
        add_header(header_text(name), header_text(value))
        for name, value in request.headers.raw
        if name.lower() not in OF_THE_HOP
    )
    if request.body:
        args.append(data(request.body))
    return args


def _failed(error: ApiError, request: ReceivedRequest) -> Answered:
    """The answer for the server's client, in place of the error that a client with the stub would
    get.
    """
    if error.code is codes.NO_STUB:
        request.is_matched = False
        return plain(501, error.message)
    if error.clock is not None:
        return _broken(Fault("stall"))
    if error.domain is ErrorDomain.NETWORK:
        return _broken(Fault("reset"))
    request._log.add_problem(f"{request.method} {shown_url(request.url)}: {error.message}")
    return plain(500, error.message)
