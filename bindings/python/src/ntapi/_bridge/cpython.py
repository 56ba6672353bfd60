"""The C functions that each request calls, without ctypes between CPython and the library.

A call through ctypes with a few arguments takes some 2,000 instructions, and JSON would need a text
and a second parser. Therefore the library gets the addresses of CPython's functions (`Python`, in C
ntapi_python). With them it makes Python functions of its own functions, and Python values of JSON.

`PLAIN` is true where this is impossible: on other interpreters, in debug builds, and in builds
without the global lock, which protects these calls. There ctypes and the module json do the work.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_char_p, c_void_p, py_object

from .library import lib
from .signatures import PYTHON_KEYS_SIZE, Python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_MAKERS = (
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
_CALLERS = (
    "PyCFunction_NewEx",
    "PyLong_AsVoidPtr",
    "PyBytes_AsString",
    "PyErr_Occurred",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
)
"""In the order of ntapi_python."""


def _is_plain() -> bool:
    if sys.implementation.name != "cpython":
        return True
    is_debug_build = hasattr(sys, "gettotalrefcount")
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    has_all = all(hasattr(ctypes.pythonapi, name) for name in (*_MAKERS, *_CALLERS))
    return is_debug_build or not has_lock or not has_all


def _addresses(names: tuple[str, ...]) -> list[c_void_p]:
    return [ctypes.cast(getattr(ctypes.pythonapi, name), c_void_p) for name in names]


def _text_offset() -> int:
    """The offset of the letters in an ASCII string object; 0 if they are not found."""
    offset = sys.getsizeof("") - 1
    return offset if ctypes.string_at(id("ntapi") + offset, 6) == b"ntapi\0" else 0


PLAIN = _is_plain()
INTERPRETER = 0
"""The address of ntapi_python, for `response_json` and `json_value`; 0 if `PLAIN`."""

response_json: Callable[[int, int], Any]
"""The JSON of a C response, which must have JSON. The second argument is `INTERPRETER`."""
json_value: Callable[[int, int], Any]
"""The JSON of a C document that was parsed from text. The second argument is `INTERPRETER`."""


if PLAIN:

    def quick(name: str) -> Callable[..., Any]:
        """A function of the library that each request calls."""
        function: Callable[..., Any] = getattr(lib, name)
        return function

    from .json import json_value, response_json
else:
    # Memory for the keys of JSON, which are kept from one document to the next.
    _keys = (ctypes.c_uint64 * (PYTHON_KEYS_SIZE // 8))()
    _interpreter = Python(
        id(None),
        id(True),
        id(False),
        *_addresses(_MAKERS),
        _text_offset(),
        ctypes.addressof(_keys),
        *_addresses(_CALLERS),
    )
    INTERPRETER = ctypes.addressof(_interpreter)
    _wrap = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p)(("ntapi_python_function", lib.library))

    def quick(name: str) -> Callable[..., Any]:
        """A function of the library, as each request calls it."""
        function: Callable[..., Any] = _wrap(INTERPRETER, name.encode())
        return function

    response_json = quick("ntapi_response_json_python")
    json_value = quick("ntapi_json_python")
