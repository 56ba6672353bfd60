"""Ownership of C objects."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Optional


class Handle:
    """Owns one C object and frees it once, when told to or when collected, in any order with other
    handles.
    """

    __slots__ = ("__weakref__", "_finalizer", "pointer")

    pointer: Optional[int]
    """The C pointer; None, which C reads as NULL, once freed."""

    def __init__(self, pointer: int, free: Callable[[int], Any]) -> None:
        self.pointer = pointer
        self._finalizer = weakref.finalize(self, free, pointer)
        # At exit the process takes its memory back; the exit hook does what has to be done in
        # order.
        self._finalizer.atexit = False

    def free(self) -> None:
        """Frees the object now; a second call does nothing."""
        self.pointer = None
        self._finalizer()
