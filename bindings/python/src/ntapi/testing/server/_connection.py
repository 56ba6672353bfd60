"""An accepted connection, whatever it speaks: its number, its TLS, its end."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager

from . import _http1, _http2
from ._certificates import tls_info
from ._http2 import PREFACE
from ._log import ReceivedRequest
from ._play import BrokenError, play
from ._source import plain
from ._wire import HungUpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Optional

    from ..._headers import Headers
    from ..doubles import Stub
    from ._answer import Fault
    from ._log import TLSInfo
    from ._play import Exchange
    from ._serving import Serving
    from ._wire import Wire

_HANDSHAKE = 0x16
_ALERT = bytes((0x15, 3, 3, 0, 2, 2, 40))
"""A TLS record: fatal, handshake_failure (RFC 8446, section 6)."""


class Connection:
    """A connection and what its requests share."""

    def __init__(self, server: Serving, wire: Wire, number: int, peer: object) -> None:
        self.server = server
        self.wire = wire
        self.number = number
        self._peer = peer
        self._exchanges = 0
        self._tls: Optional[TLSInfo] = None

    async def serve(self) -> None:
        """Answers its requests until it ends."""
        try:
            first = await self._open()
            if first is None:
                return
            is_http2 = first.startswith(PREFACE) if self._tls is None else self._tls.alpn == "h2"
            if is_http2 and self.server.has_http2:
                await _http2.serve(self, first)
            else:
                await _http1.serve(self, first)
        except (BrokenError, HungUpError):
            pass
        finally:
            await self.wire.close()

    async def _open(self) -> Optional[bytes]:
        """The first bytes of the client, after a handshake if it wants one; None if there are
        none.
        """
        first = await self.wire.peek()
        kind = self.server.connection_fault() if first else None
        if kind is not None:
            await self._fail(kind)
            return None
        if not first:
            return None
        if first[0] == _HANDSHAKE:
            if self.server.certificates is None:
                self._has_failed("a TLS handshake came, and the server has no tls=True")
                await self.wire.reset()
                return None
            try:
                host = self.server.tunnels.get(self._peer)
                await self.wire.start_tls(self.server.certificates.context(host))
            except (ssl.SSLError, HungUpError) as error:
                self._has_failed(f"the TLS handshake has failed: {error}")
                return None
            assert self.wire.tls is not None
            self._tls = tls_info(self.wire.tls)
        first = await self.wire.read()
        while len(first) < len(PREFACE) and PREFACE.startswith(first):
            more = await self.wire.read()
            if not more:
                break
            first += more
        return first or None

    def _has_failed(self, why: str) -> None:
        self.server.failed_handshakes.append(f"connection {self.number}: {why}")

    async def _fail(self, kind: str) -> None:
        if kind == "alert":
            await self.wire.write(_ALERT)
            await self.wire.close(is_unread=True)
        elif kind == "close":
            await self.wire.close(is_unread=True)
        elif kind == "reset":
            await self.wire.reset()
        else:
            await self.wire.ended.wait()

    def received(
        self, method: str, target: str, headers: Headers, version: float, host: str = ""
    ) -> ReceivedRequest:
        """Notes a request whose head is there. `host` is that of HTTP/2."""
        self._exchanges += 1
        host = host or headers.get("Host") or self.server.authority
        scheme = "http" if self._tls is None else "https"
        if method == "CONNECT":
            url = f"{scheme}://{target}"
        elif target.lower().startswith(("http://", "https://")):
            url = target
        else:
            url = f"{scheme}://{host}{target if target.startswith('/') else f'/{target}'}"
        request = ReceivedRequest(
            self.server.log,
            self.number,
            self._exchanges,
            method,
            target,
            url,
            headers,
            version,
            self._tls,
        )
        self.server.log.add(request)
        return request

    @asynccontextmanager
    async def answering(self, exchange: Exchange) -> AsyncIterator[None]:
        """Notes how an exchange has ended."""
        outcome = "closed"
        try:
            yield
            outcome = "answered"
        except BrokenError:
            outcome = "fault"
            raise
        except HungUpError:
            outcome = "hung up"
            raise
        finally:
            exchange.request._end(outcome)

    async def answer(self, exchange: Exchange, early: Optional[Stub] = None) -> None:
        """Answers a request. `early` is an answer that was taken from the queue already."""
        stub = early or self.server.queue.next() or self.server.stub
        answered = await exchange.until(
            self.server.source.ask(stub, exchange.request), exchange.grace
        )
        fault = answered.script.fault
        if (
            fault is not None
            and fault.kind in ("reset_stream", "goaway")
            and exchange.request.http_version < 2
        ):
            problem = f"the fault {fault.kind} needs HTTP/2, and a request came over HTTP/1"
            self.server.log.add_problem(problem)
            await answered.close()
            answered = plain(500, problem)
        try:
            await play(exchange, answered)
        finally:
            await asyncio.shield(answered.close())

    async def breaks(self, fault: Fault) -> None:
        """Breaks the connection as a fault says. A half-closed one still has to be read."""
        if fault.kind == "reset":
            await self.wire.reset()
        elif fault.kind == "half_close":
            await self.wire.half_close()
        else:
            await self.wire.close()
