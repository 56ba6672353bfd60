"""Exceptions of callbacks that C calls on the caller's own thread: kept until C has returned, then
raised.
"""

from __future__ import annotations

import threading

_kept: dict[int, BaseException] = {}


def keep(error: BaseException) -> None:
    """In a callback: exceptions cannot pass through C."""
    _kept.setdefault(threading.get_ident(), error)


def raise_kept() -> None:
    """After the C call: raises what a callback kept on this thread."""
    if _kept:
        error = _kept.pop(threading.get_ident(), None)
        if error is not None:
            raise error
