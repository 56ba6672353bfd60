"""Reads requests off a connection: head, then a body by length or by chunks."""

from __future__ import annotations

import asyncio

from fault.exchange import Gone, Request

MAX_HEAD = 4 * 1024 * 1024


class NotHTTP(Exception):
    """What came is not a request, for example a TLS handshake on the plain port."""


async def read_head(reader: asyncio.StreamReader) -> Request | None:
    """The next request without its body, or None if the client has left."""
    try:
        first = await reader.readexactly(1)
        if not first.isalpha():
            raise NotHTTP
        head = first + await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) < 3:
        return None
    headers = []
    for line in lines[1:-2]:
        name, _, value = line.partition(":")
        headers.append((name, value.strip(" \t")))
    return Request(head, words[0], " ".join(words[1:-1]), headers)


async def read_body(reader: asyncio.StreamReader, request: Request) -> bytes:
    """The whole body of a request; a broken one ends the connection."""
    try:
        if "chunked" in request.header("Transfer-Encoding").lower():
            return await read_chunks(reader)
        length = int(request.header("Content-Length") or "0")
        return await reader.readexactly(length) if length > 0 else b""
    except (ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise Gone from error


async def read_chunks(reader: asyncio.StreamReader) -> bytes:
    """A chunked body put together; trailers are read and forgotten."""
    body = bytearray()
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        if size == 0:
            while await reader.readuntil(b"\r\n") != b"\r\n":
                pass
            return bytes(body)
        body += await reader.readexactly(size)
        await reader.readexactly(2)
