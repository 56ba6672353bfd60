"""A store within the process."""

from __future__ import annotations

from .._bridge.library import Handle, lib
from .._runtime.checks import even_without_init, type_name
from .._stores import LibraryStore
from .clock import ManualClock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


class MemoryStore(LibraryStore):
    """A store within the process. Limiters, authenticators and caches share it as if they were in
    several processes.

        clock = ManualClock()
        store = MemoryStore(clock)
        limiters = [RateLimiter.of(RateLimit(10), store=store, key="x") for _ in range(2)]
    """

    def __init__(self, clock: Optional[ManualClock] = None) -> None:
        """Its times follow `clock`, the clock of the clients; None is the system's clock."""
        if clock is not None and not isinstance(clock, ManualClock):
            raise TypeError(f"clock has to be a ManualClock, not {type_name(clock)}")
        self._clock = clock
        pointer = lib.ntapi_memory_store_create(None if clock is None else clock._handle.pointer)
        self._c_store = Handle(pointer, lib.ntapi_store_free)

    @even_without_init
    def __repr__(self) -> str:
        kind = "the system's" if self._clock is None else "a manual"
        return f"<ntapi.testing.MemoryStore with {kind} clock>"
