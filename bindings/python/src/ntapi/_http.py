"""An exchange with a server: the request as it will be sent, which hooks may change, the answer as
interceptors see it, and what it cost.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Optional

from ._bridge.args import shown_url
from ._bridge.json import from_c
from ._bridge.library import lib
from ._bridge.signatures import Status
from ._checks import check_string, missing_attribute, refuse_copy, type_name
from ._enums import BodyKind, CachePolicy, Clock
from ._errors import read_error
from ._response import Headers, lines_of
from .arg import bytes_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, Union

    from ._bridge.library import Handle
    from ._errors import ApiError
    from ._types import BytesLike, CachePolicyName, ClockName, Scalar


class HTTPRequest:
    """A request as it will be sent. The hook `build_request`, a service's `configure`, a decision
    about a redirect and interceptors may change it.

    It is valid only inside these.
    """

    __slots__ = ("_owner", "_pointer")

    def __init__(self, pointer: int, owner: Optional[Handle] = None) -> None:
        self._pointer: Optional[int] = pointer
        self._owner = owner
        """What has lent the pointer."""

    @property
    def method(self) -> str:
        """The method."""
        return _decoded(lib.ntapi_http_request_method(self._pointer)) or ""

    @method.setter
    def method(self, method: str) -> None:
        if lib.ntapi_http_request_set_method(self._pointer, method.encode()) != Status.OK:
            # Not quoted: it may be a token in the wrong place.
            raise ValueError("this method cannot be used: a method is letters, digits and hyphens")

    @property
    def url(self) -> str:
        """The URL, with its query.

        A URL of another origin removes what belongs to the one before: credentials, tokens, secret
        headers, Cookie, Host, Idempotency-Key. Set what the other origin may see after the URL.
        """
        return _decoded(lib.ntapi_http_request_url(self._pointer)) or ""

    @url.setter
    def url(self, url: str) -> None:
        if lib.ntapi_http_request_set_url(self._pointer, url.encode()) != Status.OK:
            raise ValueError(f"{shown_url(url)!r} cannot be used as a URL")

    @property
    def headers(self) -> RequestHeaders:
        """The headers: `request.headers["X-Trace"] = "7"`."""
        return RequestHeaders(self)

    @property
    def body(self) -> Optional[bytes]:
        """The bytes of the body; None when there is none, and for a body of another kind."""
        length = ctypes.c_size_t()
        start = lib.ntapi_http_request_body(self._pointer, ctypes.byref(length))
        return None if start is None else ctypes.string_at(start, length.value)

    @body.setter
    def body(self, body: Union[BytesLike, str, None]) -> None:
        """Puts bytes in place of the body; None removes it. Content-Type stays as it is."""
        content = bytes_of(body)
        length = 0 if content is None else len(content)
        if lib.ntapi_http_request_set_body(self._pointer, content, length) != Status.OK:
            raise ValueError("the body cannot be changed: the hook has returned")

    @property
    def body_kind(self) -> BodyKind:
        """What the body is."""
        return BodyKind(lib.ntapi_http_request_get_body_kind(self._pointer))

    @property
    def timeouts(self) -> RequestTimeouts:
        """The timeouts in seconds, None where there is none: `request.timeouts["idle"] = 5`."""
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

        They have an effect while the request is built. Headers that came from options stay.
        """
        return RequestOptions(self)

    @property
    def priority(self) -> float:
        """From 0 (last) to 1 (first), among requests that wait for the same host."""
        return float(lib.ntapi_http_request_priority(self._pointer))

    @priority.setter
    def priority(self, priority: float) -> None:
        if lib.ntapi_http_request_set_priority(self._pointer, priority) != Status.OK:
            raise ValueError("a priority is from 0 to 1")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute(self, name, (), "request")

    def __reduce__(self) -> NoReturn:
        refuse_copy(
            self,
            "it is valid in its hook only; pass on its `method`, `url`, `headers` and `body`",
        )

    def _end(self) -> None:
        self._pointer = None

    def __repr__(self) -> str:
        if not self._pointer:
            return "<ntapi.HTTPRequest of a hook that has returned>"

        return f"<ntapi.HTTPRequest {self.method} {shown_url(self.url)}>"


