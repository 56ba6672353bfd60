"""CPython without ctypes between: its own functions for what each request calls, and its own makers
of values for JSON.

A call through ctypes with a few arguments takes some 2,000 instructions, and JSON would need a text
and a second parser. So the library is told where CPython's functions are (`Python`, in C
ntapi_python): it wraps its own as functions of CPython's, and makes lists, dicts and texts itself.

`PLAIN` says that the plain way is taken: ctypes, and the module json. It is everywhere but in a
usual build of CPython: elsewhere, in a debug build, and where threads run without the lock that
these shortcuts rely on.
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
"""As ntapi_python has them, in its order."""


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
    """Where the letters of an ASCII string are in its object; 0 when they are not found there."""
    offset = sys.getsizeof("") - 1
    return offset if ctypes.string_at(id("ntapi") + offset, 6) == b"ntapi\0" else 0


PLAIN = _is_plain()
INTERPRETER = 0
"""The address of ntapi_python, for `response_json` and `json_value`; 0 in the plain way."""

response_json: Callable[[int, int], Any]
"""The JSON of a C response, which has some. The second argument is `INTERPRETER`."""
json_value: Callable[[int, int], Any]
"""The JSON of a C document that was parsed from text. The second argument is `INTERPRETER`."""


if PLAIN:

    def quick(name: str) -> Callable[..., Any]:
        """A function of the library, as each request calls it."""
        function: Callable[..., Any] = getattr(lib, name)
        return function

    from .json import json_value, response_json
else:
    # For the keys of JSON, which are kept from one document to the next.
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
