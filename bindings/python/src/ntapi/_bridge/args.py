"""Hands args to C: text in one call, bytes and streams by calls of their own, the order kept."""

from __future__ import annotations

import ctypes

from .._logging import follow_levels
from ..arg import Arg
from .cpython import INTERPRETER, quick
from .library import lib, take_text
from .signatures import Status

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Callable, Optional

    from .._client import BaseClient
    from .._errors import ApiError
    from .._types import Args


_OK = Status.OK

THREAD_KINDS = frozenset(
    {
        "response_thread",
        "upload_progress_thread",
        "download_progress_thread",
        "data_thread",
        "decision_thread",
    }
)
"""Kinds that are resolved in Python, as only Python knows its threads, loops and executors."""
_RESOLVED = THREAD_KINDS | {"interceptor"}
"""Kinds that are not written into C's list from here."""


_LONG = frozenset({"stream", "download", "resume", "interceptor"})
"""Kinds of args that Python keeps something for: a source, a file to resume, a function. They have
no fast start.
"""


def gather_fast(args: Iterable[Args], flat: list[Arg]) -> bool:
    """Gathers args in `flat`; False when the request has no fast start: because of a kind that
    Python keeps something for, or something that is no arg or can be read only once.
    """
    for item in args:
        if isinstance(item, Arg):
            if item.is_suppressed:
                continue
            if item.kind in _LONG:
                return False
            flat.append(item)
        elif isinstance(item, (list, tuple)):
            if not gather_fast(item, flat):
                return False
        elif item is not None:
            return False
    return True


def append_args(pointer: int, args: Iterable[Arg], tokens: list[int]) -> None:
    """Appends args to a C list.

    `tokens` gets the tokens of the streams, to be forgotten when the request is done. Raises
    ApiError, "invalid request", for what C refuses.
    """
    batch: list[list[Any]] = []
    for arg in args:
        if arg.is_suppressed or arg.kind in _RESOLVED:
            continue
        if arg.kind in _SIMPLE and _append_simply(pointer, arg, batch):
            if arg.is_secret:
                lib.ntapi_args_mark_secret(pointer)
            continue
        text = _as_json(arg)
        if text is not None:
            batch.append(text)
        else:
            _append_batch(pointer, batch)
            _append_directly(pointer, arg, tokens)
        if arg.is_secret:
            _append_batch(pointer, batch)
            lib.ntapi_args_mark_secret(pointer)
    _append_batch(pointer, batch)


def _append_simply(pointer: int, arg: Arg, batch: list[list[Any]]) -> bool:
    """Appends plain values by a call of its own, which costs less than JSON; False for anything
    else, which JSON says better.
    """
    values: list[Any] = []
    for value in arg.values:
        if type(value) is str:
            if "\0" in value:
                return False
            # What is not UTF-8 is refused by C, and JSON says what is wrong with it.
            value = value.encode() if value.isascii() else value.encode("utf-8", "surrogatepass")
        elif type(value) is int:
            value = b"%d" % value
        elif value is not None and arg.kind != "timeout":
            return False
        values.append(value)
    if arg.kind == "timeout":
        values[0] = values[0].value
    function = _SIMPLE[arg.kind].get(len(values))
    if function is None:
        return False
    _append_batch(pointer, batch)
    return function(pointer, *values) == _OK


def _as_json(arg: Arg) -> list[Any] | None:
    """The arg as ntapi_args_append_json wants it; None when it has to be appended by a call of its
    own.
    """
    kind, values = arg.kind, arg.values
    if values and type(values[-1]) is tuple:
        return None
    if kind == "timeout":
        clock, seconds = values
        # Neither infinite nor NaN, which JSON cannot say.
        return ["timeout", seconds, clock.name.lower()] if seconds - seconds == 0 else None
    if kind == "retry":
        (policy,) = values
        return [kind, policy if isinstance(policy, bool) else policy.as_json()]
    if kind == "file":
        return ["file", _without_none(path=values[0], content_type=values[1])]
    if kind == "multipart_file":
        name, path, filename, content_type = values
        return [kind, name, _without_none(path=path, filename=filename, content_type=content_type)]
    return None if kind in _DIRECT else [kind, *values]


