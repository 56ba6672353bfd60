"""The response of a request."""

from __future__ import annotations

import ctypes

from ._bridge.cpython import INTERPRETER, quick, response_json
from ._bridge.events import Facts
from ._bridge.library import Handle, is_over, lib
from ._bridge.signatures import Content, Status

# Do not import this later, when a request fails: there may be no file descriptor for the import.
from ._errors import ApiError, read_error
from ._json_method import json_method
from ._runtime.checks import check_string, even_without_init, refuse_coroutine

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path
    from typing import Any, Callable, NoReturn, Optional, TypeVar, overload

    from ._bridge.enums import Source
    from ._headers import Headers
    from ._http import Metrics, RequestMetrics
    from ._request import Request
    from ._types import JSON
    from .decoding.options import DecodingOptions

    T = TypeVar("T")

_UNSET: Any = object()
_JSON, _PREFIX = Content.JSON, Content.PREFIX_TEXT
_NOTHING = (0, 0, 0, 0, 0)
_free = quick("ntapi_response_free")


class _OfAnotherLibrary:
    """An attribute of other libraries that responses do not have: reading it raises an error that
    says what to write.

    A `__getattr__` of the class would do the same, but makes each of its attributes slower.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        from ._advice import instead

        problem = f"'Response' object has no attribute {self._name!r}"
        raise AttributeError(problem + instead("response", self._name))


class Response:
    """The answer to a request, or what went wrong. Each part is read on first use."""

    __slots__ = (
        "__weakref__",
        "_copied",
        "_data",
        "_error",
        "_facts",
        "_headers",
        "_is_judged",
        "_metrics",
        "_parsed",
        "_pointer",
        "_request",
    )

    _error: Optional[ApiError]

    def __init__(
        self, pointer: Optional[int], facts: Facts, request: Optional[Handle] = None
    ) -> None:
        """Owns a C response."""
        self._pointer = pointer
        self._facts = facts
        self._request = request
        self._parsed: Any = _UNSET
        self._is_judged = False
        self._error = None
        self._data: Optional[bytes] = None
        self._headers: Optional[Headers] = None
        self._metrics: Optional[Metrics] = None
        self._copied: Optional[dict[str, Any]] = None
        """The values of `_PARTS` from before this was pickled or copied; None for a response in C.
        """
        if facts[-5]:
            self._error = read_error(facts[-5])
            self._set_error(self._error)

    @classmethod
    def _failed(cls, error: ApiError) -> Response:
        """The response to a request that could not be built; there is no C response."""
        response = cls(None, _NOTHING)
        response._error = error
        error.response = response
        return response

    @classmethod
    def _refused(cls, error: Exception) -> Response:
        """The response to a request that was refused before C saw it. Errors that are not ApiErrors
        are mistakes of the program, and raised.
        """
        if not isinstance(error, ApiError):
            raise error
        return cls._failed(error)

    @classmethod
    def _owning(cls, pointer: int) -> Response:
        """Owns a C response that came without `Facts`."""
        length = ctypes.c_size_t()
        data = lib.ntapi_response_data(pointer, ctypes.byref(length))
        contents = 1 if lib.ntapi_response_json(pointer) else 0
        contents |= 2 if lib.ntapi_response_prefix_text(pointer) else 0
        error = lib.ntapi_response_error(pointer)
        status = lib.ntapi_response_status(pointer)
        return cls(pointer, (error or 0, data or 0, length.value, status, contents))

    def __del__(self, _is_over: list[bool] = is_over) -> None:
        if self._pointer and not _is_over:
            _free(self._pointer)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy has only values and no C object: it may outlive this response, or be in another
        # process.
        state = {name: self._part(name) for name in _PARTS}
        state.update(_data=self.data, _facts=(0, 0, 0, *self._facts[-2:]), _error=self._error)
        if self._parsed is not _UNSET and not self._facts[-1] & _JSON:
            # A hook has parsed it; the copy does not have the hook.
            state["_parsed"] = self._parsed
        elif self._facts[-1] & _PREFIX:
            # The copy cannot parse it again: only C knows where the JSON begins in the body.
            state["_parsed"] = self.json()
        return type(self), (None, _NOTHING), state

    def __copy__(self) -> Response:
        from copy import deepcopy

        # The copy has an error of its own, whose `response` is the copy.
        return deepcopy(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._copied = dict(state)
        for name in ("_data", "_facts", "_error", "_parsed"):
            if name in state:
                setattr(self, name, self._copied.pop(name))
        # Its request equals no other.
        self._request = Handle(0)

    def _part(self, name: str) -> Any:
        """The value from C, or that from before this was copied."""
        if self._copied is not None:
            return self._copied[name]
        return _PARTS[name](self._pointer)

    @property
    def error(self) -> Optional[ApiError]:
        """What went wrong, or None."""
        return self._error

    def _set_error(self, error: Optional[ApiError]) -> None:
        before, self._error = self._error, error
        if error is None:
            return
        error.response = self
        error.http_status = error.http_status or self.status or None
        if before is None:
            # The program made this error for an answer that is no error for the library.
            if error.problem is None and self.has_json:
                from ._problem import problem_in

                error.problem = problem_in(self)
            return
        if error.retry_after is None:
            error.retry_after = before.retry_after
        if error.problem is None:
            error.problem = before.problem

    def raise_for_error(self) -> Response:
        """Raises the error, if there is one; otherwise returns the response itself."""
        if self._error is not None:
            raise self._error
        return self

    @property
    def data(self) -> bytes:
        """The body, decompressed. Copied from C on first use."""
        data = self._data
        if data is None:
            facts = self._facts
            data = self._data = ctypes.string_at(facts[-4], facts[-3]) if facts[-3] else b""
        return data

    @property
    def was_delivered_before(self) -> bool:
        """Whether a handler of an earlier process may have seen this outcome of a background
        transfer: that process ended before the handler returned.
        """
        return bool(self._part("was_delivered_before"))

    @property
    def file(self) -> Optional[Path]:
        """With the arg `download`: the file that the body was written to. None if it was not, for
        example after an error.
        """
        return _path(self._part("file"))

    @property
    def temporary_file(self) -> Optional[Path]:
        """With the arg `download()`: the temporary file that the body was written to. None if it
        was not.

        It is removed with this response and its request, or when the process exits. Move it to keep
        it. A copy of the response does not keep it.
        """
        return _path(self._part("temporary_file"))

    @property
    def resume_data(self) -> Optional[str]:
        """After a download was cancelled or failed: a line of JSON for the arg `resume` of a later
        request.

        None if nothing was received, or if the server sent no usable validator (ETag,
        Last-Modified). The temporary file stays until the download is resumed or
        `ntapi.discard_resume_data` removes it.
        """
        text: Optional[str] = self._part("resume_data")
        return text

    @property
    def text(self) -> str:
        """The body as text, in the charset of Content-Type, else UTF-8. Invalid bytes are
        replaced.
        """
        from ._headers import charset

        try:
            return self.data.decode(charset(self.headers.get("content-type", "")), "replace")
        except (LookupError, ValueError):
            return self.data.decode("utf-8", "replace")

    @property
    def has_json(self) -> bool:
        """Whether the body is JSON. Distinguishes a JSON null from no JSON."""
        return self._facts[-1] & _JSON != 0 or self._parsed is not _UNSET

    @json_method("response")
    def json(self, *surplus: NoReturn, **unknown: NoReturn) -> JSON:
        """The body as JSON, parsed on first use. None if there is no JSON, or with the option
        "raw_data" unless the status is an error.

        Each call returns the same object. Integers are exact, up to the range of a double.
        """
        if surplus or unknown:
            line = "for a type of your own write response.decode(Type)"
            raise TypeError(f"response.json() takes no arguments; {line}")
        if self._parsed is _UNSET:
            if not self._facts[-1] & _JSON:
                return None
            if self._pointer is None:
                from ._bridge.json import read

                self._parsed = read(self.data)
            else:
                self._parsed = response_json(self._pointer, INTERPRETER)
        value: JSON = self._parsed
        return value

    if TYPE_CHECKING:

        @overload
        def decode(
            self, form: type[T], path: str = "", options: Optional[DecodingOptions] = None
        ) -> T: ...

        @overload
        def decode(
            self, form: Any, path: str = "", options: Optional[DecodingOptions] = None
        ) -> Any: ...

    def decode(self, form: Any, path: str = "", options: Optional[DecodingOptions] = None) -> Any:
        """Makes a value of one of the program's types from the JSON: a dataclass, a TypedDict, a
        list of them, ...

        `path` says where in the JSON it is. Raises the response's error, if it has one. If the JSON
        does not fit the type, raises ApiError "unexpected JSON", which names the path, what was
        expected and what was found. Raises TypeError for a type that cannot be made from JSON.

        In the hook `map_service_error` it also decodes the JSON of an HTTP error, for example a
        list of wrong fields.
        """
        from . import codes
        from ._bridge.enums import ErrorDomain
        from .decoding.decoder import decode_at
        from .decoding.options import DecodingOptions

        if not self._is_judged:
            self.raise_for_error()
        if not self.has_json:
            text = f"the body of {self._summary()} has no JSON"
            raise ApiError(
                codes.UNEXPECTED_JSON, text, domain=ErrorDomain.JSON, http_status=self.status
            )
        try:
            return decode_at(
                form, self.json(), path, options or DecodingOptions(), self._exact_json
            )
        except ApiError as error:
            if error.response is None and error.code is codes.UNEXPECTED_JSON:
                error.message = f"the JSON of {self._summary()}: {error.message}"
                error.http_status = self.status
                error.response = self
            raise

    def _exact_json(self) -> Any:
        """The JSON, in which a real that a float would change is a Decimal."""
        from ._bridge.json import exact, read

        facts = self._facts[-1]
        # A hook has parsed it, or it is a copy, which cannot parse it again.
        if not facts & _JSON or (facts & _PREFIX and self._pointer is None):
            return self.json()
        if facts & _PREFIX:
            return read(lib.ntapi_json_text(lib.ntapi_response_json(self._pointer)), exact)
        return read(self.data, exact)

    @property
    def _shown_url(self) -> str:
        """The URL with its secrets redacted."""
        return str(self._part("shown_url"))

    def _summary(self) -> str:
        """The URL for messages, without its query."""
        return self._shown_url.partition("?")[0]

    def _parse_with(self, parse: Callable[[bytes], object]) -> None:
        """Parses the body with the client's hook."""
        from . import codes
        from ._bridge.enums import ErrorDomain

        try:
            parsed = parse(self.data)
            refuse_coroutine(parsed)
            self._parsed = parsed
        except BaseException as error:
            # Keep an HTTP error: it says more than a body that is not JSON.
            if self._error is None:
                failure = error
                if not isinstance(failure, ApiError):
                    failure = ApiError(codes.INVALID_JSON, str(error), domain=ErrorDomain.JSON)
                    failure.__cause__ = error
                self._set_error(failure)
            if not isinstance(error, Exception):
                raise

    @property
    def headers(self) -> Headers:
        """The header lines."""
        headers = self._headers
        if headers is None:
            from ._headers import Headers

            headers = self._headers = Headers(self._part("lines"))
        return headers

    @property
    def trailers(self) -> Headers:
        """The fields that came behind the body (RFC 9110, 6.5); nearly always none."""
        from ._headers import Headers

        return Headers(self._part("trailer_lines"))

    @property
    def reason_phrase(self) -> str:
        """The text behind the status in the status line, such as "Not Found"; "" if there is none,
        as over HTTP/2.
        """
        return str(self._part("reason_phrase"))

    def link(self, relation: str) -> Optional[str]:
        """The absolute URL from a `Link` header (RFC 8288), or None. `link("next")` is the next
        page, for the arg `base_url`.

        The relation is "next", "prev", "last" or the like; letter case does not matter.
        """
        check_string(relation, "the relation")
        if self._copied is not None:
            links: dict[str, str] = self._copied["links"]
            return links.get(relation.lower())
        return _link(self._pointer, relation)

    @property
    def status(self) -> int:
        """The HTTP status; 0 if there was no answer."""
        return self._facts[-2]

    @property
    def url(self) -> str:
        """The URL that answered, after redirects; "" if the request could not be built."""
        return str(self._part("url"))

    @property
    def prefix_text(self) -> Optional[str]:
        """The text before the JSON, such as a PHP warning, or None."""
        text: Optional[str] = self._part("prefix_text")
        return text

    @property
    def start(self) -> datetime:
        """When the request started, in UTC."""
        return _moment(self._part("start"))

    @property
    def end(self) -> datetime:
        """When the request ended, in UTC."""
        return _moment(self._part("end"))

    @property
    def elapsed(self) -> float:
        """Seconds that the request took, by a monotonic clock."""
        return float(self._part("elapsed"))

    @property
    def source(self) -> Source:
        """Where the response came from: the network or the cache."""
        from ._bridge.enums import Source

        return Source(self._part("source"))

    @property
    def metrics(self) -> Metrics:
        """Times and sizes of the request."""
        metrics = self._metrics
        if metrics is None:
            metrics = self._metrics = self._part("metrics")
        return metrics

    @property
    def request_metrics(self) -> RequestMetrics:
        """Times and sizes of the request, exchange by exchange."""
        metrics: RequestMetrics = self._part("request_metrics")
        return metrics

    @property
    def request(self) -> Request:
        """The request that this answers; equal to the handle that `begin` returned.

        For a pickled or copied response, it has the values of that moment.
        """
        from ._request import Request
        from ._runtime.delivery import Outcome

        if self._request is None and self._pointer:
            # The C response owns its request. The outcome keeps the response alive.
            self._request = Handle(lib.ntapi_response_request(self._pointer))
        copied = None if self._copied is None else self._copied["request"]
        return Request(self._request, Outcome(response=self), copied)

    def __dir__(self) -> list[str]:
        return [
            name
            for name in super().__dir__()
            if not isinstance(type(self).__dict__.get(name), _OfAnotherLibrary)
        ]

    @even_without_init
    def __repr__(self) -> str:
        problem = f", {self.error!r}" if self.error else ""
        # Show the URL of the response, which a redirect may have changed, and not the request's
        # number.
        what = str(self.request._part("line"))
        if self._shown_url and what.startswith("#"):
            what = f"{what.split(' ')[1]} {self._shown_url}"
        answer = f"{self.status}, {len(self.data)} bytes" if self.status else "no answer"
        return f"<ntapi.Response {what and what + ' '}{answer}{problem}>"


