"""The response of a request."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterable, Iterator, Mapping

from ._bridge.cpython import INTERPRETER, quick, response_json
from ._bridge.library import Handle, is_over, lib
from ._bridge.signatures import Content, Facts, Status
from ._checks import check_string, instead, refuse_coroutine
from ._json_method import json_method

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path
    from typing import Any, Callable, NoReturn, Optional, TypeVar, overload

    from ._enums import Source
    from ._errors import ApiError
    from ._http import Metrics, RequestMetrics
    from ._request import Request
    from ._types import JSON
    from .decoding.options import DecodingOptions

    T = TypeVar("T")

_UNSET: Any = object()
_JSON, _PREFIX = Content.JSON, Content.PREFIX_TEXT
_START_TIME, _END_TIME = 13, 14
"""NTAPI_METRIC_START_TIME and NTAPI_METRIC_END_TIME."""
_NOTHING = (0, 0, 0, 0, 0)
_free = quick("ntapi_response_free")


class _OfAnotherLibrary:
    """An attribute that responses do not have: asking for it says what to write.

    A `__getattr__` of the class would do it, too, but makes each of its attributes slower.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        problem = f"'Response' object has no attribute {self._name!r}"
        raise AttributeError(problem + instead("response", self._name))


class Response:
    """The answer to a request, or what went wrong. Each part is read when it is first asked for."""

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
        """What `_PARTS` read before this was pickled or copied; None of a response of C's."""
        if facts[-5]:
            from ._errors import read_error

            self._set_error(read_error(facts[-5]))

    @classmethod
    def _failed(cls, error: ApiError) -> Response:
        """The response to a request that could not be built: C answers NULL with nothing."""
        response = cls(None, _NOTHING)
        response._error = error
        error.response = response
        return response

    @classmethod
    def _refused(cls, error: Exception) -> Response:
        """The response to what was refused before C saw it; mistakes of the program are raised."""
        from ._errors import ApiError

        if not isinstance(error, ApiError):
            raise error
        return cls._failed(error)

    @classmethod
    def _owning(cls, pointer: int) -> Response:
        """A C response that came alone."""
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
        # A copy has values alone, and nothing of C's: it may end, or be in another process, before
        # or after this one.
        state = {name: self._part(name) for name in _PARTS}
        state.update(_data=self.data, _facts=(0, 0, 0, *self._facts[-2:]), _error=self._error)
        if self._parsed is not _UNSET and not self._facts[-1] & _JSON:
            # A hook has made it, which the copy does not have.
            state["_parsed"] = self._parsed
        elif self._facts[-1] & _PREFIX:
            # It cannot be parsed again: where it begins in the body, only C knows.
            state["_parsed"] = self.json()
        return type(self), (None, _NOTHING), state

    def __copy__(self) -> Response:
        from copy import deepcopy

        # With an error of its own, whose response it is.
        return deepcopy(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._copied = dict(state)
        for name in ("_data", "_facts", "_error", "_parsed"):
            if name in state:
                setattr(self, name, self._copied.pop(name))
        # Its request is equal to itself, and to no other.
        self._request = Handle(0)

    def _part(self, name: str) -> Any:
        """What C says, or has said before this was copied."""
        if self._copied is not None:
            return self._copied[name]
        return _PARTS[name](self._pointer)

    @property
    def error(self) -> Optional[ApiError]:
        """What went wrong, or None."""
        return self._error

    def _set_error(self, error: Optional[ApiError]) -> None:
        before, self._error = self._error, error
        if error is not None:
            error.response = self
            error.http_status = error.http_status or self.status or None
            if error.retry_after is None and before is not None:
                error.retry_after = before.retry_after

    def raise_for_error(self) -> Response:
        """Raises the error, if there is one; else returns the response itself."""
        if self._error is not None:
            raise self._error
        return self

    @property
    def data(self) -> bytes:
        """The body as it was received, decompressed. Copied once, when first asked for."""
        data = self._data
        if data is None:
            facts = self._facts
            data = self._data = ctypes.string_at(facts[-4], facts[-3]) if facts[-3] else b""
        return data

    @property
    def was_delivered_before(self) -> bool:
        """Whether a handler may have seen this outcome of a background transfer before, in a
        process that ended before the handler returned.
        """
        return bool(self._part("was_delivered_before"))

    @property
    def file(self) -> Optional[Path]:
        """The file that the body was written to, with the arg `download`; None when it was not,
        for example after an error.
        """
        return _path(self._part("file"))

    @property
    def temporary_file(self) -> Optional[Path]:
        """The temporary file that the body was written to, with the arg `download()`; None when it
        was not.

        It is removed with this response and its request, or when the process exits. Move it to
        keep it: a copy of the response does not keep it, either.
        """
        return _path(self._part("temporary_file"))

    @property
    def resume_data(self) -> Optional[str]:
        """For the arg `resume` of a later request, after a download was cancelled or failed: one
        line of JSON.

        None when nothing was received, or the server gave nothing to verify it by. The temporary
        file stays until the download goes on or `ntapi.discard_resume_data` removes it.
        """
        text: Optional[str] = self._part("resume_data")
        return text

    @property
    def text(self) -> str:
        """The body as text, in the charset that Content-Type names, else UTF-8. Bytes that do not
        fit are replaced.
        """
        _, _, charset = self.headers.get("content-type", "").partition("charset=")
        name = charset.split(";")[0].strip().strip("\"'") or "utf-8"
        try:
            return self.data.decode(name, "replace")
        except (LookupError, ValueError):
            return self.data.decode("utf-8", "replace")

    @property
    def has_json(self) -> bool:
        """Whether the body is JSON; tells a JSON null from no JSON."""
        return self._facts[-1] & _JSON != 0 or self._parsed is not _UNSET

    @json_method("response")
    def json(self, *surplus: NoReturn, **unknown: NoReturn) -> JSON:
        """The body as JSON, parsed when first asked for; None when there is none, and with the
        option "raw_data" unless the status is an error.

        The same object each time. Integers of any size are exact, up to the range of a double.
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
        """Makes a value of a type of the program's own from the JSON: a dataclass, a TypedDict, a
        list of them, ...

        `path` says where in the JSON it is. Raises the response's error, if it has one, and
        "unexpected JSON", an ApiError which names the path, what was expected there and what was
        found. Raises TypeError for a type that cannot be made of JSON.

        In the hook `map_service_error` it reads the JSON of an error, too: for example a list of
        what is wrong with the fields.
        """
        from . import codes
        from ._enums import ErrorDomain
        from ._errors import ApiError
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
            return decode_at(form, self.json(), path, options or DecodingOptions())
        except ApiError as error:
            if error.response is None and error.code is codes.UNEXPECTED_JSON:
                error.message = f"the JSON of {self._summary()}: {error.message}"
                error.http_status = self.status
                error.response = self
            raise

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
        from ._enums import ErrorDomain
        from ._errors import ApiError

        try:
            parsed = parse(self.data)
            refuse_coroutine(parsed)
            self._parsed = parsed
        except BaseException as error:
            # An HTTP error says more than a body that is not JSON.
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
            headers = self._headers = Headers(self._part("lines"))
        return headers

    def link(self, relation: str) -> Optional[str]:
        """The URL of a `Link` header (RFC 8288), absolute, or None: `link("next")` is that of the
        next page, for the arg `base_url`.

        The relation is "next", "prev", "last" or the like; letter case has no meaning.
        """
        check_string(relation, "the relation")
        if self._copied is not None:
            links: dict[str, str] = self._copied["links"]
            return links.get(relation.lower())
        return _link(self._pointer, relation)

    @property
    def status(self) -> int:
        """The HTTP status; 0 when there was no answer."""
        return self._facts[-2]

    @property
    def url(self) -> str:
        """The URL that answered, after redirects; "" when the request could not be built."""
        return str(self._part("url"))

    @property
    def prefix_text(self) -> Optional[str]:
        """The text that came before the JSON (a PHP warning, for example), or None."""
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
        """Seconds that the request took, by a clock that never jumps."""
        return float(self._part("elapsed"))

    @property
    def source(self) -> Source:
        """Where it came from: the network or the cache."""
        from ._enums import Source

        return Source(self._part("source"))

    @property
    def metrics(self) -> Metrics:
        """What the request cost."""
        metrics = self._metrics
        if metrics is None:
            metrics = self._metrics = self._part("metrics")
        return metrics

    @property
    def request_metrics(self) -> RequestMetrics:
        """What the request took, exchange by exchange."""
        metrics: RequestMetrics = self._part("request_metrics")
        return metrics

    @property
    def request(self) -> Request:
        """The request that this answers; equal to the handle that `begin` returned.

        That of a response that was pickled or copied only says what it said then.
        """
        from ._delivery import Outcome
        from ._request import Request

        if self._request is None and self._pointer:
            # Nobody has a handle to it yet. This one is lent by the response, which the outcome
            # keeps.
            self._request = Handle(lib.ntapi_response_request(self._pointer))
        copied = None if self._copied is None else self._copied["request"]
        return Request(self._request, Outcome(response=self), copied)

    def __dir__(self) -> list[str]:
        return [
            name
            for name in super().__dir__()
            if not isinstance(type(self).__dict__.get(name), _OfAnotherLibrary)
        ]

    def __repr__(self) -> str:
        problem = f", {self.error!r}" if self.error else ""
        return f"<ntapi.Response {self.status} {self._shown_url}, {len(self.data)} bytes{problem}>"


for _name in [
    "content",
    "cookies",
    "encoding",
    "history",
    "http_version",
    "is_error",
    "is_success",
    "iter_bytes",
    "iter_content",
    "iter_lines",
    "links",
    "method",
    "ok",
    "raise_for_status",
    "read",
    "status_code",
]:
    setattr(Response, _name, _OfAnotherLibrary(_name))


# What a response reads when it is asked for it, each of its C pointer. A copy has all of it.


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


def _request_parts(pointer: Optional[int]) -> dict[str, Any]:
    from ._request import read_parts

    return read_parts(lib.ntapi_response_request(pointer))


def _link(pointer: Optional[int], relation: str) -> Optional[str]:
    text = lib.ntapi_response_link(pointer, relation.encode())
    return None if text is None else text.decode()


_MOST_LINKS = 64
"""As many the library reads of a line."""


def _links(pointer: Optional[int]) -> dict[str, str]:
    """The links of all relations that the headers may name."""
    lines = [value for name, value in _lines(pointer) if name.lower() == "link"]
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


def _lines(pointer: Optional[int]) -> tuple[tuple[str, str], ...]:
    return tuple(lines_of(lib.ntapi_response_headers(pointer)))


_url, _shown_url = _text_of("ntapi_response_url"), _text_of("ntapi_response_redacted_url")
_PARTS: dict[str, Callable[[Optional[int]], Any]] = {
    "elapsed": lambda pointer: lib.ntapi_response_elapsed(pointer),
    "end": lambda pointer: lib.ntapi_response_metric(pointer, _END_TIME),
    "file": _text_of("ntapi_response_file"),
    "lines": _lines,
    "links": _links,
    "metrics": _metrics,
    "prefix_text": _text_of("ntapi_response_prefix_text"),
    "request": _request_parts,
    "request_metrics": _request_metrics,
    "resume_data": _text_of("ntapi_response_resume_data"),
    "shown_url": lambda pointer: _shown_url(pointer) or "",
    "source": lambda pointer: lib.ntapi_response_get_source(pointer),
    "start": lambda pointer: lib.ntapi_response_metric(pointer, _START_TIME),
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
        # Not quoted: it may nearly be some, with a URL and its token.
        raise ValueError(f"this text of {len(resume_data)} characters is not resume data")


def _moment(seconds: float) -> datetime:
    from datetime import datetime, timezone

    return datetime.fromtimestamp(seconds, timezone.utc)


# Header lines.


def header_text(value: bytes) -> str:
    """What the bytes of a header say: those that are not UTF-8 are ISO-8859-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def lines_of(pointer: int | None) -> Iterator[tuple[str, str]]:
    """The lines of an ntapi_headers."""
    name = ctypes.c_void_p()
    for index in itertools.count():
        value = lib.ntapi_headers_at(pointer, index, ctypes.byref(name))
        if value is None:
            return
        yield header_text(ctypes.string_at(name.value or b"")), header_text(value)


class Headers(Mapping[str, str]):
    """Header lines, looked up without regard to case; repeats and the order received are kept.

    `headers["accept"]` joins the values of a repeated name with ", ", but gives the first
    Set-Cookie, as such lines cannot be joined. `get_all` has every value and `lines` every line.
    """

    __slots__ = ("_by_name", "_lines")

    def __init__(self, lines: Iterable[tuple[str, str]] = ()) -> None:
        self._lines = tuple(lines)
        self._by_name: dict[str, tuple[str, list[str]]] = {}
        for name, value in self._lines:
            self._by_name.setdefault(name.lower(), (name, []))[1].append(value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Headers, (self._lines,)

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Every line as (name, value), in the order received."""
        return self._lines

    def get_all(self, name: str) -> list[str]:
        """The values of every line of this name, in order; empty when there is none."""
        found = self._by_name.get(name.lower())
        return list(found[1]) if found else []

    def __getitem__(self, name: str) -> str:
        values = self._by_name[name.lower()][1]
        return values[0] if name.lower() == "set-cookie" else ", ".join(values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._by_name

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        from ._bridge.args import shown_line

        return f"Headers({[shown_line(*line) for line in self._lines]!r})"
