"""Latches: the test waits for the server, and the server for the test."""

from __future__ import annotations

import asyncio
import itertools
import threading
import weakref

from ..._runtime.checks import check_timeout, even_without_init, refuse_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, Optional

PATIENCE = 30.0
"""Seconds that a test waits unless it says otherwise."""


class Latch:
    """Holds answers of a server until the test has done something.

        latch = Latch()
        server.enqueue(ServerAnswer(text="late", hold=latch))
        ...  # begin a request
        latch.wait_until_reached()
        ...  # the answer is held
        latch.release()

    One latch may hold several answers. It may be used from every thread.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_released = False
        self._reached = 0
        self._held: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._key = next(_keys)
        _latches[self._key] = self

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "make one where the server is")

    @even_without_init
    def __repr__(self) -> str:
        state = "released" if self._is_released else "closed"
        return f"<ntapi.testing.server.Latch {state}, reached {self._reached} times>"

    @property
    def is_released(self) -> bool:
        """Whether `release` was called."""
        return self._is_released

    def release(self) -> None:
        """Lets what it holds continue, and what comes later pass."""
        with self._changed:
            self._is_released = True
            held = list(self._held)
        for loop, event in held:
            try:
                loop.call_soon_threadsafe(event.set)
            except RuntimeError:
                # The server was closed in the meantime, and its loop with it.
                continue

    def wait_until_reached(self, count: int = 1, timeout: Optional[float] = PATIENCE) -> None:
        """Waits until this many answers have come to it. Raises TimeoutError after `timeout`
        seconds.
        """
        check_timeout(timeout)
        with self._changed:
            if not self._changed.wait_for(lambda: self._reached >= count, timeout):
                raise TimeoutError(
                    f"{self._reached} of {count} answers have reached the latch in {timeout} s"
                )

    async def _pass(self) -> None:
        """Waits until it is released. Runs on a server's loop."""
        entry = asyncio.get_running_loop(), asyncio.Event()
        with self._changed:
            self._reached += 1
            self._changed.notify_all()
            if self._is_released:
                return
            self._held.add(entry)
        try:
            await entry[1].wait()
        finally:
            with self._changed:
                self._held.discard(entry)


_latches: weakref.WeakValueDictionary[int, Latch] = weakref.WeakValueDictionary()
_keys = itertools.count(1)


def key_of(latch: Optional[Latch]) -> Optional[int]:
    """The number by which a script names a latch."""
    return None if latch is None else latch._key


async def passed(key: int) -> None:
    """Waits until the latch of this number is released. A latch that the program has dropped holds
    nothing, because nobody could release it.
    """
    latch = _latches.get(key)
    if latch is not None:
        await latch._pass()
