"""Servers that take their time: dripping, stalling, holding."""

from __future__ import annotations

import asyncio

from fault.exchange import Exchange, status_line
from fault.registry import scenario

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def body(size: int) -> bytes:
    """A JSON body of `size` bytes, 20 at least."""
    return b'{"pad":"' + b"x" * max(10, size - 10) + b'"}'


@scenario("drip")
async def drip(exchange: Exchange) -> None:
    """A body of ?size=100 bytes, ?bytes=1 every ?ms=10; ?head=1 drips the headers too."""
    content = body(exchange.number("size", 100))
    step, pause = max(1, exchange.number("bytes", 1)), exchange.number("ms", 10) / 1000
    response = HEAD % len(content) + content
    start = 0 if exchange.number("head", 0) else len(response) - len(content)
    await exchange.send(response[:start])
    for position in range(start, len(response), step):
        await asyncio.sleep(pause)
        await exchange.send(response[position : position + step])
    exchange.keep = True


@scenario("late")
async def late(exchange: Exchange) -> None:
    """A proper answer after ?ms=100."""
    await asyncio.sleep(exchange.number("ms", 100) / 1000)
    await exchange.respond_json({"late": True})


@scenario("stall")
async def stall(exchange: Exchange) -> None:
    """Falls silent at /before, /in-headers, /after-headers or /in-body until the client leaves."""
    response = HEAD % 1000 + body(1000)
    places = {
        "before": 0,
        "in-headers": 30,
        "after-headers": len(response) - 1000,
        "in-body": len(response) - 500,
    }
    sent = response[: places.get(exchange.rest, 0)]
    if sent:
        await exchange.send(sent)
    await exchange.hold()


@scenario("hold", reads_body=False)
async def hold(exchange: Exchange) -> None:
    """Never answers; lets go when the client leaves."""
    await exchange.hold()


@scenario("no-read", reads_body=False)
async def no_read(exchange: Exchange) -> None:
    """Stops reading after the request's head: a large upload stalls."""
    exchange.link.reader._transport.pause_reading()  # type: ignore[attr-defined]
    # The timer keeps the connection alive. Nothing else in asyncio refers to a connection that does
    # not read, so it would be collected.
    await asyncio.sleep(600)


@scenario("flood")
async def flood(exchange: Exchange) -> None:
    """?status=302 (to ?url=) with a body without end, as fast as the client reads; the requests after ?fails=1 get /echo."""
    token = exchange.text("token")
    if token and exchange.state.hit(token, exchange.request.method) > exchange.number("fails", 1):
        exchange.state.hits.pop(token)
        return await exchange.echo()
    lines = [status_line(exchange.number("status", 302)), "Transfer-Encoding: chunked"]
    if url := exchange.text("url"):
        lines.append(f"Location: {url}")
    await exchange.send("\r\n".join(lines) + "\r\n\r\n")
    block = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    while True:
        await exchange.send(block)


@scenario("endless")
async def endless(exchange: Exchange) -> None:
    """A body without end, as fast as the client reads."""
    await exchange.send("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n")
    block = b"x" * 65536
    while True:
        await exchange.send(block)
