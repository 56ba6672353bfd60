"""Ownership of C objects."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional


is_over: list[bool] = []
"""Not empty once the process has ended all requests. It takes its memory back, so that nothing is
freed any more: what a free may call in Python may be gone already.
"""


class Handle:
    """Owns one C object and frees it once, when told to or when collected, in any order with other
    handles. Without a function that frees, the object is lent.
    """

    __slots__ = ("__weakref__", "_free", "pointer")

    pointer: Optional[int]
    """The C pointer; None, which C reads as NULL, once freed."""

    def __init__(self, pointer: int, free: Optional[Callable[[int], Any]] = None) -> None:
        self.pointer = pointer
        self._free = free

    def free(self) -> None:
        """Frees the object now; a second call does nothing."""
        pointer, self.pointer = self.pointer, None
        if pointer is not None and self._free is not None:
            self._free(pointer)

    def __del__(self, _is_over: list[bool] = is_over) -> None:
        # Ctrl-C may have come before __init__.
        if not _is_over and hasattr(self, "_free"):
            self.free()
