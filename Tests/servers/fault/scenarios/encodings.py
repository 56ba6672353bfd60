"""Content-Encoding: right, wrong, broken, and a bomb."""

from __future__ import annotations

import asyncio
import base64
import gzip
import struct
import zlib
from functools import lru_cache

from fault.exchange import Exchange
from fault.registry import scenario

BODY = b'{"ok":true,"text":"' + b"compressible " * 100 + b'"}'
GZIPPED = gzip.compress(BODY, mtime=0)
BROTLI = base64.b64decode(
    "GygF+B0JdgyxApkBdP8Ild4iZWx7W2ftrU+BiIFDDli/A0aaSERULcBCFrBRSHWJRDPWoj2Yixg="
)
"""BODY in Brotli, which Python's standard library cannot make."""
MEBIBYTE = 1024 * 1024


def raw_deflate(data: bytes) -> bytes:
    """Deflate without zlib's header, as some servers send it under the name `deflate`."""
    return zlib.compress(data)[2:-4]


CASES: dict[str, tuple[str, bytes]] = {
    "gzip": ("gzip", GZIPPED),
    "x-gzip": ("x-gzip", GZIPPED),
    "deflate": ("deflate", zlib.compress(BODY)),
    "raw-deflate": ("deflate", raw_deflate(BODY)),
    "br": ("br", BROTLI),
    "plain-as-br": ("br", BODY),
    "identity": ("identity", BODY),
    "corrupt": ("gzip", GZIPPED[:20] + b"\xff\xff\xff\xff" + GZIPPED[24:]),
    "bad-crc": ("gzip", GZIPPED[:-8] + b"\0\0\0\0" + GZIPPED[-4:]),
    "truncated": ("gzip", GZIPPED[: len(GZIPPED) // 2]),
    "members": ("gzip", gzip.compress(BODY[:50], mtime=0) + gzip.compress(BODY[50:], mtime=0)),
    "no-trailer": ("gzip", GZIPPED[:-8]),
    "cut-deflate": ("deflate", zlib.compress(BODY)[:-8]),
    "cut-members": ("gzip", GZIPPED + GZIPPED[:-8]),
    "trailing": ("gzip", GZIPPED + b"trailing garbage"),
    "plain-as-gzip": ("gzip", BODY),
    "gzip-as-deflate": ("deflate", GZIPPED),
    "unknown": ("magic", BODY),
    "charset": ("UTF-8", BODY),
    "none": ("none", BODY),
    "twice": ("gzip, gzip", gzip.compress(GZIPPED, mtime=0)),
    "empty": ("gzip", b""),
}


@scenario("encoding")
async def encoding(exchange: Exchange) -> None:
    """/gzip, /deflate, /corrupt, /bad-crc, /truncated, /plain-as-gzip, /unknown, /twice, ...;
    ?chunked=1; ?status=503.
    """
    name, body = CASES.get(exchange.rest, CASES["gzip"])
    if exchange.number("chunked", 0):
        status = f"HTTP/1.1 {exchange.number('status', 200)} -\r\n"
        head = f"{status}Content-Encoding: {name}\r\nTransfer-Encoding: chunked\r\n\r\n"
        pieces = [body[start : start + 7] for start in range(0, len(body), 7)]
        chunks = b"".join(b"%x;a=b\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        await exchange.send(head.encode() + chunks + b"0\r\n\r\n")
        return
    await exchange.respond(body, exchange.number("status", 200), [("Content-Encoding", name)])


@scenario("no-body")
async def no_body(exchange: Exchange) -> None:
    """?status=204&coding=magic: a coding and no body; ?length=12 of a body that does not come, for HEAD and 304;
    ?chunked=1.
    """
    status = exchange.number("status", 200)
    lines = [f"HTTP/1.1 {status} -", "Content-Type: application/json"]
    if exchange.text("coding"):
        lines.append(f"Content-Encoding: {exchange.text('coding')}")
    end = ""
    if exchange.number("chunked", 0):
        lines.append("Transfer-Encoding: chunked")
        end = "0\r\n\r\n"
    elif status != 204:
        lines.append(f"Content-Length: {exchange.number('length', 0)}")
    await exchange.send("\r\n".join(lines) + "\r\n\r\n" + end)


@scenario("unlabelled-gzip")
async def unlabelled_gzip(exchange: Exchange) -> None:
    """Gzip bytes without a Content-Encoding."""
    await exchange.respond(GZIPPED)


@lru_cache(maxsize=4)
def zeros_crc(mebibytes: int) -> int:
    """The CRC-32 of so many MiB of zeros."""
    crc, block = 0, bytes(MEBIBYTE)
    for _ in range(mebibytes):
        crc = zlib.crc32(block, crc)
    return crc


def zeros_block() -> bytes:
    """One MiB of zeros, deflated so that copies of it can follow one another."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    return compressor.compress(bytes(MEBIBYTE)) + compressor.flush(zlib.Z_FULL_FLUSH)


@scenario("gzip-nothing")
async def gzip_nothing(exchange: Exchange) -> None:
    """?mib=16 MiB of gzip that decode to nothing, in gzip again: about a thousandth of that."""
    blocks = b"\0\0\0\xff\xff" * (exchange.number("mib", 16) * MEBIBYTE // 5)
    inner = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + blocks + b"\x03\x00" + bytes(8)
    body = await asyncio.to_thread(gzip.compress, inner)
    await exchange.send(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip, gzip\r\n\r\n"
    )
    await exchange.send(body)


@scenario("gzip-bomb")
async def gzip_bomb(exchange: Exchange) -> None:
    """?mib=1024 MiB of zeros in about a thousandth of that; correct gzip to its end."""
    mebibytes = exchange.number("mib", 1024)
    crc = await asyncio.to_thread(zeros_crc, mebibytes)
    size = mebibytes * MEBIBYTE & 0xFFFFFFFF
    await exchange.send(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n"
    )
    # At once, so that a client may read megabytes of zeros in one piece.
    start, end = b"\x1f\x8b\x08\0\0\0\0\0\0\xff", b"\x03\x00" + struct.pack("<II", crc, size)
    await exchange.send(start + zeros_block() * mebibytes + end)
