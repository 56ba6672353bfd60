"""The functions that make args. Each is also a name of the package: `ntapi.url("q", "London")`.

An arg with the value None is left out, so optional parameters need no `if`.
"""

from __future__ import annotations

import os

from ._args import Arg, bytes_of, scalar_of, text_of
from ._runtime.checks import check_string, check_text, type_name

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from typing import Any, Optional, Union

    from ._bridge.enums import CachePolicy, Clock
    from ._config import RetryPolicy
    from ._interceptors import Interceptor
    from ._rate_limits import RateLimiter
    from ._runtime.types import PlaceLike, StreamContent
    from ._types import Args, BytesLike, CachePolicyName, ClockName, Path, Scalar
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
    "query",
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


# The functions that make args, in order: the URL, the body, headers, behaviour.


_MISSING: Any = object()


def url(name: str, value: Union[Scalar, Sequence[Optional[Scalar]], None]) -> Arg:
    """A query pair, percent-encoded. Repeated names and the order are kept.

    A list or tuple makes a pair for each of its values: `url("id", [7, 8])` is `id=7&id=8`.
    """
    if isinstance(value, float) and value - value != 0:
        # Infinite or NaN, which JSON cannot represent.
        return _arg_of("url_double", _checked_name(name, "url"), value)
    return _pair_of("url", name, value)


query = url
"""Another name of `url`."""


def url_default(name: str, key: Optional[str] = None) -> Arg:
    """A query pair whose value is a default of the client, looked up when the request is made. Left
    out if there is no such default. `key` is the default's name, `name` if not given.
    """
    return _arg_of(
        "url_default", _checked_name(name, "url_default"), _checked_name(key or name, "url_default")
    )


def path(name: str, value: Optional[Scalar]) -> Arg:
    """Fills `{name}` in the command, percent-encoded: a value never adds a segment or a query.

    In `{name*}` the slashes stay, for a path of many segments such as `docs/a.md`. A value that
    makes a segment `.` or `..` is an error, because servers follow these, however they are encoded.
    """
    return _pair_of("path", name, value)


