"""The bridge between Python and the C library. Nothing here is public.

It works only in the main interpreter of a process. In a sub-interpreter the import fails with an
error that says what to do.
"""

from __future__ import annotations

import sys

_ADVICE = (
    "ntapi works in the main interpreter of a process only: the functions that C calls run there. "
    "Import it there and hand over results, or use a process of its own (multiprocessing); with "
    "mod_wsgi set `WSGIApplicationGroup %{GLOBAL}`."
)


def _check() -> None:
    """Raises ImportError in a sub-interpreter."""
    if sys.implementation.name != "cpython":
        return
    try:
        from ctypes import c_void_p, pythonapi
    except ImportError as error:
        # The message of Python 3.12 in an interpreter with its own lock.
        if "subinterpreter" in str(error):
            raise ImportError(_ADVICE) from error
        raise
    here, main = pythonapi.PyInterpreterState_Get, pythonapi.PyInterpreterState_Main
    here.restype = main.restype = c_void_p
    if here() != main():
        raise ImportError(_ADVICE)


_check()
