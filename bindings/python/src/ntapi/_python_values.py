"""JSON in Python's values for an interpreter that is not CPython: its own parser reads the text."""

from __future__ import annotations

import ctypes
import json

from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def response_json(pointer: int, _: int) -> Any:
    """The JSON of a C response, which has some."""
    if lib.ntapi_response_prefix_text(pointer):
        return json_value(lib.ntapi_response_json(pointer), 0)
    length = ctypes.c_size_t()
    body = lib.ntapi_response_data(pointer, ctypes.byref(length))
    return json.loads(ctypes.string_at(body, length.value))


def json_value(pointer: int, _: int) -> Any:
    """A C document. Integers beyond 64 bits are doubles in its text."""
    return json.loads(lib.ntapi_json_text(pointer))
