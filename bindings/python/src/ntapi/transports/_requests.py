"""The adapter of requests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from http.client import HTTPMessage
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Optional, Union
from urllib.parse import urlsplit
from urllib.request import getproxies

import requests.exceptions as errors
from requests.adapters import BaseAdapter
from requests.cookies import extract_cookies_to_jar
from requests.models import Response
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers, prepend_scheme_if_needed, select_proxy
from urllib3 import HTTPResponse
from urllib3 import exceptions as while_reading
from urllib3.util import Retry, Timeout, parse_url

try:
    from urllib3 import HTTPHeaderDict
except ImportError as error:
    # requests itself still takes urllib3 1.26.
    raise ImportError(
        "ntapi.transports.RequestsAdapter needs urllib3 2 or later: pip install 'urllib3>=2'",
        name="urllib3",
    ) from error

from .._bridge.library import is_over
from .._errors import ApiError
from .._sync_client import Client
from ._answers import BLOCK, AnswerFile
from ._exchange import Call, Timeouts
from ._failures import CONNECT_FAILURES, Failure
from ._settings import Settings

if TYPE_CHECKING:
    from typing import Callable

    from requests.models import PreparedRequest

    from ._answers import Head, SyncAnswer

_EXCEPTION_OF: dict[Failure, type[errors.RequestException]] = {
    Failure.POOL_TIMEOUT: errors.ConnectionError,
    Failure.CONNECT_TIMEOUT: errors.ConnectTimeout,
    Failure.READ_TIMEOUT: errors.ReadTimeout,
    Failure.WRITE_TIMEOUT: errors.ConnectionError,
    Failure.TIMEOUT: errors.Timeout,
    Failure.CONNECT: errors.ConnectionError,
    Failure.TLS: errors.SSLError,
    Failure.PROXY: errors.ProxyError,
    Failure.READ: errors.ConnectionError,
    Failure.WRITE: errors.ConnectionError,
    Failure.LOCAL_PROTOCOL: errors.InvalidHeader,
    Failure.REMOTE_PROTOCOL: errors.ConnectionError,
    Failure.DECODING: errors.ContentDecodingError,
    Failure.OTHER: errors.RequestException,
}


class _Setting(NamedTuple):
    """Settings that requests has for each request, and a client of NTApi for all its requests."""

    verify: Union[bool, str]
    cert: Any
    proxy: str


class _Client:
    """A client of NTApi, with the settings of its requests. If it was made for an adapter, it is
    closed when neither the adapter nor a body that is being read uses it any more.
    """

    def __init__(self, client: Client, settings: Settings, is_made: bool) -> None:
        self.client = client
        self.settings = settings
        self._is_made = is_made

    def __del__(self, _is_over: list[bool] = is_over) -> None:
        if self._is_made and not _is_over:
            self.client.close()


class RequestsAdapter(BaseAdapter):
    """NTApi as the adapter of a requests.Session.

    session = requests.Session()
    session.mount("https://", ntapi.transports.RequestsAdapter())
    """

    def __init__(
        self,
        max_retries: int = 0,
        *,
        http2: bool = False,
        max_connections: Optional[int] = None,
        client: Optional[Client] = None,
    ) -> None:
        """Without `client`, each request is one exchange and nothing around it. With a client of
        the program, its settings and behaviour apply.

        `max_retries` counts further attempts to connect. For other retries, pass a client that has
        a retry policy.
        """
        super().__init__()
        if not isinstance(max_retries, int):
            raise TypeError(
                "max_retries is a number of attempts to connect; for other retries pass a client: "
                "ntapi.Client(args=ntapi.retry(True))"
            )
        if client is not None and not isinstance(client, Client):
            raise TypeError(f"an ntapi.Client is expected, not {type(client).__name__}")
        if client is not None and (http2 or max_connections is not None):
            raise TypeError("the client that is given has settings of its own")
        self._retries = max_retries
        self.max_retries = Retry(0, connect=max_retries, read=False)
        """Like HTTPAdapter's, for tools that read it. Setting it changes nothing."""
        self._http2 = http2
        self._max_connections = max_connections
        self._given = client
        self._made: dict[_Setting, _Client] = {}

    def __getstate__(self) -> dict[str, Any]:
        # A copy has the settings, and makes clients of its own.
        return {**self.__dict__, "_made": {}}

    def send(
        self,
        request: PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Optional[Mapping[str, str]] = None,
    ) -> Response:
        """Sends a request. With `stream`, returns when the head of the answer has come; else when
        all of it has.
        """
        url = urlsplit(str(request.url))
        if url.scheme not in ("http", "https"):
            raise errors.InvalidSchema(f"NTApi cannot send to {url.scheme!r}", request=request)
        if not url.hostname:
            raise errors.InvalidURL(f"{request.url!r} has no host", request=request)
        proxies = dict(proxies or {})
        own = self._client(str(request.url), verify, cert, proxies)
        host = url.netloc.rpartition("@")[2]
        attempts = self._retries
        while True:
            try:
                call = Call(
                    own.client,
                    str(request.method),
                    f"{url.scheme}://{host}{request.path_url}",
                    host.encode(),
                    _lines(request, select_proxy(str(request.url), proxies) or ""),
                    _content(request.body),
                    _timeouts(timeout),
                    own.settings.args_for(url.scheme),
                    is_plain=self._given is None,
                )
            except ApiError as error:
                raise errors.InvalidHeader(error.message, request=request) from error
            try:
                return self._response(request, call, call.open(is_whole=not stream), own)
            except ApiError as error:
                failure = call.failure_of(error)
                if failure in CONNECT_FAILURES and attempts > 0:
                    attempts -= 1
                    continue
                if failure is Failure.CONNECT and own.settings.configuration.proxy:
                    failure = Failure.PROXY
                raise _EXCEPTION_OF[failure](error.message, request=request) from error
            except while_reading.InvalidHeader as error:
                raise errors.InvalidHeader(str(error), request=request) from error

    def close(self) -> None:
        """Closes the clients that were made for the adapter; the next request makes new ones. A
        body that is being read can be read to its end: `requests.get(url, stream=True)` returns a
        response whose session is closed.
        """
        self._made = {}

    def _client(self, url: str, verify: Any, cert: Any, proxies: dict[str, str]) -> _Client:
        """The client for a request. It is made on first use, and kept."""
        if self._given is not None:
            # What the session has read from the environment is no setting of the program.
            if verify == (os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")):
                verify = True
            if verify not in (True, False) or cert is not None:
                raise ValueError("the certificates are settings of the client that is given")
            if select_proxy(url, proxies) not in (None, *getproxies().values()):
                raise ValueError("the proxy is a setting of the client that is given")
            settings = Settings()
            settings.trust(verify)
            return _Client(self._given, settings, is_made=False)
        # The session has read the environment.
        proxy = select_proxy(url, proxies)
        if proxy:
            proxy = prepend_scheme_if_needed(proxy, "http")
            if not parse_url(proxy).host:
                raise errors.InvalidProxyURL(f"{proxy!r} has no host")
        key = _Setting(verify, tuple(cert) if isinstance(cert, list) else cert, proxy or "")
        found = self._made.get(key)
        if found is None:
            found = self._made.setdefault(key, self._new_client(key))
        return found

    def _new_client(self, key: _Setting) -> _Client:
        settings = Settings()
        settings.trust(True if key.verify is None else key.verify)
        settings.show(key.cert)
        settings.use_version(http1=True, http2=self._http2)
        settings.limit(self._max_connections)
        settings.use_proxy(key.proxy)
        return _Client(Client(configuration=settings.configuration), settings, is_made=True)

    def _response(
        self, request: PreparedRequest, call: Call, answer: SyncAnswer, own: _Client
    ) -> Response:
        def fail(error: ApiError) -> NoReturn:
            self._fail_reading(call, error, answer)

        head = call.head_of(answer)
        raw = _raw(request, head, _BodyFile(answer, fail, own))
        return self.build_response(request, raw)

    def build_response(self, request: PreparedRequest, raw: HTTPResponse) -> Response:
        """Makes the response that the session returns, as HTTPAdapter's method of this name: for
        tools that mock or change it.
        """
        response: Any = Response()
        response.status_code = raw.status
        response.headers = CaseInsensitiveDict(raw.headers)
        response.encoding = get_encoding_from_headers(response.headers)
        response.raw = raw
        response.reason = raw.reason
        response.url = str(request.url)
        extract_cookies_to_jar(response.cookies, request, raw)
        response.request = request
        response.connection = self
        built: Response = response
        return built

    def _fail_reading(self, call: Call, error: ApiError, answer: SyncAnswer) -> NoReturn:
        """Raises the exception of urllib3 that requests turns into its own."""
        failure = call.failure_of(error, answer)
        if failure is Failure.READ_TIMEOUT:
            pool: Any = None
            raise while_reading.ReadTimeoutError(pool, "", error.message) from error
        if failure is Failure.DECODING:
            raise while_reading.DecodeError(error.message) from error
        if failure is Failure.TLS:
            raise while_reading.SSLError(error.message) from error
        raise while_reading.ProtocolError(error.message, error) from error


# Requests.


def _lines(request: PreparedRequest, proxy: str) -> list[tuple[bytes, bytes]]:
    """The header lines. After a redirect, the session adds the credentials of the proxy that it
    would use. They are left out: NTApi takes them from the proxy's URL, and may use no proxy.
    """
    return [
        (_line(name), _line(value))
        for name, value in request.headers.items()
        if not ("@" in proxy and name.lower() == "proxy-authorization")
    ]


def _line(text: Union[str, bytes]) -> bytes:
    # As http.client encodes it.
    return text if isinstance(text, bytes) else text.encode("latin-1")


def _content(body: Any) -> Union[bytes, Iterable[bytes]]:
    if body is None:
        return b""
    if isinstance(body, (bytes, bytearray)):
        return bytes(body)
    return body.encode() if isinstance(body, str) else _pieces(body)


def _pieces(body: Any) -> Iterator[bytes]:
    read = getattr(body, "read", None)
    pieces = iter(body) if read is None else iter(lambda: read(BLOCK) or b"", b"")
    for piece in pieces:
        yield piece.encode() if isinstance(piece, str) else piece


def _timeouts(timeout: Any) -> Timeouts:
    if isinstance(timeout, tuple):
        try:
            connect, read = timeout
        except ValueError:
            raise ValueError(
                f"a timeout is a number or the pair (connect, read), not {timeout!r}"
            ) from None
        timeout = Timeout(connect=connect, read=read)
    elif not isinstance(timeout, Timeout):
        timeout = Timeout(connect=timeout, read=timeout)
    # The timeout may limit the sum of both.
    timeout = timeout.clone()
    timeout.start_connect()
    # The limit for the connection may be urllib3's constant for the default of sockets.
    connect = Timeout.resolve_default_timeout(timeout.connect_timeout)
    return Timeouts(connect, timeout.read_timeout, timeout.read_timeout)


# Responses.


class _BodyFile(AnswerFile):
    """The body of a response. It keeps the client until it is closed, or read to its end."""

    def __init__(
        self, answer: SyncAnswer, fail: Callable[[ApiError], NoReturn], client: _Client
    ) -> None:
        super().__init__(answer, fail)
        self._client: Optional[_Client] = client

    def close(self) -> None:
        """Ends the exchange, if the body is not complete."""
        super().close()
        self._client = None


def _raw(request: PreparedRequest, head: Head, file: AnswerFile) -> HTTPResponse:
    """The urllib3 response for Response.raw: it decodes the body, and has urllib3's methods."""
    texts = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.lines]
    message = HTTPMessage()
    for name, value in texts:
        message[name] = value
    # Cookies are read from here.
    original: Any = SimpleNamespace(msg=message, close=lambda: None, isclosed=lambda: file.closed)
    raw = _RawResponse(
        body=file,
        headers=HTTPHeaderDict(texts),
        status=head.status,
        version=round(head.version * 10),
        reason=head.reason.decode("latin-1"),
        preload_content=False,
        decode_content=False,
        original_response=original,
        enforce_content_length=False,
        request_method=request.method,
        request_url=request.url,
    )
    # An argument only since urllib3 2.2.
    raw.version_string = (
        f"HTTP/{head.version:.1f}" if head.version < 2 else f"HTTP/{head.version:.0f}"
    )
    return raw


class _RawResponse(HTTPResponse):
    """A response whose body comes without the framing of chunks, so no chunks are read here."""

    def stream(self, amt: Optional[int] = BLOCK, decode_content: Optional[bool] = None) -> Any:
        """Yields what has come, without waiting until it is `amt` bytes, if its length is unknown:
        it may be a stream of events.
        """
        if "content-length" in self.headers or not hasattr(self, "read1"):
            yield from super().stream(amt, decode_content)
            return
        while True:
            data = self.read1(amt, decode_content=decode_content)
            if not data:
                return
            yield data