_OF_OTHERS = (
    "aread body content content_type cookies encoding history http_version is_error is_success "
    "iter_bytes iter_content iter_lines links method ok raise_for_status read reason status_code"
)
for _name in _OF_OTHERS.split():
    setattr(Response, _name, _OfAnotherLibrary(_name))


# The properties that are read from the C pointer on first use. A copy has the values of all of
# them.


def _text_of(name: str) -> Callable[[Optional[int]], Optional[str]]:
    def read(pointer: Optional[int]) -> Optional[str]:
        text: Optional[bytes] = getattr(lib, name)(pointer)
        return None if text is None else text.decode("utf-8", "replace")

    return read


def _metrics(pointer: Optional[int]) -> Metrics:
    from ._http import read_metrics

    return read_metrics(pointer)


def _request_metrics(pointer: Optional[int]) -> RequestMetrics:
    from ._http import read_request_metrics

    return read_request_metrics(pointer)


def _time(pointer: Optional[int], name: str) -> float:
    from ._http import read_numbers

    return float(read_numbers(lib.ntapi_response_request(pointer)).get(name, 0))


def _request_parts(pointer: Optional[int]) -> dict[str, Any]:
    from ._request import read_parts

    return read_parts(lib.ntapi_response_request(pointer))


def _link(pointer: Optional[int], relation: str) -> Optional[str]:
    text = lib.ntapi_response_link(pointer, relation.encode())
    return None if text is None else text.decode()