class RequestHeaders(MutableMapping[str, str]):
    """The headers of a request that is being built; letter case has no meaning.

    Several headers of one name are read as one, with commas. To set one replaces them all.
    """

    def __init__(self, request: HTTPRequest) -> None:
        self._request = request

    def __getitem__(self, name: str) -> str:
        headers = lib.ntapi_http_request_headers(self._request._pointer)
        value = lib.ntapi_headers_get(headers, _encoded(name))
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
        """Sets a header whose value is a secret: logs and recordings redact it, a redirect to
        another origin goes without it, and the cache keeps apart responses to different values.
        """
        status = lib.ntapi_http_request_set_secret_header(
            self._request._pointer, _encoded(name), _encoded(value)
        )
        _check_header(status)

    def __iter__(self) -> Iterator[str]:
        headers = lib.ntapi_http_request_headers(self._request._pointer)
        names: dict[str, str] = {}
        for name, _ in lines_of(headers):
            names.setdefault(name.lower(), name)
        return iter(names.values())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _set(self, name: str, value: Optional[bytes]) -> None:
        status = lib.ntapi_http_request_set_header(self._request._pointer, _encoded(name), value)
        _check_header(status)

    def __repr__(self) -> str:
        # Values may be secrets.
        return f"<ntapi headers {', '.join(self)}>"


def _check_header(status: int) -> None:
    if status != Status.OK:
        # The name is not quoted: it may be a token in the wrong place.
        raise ValueError("the header cannot be sent: a name is letters, digits and hyphens")


class RequestTimeouts:
    """The five timeouts of a request that is being built, by their names."""

    # Without this, Python would ask for the items 0, 1, 2.
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
        """The value of an option, "" for one without a value; None when it is not set."""
        return _decoded(lib.ntapi_http_request_option(self._request._pointer, _encoded(name)))


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
    """An answer as interceptors see it: the server's, or one of their own. It never changes.

    return ntapi.HTTPResponse(200, {"Content-Type": "application/json"}, b'{"name": "x"}')
    """

    __slots__ = ("_body", "_handle", "_headers", "error", "status")

    status: int
    """The HTTP status; 0 when there was no answer."""
    error: Optional[ApiError]
    """Why there is no whole answer; None where there is one, whatever its status."""

    def __init__(
        self,
        status: int,
        headers: Union[Mapping[str, str], Iterable[tuple[str, str]]] = (),
        body: Union[BytesLike, str] = b"",
    ) -> None:
        """Makes an answer. A body that is text is sent as UTF-8."""
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
        """What a C interception shows."""
        response = cls.__new__(cls)
        pointer = lib.ntapi_interception_response(handle.pointer)
        response.status = int(lib.ntapi_response_status(pointer))
        error = lib.ntapi_response_error(pointer)
        response.error = None
        if error:
            response.error = read_error(error)
        response._handle = handle
        # Copied when somebody asks: most interceptors look at the status alone.
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

    def _lines(self) -> Iterable[tuple[str, str]]:
        pointer = self._handle.pointer if self._handle else None
        return lines_of(lib.ntapi_response_headers(lib.ntapi_interception_response(pointer)))

    @property
    def body(self) -> bytes:
        """The body; empty where it went elsewhere: to a data handler, or into a file."""
        if self._body is None:
            length = ctypes.c_size_t()
            pointer = self._handle.pointer if self._handle else None
            shown = lib.ntapi_interception_response(pointer)
            start = lib.ntapi_response_data(shown, ctypes.byref(length))
            self._body = ctypes.string_at(start, length.value) if start else b""
        return self._body

    def __repr__(self) -> str:
        return f"<ntapi.HTTPResponse {self.status}>"


# What a request cost.


