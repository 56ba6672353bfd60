"""Bodies for streams: server-sent events and JSON lines, cut and broken at every place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from fault.exchange import Exchange
from fault.registry import scenario
from fault.scenarios.auth import lets_in

EVENTS = (
    "\ufeffretry: 10\r\n: a comment\ndata: first\rid: 1\n\nevent: münze\ndata: é\r\ndata:€𝄞\r\n\r\n"
    "id: 2\rdata\r\rdata: cut off"
).encode()
"""Three events and the beginning of a fourth, with all kinds of line ends, and characters of every
length.
"""
LINES = '{"n":1}\r\n\n[2,"é€𝄞"]\n\x1e"three"\n \r\nnull\n{"last":true}'.encode()
"""Five values; no line feed ends the last one."""
SAMPLES = {"events": ("text/event-stream", EVENTS), "lines": ("application/x-ndjson", LINES)}


def chunk(data: bytes) -> bytes:
    """A chunk of a chunked body; an empty one would end the body."""
    return b"%x\r\n%s\r\n" % (len(data), data) if data else b""


async def begin(exchange: Exchange, content_type: str) -> None:
    """The head of a chunked response."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n"
    await exchange.send(head)


async def end(exchange: Exchange) -> None:
    """The end of a chunked body."""
    await exchange.send("0\r\n\r\n")
    exchange.keep = True


def pieces(data: bytes, exchange: Exchange) -> Iterator[bytes]:
    """The sample cut at ?at=BYTE, or everywhere with ?each=1."""
    if exchange.number("each", 0):
        yield from (data[index : index + 1] for index in range(len(data)))
    else:
        at = exchange.number("at", len(data))
        yield data[:at]
        yield data[at:]


@scenario("split")
async def split(exchange: Exchange) -> None:
    """The sample of /events or /lines, cut at ?at=BYTE or at ?each=1 into chunks that arrive alone; then 204 for ?token."""
    token = exchange.text("token")
    if token and exchange.state.hit(token, exchange.request.method) > 1:
        return await exchange.respond("", 204)
    content_type, data = SAMPLES[exchange.rest]
    await begin(exchange, content_type)
    for piece in pieces(data, exchange):
        await exchange.send(chunk(piece))
        await asyncio.sleep(0.001)
    await end(exchange)


@scenario("events")
async def events(exchange: Exchange) -> None:
    """?per=3 numbered events after Last-Event-ID, up to ?total=9, then 204; each connection ends in ?end=close, reset, mid.

    With ?token the requests are recorded as by /record. The first ?fails=0 of a token get ?status=503. ?retry=10 is in
    milliseconds. ?pause=0 waits so many before each event; ?hold=1 falls silent behind the last one. ?name= and ?unless=
    ask for credentials. ?whole=1 sends each answer in one piece.
    """
    token = exchange.text("token")
    count = exchange.state.hit(token, exchange.request.method)
    exchange.state.seen[token].append(exchange.request.shown())
    if not await lets_in(exchange):
        return
    if count <= exchange.number("fails", 0):
        return await exchange.respond("down", exchange.number("status", 503))
    last = int(exchange.request.header("Last-Event-ID") or 0)
    total = exchange.number("total", 9)
    if last >= total:
        return await exchange.respond("", 204)
    content_type = exchange.text("type", "text/event-stream")
    numbers = range(last + 1, min(last + exchange.number("per", 3), total) + 1)
    if exchange.number("whole", 0):
        body = "".join(f'retry: 10\nid: {number}\ndata: {{"n":{number}}}\n\n' for number in numbers)
        return await exchange.respond(body, headers=[("Content-Type", content_type)])
    await begin(exchange, content_type)
    await exchange.send(chunk(b"retry: %d\n\n" % exchange.number("retry", 10)))
    for number in numbers:
        await asyncio.sleep(exchange.number("pause", 0) / 1000)
        await exchange.send(chunk(b'id: %d\ndata: {"n":%d}\n\n' % (number, number)))
    if exchange.number("hold", 0):
        await exchange.hold()
    ending = exchange.text("end", "close")
    if ending == "close":
        return await end(exchange)
    if ending == "mid":
        await exchange.send(chunk(b"id: 77\ndata: never wh"))
    exchange.reset()


@scenario("lines")
async def lines(exchange: Exchange) -> None:
    """?count=5 lines of JSON; ?bad=3 is none; ?end=mid tears the connection in the last one; ?pause=0 ms before each."""
    await begin(exchange, "application/x-ndjson")
    count = exchange.number("count", 5)
    for number in range(1, count + 1):
        await asyncio.sleep(exchange.number("pause", 0) / 1000)
        line = b"{bad\n" if number == exchange.number("bad", 0) else b'{"n":%d}\n' % number
        if number == count and exchange.text("end") == "mid":
            await exchange.send(chunk(line[:4]))
            exchange.reset()
        await exchange.send(chunk(line))
    if exchange.number("hold", 0):
        await exchange.hold()
    await end(exchange)


@scenario("zeros")
async def zeros(exchange: Exchange) -> None:
    """A body of ?size=1000000 zero bytes, as fast as the client reads."""
    size = exchange.number("size", 1_000_000)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {size}\r\n\r\n"
    await exchange.send(head)
    block = bytes(1 << 16)
    for start in range(0, size, len(block)):
        await exchange.send(block[: size - start])
    exchange.keep = True