_MOST_LINKS = 64
"""The library reads at most this many links of a header line."""


def _links(pointer: Optional[int]) -> dict[str, str]:
    """The links of all relations that the headers may name."""
    from ._headers import Headers

    lines = Headers(_lines(pointer)).get_all("link")
    if not lines:
        return {}
    import re

    rel = re.compile(r'\brel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))', re.IGNORECASE)
    links = {}
    for line in lines:
        for quoted, token in rel.findall(line)[:_MOST_LINKS]:
            for relation in (quoted or token).lower().split():
                link = _link(pointer, relation)
                if link is not None:
                    links[relation] = link
    return links


def _lines(pointer: Optional[int]) -> tuple[tuple[bytes, bytes], ...]:
    from ._headers import lines_of

    return tuple(lines_of(lib.ntapi_response_headers(pointer)))


def _trailer_lines(pointer: Optional[int]) -> tuple[tuple[bytes, bytes], ...]:
    from ._headers import lines_of

    return tuple(lines_of(lib.ntapi_response_trailers(pointer)))


def _reason_phrase(pointer: Optional[int]) -> str:
    from ._headers import header_text

    return header_text(lib.ntapi_headers_reason_phrase(lib.ntapi_response_headers(pointer)) or b"")


_url, _shown_url = _text_of("ntapi_response_url"), _text_of("ntapi_response_redacted_url")
_PARTS: dict[str, Callable[[Optional[int]], Any]] = {
    "elapsed": lambda pointer: lib.ntapi_response_elapsed(pointer),
    "end": lambda pointer: _time(pointer, "endTime"),
    "file": _text_of("ntapi_response_file"),
    "lines": _lines,
    "links": _links,
    "metrics": _metrics,
    "prefix_text": _text_of("ntapi_response_prefix_text"),
    "reason_phrase": _reason_phrase,
    "request": _request_parts,
    "request_metrics": _request_metrics,
    "resume_data": _text_of("ntapi_response_resume_data"),
    "shown_url": lambda pointer: _shown_url(pointer) or "",
    "source": lambda pointer: lib.ntapi_response_get_source(pointer),
    "start": lambda pointer: _time(pointer, "startTime"),
    "trailer_lines": _trailer_lines,
    "temporary_file": _text_of("ntapi_response_temporary_file"),
    "url": lambda pointer: _url(pointer) or "",
    "was_delivered_before": lambda pointer: lib.ntapi_response_was_delivered_before(pointer),
}


def _path(text: Optional[str]) -> Optional[Path]:
    if text is None:
        return None
    from pathlib import Path

    return Path(text)


def discard_resume_data(resume_data: str) -> None:
    """Removes the temporary file of a download that will not be resumed.

    Raises ValueError for a text that is not resume data.
    """
    check_string(resume_data, "resume data")
    if lib.ntapi_resume_data_discard(resume_data.encode()) != Status.OK:
        # The text is not quoted: it may be damaged resume data, with a URL and its token.
        raise ValueError(f"this text of {len(resume_data)} characters is not resume data")


def _moment(seconds: float) -> datetime:
    from datetime import datetime, timezone

    return datetime.fromtimestamp(seconds, timezone.utc)
