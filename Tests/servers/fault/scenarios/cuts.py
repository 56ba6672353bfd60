"""Connections that end too early, by reset (RST) or by a clean close (FIN)."""

from __future__ import annotations

import socket

from fault.exchange import Exchange, Gone
from fault.registry import scenario

BODY = b'{"ok":true,"text":"' + b"x" * 200 + b'"}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(
    BODY
)
PLACES = {
    "before": b"",
    "in-status": b"HTTP/1.1 20",
    "in-headers": HEAD[:40],
    "after-headers": HEAD,
    "in-body": HEAD + BODY[:100],
    "after-body": HEAD + BODY,
}


async def cut(exchange: Exchange) -> None:
    """Sends the response up to the place that the path names."""
    sent = PLACES.get(exchange.rest or "before", b"")
    if sent:
        await exchange.send(sent)


@scenario("reset")
async def reset(exchange: Exchange) -> None:
    """RST at /before, /in-status, /in-headers, /after-headers, /in-body, /after-body."""
    await cut(exchange)
    exchange.reset()


@scenario("reset-early", reads_body=False)
async def reset_early(exchange: Exchange) -> None:
    """RST as soon as the request's head is read, its body not."""
    exchange.reset()


@scenario("close")
async def close(exchange: Exchange) -> None:
    """FIN at /before, /in-status, /in-headers, /after-headers, /in-body, /after-body."""
    await cut(exchange)


@scenario("close-delimited")
async def close_delimited(exchange: Exchange) -> None:
    """A correct HTTP/1.0-style response whose body ends with the connection; at /torn it ends without close_notify."""
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + BODY)
    if exchange.rest == "torn":
        exchange.link.writer.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        raise Gone


@scenario("early-answer", reads_body=False)
async def early_answer(exchange: Exchange) -> None:
    """413 with ?body= when ?after=0 bytes of the request's body are there, then close: the upload is cut off.

    With ?token=T it waits for /let?token=T before.
    """
    await exchange.link.reader.readexactly(exchange.number("after", 0))
    if token := exchange.text("token"):
        await exchange.state.let[token].wait()
    await exchange.respond(exchange.text("body", '{"error":"too large"}'), 413, keep=False)
    exchange.link.writer.write_eof()
    await exchange.hold()
