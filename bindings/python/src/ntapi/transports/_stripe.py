"""The HTTP client of Stripe's SDK."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Optional, Union

import stripe

from .._async_client import AsyncClient
from .._bridge.library import is_over
from .._errors import ApiError
from .._headers import Headers
from .._sync_client import Client
from ._answers import AnswerFile
from ._exchange import Call, Timeouts
from ._failures import Failure
from ._settings import Settings

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .._client import BaseClient
    from ._answers import Answer, AsyncAnswer

    Lines = Mapping[str, str]

_NOT_RETRIED = frozenset({Failure.TLS, Failure.LOCAL_PROTOCOL, Failure.DECODING, Failure.OTHER})


class StripeHTTPClient(stripe.HTTPClient):
    """NTApi as the HTTP client of a stripe.StripeClient, blocking and with asyncio.

    client = stripe.StripeClient(key, http_client=ntapi.transports.StripeHTTPClient())
    """

    name = "ntapi"

    def __init__(
        self,
        timeout: Union[float, tuple[float, float]] = 80,
        verify_ssl_certs: bool = True,
        proxy: Union[str, Mapping[str, str], None] = None,
        *,
        client: Optional[Client] = None,
        async_client: Optional[AsyncClient] = None,
    ) -> None:
        """Without a client, each request is one exchange and nothing around it. With clients of the
        program, their settings and behaviour apply.

        `timeout` is a number of seconds, or a pair: seconds to connect, and seconds to wait for
        data.
        Servers are trusted by the certificates of the SDK, `stripe.ca_bundle_path`.
        """
        addresses: Any = dict(proxy) if isinstance(proxy, Mapping) else proxy
        super().__init__(verify_ssl_certs=verify_ssl_certs, proxy=addresses)
        connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
        self._timeouts = Timeouts(connect, read, read)
        self._given: dict[type[BaseClient], Optional[BaseClient]] = {
            Client: client,
            AsyncClient: async_client,
        }
        for kind, given in self._given.items():
            if given is not None and not isinstance(given, kind):
                raise TypeError(f"an ntapi.{kind.__name__} is expected, not {type(given).__name__}")
        if (client or async_client) and (proxy is not None or not verify_ssl_certs):
            raise TypeError("a client that is given has settings of its own")
        self._settings = Settings()
        self._made: dict[type[BaseClient], Any] = {}

    def request(
        self, method: str, url: str, headers: Optional[Lines], post_data: Any = None, **_: Any
    ) -> tuple[Any, int, Lines]:
        """Sends a request, and waits for its answer, whose body is bytes."""
        call = self._call(Client, method, url, headers, post_data)
        try:
            answer = call.open(is_whole=True)
            return (b"".join(answer), *_status_and_headers(call, answer))
        except ApiError as error:
            self._raise(call, error)

    def request_stream(
        self, method: str, url: str, headers: Optional[Lines], post_data: Any = None, **_: Any
    ) -> tuple[Any, int, Lines]:
        """Sends a request. The body is a file, which is read as it arrives."""
        call = self._call(Client, method, url, headers, post_data)
        try:
            answer = call.open()
        except ApiError as error:
            self._raise(call, error)

        def fail(error: ApiError) -> NoReturn:
            self._raise(call, error, answer)

        file = io.BufferedReader(AnswerFile(answer, fail))
        return (file, *_status_and_headers(call, answer))

    async def request_async(
        self, method: str, url: str, headers: Lines, post_data: Any = None, **_: Any
    ) -> tuple[bytes, int, Lines]:
        """As `request`, on a loop of asyncio."""
        call = self._call(AsyncClient, method, url, headers, post_data)
        try:
            answer = await call.open_async(is_whole=True)
            content = b"".join([piece async for piece in answer])
            return (content, *_status_and_headers(call, answer))
        except ApiError as error:
            self._raise(call, error)

    async def request_stream_async(
        self, method: str, url: str, headers: Lines, post_data: Any = None, **_: Any
    ) -> tuple[Any, int, Lines]:
        """As `request_stream`; the body is an async iterator of bytes."""
        call = self._call(AsyncClient, method, url, headers, post_data)
        try:
            answer = await call.open_async()
        except ApiError as error:
            self._raise(call, error)
        return (self._pieces(call, answer), *_status_and_headers(call, answer))

    def sleep_async(self, secs: float) -> Awaitable[None]:
        """Waits between two attempts of the SDK."""
        return asyncio.sleep(secs)

    def close(self) -> None:
        """Closes the blocking client, if it was made here."""
        client = self._made.pop(Client, None)
        if client is not None:
            client.close()

    async def close_async(self) -> None:
        """Closes the async client, if it was made here."""
        client = self._made.pop(AsyncClient, None)
        if client is not None:
            await client.close()

    def __del__(self, _is_over: list[bool] = is_over) -> None:
        if _is_over:
            return
        for client in self.__dict__.get("_made", {}).values():
            client._close()

    def _client(self, kind: type[BaseClient]) -> BaseClient:
        given = self._given[kind]
        if given is not None:
            return given
        if kind not in self._made:
            self._made.setdefault(kind, self._new_client(kind))
        made: BaseClient = self._made[kind]
        return made

    def _new_client(self, kind: type[BaseClient]) -> BaseClient:
        settings = Settings()
        settings.trust(stripe.ca_bundle_path if self._verify_ssl_certs else False)
        settings.limit(None)
        proxy: Any = self._proxy or {}
        if proxy:
            # The SDK sends to https alone, but a program may test with http.
            settings.use_proxy(proxy.get("https") or proxy.get("http"))
        self._settings = settings
        return kind(configuration=settings.configuration)

    def _call(
        self, kind: type[BaseClient], method: str, url: str, headers: Optional[Lines], data: Any
    ) -> Call:
        scheme, _, rest = url.partition("://")
        client = self._client(kind)
        content = data.encode() if isinstance(data, str) else data
        try:
            return Call(
                client,
                method.upper(),
                url,
                rest.partition("/")[0].encode(),
                [(name.encode(), str(value).encode()) for name, value in (headers or {}).items()],
                content or b"",
                self._timeouts,
                self._settings.args_for(scheme),
                is_plain=self._given[kind] is None,
            )
        except ApiError as error:
            raise _connection_error(error, should_retry=False) from error

    def _raise(self, call: Call, error: ApiError, answer: Optional[Answer] = None) -> NoReturn:
        failure = call.failure_of(error, answer)
        raise _connection_error(error, should_retry=failure not in _NOT_RETRIED) from error

    async def _pieces(self, call: Call, answer: AsyncAnswer) -> AsyncIterator[bytes]:
        try:
            async for piece in answer:
                yield piece
        except ApiError as error:
            self._raise(call, error, answer)
        finally:
            await answer.close()


def _status_and_headers(call: Call, answer: Answer) -> tuple[int, Headers]:
    head = call.head_of(answer)
    return head.status, Headers(head.lines)


def _connection_error(error: ApiError, should_retry: bool) -> Exception:
    kind: Any = stripe.APIConnectionError
    text = f"Unexpected error communicating with Stripe.\n\n(Network error: {error.message})"
    exception: Exception = kind(text, should_retry=should_retry)
    return exception
