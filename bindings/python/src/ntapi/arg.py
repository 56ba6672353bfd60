"""The functions that make args. Each is also a name of the package: `ntapi.url("q", "London")`.

A value of None suppresses the arg, so that optional parameters need no `if`.
"""

from __future__ import annotations

from ._arg import (
    Arg,
    arg_of,
    bytes_of,
    checked_name,
    checked_place,
    checked_string,
    file_path,
    pair_of,
    text_of,
)
from ._checks import check_string, type_name

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
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

_UNSET: Any = object()


def url(name: str, value: Union[Scalar, Sequence[Optional[Scalar]], None]) -> Arg:
    """A query pair, percent-encoded. Repeats stay repeats and the order is kept.

    A list or tuple makes a pair of each of its values: `url("id", [7, 8])` is `id=7&id=8`.
    """
    if isinstance(value, float) and value - value != 0:
        # Infinite or NaN, which JSON cannot say.
        return arg_of("url_double", checked_name(name, "url"), value)
    return pair_of("url", name, value)


def url_default(name: str, key: Optional[str] = None) -> Arg:
    """A query pair whose value is a default of the client, looked up when the request is made; none
    without one. `key` is the default's name, the same as the pair's unless given.
    """
    return arg_of(
        "url_default", checked_name(name, "url_default"), checked_name(key or name, "url_default")
    )


def path(name: str, value: Optional[Scalar]) -> Arg:
    """Fills `{name}` in the command, percent-encoded: a value never adds a segment or a query.

    Fills `{name*}` with a path of many segments, `docs/a.md`, too: its slashes stay. A value that
    makes a segment `.` or `..` is an error: servers read these as steps, however they are encoded.
    """
    return pair_of("path", name, value)


def form(name: str, value: Union[Scalar, Sequence[Optional[Scalar]], None]) -> Arg:
    """An application/x-www-form-urlencoded pair; the default method becomes POST.

    A list or tuple makes a pair of each of its values.
    """
    return pair_of("form", name, value)


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
    checked_name(name, "multipart")
    if filename is None and content_type is None:
        if isinstance(content, str) and extension is None:
            return arg_of("multipart", name, content)
        return arg_of("multipart_data", name, bytes_of(content), options=(extension,))
    if filename is None:
        is_field = isinstance(content, str) and extension is None
        filename = "" if is_field else f"{name}.{extension or 'bin'}"
    return arg_of("multipart_named_data", name, bytes_of(content), options=(filename, content_type))


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
    name = checked_name(name, "multipart_file")
    return arg_of("multipart_file", name, file_path(path), options=(filename, content_type))


def data(content: Union[BytesLike, str, None], content_type: Optional[str] = None) -> Arg:
    """The body, unchanged; application/octet-stream by default. The default method becomes POST."""
    return arg_of("data", bytes_of(content), options=(content_type,))


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
        return arg_of("json", None)
    from json import dumps

    def write(unusual: Any) -> Any:
        from .decoding.encoding import plain

        return plain(unusual, options)

    def text(whole: Any) -> str:
        return dumps(whole, allow_nan=False, ensure_ascii=False, default=write)

    try:
        return arg_of("json", text(value))
    except TypeError as error:
        from .decoding.encoding import UnsetError, without_unset

        if not isinstance(error, UnsetError):
            raise
    # Only a dictionary with UNSET in it pays for looking through all of them.
    return arg_of("json", text(without_unset(value, write)))


def file(path: Optional[Path], content_type: Optional[str] = None) -> Arg:
    """A file as the body, streamed with constant memory; the default method becomes POST."""
    return arg_of("file", file_path(path), options=(content_type,))


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
        return arg_of("stream", None)
    from ._bodies import Source

    source = Source(content, length)
    length = -1 if source.length is None else source.length
    return arg_of("stream", source, options=(length, content_type))


_NO_PATH: Any = object()


def download(path: Optional[Path] = _NO_PATH) -> Arg:
    """Writes the body of a successful response to a file, with constant memory, instead of keeping
    it in memory. Without a path it is a temporary file that only the user can read, and that is
    removed with the response: `Response.temporary_file`.

    The file appears under its name when it is whole, in the place of one that was there; until then
    the data is in a temporary file beside it. The body of an error stays in the response.
    """
    return Arg("download", ()) if path is _NO_PATH else arg_of("download", file_path(path))


def resume(resume_data: Optional[str]) -> Arg:
    """Continues a download that was cancelled or failed, in this process or another, of any
    language.

    The text is `Response.resume_data` or `Request.resume_data`. It has the URL and the file; give
    headers and credentials again. If the server's copy has changed, the download starts over.
    """
    return arg_of("resume", checked_string(resume_data, "resume data"))


def base_url(url: Optional[str]) -> Arg:
    """Replaces the whole URL before the query, command included, for this request."""
    return arg_of("base_url", checked_string(url, "the base URL"))


def header(name: str, value: Optional[Scalar]) -> Arg:
    """Sets a header; the last one of a name wins."""
    return pair_of("header", name, text_of(value, "header", name))


