"""The transports of httpx and httpx2, which have the same seam; each of the two adds its names."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Optional

from .._async_client import AsyncClient
from .._bridge.library import is_over
from .._errors import ApiError
from .._runtime.loops import running_loop
from .._sync_client import Client
from ._exchange import Call, Timeouts, backoff
from ._failures import CONNECT_FAILURES, Failure, refused
from ._settings import Settings

if TYPE_CHECKING:
    from .._client import BaseClient
    from .._types import Self
    from ._answers import AsyncAnswer, SyncAnswer

_EXCEPTION_OF = {
    Failure.POOL_TIMEOUT: "PoolTimeout",
    Failure.CONNECT_TIMEOUT: "ConnectTimeout",
    Failure.READ_TIMEOUT: "ReadTimeout",
    Failure.WRITE_TIMEOUT: "WriteTimeout",
    Failure.TIMEOUT: "TimeoutException",
    Failure.CONNECT: "ConnectError",
    Failure.TLS: "ConnectError",
    Failure.PROXY: "ProxyError",
    Failure.READ: "ReadError",
    Failure.WRITE: "WriteError",
    Failure.LOCAL_PROTOCOL: "LocalProtocolError",
    Failure.REMOTE_PROTOCOL: "RemoteProtocolError",
    Failure.DECODING: "DecodingError",
    Failure.OTHER: "TransportError",
}
_MAKING = threading.Lock()
"""While a client of a name is made: the configuration has it for that moment."""
_VERSIONS = {1.0: b"HTTP/1.0", 1.1: b"HTTP/1.1", 2.0: b"HTTP/2", 3.0: b"HTTP/3"}


class _Transport:
    """What the sync and the async transport share: the client, and the conversion of requests."""

    _library: ClassVar[Any]
    """httpx or httpx2."""
    _body_class: ClassVar[Any]
    _client_class: ClassVar[type[BaseClient]]

    def __init__(
        self,
        verify: Any = True,
        cert: Any = None,
        trust_env: bool = True,
        http1: bool = True,
        http2: bool = False,
        limits: Any = None,
        proxy: Any = None,
        uds: Optional[str] = None,
        local_address: Optional[str] = None,
        retries: int = 0,
        socket_options: Any = None,
        *,
        client: Any = None,
    ) -> None:
        """The parameters are those of HTTPTransport. Without `client`, each request is one exchange
        and nothing around it. With a client of the program, its settings and behaviour apply, and
        of the other parameters only `retries` may be given.

        `verify` is a boolean, the path of a file of certificates, or an `ssl.SSLContext`. Raises
        ValueError for a parameter that NTApi cannot follow.
        """
        if socket_options:
            raise ValueError("socket_options is not possible: NTApi sets up its sockets itself")
        self._retries = retries
        self._is_plain = client is None
        self._settings = settings = Settings()
        given = (verify, cert, trust_env, http1, http2, limits, proxy, uds, local_address)
        if client is not None:
            if given != (True, None, True, True, False, None, None, None, None):
                raise TypeError("the client that is given has settings of its own")
            if not isinstance(client, self._client_class):
                wanted = self._client_class.__name__
                raise TypeError(f"an ntapi.{wanted} is expected, not {type(client).__name__}")
            self._client = client
            return
        self._of_names: dict[str, BaseClient] = {}
        """Those that ask for the certificate of another name than the URL's host."""
        settings.trust(verify)
        settings.show(cert)
        settings.use_version(http1, http2)
        limits = limits or self._library.Limits(max_connections=100, max_keepalive_connections=20)
        settings.limit(limits.max_connections, limits.max_keepalive_connections)
        if local_address is not None:
            settings.configuration.network_interface = f"host!{local_address}"
        if uds is not None:
            if proxy is not None:
                raise ValueError("uds and proxy are not possible together: NTApi uses one of them")
            settings.configuration.unix_socket = os.path.abspath(uds)
        elif proxy is not None:
            self._use_proxy(proxy if hasattr(proxy, "raw_auth") else self._library.Proxy(proxy))
        elif not trust_env:
            settings.use_proxy("")
        self._client = self._client_class(configuration=settings.configuration)

    def _use_proxy(self, proxy: Any) -> None:
        if proxy.headers:
            raise ValueError("headers of a proxy are not possible: NTApi sends it only credentials")
        if proxy.ssl_context is not None:
            raise ValueError("an ssl_context of a proxy is not possible: NTApi does TLS itself")
        self._settings.use_proxy(str(proxy.url), *(proxy.auth or ()))

    def _call(self, request: Any) -> Call:
        """NTApi's form of a request. Raises the library's exception if it cannot be sent."""
        url = request.url
        scheme, host = url.scheme, url.netloc
        if scheme not in ("http", "https"):
            problem = f"Request URL has an unsupported protocol '{scheme}://'."
            raise self._library.UnsupportedProtocol(problem, request=request)
        if (url.port or 0) > 65_535:
            raise self._library.ConnectError(f"{url.port} is no port", request=request)
        extensions = request.extensions
        seconds = extensions.get("timeout", {}).get
        client, name = self._client, extensions.get("sni_hostname")
        try:
            if "target" in extensions:
                reason = "NTApi makes the request's target from its URL"
                raise refused(f"the extension 'target' is not possible: {reason}")
            if name is not None and scheme == "https":
                client = self._client_of(name, url)
                host = f"{name}:{url.port or 443}".encode()
            return Call(
                client,
                request.method,
                f"{scheme}://{host.decode()}{url.raw_path.decode()}",
                host,
                request.headers.raw,
                self._content(request.stream),
                Timeouts(seconds("connect"), seconds("read"), seconds("write"), seconds("pool")),
                self._settings.args_for(scheme),
                is_plain=self._is_plain,
            )
        except ApiError as error:
            raise self._library.LocalProtocolError(error.message, request=request) from error

    def _client_of(self, name: str, url: Any) -> BaseClient:
        """A client that connects to the host of a URL for requests to the host `name`, so that the
        server is asked for the certificate of that name, and the certificate has to be for it.
        """
        if not self._is_plain:
            reason = "the client that is given asks for the certificate of the URL's host"
            raise refused(f"the extension 'sni_hostname' is not possible: {reason}")
        port, address = url.port or 443, url.raw_host.decode()
        place = f"[{address}]" if ":" in address else address
        way = f"{name}:{port}:{place}:{port}"
        with _MAKING:
            if way not in self._of_names:
                configuration = self._settings.configuration
                configuration.connect_to = [way]
                self._of_names[way] = self._client_class(configuration=configuration)
            return self._of_names[way]

    @property
    def _clients(self) -> list[Any]:
        """Those that were made for the transport."""
        return [self._client, *self._of_names.values()] if self._is_plain else []

    def _content(self, stream: Any) -> Any:
        # Iterating is the public way to the bytes of a ByteStream, which has one piece.
        return b"".join(stream) if isinstance(stream, self._library.ByteStream) else stream

    def _exception(
        self, request: Any, call: Call, error: ApiError, stream: Any = None
    ) -> Exception:
        """The library's exception for an error."""
        kind = getattr(self._library, _EXCEPTION_OF[call.failure_of(error, stream)])
        exception: Exception = kind(error.message, request=request)
        return exception

    def _response(self, request: Any, call: Call, stream: Any) -> Any:
        head = call.head_of(stream)
        extensions = {"http_version": _VERSIONS.get(head.version, b"HTTP/1.1")}
        if head.version < 2:
            extensions["reason_phrase"] = head.reason
        return self._library.Response(
            head.status,
            headers=head.lines,
            stream=self._body_class(self, request, call, stream),
            extensions=extensions,
        )


