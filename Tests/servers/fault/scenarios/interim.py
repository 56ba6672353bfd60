"""Interim responses (1xx) and responses that must not have a body."""

from __future__ import annotations

from fault.exchange import Exchange
from fault.registry import scenario

BODY = b'{"ok":true}'
HEAD = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n"
FINAL = HEAD % b"200 OK" + BODY


@scenario("continue-storm")
async def continue_storm(exchange: Exchange) -> None:
    """?count=10000 times 100 Continue, then a proper answer."""
    await exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n" * exchange.number("count", 10_000))
    await exchange.send(FINAL)
    exchange.keep = True


@scenario("early-hints")
async def early_hints(exchange: Exchange) -> None:
    """103 Early Hints with a Link header, then a proper answer."""
    await exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
    await exchange.send(FINAL)
    exchange.keep = True


@scenario("continue-only")
async def continue_only(exchange: Exchange) -> None:
    """100 Continue and then a close: the final response never comes."""
    await exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n")


@scenario("switching")
async def switching(exchange: Exchange) -> None:
    """101 Switching Protocols that nobody asked for, then a close; /open stays open."""
    await exchange.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: magic\r\n\r\nmagic")
    if exchange.rest == "open":
        await exchange.hold()


@scenario("no-content-with-body")
async def no_content_with_body(exchange: Exchange) -> None:
    """204 with a body that must not be there, then close."""
    await exchange.send(HEAD % b"204 No Content" + BODY)


@scenario("not-modified")
async def not_modified(exchange: Exchange) -> None:
    """304 to whatever was asked, conditional or not."""
    await exchange.send(b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n')
    exchange.keep = True


@scenario("head-with-body")
async def head_with_body(exchange: Exchange) -> None:
    """A body even to HEAD, then close."""
    await exchange.send(FINAL)
