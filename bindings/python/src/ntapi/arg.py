"""The arg, a plain value, and the functions that make args. Each is also a name of the package:
`ntapi.url("q", "London")`.

A value of None suppresses the arg, so that optional parameters need no `if`.
"""

from __future__ import annotations

import os

from ._checks import check_string, check_text, is_list_like, no_arg, type_name

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import timedelta
    from typing import Any, Optional, Union

    from ._configuration import RateLimiter, RetryPolicy
    from ._enums import CachePolicy, Clock
    from ._interceptors import Interceptor
    from ._types import (
        Args,
        BytesLike,
        CachePolicyName,
        ClockName,
        Path,
        PlaceLike,
        Scalar,
        StreamContent,
    )
    from .decoding.options import DecodingOptions

__all__ = [
    "Arg",
    "Args",
    "add_header",
    "base_url",
    "basic_auth",
    "bearer",
    "cache_policy",
    "data",
    "data_thread",
    "decision_thread",
    "digest_auth",
    "download",
    "download_progress_thread",
    "file",
    "form",
    "header",
    "idempotency_key",
    "interceptor",
    "json",
    "method",
    "multipart",
    "multipart_file",
    "option",
    "path",
    "rate_limiter",
    "response_thread",
    "resume",
    "retry",
    "stream",
    "timeout",
    "upload_progress_thread",
    "url",
    "url_default",
]


