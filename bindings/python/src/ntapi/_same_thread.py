"""Exceptions of callbacks that C calls on the caller's own thread: kept until C has returned, then
raised.
"""

from __future__ import annotations

from ._native import get_ident

kept: dict[int, BaseException] = {}
"""By thread; most of the time empty, which is quicker to see than to be told by `raise_kept`."""


def keep(error: BaseException) -> None:
    """In a callback: exceptions cannot pass through C."""
    kept.setdefault(get_ident(), error)


def raise_kept() -> None:
    """After the C call: raises what a callback kept on this thread."""
    error = kept.pop(get_ident(), None) if kept else None
    if error is not None:
        raise error
