"""Hands args to C: text in one call, bytes and streams by calls of their own, the order kept."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable

from ._arg import Arg
from ._enums import Status
from ._errors import ApiError, take_error
from ._library import lib
from ._streams import NO_DESTROY, NO_REWIND, read_function, register_source, rewind_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_OK = int(Status.OK)

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


def append_args(pointer: int, args: Iterable[Arg], tokens: list[int]) -> None:
    """Appends args to a C list.

    `tokens` gets the tokens of the streams, to be forgotten when the request is done. Raises
    ApiError, "invalid request", for what C refuses.
    """
    batch: list[list[Any]] = []
    for arg in args:
        if arg.is_suppressed or arg.kind in THREAD_KINDS:
            continue
        function = _PAIRS.get(arg.kind)
        if function is not None and _append_pair(pointer, function, arg.values, batch):
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


def _append_pair(
    pointer: int, function: Callable[..., int], values: tuple[Any, ...], batch: list[list[Any]]
) -> bool:
    """Appends a name and a plain text by a call of its own, which costs less than JSON; False for
    anything else, which JSON says better.
    """
    name, value = values
    if type(value) is not str or not (name.isascii() and value.isascii()):
        return False
    if "\0" in name or "\0" in value:
        return False
    _append_batch(pointer, batch)
    return function(pointer, name.encode(), value.encode()) == _OK


def _as_json(arg: Arg) -> list[Any] | None:
    """The arg as ntapi_args_append_json wants it; None when it has to be appended by a call of its
    own.
    """
    kind, values = arg.kind, arg.values
    if kind == "timeout":
        clock, seconds = values
        return ["timeout", seconds, clock.name.lower()] if math.isfinite(seconds) else None
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
    from ._json import encode

    text = encode(batch).encode()
    error = ctypes.c_void_p()
    status = lib.ntapi_args_append_json(pointer, text, len(text), ctypes.byref(error))
    if status != Status.OK:
        raise take_error(error.value, "an arg cannot be sent")
    batch.clear()


def _append_directly(pointer: int, arg: Arg, tokens: list[int]) -> None:
    append = _DIRECT[arg.kind]
    if append(pointer, tokens, *arg.values) != Status.OK:
        raise take_error(None, f"the {arg.kind} arg cannot be sent: its texts have to be UTF-8")


def _append_url_double(pointer: int, _: list[int], name: str, value: float) -> int:
    return int(lib.ntapi_args_url_double(pointer, c_text(name), value))


def _append_timeout(pointer: int, _: list[int], clock: Any, seconds: float) -> int:
    return int(lib.ntapi_args_timeout(pointer, clock.value, seconds))


def _append_data(pointer: int, _: list[int], content: bytes, content_type: str | None) -> int:
    return int(lib.ntapi_args_data(pointer, content, len(content), c_text(content_type)))


def _append_multipart_data(
    pointer: int, _: list[int], name: str, content: bytes, extension: str | None
) -> int:
    length = len(content)
    return int(
        lib.ntapi_args_multipart_data(pointer, c_text(name), content, length, c_text(extension))
    )


def _append_multipart_named_data(
    pointer: int, _: list[int], name: str, content: bytes, filename: str, content_type: str | None
) -> int:
    return int(
        lib.ntapi_args_multipart_named_data(
            pointer, c_text(name), content, len(content), c_text(filename), c_text(content_type)
        )
    )


def _append_json(pointer: int, _: list[int], text: str) -> int:
    content = text.encode("utf-8", "surrogatepass")
    import re

    if re.search(r"\d{19}", text):
        # Beyond 64 bits the core's integers become doubles; Python's are exact and stay so.
        return int(lib.ntapi_args_data(pointer, content, len(content), b"application/json"))
    error = ctypes.c_void_p()
    value = lib.ntapi_json_parse(content, len(content), ctypes.byref(error))
    if not value:
        raise take_error(error.value, "the json arg cannot be sent")
    try:
        return int(lib.ntapi_args_json(pointer, value))
    finally:
        lib.ntapi_json_free(value)


def _append_rate_limiter(pointer: int, _: list[int], limiter: Any) -> int:
    return int(lib.ntapi_args_rate_limiter(pointer, limiter._handle.pointer))


def _append_stream(
    pointer: int, tokens: list[int], source: Any, length: int, content_type: str | None
) -> int:
    token = register_source(source)
    tokens.append(token)
    rewind = rewind_function if source.can_rewind else NO_REWIND
    # No destroy function: the source is forgotten with its request, after which C never reads.
    return int(
        lib.ntapi_args_stream(
            pointer, read_function, rewind, length, c_text(content_type), token, NO_DESTROY
        )
    )


def c_text(text: str | None) -> bytes | None:
    """A text for C. What C cannot hold is an error here, before C would cut the text short."""
    if text is None:
        return None
    if "\0" in text:
        raise take_error(None, "a text contains a NUL character")
    return text.encode("utf-8", "surrogatepass")


_DIRECT: dict[str, Callable[..., int]] = {
    "url_double": _append_url_double,
    "timeout": _append_timeout,
    "data": _append_data,
    "multipart_data": _append_multipart_data,
    "multipart_named_data": _append_multipart_named_data,
    "json": _append_json,
    "rate_limiter": _append_rate_limiter,
    "stream": _append_stream,
}


_PAIRS: dict[str, Callable[..., int]] = {
    "url": lib.ntapi_args_url,
    "path": lib.ntapi_args_path,
    "form": lib.ntapi_args_form,
    "header": lib.ntapi_args_header,
    "add_header": lib.ntapi_args_add_header,
}


def describe(arg: Arg) -> str:
    """One arg as the library prints it, secrets redacted."""
    if arg.is_suppressed:
        return f"{arg.kind}, suppressed"
    if arg.kind in THREAD_KINDS:
        return f"{arg.kind} {arg.values[0]!r}"
    if arg.kind == "stream":
        return "stream"
    pointer = lib.ntapi_args_create()
    try:
        append_args(pointer, [arg], [])
        text = lib.ntapi_args_description(pointer)
        return "" if text is None else str(text.decode("utf-8", "replace").strip())
    except ApiError:
        return f"{arg.kind}, invalid"
    finally:
        lib.ntapi_args_free(pointer)