def _without_none(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _append_batch(pointer: int, batch: list[list[Any]]) -> None:
    """Appends and empties the batch, in one call."""
    if not batch:
        return
    from .json import encode

    text = encode(batch).encode()
    error = ctypes.c_void_p()
    status = lib.ntapi_args_append_json(pointer, text, len(text), ctypes.byref(error))
    if status != Status.OK:
        raise _refusal(error.value, "an arg cannot be sent")
    batch.clear()


def _append_directly(pointer: int, arg: Arg, tokens: list[int]) -> None:
    append = _DIRECT.get(arg.kind)
    if append is None:
        # A list of values.
        name, values = arg.values
        append_args(
            pointer, [Arg(arg.kind, (name, value), arg.is_secret) for value in values], tokens
        )
        return
    if append(pointer, tokens, *arg.values) != Status.OK:
        raise _refusal(None, f"the {arg.kind} arg cannot be sent: its texts have to be UTF-8")


def _append_url_double(pointer: int, _: list[int], name: str, value: float) -> int:
    return int(lib.ntapi_args_url_double(pointer, c_text(name), value))


def _append_switch(pointer: int, name: Optional[bytes]) -> int:
    if name is None:
        return Status.OK
    return int(lib.ntapi_args_option(pointer, name, b""))


def _append_timeout(pointer: int, _: list[int], clock: Any, seconds: float) -> int:
    return int(lib.ntapi_args_timeout(pointer, clock.value, seconds))


def _append_cache_policy(pointer: int, _: list[int], policy: str) -> int:
    from .._enums import CachePolicy

    return int(lib.ntapi_args_cache_policy(pointer, CachePolicy[policy.upper()].value))


def _append_data(pointer: int, _: list[int], content: bytes, content_type: str | None) -> int:
    return int(lib.ntapi_args_data(pointer, content, len(content), c_text(content_type)))


def _append_multipart_data(
    pointer: int, tokens: list[int], name: str, content: bytes, extension: str | None
) -> int:
    filename = f"{name}.{extension or 'bin'}"
    return _append_multipart_named_data(pointer, tokens, name, content, filename, None)


def _append_multipart_named_data(
    pointer: int, _: list[int], name: str, content: bytes, filename: str, content_type: str | None
) -> int:
    return int(
        lib.ntapi_args_multipart_data(
            pointer, c_text(name), content, len(content), c_text(filename), c_text(content_type)
        )
    )


_json_text = quick("ntapi_args_json_text") if INTERPRETER else None


_DIGITS_AS_ZEROS = bytes(ord("0") if chr(byte) in "0123456789" else 32 for byte in range(256))
_LONG_NUMBER = b"0" * 19
"""Digits that may be an integer beyond 64 bits, once all digits are zeros."""


def _append_json(pointer: int, _: list[int], text: str) -> int:
    content = text.encode("utf-8", "surrogatepass")
    if _LONG_NUMBER in content.translate(_DIGITS_AS_ZEROS):
        # Beyond 64 bits the core's integers become doubles; Python's are exact and stay so.
        return int(lib.ntapi_args_data(pointer, content, len(content), b"application/json"))
    if _json_text is not None and _json_text(pointer, content, len(content)) == _OK:
        return _OK
    # It says what is wrong with the text.
    error = ctypes.c_void_p()
    value = lib.ntapi_json_parse(content, len(content), ctypes.byref(error))
    if not value:
        raise _refusal(error.value, "the json arg cannot be sent")
    try:
        return int(lib.ntapi_args_json(pointer, value))
    finally:
        lib.ntapi_json_free(value)


def _append_rate_limiter(pointer: int, _: list[int], limiter: Any) -> int:
    return int(lib.ntapi_args_rate_limiter(pointer, limiter._handle.pointer))


def _append_stream(
    pointer: int, tokens: list[int], source: Any, length: int, content_type: str | None
) -> int:
    from .._bodies import NO_DESTROY, NO_REWIND, read_function, register_source, rewind_function

    token = register_source(source)
    tokens.append(token)
    rewind = rewind_function if source.can_rewind else NO_REWIND
    # No destroy function: the source is forgotten with its request, after which C never reads.
    return int(
        lib.ntapi_args_stream(
            pointer, read_function, rewind, length, c_text(content_type), token, NO_DESTROY
        )
    )


def _refusal(error: int | None, fallback: str) -> ApiError:
    """What to raise: an error of C's, which is freed."""
    from .._errors import take_error

    return take_error(error, fallback)


def c_text(text: str | None) -> bytes | None:
    """A text for C. What C cannot hold is an error here, before C would cut the text short."""
    if text is None:
        return None
    if "\0" in text:
        raise _refusal(None, "a text contains a NUL character")
    return text.encode("utf-8", "surrogatepass")


_DIRECT: dict[str, Callable[..., int]] = {
    "url_double": _append_url_double,
    "timeout": _append_timeout,
    "cache_policy": _append_cache_policy,
    "data": _append_data,
    "multipart_data": _append_multipart_data,
    "multipart_named_data": _append_multipart_named_data,
    "json": _append_json,
    "rate_limiter": _append_rate_limiter,
    "stream": _append_stream,
}


# By kind, and by how many values it has.
_SIMPLE: dict[str, dict[int, Callable[..., int]]] = {
    "url": {2: lib.ntapi_args_url},
    "path": {2: lib.ntapi_args_path},
    "form": {2: lib.ntapi_args_form},
    "header": {2: lib.ntapi_args_header},
    "add_header": {2: lib.ntapi_args_add_header},
    "timeout": {2: lib.ntapi_args_timeout},
    "option": {1: _append_switch, 2: lib.ntapi_args_option},
    "url_default": {2: lib.ntapi_args_url_default},
    "multipart": {2: lib.ntapi_args_multipart},
    "base_url": {1: lib.ntapi_args_base_url},
    "basic_auth": {2: lib.ntapi_args_basic_auth},
    "digest_auth": {2: lib.ntapi_args_digest_auth},
    "bearer": {1: lib.ntapi_args_bearer},
    "file": {2: lib.ntapi_args_file},
    "multipart_file": {4: lib.ntapi_args_multipart_file},
    "method": {1: lib.ntapi_args_method},
    "idempotency_key": {1: lib.ntapi_args_idempotency_key},
    "download": {1: lib.ntapi_args_download},
    "resume": {1: lib.ntapi_args_resume},
}


def describe(arg: Arg) -> str:
    """One arg as the library prints it, secrets redacted."""
    if arg.is_suppressed:
        return f"{arg.kind}, suppressed"
    if arg.kind in _RESOLVED:
        return f"{arg.kind} {arg.values[0]!r}"
    if arg.kind == "stream":
        return "stream"
    pointer = lib.ntapi_args_create()
    try:
        append_args(pointer, [arg], [])
        # Without the name of the type before it.
        return (take_text(lib.ntapi_describe(pointer)) or "").partition(" ")[2]
    except Exception:
        # Not ApiError by name: a finaliser describes its client's URL, and must not import.
        return f"{arg.kind}, invalid"
    finally:
        lib.ntapi_args_free(pointer)


# For the fast start: if the caller waits for the response, and no hook, progress handler or stream
# has to run, one call into C begins the request. Other requests are made by `build` in `_request`.


_TEXTS = 256
commands: dict[str, bytes] = {}
"""Commands as C wants them: most programs have a few, and use them again and again."""


def c_command(command: str) -> bytes:
    """A command for C. Raises ApiError for one that C cannot hold."""
    follow_levels()
    known = commands.get(command) if type(command) is str else None
    if known is not None:
        return known
    from .._checks import check_string

    check_string(command, "the command")
    if "\0" in command:
        from .._errors import take_error

        raise take_error(None, "a text contains a NUL character")
    text = command.encode()
    if len(commands) < _TEXTS:
        commands[command] = text
    return text


def c_args(client: BaseClient, args: tuple[Args, ...]) -> Optional[int]:
    """A new C list of args; 0, which C reads as none, for an empty one, and None when the request
    has no fast start. Raises ApiError for what C refuses.
    """
    if client._authenticator is not None:
        args = client._authenticator._adjust(args)

    flat: list[Arg] = []
    if not gather_fast(args, flat):
        return None
    if not flat:
        return 0
    pointer: int = lib.ntapi_args_create()
    try:
        append_args(pointer, flat, [])
    except BaseException:
        lib.ntapi_args_free(pointer)
        raise
    return pointer


# URLs and header lines as a log may show them: what is secret is the library's decision.


_LEADING = frozenset({"location", "content-location", "referer", "refresh", "link"})
"""Headers whose value is a URL, or has one."""


def shown_url(url: str) -> str:
    """A URL without passwords, and with the values of secret pairs redacted."""
    text = describe(Arg("base_url", (url,)))
    start, end = text.find('("'), text.rfind('")')
    return text[start + 2 : end] if 0 < start < end else "<redacted>"


def shown_line(name: str, value: str) -> tuple[str, str]:
    """A header line, its value redacted when the name says that it is secret."""
    text = describe(Arg("header", (name, value)))
    if text.endswith(", <redacted>)"):
        return name, "<redacted>"
    return name, shown_url(value) if name.lower() in _LEADING else value