class Arg:
    """One element of a request's list of args. It has no effect until a request is begun with it.

    Make one with a function of `ntapi.arg`: `ntapi.url("q", "London")`. It is a value: it never
    changes, and equal ones compare equal. Printing one redacts secrets.
    """

    __slots__ = ("__weakref__", "is_secret", "is_suppressed", "kind", "values")

    kind: str
    """What it is, named as the function that made it."""
    values: tuple[Any, ...]
    """What it was made with."""
    is_secret: bool
    """Whether it was marked with `secret()`."""
    is_suppressed: bool
    """Whether a value was None, so that it is as if the arg had not been given."""

    def __init__(
        self,
        kind: str,
        values: tuple[Any, ...],
        is_secret: bool = False,
        is_suppressed: bool = False,
    ) -> None:
        _set_kind(self, kind)
        _set_values(self, values)
        _set_secret(self, is_secret)
        _set_suppressed(self, is_suppressed)

    def secret(self) -> Arg:
        """The same arg, marked: printed as <redacted>, and a secret header never follows a redirect
        elsewhere.
        """
        return Arg(self.kind, self.values, True, self.is_suppressed)

    def _fields(self) -> tuple[Any, ...]:
        return self.kind, self.values, self.is_secret, self.is_suppressed

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if isinstance(other, Arg) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an arg never changes, so {name!r} cannot be set: make another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an arg never changes, so {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return Arg, self._fields()

    def __repr__(self) -> str:
        # Imported here: the description needs the library's own rule of what is secret.
        from ._bridge.args import describe

        return f"<ntapi.Arg {describe(self)}>"


# They set the slots directly: __setattr__ refuses.
_set_kind = Arg.__dict__["kind"].__set__
_set_values = Arg.__dict__["values"].__set__
_set_secret = Arg.__dict__["is_secret"].__set__
_set_suppressed = Arg.__dict__["is_suppressed"].__set__


# The functions that make args, by what they are about: the URL, the body, headers, behaviour.


_MISSING: Any = object()


def url(name: str, value: Union[Scalar, Sequence[Optional[Scalar]], None]) -> Arg:
    """A query pair, percent-encoded. Repeats stay repeats and the order is kept.

    A list or tuple makes a pair of each of its values: `url("id", [7, 8])` is `id=7&id=8`.
    """
    if isinstance(value, float) and value - value != 0:
        # Infinite or NaN, which JSON cannot say.
        return _arg_of("url_double", _checked_name(name, "url"), value)
    return _pair_of("url", name, value)


def url_default(name: str, key: Optional[str] = None) -> Arg:
    """A query pair whose value is a default of the client, looked up when the request is made; none
    without one. `key` is the default's name, the same as the pair's unless given.
    """
    return _arg_of(
        "url_default", _checked_name(name, "url_default"), _checked_name(key or name, "url_default")
    )


def path(name: str, value: Optional[Scalar]) -> Arg:
    """Fills `{name}` in the command, percent-encoded: a value never adds a segment or a query.

    Fills `{name*}` with a path of many segments, `docs/a.md`, too: its slashes stay. A value that
    makes a segment `.` or `..` is an error: servers read these as steps, however they are encoded.
    """
    return _pair_of("path", name, value)


def form(name: str, value: Union[Scalar, Sequence[Optional[Scalar]], None]) -> Arg:
    """An application/x-www-form-urlencoded pair; the default method becomes POST.

    A list or tuple makes a pair of each of its values.
    """
    return _pair_of("form", name, value)


def multipart(
    name: str,
    content: Union[BytesLike, str, None],
    *,
    extension: Optional[str] = None,
    filename: Optional[str] = None,
    content_type: Optional[str] = None,
) -> Arg:
    """A multipart/form-data part: text as a field, bytes as a file; the default method becomes
    POST.

    Bytes are sent as the file `filename`, by default `NAME.EXTENSION`, by default `NAME.bin`. A
    `filename` of "" sends none: a field of bytes. Text with a `content_type` alone, JSON say, stays
    a field.
    """
    _checked_name(name, "multipart")
    if filename is None and content_type is None:
        if isinstance(content, str) and extension is None:
            return _arg_of("multipart", name, content)
        return _arg_of("multipart_data", name, bytes_of(content), options=(extension,))
    if filename is None:
        is_field = isinstance(content, str) and extension is None
        filename = "" if is_field else f"{name}.{extension or 'bin'}"
    return _arg_of(
        "multipart_named_data", name, bytes_of(content), options=(filename, content_type)
    )


def multipart_file(
    name: str,
    path: Optional[Path],
    *,
    filename: Optional[str] = None,
    content_type: Optional[str] = None,
) -> Arg:
    """A file as a multipart part, streamed from disk; `filename` is by default the path's last
    component.
    """
    name = _checked_name(name, "multipart_file")
    return _arg_of("multipart_file", name, _file_path(path), options=(filename, content_type))


def data(content: Union[BytesLike, str, None], content_type: Optional[str] = None) -> Arg:
    """The body, unchanged; application/octet-stream by default. The default method becomes POST."""
    return _arg_of("data", bytes_of(content), options=(content_type,))


def json(value: Any, options: Optional[DecodingOptions] = None) -> Arg:
    """A value as the body, application/json; the default method becomes POST.

    It takes what `json.dumps` takes, and what `Response.decode` makes: dataclasses,
    pydantic models, enums, dates, UUIDs and sets; a Decimal becomes a string. A member of a
    dataclass that is None is left out, None in a dictionary is null. `options`, such as the
    `decoding` of a service, say how keys and dates are written, these in the first of the formats.

    A member that is `UNSET` is left out, of a dictionary too. Where that is the default of a
    dataclass's member, its None is null: for a PATCH, which tells the two apart.

    It is written now, not later. Raises TypeError for what cannot be written, ValueError for NaN.
    """
    if value is None:
        return _arg_of("json", None)
    from json import dumps

    def write(unusual: Any) -> Any:
        from .decoding.encoding import plain

        return plain(unusual, options)

    def text(whole: Any) -> str:
        return dumps(whole, allow_nan=False, ensure_ascii=False, default=write)

    try:
        return _arg_of("json", text(value))
    except TypeError as error:
        from .decoding.encoding import UnsetError, without_unset

        if not isinstance(error, UnsetError):
            raise
    # Only a dictionary with UNSET in it pays for looking through all of them.
    return _arg_of("json", text(without_unset(value, write)))


def file(path: Optional[Path], content_type: Optional[str] = None) -> Arg:
    """A file as the body, streamed with constant memory; the default method becomes POST."""
    return _arg_of("file", _file_path(path), options=(content_type,))


def stream(
    content: Optional[StreamContent],
    length: Optional[int] = None,
    content_type: Optional[str] = None,
) -> Arg:
    """A stream as the body, pulled with constant memory, on a worker thread; the default method
    becomes POST.

    `content` is a file open for reading bytes, an iterable of bytes, or a function that is given a
    size and returns at most so many bytes, b"" at the end; for an `AsyncClient` also an async
    iterable of bytes, which runs on the loop of the request. A seekable file and an iterable that
    is not an iterator can be sent again for a redirect or a retry. The length of a seekable file is
    known: it is sent from where it is to its present end. Anything else is sent chunked without
    `length`. While a read blocks, its request does not end.
    """
    if content is None:
        return _arg_of("stream", None)
    from ._bodies import Source

    source = Source(content, length)
    length = -1 if source.length is None else source.length
    return _arg_of("stream", source, options=(length, content_type))


def download(path: Optional[Path] = _MISSING) -> Arg:
    """Writes the body of a successful response to a file, with constant memory, instead of keeping
    it in memory. Without a path it is a temporary file that only the user can read, and that is
    removed with the response: `Response.temporary_file`.

    The file appears under its name when it is whole, in the place of one that was there; until then
    the data is in a temporary file beside it. The body of an error stays in the response.
    """
    return Arg("download", ()) if path is _MISSING else _arg_of("download", _file_path(path))


def resume(resume_data: Optional[str]) -> Arg:
    """Continues a download that was cancelled or failed, in this process or another, of any
    language.

    The text is `Response.resume_data` or `Request.resume_data`. It has the URL and the file; give
    headers and credentials again. If the server's copy has changed, the download starts over.
    Keep the text where only those can write whom you trust.
    """
    return _arg_of("resume", _checked_string(resume_data, "resume data"))


def base_url(url: Optional[str]) -> Arg:
    """Replaces the whole URL before the query, command included, for this request.

    On another origin than the client's base URL, the client's own secrets are not sent: its secret
    args, and secret headers of the default `additionalHeaders`.
    """
    return _arg_of("base_url", _checked_string(url, "the base URL"))


def header(name: str, value: Optional[Scalar]) -> Arg:
    """Sets a header; the last one of a name wins."""
    return _pair_of("header", name, text_of(value, "header", name))


def add_header(name: str, value: Optional[Scalar]) -> Arg:
    """Appends one more header of a name beside those already there."""
    return _pair_of("add_header", name, text_of(value, "add_header", name))


def basic_auth(user: Optional[str], password: Optional[str]) -> Arg:
    """Sets the Authorization header to HTTP Basic credentials."""
    return _arg_of(
        "basic_auth", _checked_string(user, "the user"), _checked_string(password, "the password")
    )


def digest_auth(user: Optional[str], password: Optional[str]) -> Arg:
    """Answers the server's Digest challenge; the password itself is never sent.

    Each request is sent twice: without credentials and body, to get a nonce, and then with both. Of
    this and an Authorization header, the last one counts.
    """
    return _arg_of(
        "digest_auth", _checked_string(user, "the user"), _checked_string(password, "the password")
    )


def bearer(token: Optional[str]) -> Arg:
    """Sets the Authorization header to a bearer token."""
    return _arg_of("bearer", _checked_string(token, "the token"))


def timeout(seconds: Union[float, timedelta, None], clock: Union[ClockName, Clock] = "idle") -> Arg:
    """Sets one of the five timeouts: idle, connect, queue, attempt or total.

    Infinity switches it off.
    """
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float))):
        from datetime import timedelta

        if not isinstance(seconds, timedelta):
            raise TypeError(f"timeout has to be a number of seconds, not {type_name(seconds)}")
        seconds = seconds.total_seconds()
    from ._enums import Clock

    chosen = clock if isinstance(clock, Clock) else _member(Clock, clock)
    return _arg_of("timeout", chosen, None if seconds is None else float(seconds))


