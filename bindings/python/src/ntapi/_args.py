"""Args, and how they get to C, in the order of the list: text in one call, each bytes or stream arg
in its own call.
"""

from __future__ import annotations

import ctypes

from ._bridge.cpython import INTERPRETER, quick
from ._bridge.library import lib, take_text
from ._bridge.logging import follow_levels
from ._bridge.signatures import Status
from ._runtime.checks import check_text, even_without_init, is_list_like, type_name

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Callable, Optional, Union

    from ._client import BaseClient
    from ._errors import ApiError
    from ._types import Args, BytesLike, Scalar


class Arg:
    """One element of a request's list of args. It has no effect until a request is begun with it.

    Make one with a function of `ntapi.arg`: `ntapi.url("q", "London")`. It is a value: it never
    changes, and equal ones compare equal. Printing one redacts secrets.
    """

    __slots__ = ("__weakref__", "is_secret", "is_suppressed", "kind", "values")

    kind: str
    """The kind: the name of the function that made it."""
    values: tuple[Any, ...]
    """What it was made with."""
    is_secret: bool
    """Whether it was marked with `secret()`."""
    is_suppressed: bool
    """Whether a value was None. Such an arg has no effect, as if it had not been given."""

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
        """The same arg, marked as secret: it is printed as <redacted>, and as a header it does not
        follow a redirect to another origin.
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

    @even_without_init
    def __repr__(self) -> str:
        # The C library decides what is secret.
        return f"<ntapi.Arg {describe(self)}>"


# Set the slots directly, because __setattr__ raises.
_set_kind = Arg.__dict__["kind"].__set__
_set_values = Arg.__dict__["values"].__set__
_set_secret = Arg.__dict__["is_secret"].__set__
_set_suppressed = Arg.__dict__["is_suppressed"].__set__


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
            from ._advice import no_arg

            raise no_arg(item)
    return result


# Converts the values of args to what JSON or C can carry.


_PLAIN = frozenset({str, int, float, bool, type(None)})


def scalar_of(value: Optional[Scalar], kind: str, name: str) -> Optional[Scalar]:
    """A number that JSON can carry to the core, which formats it; any other value as text."""
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

        # The same format as the core's own dates.
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
    scalar = scalar_of(value, kind, name)
    return None if scalar is None else str(scalar)


def bytes_of(content: Union[BytesLike, str, None]) -> Optional[bytes]:
    """An immutable copy of bytes; text as UTF-8."""
    if content is None or isinstance(content, bytes):
        return content
    if isinstance(content, str):
        check_text(content, "the text")
        return content.encode()
    if isinstance(content, (bytearray, memoryview)):
        return bytes(content)
    # bytes(5) would be five zeros.
    raise TypeError(f"bytes or a string are expected, not {type_name(content)}")


# From Python to C.


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
"""Kinds that Python resolves, because only Python knows its threads, loops and executors."""
_RESOLVED = THREAD_KINDS | {"interceptor"}
"""Kinds that this module does not append to C's list."""


_LONG = frozenset({"stream", "download", "resume", "interceptor"})
"""Kinds for which Python keeps an object: a source, a file to resume, a function. They prevent the
fast start.
"""


def gather_fast(args: Iterable[Args], flat: list[Arg]) -> bool:
    """Collects args in `flat`. Returns False if they prevent the fast start: a kind of `_LONG`, a
    value that is not an arg, or an iterator, which can be read only once.
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

    Adds the tokens of the streams to `tokens`; the caller forgets them when the request is done.
    Raises ApiError "invalid request" if C refuses an arg.
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
    """Appends an arg with plain values by a C call of its own, which is cheaper than JSON. Returns
    False for other args, which go as JSON.
    """
    values: list[Any] = []
    for value in arg.values:
        if type(value) is str:
            if "\0" in value:
                return False
            # C refuses text that is not UTF-8. Appending it as JSON raises an error that says what
            # is wrong.
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
    """The arg in the form of ntapi_args_append_json; None if it needs a C call of its own."""
    kind, values = arg.kind, arg.values
    if values and type(values[-1]) is tuple:
        return None
    if kind == "timeout":
        clock, seconds = values
        # Not infinite or NaN, which JSON cannot represent.
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
    from ._bridge.json import encode

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
    from ._bridge.enums import CachePolicy

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
_LONG_NUMBER = b"0" * 309
"""If a JSON text may have an integer beyond double, it contains this after its digits were replaced
by zeros.
"""


def _append_json(pointer: int, _: list[int], text: str) -> int:
    content = text.encode("utf-8", "surrogatepass")
    if _LONG_NUMBER in content.translate(_DIGITS_AS_ZEROS):
        # The core refuses integers beyond double. Python's have any size, so Python writes them.
        return int(lib.ntapi_args_data(pointer, content, len(content), b"application/json"))
    if _json_text is not None and _json_text(pointer, content, len(content)) == _OK:
        return _OK
    # This raises the error that says what is wrong with the text.
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
    from ._runtime.bodies import (
        NO_DESTROY,
        NO_REWIND,
        read_function,
        register_source,
        rewind_function,
    )

    token = register_source(source)
    tokens.append(token)
    rewind = rewind_function if source.can_rewind else NO_REWIND
    # No destroy function: Python forgets the source with its request, and C does not read after
    # that.
    return int(
        lib.ntapi_args_stream(
            pointer, read_function, rewind, length, c_text(content_type), token, NO_DESTROY
        )
    )


def _refusal(error: int | None, fallback: str) -> ApiError:
    """The exception for an error from C, which this frees."""
    from ._errors import take_error

    return take_error(error, fallback)


def c_text(text: str | None) -> bytes | None:
    """A text for C. Raises an error for a NUL, at which C would cut the text off."""
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


# Keys are the kind and the number of values.
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
    """The text that the C library prints for an arg, secrets redacted."""
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
        # Do not name ApiError here: a finaliser prints its client's URL, and must not import.
        return f"{arg.kind}, invalid"
    finally:
        lib.ntapi_args_free(pointer)


# The fast start: if the caller waits for the response, and no hook, progress handler or stream has
# to run, one call into C begins the request. All other requests are made by `_build.build`.


_TEXTS = 256
commands: dict[str, bytes] = {}
"""Encoded commands, kept because most programs use the same few again and again."""


def c_command(command: str) -> bytes:
    """A command for C. Raises ApiError for one that C cannot hold."""
    follow_levels()
    known = commands.get(command) if type(command) is str else None
    if known is not None:
        return known
    from ._runtime.checks import check_string

    check_string(command, "the command")
    if "\0" in command:
        from ._errors import take_error

        raise take_error(None, "a text contains a NUL character")
    text = command.encode()
    if len(commands) < _TEXTS:
        commands[command] = text
    return text


def c_args(client: BaseClient, args: tuple[Args, ...]) -> Optional[int]:
    """A new C list of args, which the caller frees. Returns 0 (NULL) for an empty list, and None if
    the args prevent the fast start. Raises ApiError if C refuses an arg.
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


# URLs and header lines as a log may show them. The C library decides what is secret.


_LEADING = frozenset({"location", "content-location", "referer", "refresh", "link"})
"""Headers whose value is or contains a URL."""


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
