"""The transports of httpx2."""

from __future__ import annotations

from typing import Any, ClassVar

import httpx2

from . import _httpx_seam as seam


class _Body(seam.Body, httpx2.SyncByteStream):
    pass


class _AsyncBody(seam.AsyncBody, httpx2.AsyncByteStream):
    pass


class HTTPX2(seam.Transport, httpx2.BaseTransport):
    """NTApi as the transport of an httpx2.Client.

    client = httpx2.Client(transport=ntapi.transports.HTTPX2())
    """

    _library: ClassVar[Any] = httpx2
    _body_class: ClassVar[Any] = _Body


class AsyncHTTPX2(seam.AsyncTransport, httpx2.AsyncBaseTransport):
    """NTApi as the transport of an httpx2.AsyncClient, with asyncio.

    client = httpx2.AsyncClient(transport=ntapi.transports.AsyncHTTPX2())
    """

    _library: ClassVar[Any] = httpx2
    _body_class: ClassVar[Any] = _AsyncBody