class _Body:
    """The body of a response. It keeps the transport: a dropped transport would end the stream."""

    def __init__(self, transport: _Transport, request: Any, call: Call, stream: Any) -> None:
        self._transport = transport
        self._request = request
        self._call = call
        self._stream = stream

    def _exception(self, error: ApiError) -> Exception:
        return self._transport._exception(self._request, self._call, error, self._stream)


class Body(_Body):
    """The body as a stream of the library that is read on a thread."""

    _stream: SyncAnswer

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._stream
        except ApiError as error:
            raise self._exception(error) from error
        finally:
            self.close()

    def close(self) -> None:
        """Ends the exchange, if the body is not complete."""
        self._stream.close()


class AsyncBody(_Body):
    """The body as a stream of the library that is read on a loop."""

    _stream: AsyncAnswer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                yield chunk
        except ApiError as error:
            raise self._exception(error) from error
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Ends the exchange, if the body is not complete."""
        await self._stream.close()


class Transport(_Transport):
    """Sends the requests of a blocking client through NTApi."""

    _client_class = Client
    _client: Client

    def handle_request(self, request: Any) -> Any:
        """Sends a request, and waits for the head of its answer."""
        delays = backoff(self._retries)
        while True:
            call = self._call(request)
            try:
                return self._response(request, call, call.open())
            except ApiError as error:
                delay = next(delays, None) if call.failure_of(error) in CONNECT_FAILURES else None
                if delay is None:
                    raise self._exception(request, call, error) from error
            time.sleep(delay)

    def close(self) -> None:
        """Closes the client that was made for the transport; requests that run are cancelled."""
        for client in self._clients:
            client.close()

    def __del__(self, _is_over: list[bool] = is_over) -> None:
        # Like the library's own transports, it gives no warning if it was not closed.
        if not _is_over and "_client" in self.__dict__:
            self.close()


class AsyncTransport(_Transport):
    """Sends the requests of an async client through NTApi. It needs asyncio."""

    _client_class = AsyncClient
    _client: AsyncClient

    async def __aenter__(self) -> Self:
        self._check_loop()
        return self

    async def handle_async_request(self, request: Any) -> Any:
        """Sends a request, and waits for the head of its answer."""
        self._check_loop()
        delays = backoff(self._retries)
        while True:
            call = self._call(request)
            try:
                return self._response(request, call, await call.open_async())
            except ApiError as error:
                delay = next(delays, None) if call.failure_of(error) in CONNECT_FAILURES else None
                if delay is None:
                    raise self._exception(request, call, error) from error
            await asyncio.sleep(delay)

    async def aclose(self) -> None:
        """Closes the client that was made for the transport; requests that run are cancelled."""
        for client in self._clients:
            client._close()
        if running_loop() is not None:
            for client in self._clients:
                await client.close()

    def __del__(self) -> None:
        if "_client" in self.__dict__:
            for client in self._clients:
                client._close()

    def _check_loop(self) -> None:
        if running_loop() is None:
            name = type(self).__name__
            raise RuntimeError(
                f"{name} needs a running loop of asyncio, with anyio or without; it does not run "
                f"under trio. There use {name.replace('Async', '')} with a blocking client on a "
                "thread: `await trio.to_thread.run_sync(client.get, url)`"
            )
