"""Converts JSON values to C and back by way of text: for defaults, and where `cpython` cannot be
used.
"""

from __future__ import annotations

import ctypes
import json
import re

from .library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
"""The compact JSON text of a value without cycles."""


def to_c(value: Any) -> int:
    """A new C document. Raises TypeError or ValueError if it is not JSON."""
    text = json.dumps(value, allow_nan=False, default=_as_json).encode()
    error = ctypes.c_void_p()
    pointer = lib.ntapi_json_parse(text, len(text), ctypes.byref(error))
    if not pointer:
        message = lib.ntapi_error_message(error.value) or b"not a JSON value"
        lib.ntapi_error_free(error.value)
        raise ValueError(message.decode("utf-8", "replace"))
    return int(pointer)


def _as_json(value: Any) -> Any:
    """The JSON value of an object of this package."""
    as_json = getattr(value, "as_json", None)
    if as_json is None:
        raise TypeError(f"a {type(value).__name__} is not a JSON value")
    return as_json()


def from_c(pointer: Optional[int]) -> Any:
    """The value of a new C document, which this frees; None for NULL."""
    if not pointer:
        return None
    try:
        return json.loads(lib.ntapi_json_text(pointer))
    finally:
        lib.ntapi_json_free(pointer)


# These functions replace those of `cpython`, which need no text. The library has checked the texts.


def response_json(pointer: int, _: int) -> Any:
    """The JSON of a C response, which must have JSON."""
    if lib.ntapi_response_prefix_text(pointer):
        return json_value(lib.ntapi_response_json(pointer), 0)
    length = ctypes.c_size_t()
    body = lib.ntapi_response_data(pointer, ctypes.byref(length))
    return read(ctypes.string_at(body, length.value))


def json_value(pointer: int, _: int) -> Any:
    """The value of a C document."""
    return read(lib.ntapi_json_text(pointer))


def exact(digits: str) -> Any:
    """A real as a float, or as a Decimal if a float would change it."""
    value = float(digits)
    # A float keeps 15 digits of any number.
    if len(digits) <= 15:
        return value
    from decimal import Decimal

    number = Decimal(digits)
    return value if Decimal(repr(value)) == number else number


def read(text: bytes, real: Callable[[str], Any] = float) -> Any:
    """The value of a JSON text, which the library has checked; `real` makes its reals."""
    try:
        return json.loads(text, parse_float=real)
    except RecursionError:
        # The library allows 2,048 levels; Python's recursion limit is usually 1,000.
        return read_deep(text.decode(json.detect_encoding(text)), real)


def read_deep(text: str, real: Callable[[str], Any] = float) -> Any:
    """The value of a JSON text, read without recursion."""
    top: list[Any] = []
    # The open arrays and objects, and for an object the key of the next member.
    open_ones: list[Any] = [top]
    keys: list[Any] = [None]
    for token in re.findall(r'[][{}]|"(?:[^"\\]|\\.)*"|[^][{}",:\s]+', text):
        container = open_ones[-1]
        if token in ("]", "}"):
            open_ones.pop()
            keys.pop()
            continue
        value = [] if token == "[" else {} if token == "{" else json.loads(token, parse_float=real)
        if isinstance(container, list):
            container.append(value)
        elif keys[-1] is None:
            keys[-1] = value
            continue
        else:
            container[keys[-1]] = value
            keys[-1] = None
        if token in ("[", "{"):
            open_ones.append(value)
            keys.append(None)
    return top[0]