def retry(policy: Union[RetryPolicy, bool, None]) -> Arg:
    """Sends the request again after a failure that another attempt may fix.

    True is `RetryPolicy()`, False makes one attempt. Replaces the client's default `retry`. A
    request that is not safe to repeat is not sent again.
    """
    if policy is not None and not isinstance(policy, bool):
        from ._configuration import RetryPolicy

        if not isinstance(policy, RetryPolicy):
            raise TypeError(f"a RetryPolicy or a boolean is expected, not {type_name(policy)}")
    return _arg_of("retry", policy)


def rate_limiter(limiter: Optional[RateLimiter]) -> Arg:
    """Uses this limiter in place of the client's, for a method that has a limit of its own."""
    if limiter is not None:
        from ._configuration import RateLimiter

        if not isinstance(limiter, RateLimiter):
            raise TypeError(f"a RateLimiter or None is expected, not {type_name(limiter)}")
    return _arg_of("rate_limiter", limiter)


def interceptor(interceptor: Optional[Interceptor]) -> Arg:
    """Adds an interceptor to the request, inside those of the client."""
    if interceptor is not None:
        from ._interceptors import check_interceptor

        check_interceptor(interceptor)
    return _arg_of("interceptor", interceptor)


def idempotency_key(key: Optional[str] = _MISSING) -> Arg:
    """Sets the header Idempotency-Key, by which the server recognizes a request that it gets twice.

    Without `key` it is a random UUID, one for each request and the same for all its attempts, and
    only if the method is not idempotent.
    """
    if key is _MISSING:
        return _arg_of("idempotency_key")
    return _arg_of("idempotency_key", _checked_string(key, "the idempotency key"))


