"""The JSON of a response in Python's values: the core makes them with Python's own functions, and
writes a pickle for an interpreter that is not CPython.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_void_p

from ._library import lib
from ._signatures import PYTHON_KEYS_SIZE, Python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


def unpickled(pointer: int) -> Any:
    """The JSON of a C response, by way of a pickle."""
    from ._values import load

    length = ctypes.c_size_t()
    address = lib.ntapi_response_json_pickle(pointer, ctypes.byref(length))
    if not address:
        raise MemoryError
    return load(ctypes.string_at(address, length.value))


def _made_by_python() -> Callable[[int], Any]:
    """The C function that makes the values, which is called with Python's lock held."""
    api = ctypes.pythonapi
    names = (
        "Py_IncRef",
        "Py_DecRef",
        "PyLong_FromLongLong",
        "PyLong_FromString",
        "PyFloat_FromDouble",
        "PyUnicode_DecodeUTF8",
        "PyList_New",
        "PyList_SetItem",
        "PyDict_New",
        "PyDict_SetItem",
        "PyUnicode_New",
    )
    functions = (ctypes.cast(getattr(api, name), c_void_p) for name in names)
    # Where only a lock keeps threads apart, keys are kept from one document to the next.
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    room = (ctypes.c_uint64 * (PYTHON_KEYS_SIZE // 8))()
    keys = ctypes.addressof(room) if has_lock else None
    python = Python(id(None), id(True), id(False), *functions, _text_offset(), keys)
    address = ctypes.addressof(python)
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_void_p)
    make = prototype(("ntapi_response_json_python", lib.library))

    def json_value(pointer: int, _kept: Any = (python, room)) -> Any:
        """`_kept` is what is at the address."""
        return make(pointer, address)

    return json_value


def _text_offset() -> int:
    """Where the letters of an ASCII string are in its object; 0 when they are not found there."""
    offset = sys.getsizeof("") - 1
    return offset if ctypes.string_at(id("ntapi") + offset, 6) == b"ntapi\0" else 0


json_value: Callable[[int], Any]
"""The JSON of a C response."""
try:
    json_value = _made_by_python()
except AttributeError:
    # An interpreter without CPython's functions.
    json_value = unpickled
