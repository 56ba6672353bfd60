"""What stands between Python and the library in C. Nothing here is public.

It works in the main interpreter of a process only. In another one the import fails, and the error
says what to do instead.
"""

from __future__ import annotations

import sys

_ADVICE = (
    "ntapi works in the main interpreter of a process only: the functions that C calls run there. "
    "Import it there and hand over results, or use a process of its own (multiprocessing); with "
    "mod_wsgi set `WSGIApplicationGroup %{GLOBAL}`."
)


def _check() -> None:
    """Raises ImportError in an interpreter beside the main one."""
    if sys.implementation.name != "cpython":
        return
    try:
        from ctypes import c_void_p, pythonapi
    except ImportError as error:
        # What Python 3.12 says where an interpreter has a lock of its own.
        if "subinterpreter" in str(error):
            raise ImportError(_ADVICE) from error
        raise
    here, main = pythonapi.PyInterpreterState_Get, pythonapi.PyInterpreterState_Main
    here.restype = main.restype = c_void_p
    if here() != main():
        raise ImportError(_ADVICE)


_check()
