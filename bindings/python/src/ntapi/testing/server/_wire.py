"""One accepted connection: bytes in and out, with TLS or without, and the ways to break it."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

_ROOM = 65536
"""Bytes that are read ahead. A client that sends more has to wait until they are used."""
_LINGER = 2.0
"""Seconds that a close waits for a client that still sends: a socket that is closed with unread
bytes sends a RST, which would take the answer with it.
"""


class HungUpError(Exception):
    """The client has closed the connection, or cancelled the stream."""


class Wire:
    """A connection. It belongs to the loop on which it was made."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop = asyncio.get_running_loop()
        self._socket = sock
        self._raw = bytearray()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._sending = asyncio.Lock()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._is_closed = False
        self.ended = asyncio.Event()
        """Set when the client has closed its side."""
        self.tls: Optional[ssl.SSLObject] = None
        self._pump = self._loop.create_task(self._read_ahead())

    async def _read_ahead(self) -> None:
        try:
            while True:
                await self._room.wait()
                data = await self._loop.sock_recv(self._socket, _ROOM)
                if not data:
                    break
                self._raw += data
                if len(self._raw) >= _ROOM:
                    self._room.clear()
                self._news.set()
        except OSError:
            pass  # a reset is an end, too
        self.ended.set()
        self._news.set()

    async def _more(self) -> bytes:
        """The next received bytes as they are; b"" at the end."""
        while not self._raw and not self.ended.is_set():
            self._news.clear()
            await self._news.wait()
        data = bytes(self._raw)
        self._raw.clear()
        self._room.set()
        return data

    async def peek(self) -> bytes:
        """The first bytes, without taking them; b"" if nothing comes."""
        first = await self._more()
        self._raw[:0] = first
        return first

    async def start_tls(self, context: ssl.SSLContext) -> None:
        """Makes the handshake. Raises ssl.SSLError if it fails."""
        tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        while True:
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                await self._flush()
                await self._feed()
            except ssl.SSLError:
                await self._flush()  # the alert
                raise
            else:
                break
        await self._flush()
        self.tls = tls

    async def read(self) -> bytes:
        """The next bytes; b"" at the end."""
        if self.tls is None:
            return await self._more()
        while True:
            try:
                data = self.tls.read(_ROOM)
            except ssl.SSLWantReadError:
                await self._flush()
                await self._feed()
            except ssl.SSLError:
                return b""
            else:
                await self._flush()
                return data

    async def _feed(self) -> None:
        data = await self._more()
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    async def write(self, data: bytes) -> None:
        """Sends bytes, in the order of the calls. Raises HungUpError if the connection is gone."""
        async with self._sending:
            if self._is_closed:
                raise HungUpError
            if not data:
                # OpenSSL takes no empty write.
                return
            if self.tls is None:
                await self._send(data)
                return
            try:
                self.tls.write(data)
            except ssl.SSLError:
                raise HungUpError from None
            await self._send(self._outgoing.read())

    async def _flush(self) -> None:
        async with self._sending:
            if self._outgoing.pending and not self._is_closed:
                await self._send(self._outgoing.read())

    async def _send(self, data: bytes) -> None:
        try:
            await self._loop.sock_sendall(self._socket, data)
        except OSError:
            raise HungUpError from None

    async def half_close(self) -> None:
        """Sends nothing more, and says so."""
        if self._is_closed:
            return
        if self.tls is not None and not self._sending.locked():
            try:
                self.tls.unwrap()
            except ssl.SSLError:
                pass  # the client's close_notify is not waited for
        try:
            if not self._sending.locked():
                await self._flush()
            self._socket.shutdown(socket.SHUT_WR)
        except (HungUpError, OSError):
            pass

    async def close(self, is_unread: bool = False) -> None:
        """Closes the connection in order. `is_unread` says that the client may still be sending."""
        await self.half_close()
        if is_unread:
            try:
                await asyncio.wait_for(self.drain(), _LINGER)
            except asyncio.TimeoutError:
                pass
        await self._close()

    async def drain(self) -> None:
        """Takes what comes, until the client has closed its side."""
        while await self._more():
            pass

    async def reset(self) -> None:
        """Closes the connection with a RST."""
        if not self._is_closed:
            linger = struct.pack("ii", 1, 0)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        await self._close()

    async def _close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        # The loop must forget the descriptor before the system gives it to another socket.
        self._loop.remove_writer(self._socket)
        self._pump.cancel()
        try:
            await asyncio.wait([self._pump])
        finally:
            # Also when the server closes meanwhile, and cancels this task.
            self._socket.close()
            self.ended.set()
            self._news.set()
