"""The two sides that the tests of the transports compare: a library with its own transport, and
with NTApi's under it.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterator
from typing import Any, Optional, Union

import pytest

import ntapi.transports
from conftest import PATIENCE

Outcome = Union[tuple[Any, ...], str]
"""What a program sees of an exchange, or the name of the exception that it gets."""
PIECES = (b"some ", b"", b"pieces")
LARGE = b"x" * 3_000_000
SHORT = 0.3
"""Seconds of a timeout that has to run out."""
IS_NEW_LIBCURL = [int(part) for part in ntapi.versions()["libcurl"].split(".")[:2]] > [8, 14]
"""It sends Connection behind all other headers, and refuses two different Locations."""


class OwnError(Exception):
    """What a program's own body raises."""


INTERRUPTIONS = (SystemExit, KeyboardInterrupt, GeneratorExit)
"""No `except Exception` catches them."""


class Pieces:
    """A request's body that comes in pieces, and raises `failure` after the first."""

    def __init__(self, failure: Optional[type[BaseException]] = None) -> None:
        self.failure = failure

    def sync(self) -> Iterator[bytes]:
        """As an iterator."""
        for piece in PIECES:
            yield piece
            if self.failure is not None:
                raise self.failure

    async def asynchronous(self) -> AsyncIterator[bytes]:
        """As an async iterator."""
        for piece in self.sync():
            yield piece


class Seam:
    """httpx or httpx2, blocking or async, with the transport of NTApi that belongs to it."""

    def __init__(self, name: str, is_async: bool, ca: str) -> None:
        self.library: Any = pytest.importorskip(name)
        self.is_async = is_async
        self.context = ssl.create_default_context(cafile=ca)
        kind = ("Async" if is_async else "") + name.upper()
        self.transport_class: Any = getattr(ntapi.transports, kind)
        self.stock_class: Any = getattr(
            self.library, "AsyncHTTPTransport" if is_async else "HTTPTransport"
        )
        self.client_class: Any = self.library.AsyncClient if is_async else self.library.Client
        self.ntapi_class: Any = ntapi.AsyncClient if is_async else ntapi.Client

    def stock(self, **options: Any) -> Any:
        """The library's own transport."""
        return self.stock_class(**{"verify": self.context, **options})

    def ours(self, **options: Any) -> Any:
        """NTApi's."""
        return self.transport_class(**{"verify": self.context, **options})

    def request(self, transport: Any, method: str, url: str, **options: Any) -> Any:
        """Sends one request with a client of its own, and reads the response."""
        if isinstance(options.get("content"), Pieces):
            pieces = options["content"]
            options["content"] = pieces.asynchronous() if self.is_async else pieces.sync()
        own = {name: options.pop(name) for name in ("auth", "follow_redirects") if name in options}

        async def send() -> Any:
            async with self.client_class(transport=transport, timeout=PATIENCE) as client:
                return await client.request(method, url, **own, **options)

        if self.is_async:
            return asyncio.run(send())
        with self.client_class(transport=transport, timeout=PATIENCE) as client:
            return client.request(method, url, **own, **options)

    def outcome(self, transport: Any, method: str, url: str, **options: Any) -> Outcome:
        """What a program sees of a request, without what differs from one to the next."""
        try:
            response = self.request(transport, method, url, **options)
        except OwnError:
            return "OwnError"
        except self.library.RequestError as error:
            is_complete = error.request.method == method
            return type(error).__name__ if is_complete else "no request"
        return seen(
            response.status_code,
            response.http_version,
            response.reason_phrase,
            response.headers.raw,
            response.content,
        )


def sent(body: Any) -> Any:
    """What a server has seen of a request. If libcurl moves Connection, its place does not
    matter.
    """
    if not IS_NEW_LIBCURL:
        return body
    if isinstance(body, dict) and "head" in body:
        first, *lines = body["head"].rstrip().split("\r\n")
        return {
            **body,
            "head": [first, *sorted(lines, key=lambda line: line[:11] == "Connection:")],
        }
    if isinstance(body, list) and len(body) == 3:
        path, pairs, content = body
        return [path, sorted(pairs, key=lambda pair: pair[0] == "Connection"), content]
    return body


def seen(status: int, version: object, reason: object, lines: Any, content: bytes) -> Outcome:
    """A response as something that can be compared."""
    own = (b"date", b"x-connection", b"x-connection-requests")
    kept = [(name, value) for name, value in lines if name.lower() not in own]
    try:
        body = sent(json.loads(content))
    except ValueError:
        body = content
    if isinstance(body, dict) and "connection" in body:
        # The fault server's /echo: what it says of the connection, and so its length, differs.
        kept = [line for line in kept if line[0].lower() != b"content-length"]
        body = {name: body[name] for name in ("method", "target", "headers", "body")}
        body["headers"] = sorted(map(tuple, body["headers"]))
    return status, version, reason, kept, body