def form(name: str, value: Union[Scalar, Sequence[Optional[Scalar]], None]) -> Arg:
    """An application/x-www-form-urlencoded pair; the default method becomes POST.

    A list or tuple makes a pair for each of its values.
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

    The file is sent as `filename`; by default as `name` with the `extension`, or with `.bin`. The
    `filename` "" makes a field of bytes, without a file name. Text with only a `content_type`, such
    as JSON, stays a field.
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

    It takes what `json.dumps` takes, and what `Response.decode` makes: dataclasses, pydantic
    models, enums, dates, UUIDs and sets. A Decimal becomes a string. None is left out in a
    dataclass, and is null in a dictionary. `options`, such as the `decoding` of a service, say how
    keys and dates are written; dates use the first of the formats.

    A member that is `UNSET` is left out, also in a dictionary. If a dataclass's member has the
    default `UNSET`, its None is null. A PATCH needs this difference.

    The value is written immediately. Raises TypeError for what cannot be written, ValueError for
    NaN.
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
    except TypeError:
        # Perhaps a dictionary has a member that is UNSET, or a key that json.dumps does not know.
        pass
    from .decoding.encoding import json_value

    return _arg_of("json", text(json_value(value, options)))


def file(path: Optional[Path], content_type: Optional[str] = None) -> Arg:
    """A file as the body, streamed with constant memory; the default method becomes POST."""
    return _arg_of("file", _file_path(path), options=(content_type,))


def stream(
    content: Optional[StreamContent],
    length: Optional[int] = None,
    content_type: Optional[str] = None,
) -> Arg:
    """A stream as the body, read with constant memory on a worker thread; the default method
    becomes POST.

    `content` is a file open for reading bytes, an iterable of bytes, or a function that gets a size
    and returns at most that many bytes, b"" at the end. For an `AsyncClient` it may also be an
    async iterable of bytes, which runs on the loop of the request. A seekable file, and an iterable
    that is not an iterator, can be sent again after a redirect or for a retry. A seekable file is
    sent from its position to its present end, so its length is known. Anything else is sent
    chunked, unless `length` is given. A request does not end while a read blocks.
    """
    if content is None:
        return _arg_of("stream", None)
    from ._runtime.bodies import Source

    source = Source(content, length)
    length = -1 if source.length is None else source.length
    return _arg_of("stream", source, options=(length, content_type))


def download(path: Optional[Path] = _MISSING) -> Arg:
    """Writes the body of a successful response to a file, with constant memory. Without a path this
    is a temporary file that only the user can read, and that is removed with the response:
    `Response.temporary_file`.

    The file appears under its name, and replaces an existing one, when it is complete; until then
    the data is in a temporary file beside it. The body of an error stays in the response.
    """
    return Arg("download", ()) if path is _MISSING else _arg_of("download", _file_path(path))


def resume(resume_data: Optional[str]) -> Arg:
    """Continues a download that was cancelled or failed, in this or another process, in any
    language.

    The text is `Response.resume_data` or `Request.resume_data`. It contains the URL and the file;
    pass headers and credentials again. If the server's copy has changed, the download starts over.
    Keep the text where only trusted users can write.
    """
    return _arg_of("resume", _checked_string(resume_data, "resume data"))


def base_url(url: Optional[str]) -> Arg:
    """Replaces the whole URL before the query, including the command, for this request.

    If its origin is not that of the client's base URL, the client's own secrets are not sent: its
    secret args, and secret headers of the default `additionalHeaders`.
    """
    return _arg_of("base_url", _checked_string(url, "the base URL"))


def header(name: str, value: Optional[Scalar]) -> Arg:
    """Sets a header; the last one of a name wins."""
    return _pair_of("header", name, text_of(value, "header", name))


def add_header(name: str, value: Optional[Scalar]) -> Arg:
    """Adds another header of the same name."""
    return _pair_of("add_header", name, text_of(value, "add_header", name))


def basic_auth(user: Optional[str], password: Optional[str]) -> Arg:
    """Sets the Authorization header to HTTP Basic credentials."""
    return _arg_of(
        "basic_auth", _checked_string(user, "the user"), _checked_string(password, "the password")
    )


def digest_auth(user: Optional[str], password: Optional[str]) -> Arg:
    """Answers the server's Digest challenge; the password itself is never sent.

    Each request is sent twice: without credentials and body to get a nonce, and then with both. If
    there is also an Authorization header, the last of the two args counts.
    """
    return _arg_of(
        "digest_auth", _checked_string(user, "the user"), _checked_string(password, "the password")
    )


def bearer(token: Optional[str]) -> Arg:
    """Sets the Authorization header to a bearer token."""
    return _arg_of("bearer", _checked_string(token, "the token"))


def timeout(seconds: Union[float, timedelta, None], clock: Union[ClockName, Clock] = "idle") -> Arg:
    """Sets one of the five timeouts, in seconds: idle, connect, queue, attempt or total.

    Infinity switches it off.
    """
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float))):
        from datetime import timedelta

        if not isinstance(seconds, timedelta):
            raise TypeError(f"timeout has to be a number of seconds, not {type_name(seconds)}")
        seconds = seconds.total_seconds()
    from ._bridge.enums import Clock

    chosen = clock if isinstance(clock, Clock) else _member(Clock, clock)
    return _arg_of("timeout", chosen, None if seconds is None else float(seconds))


def retry(policy: Union[RetryPolicy, bool, None]) -> Arg:
    """Sends the request again after a failure that another attempt may fix.

    True is `RetryPolicy()`; False means one attempt. Replaces the client's default `retry`. A
    request that is not safe to repeat is not sent again.
    """
    if policy is not None and not isinstance(policy, bool):
        from ._config import RetryPolicy

        if not isinstance(policy, RetryPolicy):
            raise TypeError(f"a RetryPolicy or a boolean is expected, not {type_name(policy)}")
    return _arg_of("retry", policy)


def rate_limiter(limiter: Optional[RateLimiter]) -> Arg:
    """Uses this limiter in place of the client's, for a call that has its own limit."""
    if limiter is not None:
        from ._rate_limits import RateLimiter

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

    Without `key`, requests whose method is not idempotent get a random UUID, the same for all
    attempts of a request.
    """
    if key is _MISSING:
        return _arg_of("idempotency_key")
    return _arg_of("idempotency_key", _checked_string(key, "the idempotency key"))


def method(name: Optional[str]) -> Arg:
    """Sets the method, instead of the one that follows from the args."""
    return _arg_of("method", _checked_string(name, "the method"))


def cache_policy(policy: Union[CachePolicyName, CachePolicy, None]) -> Arg:
    """Sets the cache policy, for example `CachePolicy.RELOAD_REVALIDATING` or
    "reload_revalidating".
    """
    from ._bridge.enums import CachePolicy

    if policy is None or isinstance(policy, CachePolicy):
        chosen = policy
    else:
        chosen = _member(CachePolicy, policy)
    return _arg_of("cache_policy", None if chosen is None else chosen.name.lower())


def option(name: Optional[str], value: Optional[Scalar] = _MISSING) -> Arg:
    """Sets an option such as "raw_data" or "ignore_http_errors", or one of your own, which hooks
    can read.
    """
    _checked_string(name, "the option")
    if name is not None and name not in _OPTIONS:
        from ._advice import refuse_misspelled_option

        refuse_misspelled_option(name, _OPTIONS)
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
        "plain_exchange",
        "raw_data",
        "reconnect",
    }
)
"""The library's options. Any other option is the program's own."""


def response_thread(place: Optional[PlaceLike]) -> Arg:
    """Sets where the response handler runs: a `Thread`, a `Mailbox`, an executor, or a function
    that takes a job.
    """
    return _arg_of("response_thread", _checked_place(place))


def upload_progress_thread(place: Optional[PlaceLike]) -> Arg:
    """Sets where the upload progress handler runs."""
    return _arg_of("upload_progress_thread", _checked_place(place))


def download_progress_thread(place: Optional[PlaceLike]) -> Arg:
    """Sets where the download progress handler runs."""
    return _arg_of("download_progress_thread", _checked_place(place))


def data_thread(place: Optional[PlaceLike]) -> Arg:
    """Sets where the data handler runs; by default where the response handler runs."""
    return _arg_of("data_thread", _checked_place(place))


def decision_thread(place: Optional[PlaceLike]) -> Arg:
    """Sets where the decision handler runs; by default where the response handler runs."""
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


# The values of args are checked where the arg is made, and converted to what JSON or C can carry.


def _arg_of(kind: str, *needed: Any, options: tuple[Any, ...] = ()) -> Arg:
    """An arg that is suppressed if one of the needed values is None."""
    for value in needed + options:
        if isinstance(value, str):
            check_text(
                value, f"the {kind} arg {needed[0]!r}" if len(needed) > 1 else f"the {kind} arg"
            )
    return Arg(kind, needed + options, False, any(value is None for value in needed))


def _pair_of(kind: str, name: str, value: Any) -> Arg:
    """An arg with a name and a value; for kinds that allow it, also with a list of values."""
    if type(name) is str and type(value) is str and name.isascii() and value.isascii():
        # The usual case needs no check.
        return Arg(kind, (name, value))
    if isinstance(value, (list, tuple)) and kind in ("url", "form"):
        # A pair for each value, in order. None is left out, as for a single value.
        scalars = (scalar_of(item, kind, _checked_name(name, kind)) for item in value)
        pairs = tuple(item for item in scalars if item is not None)
        return Arg(kind, (name, pairs), False, not pairs)
    return _arg_of(kind, _checked_name(name, kind), scalar_of(value, kind, name))


def _checked_name(name: str, kind: str) -> str:
    """The name in an arg. Raises TypeError for anything but a string."""
    check_string(name, f"the name of a {kind} arg")
    return name


def _checked_string(value: Optional[str], what: str) -> Optional[str]:
    """A value of an arg. Raises TypeError for anything but a string."""
    if value is not None:
        check_string(value, what)
    return value


def _file_path(path: Optional[Path]) -> Optional[str]:
    return None if path is None else _checked_string(os.fspath(path), "a file's path")


def _checked_place(place: Optional[PlaceLike]) -> Optional[PlaceLike]:
    if place is not None:
        from ._runtime.places import check_place

        check_place(place)
    return place


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "Args":
            from ._types import Args

            return Args
        from ._advice import missing_name

        raise missing_name(__name__, name, __all__)