def method(name: Optional[str]) -> Arg:
    """Overrides the detected method."""
    return _arg_of("method", _checked_string(name, "the method"))


def cache_policy(policy: Union[CachePolicyName, CachePolicy, None]) -> Arg:
    """Sets the cache policy, `CachePolicy.RELOAD_REVALIDATING` or "reload_revalidating"."""
    from ._enums import CachePolicy

    if policy is None or isinstance(policy, CachePolicy):
        chosen = policy
    else:
        chosen = _member(CachePolicy, policy)
    return _arg_of("cache_policy", None if chosen is None else chosen.name.lower())


def option(name: Optional[str], value: Optional[Scalar] = _MISSING) -> Arg:
    """Sets an option: "raw_data", "ignore_http_errors" and the like, or a name of your own, which
    hooks can read.
    """
    _checked_string(name, "the option")
    if name is not None and name not in _OPTIONS:
        _refuse_misspelled(name)
    if value is _MISSING:
        return _arg_of("option", name)
    return _arg_of("option", name, text_of(value, "option", name or ""))


_OPTIONS = frozenset(
    {
        "allow_invalid_certificate",
        "bypass_authentication",
        "http_version",
        "ignore_http_errors",
        "maximum_failures",
        "maximum_redirects",
        "maximum_response_size",
        "raw_data",
        "reconnect",
    }
)
"""Those that the library knows. Any other is the program's own."""


def _refuse_misspelled(name: str) -> None:
    """Raises ValueError for an option that is nearly one of the library's."""
    letters = name.replace("_", "").lower()
    # Without difflib for a name that is clearly another.
    near = [
        known
        for known in _OPTIONS
        if known[0] == letters[:1] and abs(len(known.replace("_", "")) - len(letters)) <= 2
    ]
    if near:
        from ._checks import nearest

        plain = {known.replace("_", ""): known for known in near}
        found = nearest(letters, plain, cutoff=0.85)
        if found is not None:
            raise ValueError(f"there is no option {name!r}: did you mean {plain[found]!r}?")


def response_thread(place: Optional[PlaceLike]) -> Arg:
    """Says where the response handler runs: a `Thread`, a `Mailbox`, an executor or a function that
    takes a job.
    """
    return _arg_of("response_thread", _checked_place(place))


def upload_progress_thread(place: Optional[PlaceLike]) -> Arg:
    """Says where the upload progress handler runs."""
    return _arg_of("upload_progress_thread", _checked_place(place))


def download_progress_thread(place: Optional[PlaceLike]) -> Arg:
    """Says where the download progress handler runs."""
    return _arg_of("download_progress_thread", _checked_place(place))


def data_thread(place: Optional[PlaceLike]) -> Arg:
    """Says where the data handler runs; by default, where the response handler runs."""
    return _arg_of("data_thread", _checked_place(place))


def decision_thread(place: Optional[PlaceLike]) -> Arg:
    """Says where the decision handler runs; by default, where the response handler runs."""
    return _arg_of("decision_thread", _checked_place(place))