@dataclass(frozen=True)
class Metrics:
    """Times are seconds from the start of the last exchange, sizes are bytes of the body on the
    wire unless they say otherwise.
    """

    name_lookup: float
    """Until the name was resolved."""
    connect: float
    """Until the connection was there."""
    tls: float
    """Until the TLS handshake was done; 0 without TLS."""
    first_byte: float
    """Until the first byte of the response."""
    total: float
    """The last exchange, without the time it was queued."""
    queued: float
    """How long the request waited for connections, or its turn under a rate limit."""
    redirects: int
    retries: int
    bytes_sent: int
    bytes_received: int
    http_version: float
    """1.0, 1.1, 2 or 3; 0 when there was no answer."""
    connection_reused: bool
    from_cache: bool
    bytes_decoded: int
    """Bytes of the body received, after decompression."""


@dataclass(frozen=True, repr=False)
class TransactionMetrics:
    """One exchange of a request: a redirect, a challenge or an attempt beyond the first makes
    another one.
    """

    method: str
    url: str
    status: int
    """0 when there was no answer."""
    start_time: datetime
    error: Optional[str]
    """Why it failed; None when there was a whole answer, whatever its status."""
    metrics: Metrics
    """The figures of this exchange alone: `redirects` and `retries` are 0."""

    def __repr__(self) -> str:
        # Only the URL's host: which parts of its path are secret is not known here.
        host = re.sub(r"^([a-z]+://)(?:[^/?#]*@)?([^/?#]*).*", r"\1\2", self.url, flags=re.DOTALL)
        problem = "" if self.error is None else f", {self.error}"
        took = f"{self.metrics.total:.3f} s"
        return f"<ntapi.TransactionMetrics {self.method} {host} {self.status}, {took}{problem}>"


@dataclass(frozen=True)
class RequestMetrics:
    """What a request took, over all its exchanges."""

    transactions: tuple[TransactionMetrics, ...]
    """In the order in which they were made, at most the last 65; the last one's answer is the
    response.
    """
    start_time: datetime
    elapsed: float
    """Seconds from start to end, by a clock that never jumps."""
    redirects: int
    retries: int
    """Attempts beyond the first: by a retry policy, after a challenge, with another token, or of a
    stream that goes on.
    """


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


def read_request_metrics(response: int | None) -> RequestMetrics:
    """The exchanges of a C response's request; none of one that could not be built."""
    pointer = lib.ntapi_response_request_metrics(response)
    if not pointer:
        return RequestMetrics((), _moment(0), 0.0, 0, 0)
    try:
        values = from_c(pointer)
    finally:
        lib.ntapi_json_free(pointer)
    return RequestMetrics(
        tuple(map(_transaction, values["transactions"])),
        _moment(values["startTime"]),
        values["elapsed"],
        values["redirects"],
        values["retries"],
    )


def _transaction(values: dict[str, Any]) -> TransactionMetrics:
    metrics = Metrics(
        name_lookup=values["nameLookup"],
        connect=values["connect"],
        tls=values["tls"],
        first_byte=values["firstByte"],
        total=values["total"],
        queued=values["queued"],
        redirects=0,
        retries=0,
        bytes_sent=values["bytesSent"],
        bytes_received=values["bytesReceived"],
        http_version=values["httpVersion"],
        connection_reused=values["connectionReused"],
        from_cache=values["fromCache"],
        bytes_decoded=values["bytesDecoded"],
    )
    return TransactionMetrics(
        values["method"],
        values["url"],
        values["status"],
        _moment(values["startTime"]),
        values["error"],
        metrics,
    )


def read_metrics(response: int | None) -> Metrics:
    """The metrics of a C response; the numbers are those of ntapi_metric."""
    (lookup, connect, tls, first_byte, total, queued, *counts, version, reused, decoded) = (
        float(lib.ntapi_response_metric(response, metric)) for metric in range(13)
    )
    redirects, retries, sent, received = map(int, counts)
    return Metrics(
        name_lookup=lookup,
        connect=connect,
        tls=tls,
        first_byte=first_byte,
        total=total,
        queued=queued,
        redirects=redirects,
        retries=retries,
        bytes_sent=sent,
        bytes_received=received,
        http_version=version,
        connection_reused=bool(reused),
        from_cache=lib.ntapi_response_get_source(response) != 0,
        bytes_decoded=int(decoded),
    )