def add_header(name: str, value: Optional[Scalar]) -> Arg:
    """Appends one more header of a name beside those already there."""
    return pair_of("add_header", name, text_of(value, "add_header", name))


def basic_auth(user: Optional[str], password: Optional[str]) -> Arg:
    """Sets the Authorization header to HTTP Basic credentials."""
    return arg_of(
        "basic_auth", checked_string(user, "the user"), checked_string(password, "the password")
    )


def digest_auth(user: Optional[str], password: Optional[str]) -> Arg:
    """Answers the server's Digest challenge; the password itself is never sent.

    Each request is sent twice: without credentials and body, to get a nonce, and then with both. Of
    this and an Authorization header, the last one counts.
    """
    return arg_of(
        "digest_auth", checked_string(user, "the user"), checked_string(password, "the password")
    )


def bearer(token: Optional[str]) -> Arg:
    """Sets the Authorization header to a bearer token."""
    return arg_of("bearer", checked_string(token, "the token"))


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
    return arg_of("timeout", chosen, None if seconds is None else float(seconds))


def retry(policy: Union[RetryPolicy, bool, None]) -> Arg:
    """Sends the request again after a failure that another attempt may fix.

    True is `RetryPolicy()`, False makes one attempt. Replaces the client's default `retry`. A
    request that is not safe to repeat is not sent again.
    """
    if policy is not None and not isinstance(policy, bool):
        from ._configuration import RetryPolicy

        if not isinstance(policy, RetryPolicy):
            raise TypeError(f"a RetryPolicy or a boolean is expected, not {type_name(policy)}")
    return arg_of("retry", policy)


def rate_limiter(limiter: Optional[RateLimiter]) -> Arg:
    """Uses this limiter in place of the client's, for a method that has a limit of its own."""
    if limiter is not None:
        from ._configuration import RateLimiter

        if not isinstance(limiter, RateLimiter):
            raise TypeError(f"a RateLimiter or None is expected, not {type_name(limiter)}")
    return arg_of("rate_limiter", limiter)


def interceptor(interceptor: Optional[Interceptor]) -> Arg:
    """Adds an interceptor to the request, inside those of the client."""
    if interceptor is not None:
        from ._interceptors import check_interceptor

        check_interceptor(interceptor)
    return arg_of("interceptor", interceptor)


def idempotency_key(key: Optional[str] = _UNSET) -> Arg:
    """Sets the header Idempotency-Key, by which the server recognizes a request that it gets twice.

    Without `key` it is a random UUID, one for each request and the same for all its attempts, and
    only if the method is not idempotent.
    """
    if key is _UNSET:
        return arg_of("idempotency_key")
    return arg_of("idempotency_key", checked_string(key, "the idempotency key"))


def method(name: Optional[str]) -> Arg:
    """Overrides the detected method."""
    return arg_of("method", checked_string(name, "the method"))


def cache_policy(policy: Union[CachePolicyName, CachePolicy, None]) -> Arg:
    """Sets the cache policy, `CachePolicy.RELOAD_REVALIDATING` or "reload_revalidating"."""
    from ._enums import CachePolicy

    if policy is None or isinstance(policy, CachePolicy):
        chosen = policy
    else:
        chosen = _member(CachePolicy, policy)
    return arg_of("cache_policy", None if chosen is None else chosen.name.lower())


def option(name: Optional[str], value: Optional[Scalar] = _UNSET) -> Arg:
    """Sets an option: "raw_data", "ignore_http_errors" and the like, or a name of your own, which
    hooks can read.
    """
    checked_string(name, "the option")
    if name is not None and name not in _OPTIONS:
        _refuse_misspelled(name)
    if value is _UNSET:
        return arg_of("option", name)
    return arg_of("option", name, text_of(value, "option", name or ""))


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
    return arg_of("response_thread", checked_place(place))


def upload_progress_thread(place: Optional[PlaceLike]) -> Arg:
    """Says where the upload progress handler runs."""
    return arg_of("upload_progress_thread", checked_place(place))


def download_progress_thread(place: Optional[PlaceLike]) -> Arg:
    """Says where the download progress handler runs."""
    return arg_of("download_progress_thread", checked_place(place))


def data_thread(place: Optional[PlaceLike]) -> Arg:
    """Says where the data handler runs; by default, where the response handler runs."""
    return arg_of("data_thread", checked_place(place))


def decision_thread(place: Optional[PlaceLike]) -> Arg:
    """Says where the decision handler runs; by default, where the response handler runs."""
    return arg_of("decision_thread", checked_place(place))


def _member(members: Any, name: str) -> Any:
    check_string(name, f"a {members.__name__}")
    try:
        return members[name.upper()]
    except KeyError:
        known = ", ".join(repr(member.name.lower()) for member in members)
        raise ValueError(f"{name!r} is none of {known}") from None


def __getattr__(name: str) -> Any:
    if name == "Args":
        from ._types import Args

        return Args
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