def _member(members: Any, name: str) -> Any:
    check_string(name, f"a {members.__name__}")
    try:
        return members[name.upper()]
    except KeyError:
        known = ", ".join(repr(member.name.lower()) for member in members)
        raise ValueError(f"{name!r} is none of {known}") from None


# Lists of args.


GET = Arg("method", ("GET",))
POST = Arg("method", ("POST",))
PUT = Arg("method", ("PUT",))
PATCH = Arg("method", ("PATCH",))
DELETE = Arg("method", ("DELETE",))


def flatten(args: Iterable[Args]) -> list[Arg]:
    """One flat list, in order, without the suppressed args."""
    result: list[Arg] = []
    for item in args:
        if item is None:
            continue
        if isinstance(item, Arg):
            if not item.is_suppressed:
                result.append(item)
        elif isinstance(item, (list, tuple)) or is_list_like(item):
            items: Any = item
            result.extend(flatten(items))
        else:
            raise no_arg(item)
    return result


# The values of args: checked where the arg is made, and made what JSON or C can carry.


_PLAIN = frozenset({str, int, float, bool, type(None)})


def _arg_of(kind: str, *needed: Any, options: tuple[Any, ...] = ()) -> Arg:
    """An arg that is suppressed when one of the needed values is None."""
    for value in needed + options:
        if isinstance(value, str):
            check_text(
                value, f"the {kind} arg {needed[0]!r}" if len(needed) > 1 else f"the {kind} arg"
            )
    return Arg(kind, needed + options, False, any(value is None for value in needed))


def _pair_of(kind: str, name: str, value: Any) -> Arg:
    """An arg of a name and a value, or a list of values where the kind has such pairs."""
    if type(name) is str and type(value) is str and name.isascii() and value.isascii():
        # The usual, which needs no check.
        return Arg(kind, (name, value))
    if isinstance(value, (list, tuple)) and kind in ("url", "form"):
        # A pair for each, in order. One of None is left out, as a single one is.
        scalars = (_scalar_of(item, kind, _checked_name(name, kind)) for item in value)
        pairs = tuple(item for item in scalars if item is not None)
        return Arg(kind, (name, pairs), False, not pairs)
    return _arg_of(kind, _checked_name(name, kind), _scalar_of(value, kind, name))


def _checked_name(name: str, kind: str) -> str:
    """The name in an arg, which has to be a string."""
    check_string(name, f"the name of a {kind} arg")
    return name


def _checked_string(value: Optional[str], what: str) -> Optional[str]:
    """A value that has to be a string."""
    if value is not None:
        check_string(value, what)
    return value


def _file_path(path: Optional[Path]) -> Optional[str]:
    return None if path is None else _checked_string(os.fspath(path), "a file's path")


def _checked_place(place: Optional[PlaceLike]) -> Optional[PlaceLike]:
    if place is not None:
        from ._places import check_place

        check_place(place)
    return place


def _scalar_of(value: Optional[Scalar], kind: str, name: str) -> Optional[Scalar]:
    """A number that JSON can carry to the core, which writes it; anything else as text."""
    if type(value) not in _PLAIN:
        from enum import Enum

        if isinstance(value, Enum):
            value = value.value
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, float):
        return value
    if hasattr(value, "isoformat"):
        from .decoding.encoding import plain

        # As the core writes its own dates.
        return str(plain(value, None))
    raise TypeError(
        f"the {kind} arg {name!r} has to be a string, a number, a boolean, a date or an enum of "
        f"these, not {type_name(value)}"
    )


def text_of(value: Optional[Scalar], kind: str, name: str) -> Optional[str]:
    """The text of a value."""
    if type(value) is str:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    scalar = _scalar_of(value, kind, name)
    return None if scalar is None else str(scalar)


def bytes_of(content: Union[BytesLike, str, None]) -> Optional[bytes]:
    """Bytes that nobody changes any more; text as UTF-8."""
    if content is None or isinstance(content, bytes):
        return content
    if isinstance(content, str):
        check_text(content, "the text")
        return content.encode()
    if isinstance(content, (bytearray, memoryview)):
        return bytes(content)
    # bytes(5) would be five zeros.
    raise TypeError(f"bytes or a string are expected, not {type_name(content)}")


def __getattr__(name: str) -> Any:
    if name == "Args":
        from ._types import Args

        return Args
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
