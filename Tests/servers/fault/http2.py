"""A server that speaks just enough HTTP/2 to fall silent in the midst of it.

The name that a client asks for in the TLS handshake (anything below `.localhost`) tells the tests
apart. Of each name the first connection answers its first request, with 200 and no body, and after
that nothing, not even a PING; later connections answer every request.
"""

from __future__ import annotations

import asyncio
import ssl
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_STREAM, ACK, END_HEADERS = 1, 1, 4
STATUS_200 = b"\x88"  # entry 8 of HPACK's static table


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame (RFC 9113, 4.1)."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


class SilentServer:
    """What a listener remembers: the names of which there was a connection."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.context = context
        self.names: set[str] = set()
        self.asked: dict[int, str] = {}
        context.set_alpn_protocols(["h2"])
        context.sni_callback = self.remember

    def remember(self, tls: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        """Called in each handshake."""
        self.asked[id(tls)] = name or ""

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        name = self.asked.pop(id(writer.get_extra_info("ssl_object")), "")
        falls_silent = name not in self.names
        self.names.add(name)
        try:
            await self.converse(reader, writer, falls_silent)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, falls_silent: bool
    ) -> None:
        """Reads frames until the client is gone."""
        if await reader.readexactly(len(PREFACE)) != PREFACE:
            return
        writer.write(frame(SETTINGS, 0, 0))
        is_silent = False
        while True:
            head = await reader.readexactly(9)
            kind, flags, stream = struct.unpack(">BBI", head[3:])
            payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
            if is_silent:
                continue
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                writer.write(frame(HEADERS, END_HEADERS | END_STREAM, stream, STATUS_200))
                is_silent = falls_silent
            elif kind == SETTINGS and not flags & ACK:
                writer.write(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                writer.write(frame(PING, ACK, 0, payload))
