"""Response heads that are too long, too many, or not HTTP at all."""

from __future__ import annotations

from fault.exchange import Exchange
from fault.registry import scenario

BODY = b'{"ok":true}'
REST = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY

STATUS_LINES = {
    "garbage": b"\x00\xff\x13nonsense\r\n",
    "version": b"HTTP/9.9 200 OK\r\n",
    "letters": b"HTTP/1.1 abc\r\n",
    "empty": b"\r\n",
    "status-99": b"HTTP/1.1 99 Odd\r\n",
    "status-999": b"HTTP/1.1 999 Odd\r\n",
    "status-1000": b"HTTP/1.1 1000 Odd\r\n",
    "status-2000": b"HTTP/1.1 2000 Odd\r\n",
    "status-negative": b"HTTP/1.1 -200 Odd\r\n",
    "no-reason": b"HTTP/1.1 200\r\n",
    "http-1.0": b"HTTP/1.0 200 OK\r\n",
    "lower-case": b"http/1.1 200 ok\r\n",
    "line-feeds": b"HTTP/1.1 200 OK\n",
}


@scenario("status-line")
async def status_line(exchange: Exchange) -> None:
    """A bad first line: /garbage, /version, /letters, /empty, /status-99, /status-999, ..."""
    await exchange.send(STATUS_LINES.get(exchange.rest, STATUS_LINES["garbage"]) + REST)


@scenario("http09")
async def http09(exchange: Exchange) -> None:
    """A body with no head at all, as in HTTP/0.9."""
    await exchange.send(b"<html>hello from 1991</html>\n")


@scenario("endless-headers")
async def endless_headers(exchange: Exchange) -> None:
    """Header after header until the client leaves."""
    await exchange.send(b"HTTP/1.1 200 OK\r\n")
    block = b"".join(b"X-Endless-%d: %s\r\n" % (number, b"x" * 50) for number in range(1000))
    while True:
        await exchange.send(block)


@scenario("huge-header")
async def huge_header(exchange: Exchange) -> None:
    """A single header of ?size=1048576 bytes."""
    value = b"x" * exchange.number("size", 1024 * 1024)
    await exchange.send(b"HTTP/1.1 200 OK\r\nX-Huge: " + value + b"\r\n" + REST)


@scenario("many-headers")
async def many_headers(exchange: Exchange) -> None:
    """?count=100000 headers and then a proper body."""
    lines = b"".join(
        b"X-H%d: v\r\n" % number for number in range(exchange.number("count", 100_000))
    )
    await exchange.send(b"HTTP/1.1 200 OK\r\n" + lines + REST)


HEADER_CASES = {
    "no-colon": b"this is no header\r\n",
    "empty-name": b": value\r\n",
    "empty-value": b"X-Empty:\r\n",
    "folded": b"X-Folded: one\r\n two\r\n",
    "blank-first": b" X-Blank: y\r\n",
    "tab-first": b"\tX-Blank: y\r\n",
    "nul": b"X-Nul: a\x00b\r\n",
    "latin-1": b"X-Latin: caf\xe9\r\n",
    "utf-8": b"X-Utf8: caf\xc3\xa9\r\n",
    "space-before-colon": b"X-Space : v\r\n",
    "bare-cr": b"X-Cr: a\rb\r\n",
}


@scenario("header")
async def header(exchange: Exchange) -> None:
    """An odd header line: /no-colon, /empty-name, /folded, ...; ?after=hints sends 103 before it, ?keep=1 stays open."""
    line = HEADER_CASES.get(exchange.rest, b"")
    if exchange.text("after") == "hints":
        hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
        await exchange.send(hints)
    exchange.keep = exchange.text("keep") == "1"
    # If the close were not announced, it might come while a client sends its next request on this
    # connection.
    end = b"" if exchange.keep else b"Connection: close\r\n"
    await exchange.send(b"HTTP/1.1 200 OK\r\n" + line + end + REST)
