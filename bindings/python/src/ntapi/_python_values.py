"""The JSON of a response in Python's values for an interpreter that is not CPython: the core writes
a pickle.
"""

from __future__ import annotations

import ctypes

from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def unpickled(pointer: int) -> Any:
    """The JSON of a C response, by way of a pickle."""
    from ._values import load

    length = ctypes.c_size_t()
    address = lib.ntapi_response_json_pickle(pointer, ctypes.byref(length))
    if not address:
        raise MemoryError
    return load(ctypes.string_at(address, length.value))
