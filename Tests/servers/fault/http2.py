"""A server that knows just enough HTTP/2 to misbehave. Its frames are made by hand: h2, below
ntapi.testing.Server, sends none that are not allowed.

The server name in the TLS handshake (anything below `.localhost`) separates tests; its first word
says what happens. Every request is answered with 200, except:

- `goaway-…`: the first connection answers its first request. When the second comes, it says that it has looked at nothing
  after the first (GOAWAY) and closes.
- `early-STATUS-…`: a request with a body is answered with that status as soon as its head is there, and its stream is
  reset with NO_ERROR.
- `trailers-…`: the answer has a body and a trailer.
- `continuation-…`: the first connection answers with header fields that never end (CONTINUATION frames).
- `settings-…`: the first connection begins with a SETTINGS frame that is not allowed (a window of 2^31 bytes).
- anything else: the first connection answers its first request, and after that nothing, not even a PING.
"""

from __future__ import annotations

import asyncio
import ssl
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
INITIAL_WINDOW_SIZE = 4
NO_ERROR = 0
END_STREAM, ACK, END_HEADERS = 1, 1, 4
STATUS_200 = b"\x88"  # entry 8 of HPACK's static table
TRAILER = b"\x00\x09x-trailer\x03end"


def field_of(status: str) -> bytes:
    """The header field :status, literal and not indexed."""
    return b"\x08" + bytes([len(status)]) + status.encode()


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame (RFC 9113, 4.1)."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


class OddServer:
    """What a listener remembers: the names that already had a connection."""

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
        is_first = name not in self.names
        self.names.add(name)
        try:
            await self.converse(reader, writer, name, is_first)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def converse(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        name: str,
        is_first: bool,
    ) -> None:
        """Reads frames until the client or the server is gone."""
        kind_of_oddity, status, *_ = [*name.split("-"), ""]
        if await reader.readexactly(len(PREFACE)) != PREFACE:
            return
        is_wrong = kind_of_oddity == "settings" and is_first
        wrong = struct.pack(">HI", INITIAL_WINDOW_SIZE, 1 << 31) if is_wrong else b""
        writer.write(frame(SETTINGS, 0, 0, wrong))
        is_silent = False
        answered: set[int] = set()
        while True:
            head = await reader.readexactly(9)
            kind, flags, stream = struct.unpack(">BBI", head[3:])
            payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
            if is_silent:
                continue
            is_early = kind_of_oddity == "early" and kind == HEADERS and not flags & END_STREAM
            if is_early:
                writer.write(frame(HEADERS, END_HEADERS, stream, field_of(status)))
                writer.write(frame(DATA, END_STREAM, stream, b"early"))
                writer.write(frame(RST_STREAM, 0, stream, struct.pack(">I", NO_ERROR)))
                answered.add(stream)
            elif kind == HEADERS and kind_of_oddity == "goaway" and is_first and answered:
                writer.write(frame(GOAWAY, 0, 0, struct.pack(">II", max(answered), NO_ERROR)))
                await writer.drain()
                return
            elif kind == HEADERS and kind_of_oddity == "continuation" and is_first:
                writer.write(frame(HEADERS, 0, stream, STATUS_200))
                field = b"\x00\x04flow\x7f\xf1\x01" + b"x" * 368  # a literal, not indexed
                while not writer.is_closing():
                    writer.write(frame(CONTINUATION, 0, stream, field * 40))
                    await writer.drain()
                    await asyncio.sleep(0)  # lets the loop see a closed connection
            elif kind == HEADERS and kind_of_oddity == "trailers":
                writer.write(frame(HEADERS, END_HEADERS, stream, STATUS_200))
                writer.write(frame(DATA, 0, stream, b"body"))
                writer.write(frame(HEADERS, END_HEADERS | END_STREAM, stream, TRAILER))
            elif kind in (HEADERS, DATA) and flags & END_STREAM and stream not in answered:
                writer.write(frame(HEADERS, END_HEADERS | END_STREAM, stream, STATUS_200))
                answered.add(stream)
                is_silent = is_first and kind_of_oddity not in ("goaway", "early", "settings")
            elif kind == SETTINGS and not flags & ACK:
                writer.write(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                writer.write(frame(PING, ACK, 0, payload))
