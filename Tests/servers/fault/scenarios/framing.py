"""Bodies whose length is announced wrongly: chunks and Content-Length."""

from __future__ import annotations

from fault.exchange import Exchange
from fault.registry import scenario

BODY = b'{"ok":true,"n":[1,2,3]}'
START = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One well-formed chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)


CHUNK_CASES = {
    "ok": chunk(BODY[:7]) + chunk(BODY[7:]) + b"0\r\n\r\n",
    "extension": b'17;name="v"\r\n' + BODY + b"\r\n0\r\n\r\n",
    "trailer": chunk(BODY) + b"0\r\nX-Trailer: end\r\n\r\n",
    "blank-trailer": chunk(BODY) + b"0\r\n X-Trailer: end\r\n\r\n",
    "truncated": b"40\r\n" + BODY,
    "no-final": chunk(BODY),
    "negative": b"-5\r\n" + BODY + b"\r\n0\r\n\r\n",
    "not-hex": b"zz\r\n" + BODY + b"\r\n0\r\n\r\n",
    "huge": b"fffffffffffffffff\r\n" + BODY + b"\r\n0\r\n\r\n",
    "too-long-size": b"0" * 100_000 + b"17\r\n" + BODY + b"\r\n0\r\n\r\n",
    "empty-size": b"\r\n" + BODY + b"\r\n0\r\n\r\n",
    "no-crlf": b"17\r\n" + BODY + b"XX0\r\n\r\n",
}


@scenario("chunked")
async def chunked(exchange: Exchange) -> None:
    """Chunked body at /ok, or broken: /truncated, /no-final, /negative, /not-hex, /huge, ..."""
    await exchange.send(CHUNKED + CHUNK_CASES.get(exchange.rest, CHUNK_CASES["ok"]))


LENGTH_CASES = {
    "short": b"Content-Length: %d\r\n" % (len(BODY) - 5),
    "long": b"Content-Length: %d\r\n" % (len(BODY) + 5),
    "negative": b"Content-Length: -1\r\n",
    "not-a-number": b"Content-Length: many\r\n",
    "two-numbers": b"Content-Length: %d 0\r\n" % len(BODY),
    "folded": b"Content-Length: %d\r\n 0\r\n" % len(BODY),
    "overflow": b"Content-Length: 99999999999999999999999\r\n",
    "twice-same": b"Content-Length: %d\r\n" % len(BODY) * 2,
    "twice-differing": b"Content-Length: %d\r\nContent-Length: 5\r\n" % len(BODY),
    "and-chunked": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
}


@scenario("length")
async def length(exchange: Exchange) -> None:
    """Content-Length /short, /long, /negative, /twice-differing, /and-chunked, /overflow, ..."""
    case = exchange.rest
    body = CHUNK_CASES["ok"] if case == "and-chunked" else BODY
    await exchange.send(START + LENGTH_CASES.get(case, LENGTH_CASES["long"]) + b"\r\n" + body)


@scenario("transfer-encoding")
async def transfer_encoding(exchange: Exchange) -> None:
    """A Transfer-Encoding nobody knows."""
    await exchange.send(START + b"Transfer-Encoding: magic\r\n\r\n" + BODY)
