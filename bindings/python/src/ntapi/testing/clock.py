"""A clock for tests, which stands still."""

from __future__ import annotations

import math
import time

from .._bridge.library import Handle, lib
from .._bridge.signatures import Status
from .._runtime.checks import (
    NeedsInit,
    check_timeout,
    even_without_init,
    refuse_copy,
    type_name,
)
from .._runtime.loops import running_loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, NoReturn, Optional

_SLICE = 0.5
"""Seconds after which a thread that waits in C returns to Python, for Ctrl-C."""


class ManualClock(NeedsInit):
    """A clock for tests: time stands still until you advance it, so tests need not wait.

        clock = ManualClock()
        client = ntapi.Client(url, clock=clock)
        request = client.begin("busy", handler=handler)
        clock.wait_for_sleepers()  # the request waits before its next attempt
        clock.advance(2)

    It measures the waits of the library itself: between attempts of a request and between
    connections of a stream of events, the lifetime of tokens, and the timeouts of refreshes and
    decisions. The timeouts of sockets use the system's clock. Several clients may share a clock. A
    forked child makes a clock of its own.
    """

    def __init__(self, calendar: Optional[float] = None) -> None:
        """Makes a clock.

        `calendar` is the initial date and time, in seconds since 1970-01-01 00:00 UTC; None is the
        current time of the system.
        """
        start = -1.0 if calendar is None else _number(calendar, "calendar")
        self._handle = Handle(lib.ntapi_manual_clock_create(start), lib.ntapi_manual_clock_free)

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "make one in each process")

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.testing.ManualClock at {self.elapsed} s, {self.sleepers} sleepers>"

    @property
    def elapsed(self) -> float:
        """The seconds by which it was advanced in total."""
        return float(lib.ntapi_manual_clock_elapsed(self._handle.pointer))

    @property
    def sleepers(self) -> int:
        """The number of waits that continue after a time. Timeouts are not counted."""
        return int(lib.ntapi_manual_clock_sleepers(self._handle.pointer))

    @property
    def next_wake(self) -> Optional[float]:
        """The seconds until the first sleeper continues; None if there are no sleepers."""
        seconds = float(lib.ntapi_manual_clock_next_wake(self._handle.pointer))
        return None if seconds < 0 else seconds

    def advance(self, seconds: float) -> None:
        """Lets this many seconds pass. What is due by then continues, in order, on background
        threads.

        Time jumps: what continues sees the new time, and new waits count from it.
        """
        lib.ntapi_manual_clock_advance(self._handle.pointer, _number(seconds, "seconds"))

    def wait_for_sleepers(self, count: int = 1, timeout: Optional[float] = 30.0) -> int:
        """Waits until there are this many sleepers, so that the next `advance` reaches them, and
        returns how many there are.

        Raises TimeoutError after `timeout` seconds of the system's clock. Blocks the thread and
        runs no handlers meanwhile. In a coroutine it raises RuntimeError, because nothing else of
        the loop would go on: write `await asyncio.to_thread(clock.wait_for_sleepers)`.
        """
        wait = lib.ntapi_manual_clock_wait_for_sleepers
        if not wait_for(wait, self._handle.pointer, count, timeout, "clock.wait_for_sleepers"):
            found = self.sleepers
            raise TimeoutError(f"there are {found} sleepers after {timeout} s, and not {count}")
        return self.sleepers


def wait_for(
    wait: Callable[[Any, int, float], int],
    pointer: Optional[int],
    count: int,
    timeout: Optional[float],
    name: str,
) -> bool:
    """Waits in C for a count, so that Ctrl-C still ends the wait. Returns False after `timeout`
    seconds. `name` is what the program has called.
    """
    if running_loop() is not None:
        raise RuntimeError(
            f"{name} would block the event loop, on which requests go on: write "
            f"`await asyncio.to_thread({name})`"
        )
    check_timeout(timeout)
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ValueError(f"count has to be a number from 0, not {count!r}")
    end = math.inf if timeout is None else time.monotonic() + timeout
    while True:
        rest = end - time.monotonic()
        status = wait(pointer, count, max(0.0, min(_SLICE, rest)))
        if status == Status.OK:
            return True
        if rest <= _SLICE:
            return False


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} has to be a number of seconds, not {type_name(value)}")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{what} has to be 0 or more seconds, not {value}")
    return float(value)
