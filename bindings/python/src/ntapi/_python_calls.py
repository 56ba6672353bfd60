"""The library's functions that each request calls, as functions of CPython's own, and what they ask
of it.

ctypes takes some 2,000 instructions for a call with a few arguments. An interpreter that is not
CPython calls by way of it.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_char_p, c_void_p, py_object

from ._library import lib
from ._signatures import PYTHON_KEYS_SIZE, Python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

_room = (ctypes.c_uint64 * (PYTHON_KEYS_SIZE // 8))()
"""For the keys of JSON."""


def _made_interpreter() -> Optional[Python]:
    def functions(*names: str) -> list[c_void_p]:
        return [ctypes.cast(getattr(ctypes.pythonapi, name), c_void_p) for name in names]

    # Keys are kept from one document to the next where a lock keeps threads apart.
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    try:
        return Python(
            id(None),
            id(True),
            id(False),
            *functions("Py_IncRef", "Py_DecRef", "PyLong_FromLongLong", "PyLong_FromString"),
            *functions("PyFloat_FromDouble", "PyUnicode_DecodeUTF8", "PyList_New"),
            *functions("PyList_SetItem", "PyDict_New", "PyDict_SetItem", "PyUnicode_New"),
            _text_offset(),
            ctypes.addressof(_room) if has_lock else None,
            *functions("PyCFunction_NewEx", "PyLong_AsVoidPtr", "PyBytes_AsString"),
            *functions("PyErr_Occurred", "PyEval_SaveThread", "PyEval_RestoreThread"),
        )
    except AttributeError:
        return None


def _text_offset() -> int:
    """Where the letters of an ASCII string are in its object; 0 when they are not found there."""
    offset = sys.getsizeof("") - 1
    return offset if ctypes.string_at(id("ntapi") + offset, 6) == b"ntapi\0" else 0


_interpreter = _made_interpreter() if sys.implementation.name == "cpython" else None
INTERPRETER = 0 if _interpreter is None else ctypes.addressof(_interpreter)
"""The address of ntapi_python, for `response_json`."""


if INTERPRETER:
    _make = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p)(("ntapi_python_function", lib.library))


def quick(name: str) -> Callable[..., Any]:
    """A function of the library."""
    function: Callable[..., Any]
    function = _make(INTERPRETER, name.encode()) if INTERPRETER else getattr(lib, name)
    return function


response_json: Callable[[int, int], Any]
"""The JSON of a C response, which has some. The second argument is `INTERPRETER`."""
json_value: Callable[[int, int], Any]
"""A C document that was parsed from text. The second argument is `INTERPRETER`."""

if INTERPRETER:
    response_json = quick("ntapi_response_json_python")
    json_value = quick("ntapi_json_python")
else:
    from . import _python_values

    response_json = _python_values.response_json
    json_value = _python_values.json_value
