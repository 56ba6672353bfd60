"""An exchange with a server: the request as it will be sent, the answer as interceptors see it, and
the metrics.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Optional

from ._advice import missing_attribute
from ._args import bytes_of, shown_url, text_of
from ._bridge.enums import BodyKind, CachePolicy, Clock
from ._bridge.json import from_c
from ._bridge.library import lib, take_text
from ._bridge.signatures import Status
from ._errors import read_error
from ._headers import Headers, header_text, lines_of, take_lines
from ._runtime.checks import check_string, even_without_init, refuse_copy, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, Union

    from ._bridge.library import Handle
    from ._errors import ApiError
    from ._types import BytesLike, CachePolicyName, ClockName, Scalar


class HTTPRequest:
    """A request as it will be sent. The hook `build_request`, a service's `configure`, a decision
    about a redirect and interceptors may change it.

    Use it only inside these.
    """

    __slots__ = ("_owner", "_pointer")

    def __init__(self, pointer: int, owner: Optional[Handle] = None) -> None:
        self._pointer: Optional[int] = pointer
        self._owner = owner
        """The object that the pointer belongs to."""

    @property
    def method(self) -> str:
        """The method."""
        return take_text(lib.ntapi_http_request_method(self._pointer)) or ""

    @method.setter
    def method(self, method: str) -> None:
        # The value is not quoted: it may be a token in the wrong place.
        self._check(
            lib.ntapi_http_request_set_method(self._pointer, method.encode()),
            "this method cannot be used: a method is letters, digits and hyphens",
        )

    @property
    def url(self) -> str:
        """The URL, with its query.

        Setting a URL of another origin removes what belongs to the previous one: credentials,
        tokens, secret headers, Cookie, Host, Idempotency-Key. Set the URL first, and then what the
        new origin may see.
        """
        return take_text(lib.ntapi_http_request_url(self._pointer)) or ""

    @url.setter
    def url(self, url: str) -> None:
        self._check(
            lib.ntapi_http_request_set_url(self._pointer, url.encode()),
            f"{shown_url(url)!r} cannot be used as a URL",
        )

    @property
    def headers(self) -> RequestHeaders:
        """The headers: `request.headers["X-Trace"] = "7"`."""
        return RequestHeaders(self)

    @property
    def body(self) -> Optional[bytes]:
        """The bytes of the body; None if there is no body, or one of another kind: see
        `body_kind`.
        """
        length = ctypes.c_size_t()
        start = lib.ntapi_http_request_body(self._pointer, ctypes.byref(length))
        if start is None:
            return None
        try:
            return ctypes.string_at(start, length.value)
        finally:
            lib.ntapi_text_free(start)

    @body.setter
    def body(self, body: Union[BytesLike, str, None]) -> None:
        """Replaces the body by bytes; None removes it. Content-Type does not change."""
        content = bytes_of(body)
        length = 0 if content is None else len(content)
        self._check(
            lib.ntapi_http_request_set_body(self._pointer, content, length),
            "the body cannot be changed: the hook has returned",
        )

    @property
    def body_kind(self) -> BodyKind:
        """The kind of the body."""
        return BodyKind(lib.ntapi_http_request_get_body_kind(self._pointer))

    @property
    def timeouts(self) -> RequestTimeouts:
        """The timeouts in seconds; None is no timeout: `request.timeouts["idle"] = 5`."""
        return RequestTimeouts(self)

    @property
    def cache_policy(self) -> CachePolicy:
        """How the client's cache may be used."""
        return CachePolicy(lib.ntapi_http_request_cache_policy(self._pointer))

    @cache_policy.setter
    def cache_policy(self, policy: Union[CachePolicy, CachePolicyName]) -> None:
        chosen = policy if isinstance(policy, CachePolicy) else _named(CachePolicy, policy)
        lib.ntapi_http_request_set_cache_policy(self._pointer, chosen.value)

    @property
    def options(self) -> RequestOptions:
        """The options: `request.options["raw_data"] = True`.

        Changes have an effect only while the request is built. Headers that an option has set stay.
        """
        return RequestOptions(self)

    @property
    def priority(self) -> float:
        """From 0 (last) to 1 (first) among requests that wait for the same host."""
        return float(lib.ntapi_http_request_priority(self._pointer))

    @priority.setter
    def priority(self, priority: float) -> None:
        self._check(
            lib.ntapi_http_request_set_priority(self._pointer, priority),
            "a priority is from 0 to 1",
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute(self, name, (), "request")

    def __reduce__(self) -> NoReturn:
        refuse_copy(
            self,
            "it is valid in its hook only; pass on its `method`, `url`, `headers` and `body`",
        )

    def _check(self, status: int, problem: str) -> None:
        """Raises the problem when a setter was refused."""
        if status != Status.OK:
            # C would fail the request. The program gets the exception, and may go on instead.
            lib.ntapi_http_request_forget_mistake(self._pointer)
            raise ValueError(problem)

    def _end(self) -> None:
        self._pointer = None

    @even_without_init
    def __repr__(self) -> str:
        if not self._pointer:
            return "<ntapi.HTTPRequest of a hook that has returned>"

        return f"<ntapi.HTTPRequest {self.method} {shown_url(self.url)}>"


# The name is not quoted, because it may be a token in the wrong place.
_NO_HEADER = "the header cannot be sent: a name is letters, digits and hyphens"


class RequestHeaders(MutableMapping[str, str]):
    """The headers of a request that is being built. Letter case does not matter.

    Several headers of one name are read as one, joined with commas. Setting a name replaces them
    all.
    """

    def __init__(self, request: HTTPRequest) -> None:
        self._request = request

    def __getitem__(self, name: str) -> str:
        headers = lib.ntapi_http_request_headers(self._request._pointer)
        try:
            value = lib.ntapi_headers_get(headers, _encoded(name))
        finally:
            lib.ntapi_headers_free(headers)
        if value is None:
            raise KeyError(name)
        return _decoded(value) or ""

    def __setitem__(self, name: str, value: str) -> None:
        self._set(name, _encoded(value))

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._set(name, None)

    def set_secret(self, name: str, value: str) -> None:
        """Sets a header with a secret value. Logs and recordings redact it, a redirect to another
        origin is sent without it, and the cache keeps the responses to different values apart.
        """
        status = lib.ntapi_http_request_set_secret_header(
            self._request._pointer, _encoded(name), _encoded(value)
        )
        self._request._check(status, _NO_HEADER)

    def __iter__(self) -> Iterator[str]:
        names: dict[str, str] = {}
        for line in take_lines(lib.ntapi_http_request_headers(self._request._pointer)):
            name = header_text(line[0])
            names.setdefault(name.lower(), name)
        return iter(names.values())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _set(self, name: str, value: Optional[bytes]) -> None:
        status = lib.ntapi_http_request_set_header(self._request._pointer, _encoded(name), value)
        self._request._check(status, _NO_HEADER)

    def __repr__(self) -> str:
        # Values may be secrets.
        return f"<ntapi headers {', '.join(self)}>"


class RequestTimeouts:
    """The five timeouts of a request that is being built, by their names."""

    # Without this, Python would iterate by asking for the items 0, 1, 2.
    __iter__ = None

    def __init__(self, request: HTTPRequest) -> None:
        self._request = request

    def __getitem__(self, clock: Union[Clock, ClockName]) -> Optional[float]:
        number = _clock(clock).value
        seconds = float(lib.ntapi_http_request_timeout(self._request._pointer, number))
        return None if seconds < 0 else seconds

    def __setitem__(self, clock: Union[Clock, ClockName], seconds: Optional[float]) -> None:
        if seconds is not None and not seconds > 0:
            raise ValueError(f"a timeout has to be above 0, not {seconds!r}")
        limit = -1.0 if seconds is None else float(seconds)
        number = _clock(clock).value
        lib.ntapi_http_request_set_timeout(self._request._pointer, number, limit)


class RequestOptions:
    """The options of a request that is being built, by their names."""

    __iter__ = None

    def __init__(self, request: HTTPRequest) -> None:
        self._request = request

    def __getitem__(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, value: Scalar) -> None:
        text = text_of(value, "option", name)
        lib.ntapi_http_request_set_option(
            self._request._pointer, _encoded(name), None if text is None else _encoded(text)
        )

    def __delitem__(self, name: str) -> None:
        lib.ntapi_http_request_set_option(self._request._pointer, _encoded(name), None)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def get(self, name: str) -> Optional[str]:
        """The value of an option; "" for an option without a value, None if it is not set."""
        return take_text(lib.ntapi_http_request_option(self._request._pointer, _encoded(name)))


def _clock(clock: Union[Clock, ClockName]) -> Clock:
    return clock if isinstance(clock, Clock) else _named(Clock, clock)


def _named(kind: Any, name: str) -> Any:
    try:
        return kind[name.upper()]
    except (KeyError, AttributeError):
        names = ", ".join(item.name.lower() for item in kind)
        raise ValueError(f"one of {names} is expected, not {name!r}") from None


def _encoded(text: str) -> bytes:
    check_string(text, "it")
    if "\0" in text:
        raise ValueError("a text contains a NUL character")
    return text.encode()


def _decoded(text: Optional[bytes]) -> Optional[str]:
    return None if text is None else text.decode("utf-8", "replace")


# An answer as interceptors see it.


class HTTPResponse:
    """An answer as interceptors see it: the server's, or one that they make. Immutable.

    return ntapi.HTTPResponse(200, {"Content-Type": "application/json"}, b'{"name": "x"}')
    """

    __slots__ = ("_body", "_handle", "_headers", "error", "status")

    status: int
    """The HTTP status; 0 if there was no answer."""
    error: Optional[ApiError]
    """Why the answer is missing or incomplete; None for a complete answer of any status."""

    def __init__(
        self,
        status: int,
        headers: Union[Mapping[str, str], Iterable[tuple[str, str]]] = (),
        body: Union[BytesLike, str] = b"",
    ) -> None:
        """Makes an answer. A `str` body is encoded as UTF-8."""
        if isinstance(status, bool) or not isinstance(status, int):
            raise TypeError(f"a status has to be a number, not {type_name(status)}")
        if not 200 <= status <= 999:
            raise ValueError(f"{status} is not a status of a response: 200 to 999")
        lines = list(headers.items() if isinstance(headers, Mapping) else headers)
        for name, value in lines:
            check_string(name, "the name of a header")
            check_string(value, f"the header {name}")
        self.status = status
        self.error = None
        self._handle: Optional[Handle] = None
        self._headers: Optional[Headers] = Headers(lines)
        self._body = bytes_of(body)

    @classmethod
    def _of(cls, handle: Handle) -> HTTPResponse:
        """Reads the answer of a C interception."""
        response = cls.__new__(cls)
        pointer = lib.ntapi_interception_response(handle.pointer)
        response.status = int(lib.ntapi_response_status(pointer))
        error = lib.ntapi_response_error(pointer)
        response.error = None
        if error:
            response.error = read_error(error)
        response._handle = handle
        # Copied on first use: most interceptors only look at the status.
        response._headers = None
        response._body = None
        return response

    def __getstate__(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "error": self.error,
            "_handle": None,
            "_headers": self.headers,
            "_body": self.body,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    @property
    def headers(self) -> Headers:
        """The header lines."""
        if self._headers is None:
            self._headers = Headers(self._lines())
        return self._headers

    def _lines(self) -> Iterable[tuple[bytes, bytes]]:
        pointer = self._handle.pointer if self._handle else None
        return lines_of(lib.ntapi_response_headers(lib.ntapi_interception_response(pointer)))

    @property
    def body(self) -> bytes:
        """The body; empty if it went to a data handler or into a file."""
        if self._body is None:
            length = ctypes.c_size_t()
            pointer = self._handle.pointer if self._handle else None
            shown = lib.ntapi_interception_response(pointer)
            start = lib.ntapi_response_data(shown, ctypes.byref(length))
            self._body = ctypes.string_at(start, length.value) if start else b""
        return self._body

    @even_without_init
    def __repr__(self) -> str:
        problem = f", {self.error!r}" if self.error else ""
        return f"<ntapi.HTTPResponse {self.status}{problem}>"


# The metrics of a request.


@dataclass(frozen=True)
class Metrics:
    """Times and sizes of a request. Times are seconds from the start of the last exchange, sizes
    are bytes of the body on the wire, unless stated otherwise.
    """

    name_lookup: float
    """Until the name was resolved."""
    connect: float
    """Until the connection was made."""
    tls: float
    """Until the TLS handshake was done; 0 without TLS."""
    first_byte: float
    """Until the first byte of the response."""
    total: float
    """The duration of the last exchange, without the time in a queue."""
    queued: float
    """The time that the request waited for connections or for the rate limit."""
    redirects: int
    retries: int
    bytes_sent: int
    bytes_received: int
    http_version: float
    """1.0, 1.1, 2 or 3; 0 if there was no answer."""
    connection_reused: bool
    from_cache: bool
    bytes_decoded: int
    """Bytes of the body received, after decompression."""


@dataclass(frozen=True, repr=False)
class TransactionMetrics:
    """One exchange of a request. Each redirect, challenge and retry makes another exchange."""

    method: str
    url: str
    status: int
    """The HTTP status; 0 if there was no answer."""
    start_time: datetime
    error: Optional[str]
    """Why it failed; None for a complete answer of any status."""
    metrics: Metrics
    """The metrics of this exchange alone; `redirects` and `retries` are 0."""

    @even_without_init
    def __repr__(self) -> str:
        # Only the host: it is unknown here which parts of the path are secret.
        host = re.sub(r"^([a-z]+://)(?:[^/?#]*@)?([^/?#]*).*", r"\1\2", self.url, flags=re.DOTALL)
        problem = "" if self.error is None else f", {self.error}"
        took = f"{self.metrics.total:.3f} s"
        return f"<ntapi.TransactionMetrics {self.method} {host} {self.status}, {took}{problem}>"


@dataclass(frozen=True)
class RequestMetrics:
    """The metrics of a request and of all its exchanges."""

    transactions: tuple[TransactionMetrics, ...]
    """The exchanges in order, at most the last 65. The answer of the last one is the response."""
    start_time: datetime
    elapsed: float
    """Seconds from start to end, by a clock that never jumps."""
    redirects: int
    retries: int
    """Attempts after the first: by a retry policy, after a challenge, with another token, or of a
    stream that connects again.
    """


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


def read_numbers(request: int | None) -> dict[str, Any]:
    """The current numbers of a C request; empty if it could not be built."""
    pointer = lib.ntapi_request_metrics(request)
    if not pointer:
        return {}
    try:
        values: dict[str, Any] = from_c(pointer)
    finally:
        lib.ntapi_json_free(pointer)
    return values


def read_request_metrics(response: int | None) -> RequestMetrics:
    """The metrics of a C response's request; without exchanges if it could not be built."""
    values = read_numbers(lib.ntapi_response_request(response))
    if not values:
        return RequestMetrics((), _moment(0), 0.0, 0, 0)
    return RequestMetrics(
        tuple(map(_transaction, values["transactions"])),
        _moment(values["startTime"]),
        values["elapsed"],
        values["redirects"],
        values["retries"],
    )


def _transaction(values: dict[str, Any]) -> TransactionMetrics:
    return TransactionMetrics(
        values["method"],
        values["url"],
        values["status"],
        _moment(values["startTime"]),
        values["error"],
        _metrics(values),
    )


def read_metrics(response: int | None) -> Metrics:
    """The metrics of a C response."""
    return _metrics(read_numbers(lib.ntapi_response_request(response)))


def _metrics(values: dict[str, Any]) -> Metrics:
    """The metrics of a request, or of one exchange, which has no redirects and retries."""
    return Metrics(
        name_lookup=float(values.get("nameLookup", 0)),
        connect=float(values.get("connect", 0)),
        tls=float(values.get("tls", 0)),
        first_byte=float(values.get("firstByte", 0)),
        total=float(values.get("total", 0)),
        queued=float(values.get("queued", 0)),
        redirects=values.get("redirects", 0),
        retries=values.get("retries", 0),
        bytes_sent=values.get("bytesSent", 0),
        bytes_received=values.get("bytesReceived", 0),
        http_version=float(values.get("httpVersion", 0)),
        connection_reused=values.get("connectionReused", False),
        from_cache=values.get("fromCache", False),
        bytes_decoded=values.get("bytesDecoded", 0),
    )
