"""One request and the means to answer it well or badly."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from fault.state import State

Headers = Sequence[tuple[str, str]]
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Gone(Exception):
    """The connection is over: the client left, or the scenario tore it down."""


@dataclass
class Request:
    """A request as it was seen on the wire."""

    head: bytes
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    path: str = field(init=False)
    pairs: list[tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        self.path, _, query = self.target.partition("?")
        self.pairs = parse_qsl(query, keep_blank_values=True)

    def header(self, name: str) -> str:
        """The first value of a header, or nothing."""
        lower = name.lower()
        return next((value for key, value in self.headers if key.lower() == lower), "")

    def wants_close(self) -> bool:
        """Whether the client wants the connection closed after this request."""
        wish = self.header("Connection").lower()
        old = self.head.partition(b"\r\n")[0].endswith(b"HTTP/1.0")
        return "close" in wish or (old and "keep-alive" not in wish)

    def shown(self) -> dict[str, Any]:
        """The request as JSON: pairs in order, and also as objects."""
        args: dict[str, Any] = {}
        for name, value in self.pairs:
            values = [text for key, text in self.pairs if key == name]
            args[name] = value if len(values) == 1 else values
        header: dict[str, str] = {}
        for name, value in self.headers:
            lower = name.lower()
            header[lower] = f"{header[lower]}, {value}" if lower in header else value
        shown: dict[str, Any] = {
            "method": self.method,
            "target": self.target,
            "path": self.path,
            "query": self.pairs,
            "args": args,
            "headers": self.headers,
            "header": header,
            "size": len(self.body),
        }
        try:
            shown["body"] = self.body.decode("utf-8")
        except UnicodeDecodeError:
            shown["body_base64"] = base64.b64encode(self.body).decode("ascii")
        return shown


@dataclass
class Link:
    """A connection. `doomed` is how it ends at its next request: `close` or `reset`."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    listener: str
    number: int
    requests: int = 0
    doomed: str = ""


class Exchange:
    """What a scenario gets: the request, its parameters, and ways to answer."""

    def __init__(self, state: State, link: Link, request: Request, rest: str) -> None:
        self.state = state
        self.link = link
        self.request = request
        self.rest = rest
        """The path below the scenario's name, without a slash at its start."""
        self.keep = False
        """Whether the connection stays open after the scenario."""

    def text(self, name: str, default: str = "") -> str:
        """A query parameter."""
        return next((value for key, value in self.request.pairs if key == name), default)

    def number(self, name: str, default: int) -> int:
        """A query parameter that is a whole number."""
        try:
            return int(self.text(name, str(default)))
        except ValueError:
            return default

    async def send(self, data: bytes | str) -> None:
        """Sends bytes unchanged (text as Latin-1); returns when the kernel has them."""
        raw = data if isinstance(data, bytes) else data.encode("latin-1")
        self.link.writer.write(raw)
        await self.link.writer.drain()
        if self.link.writer.transport.is_closing():
            raise Gone

    async def respond(
        self, body: bytes | str, status: int = 200, headers: Headers = (), keep: bool = True
    ) -> None:
        """Sends a correct response, and leaves the connection open unless `keep` is false.

        Text is sent as UTF-8. In the head, the surrogate U+DCxx stands for a byte xx of 0x80 or more.
        """
        raw = body if isinstance(body, bytes) else body.encode("utf-8")
        lines = [status_line(status)]
        if not any(name.lower() == "content-type" for name, _ in headers):
            lines.append("Content-Type: application/json")
        if status >= 200 and status not in (204, 304):
            lines.append(f"Content-Length: {len(raw)}")
        lines += [f"{name}: {value}" for name, value in headers]
        if not keep or self.request.wants_close():
            # Otherwise a client would send its next request on it while it is being closed.
            lines.append("Connection: close")
        head = "\r\n".join(lines) + "\r\n\r\n"
        bodiless = self.request.method == "HEAD" or status in (204, 304)
        await self.send(head.encode("utf-8", "surrogateescape") + (b"" if bodiless else raw))
        self.keep = keep

    async def respond_json(self, value: Any, status: int = 200, headers: Headers = ()) -> None:
        """Sends a value as JSON, correctly."""
        await self.respond(json.dumps(value, ensure_ascii=False), status, headers)

    async def echo(self, status: int = 200) -> None:
        """Answers with the request, the listener and connection that received it, and the client's
        address.

        Over TLS also with whether the client has sent a certificate.
        """
        shown = self.request.shown()
        shown["listener"] = self.link.listener
        shown["peer"] = self.link.writer.get_extra_info("peername")[0]
        if self.link.writer.get_extra_info("ssl_object"):
            shown["certificate"] = bool(self.link.writer.get_extra_info("peercert"))
        shown["connection"] = self.link.number
        shown["request_of_connection"] = self.link.requests
        await self.respond_json(shown, status)

    def reset(self) -> NoReturn:
        """Tears the connection down with a TCP reset; what was sent before still arrives."""
        reset(self.link)
        raise Gone

    async def hold(self) -> NoReturn:
        """Keeps the connection open and silent until the client leaves."""
        while await self.link.reader.read(65536):
            pass
        raise Gone


def reset(link: Link) -> None:
    """Closes a connection so that the other side gets RST instead of FIN."""
    connection = link.writer.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    link.writer.transport.abort()


def status_line(status: int) -> str:
    """`HTTP/1.1 200 OK` and the like."""
    try:
        return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP/1.1 {status} Unknown"
