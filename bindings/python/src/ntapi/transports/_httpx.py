"""The transports of httpx."""

from __future__ import annotations

from typing import Any, ClassVar

import httpx

from . import _httpx_seam as seam


class _Body(seam.Body, httpx.SyncByteStream):
    pass


class _AsyncBody(seam.AsyncBody, httpx.AsyncByteStream):
    pass


class HTTPX(seam.Transport, httpx.BaseTransport):
    """NTApi as the transport of an httpx.Client.

    client = httpx.Client(transport=ntapi.transports.HTTPX())
    """

    _library: ClassVar[Any] = httpx
    _body_class: ClassVar[Any] = _Body


class AsyncHTTPX(seam.AsyncTransport, httpx.AsyncBaseTransport):
    """NTApi as the transport of an httpx.AsyncClient, with asyncio.

    client = httpx.AsyncClient(transport=ntapi.transports.AsyncHTTPX())
    """

    _library: ClassVar[Any] = httpx
    _body_class: ClassVar[Any] = _AsyncBody
