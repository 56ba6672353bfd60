"""A clock that a test advances."""

from __future__ import annotations

import math
import time

from .._bridge.library import Handle, lib
from .._bridge.signatures import Status
from .._checks import check_timeout, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

_SLICE = 0.5
"""Seconds after which a thread that waits in C looks up, for Ctrl-C."""


class ManualClock:
    """A clock for tests: time stands still until it is advanced, so that nothing is waited for.

        clock = ManualClock()
        client = ntapi.Client(url, clock=clock)
        request = client.begin("busy", handler=handler)
        clock.wait_for_sleepers()  # the request waits before its next attempt
        clock.advance(2)

    By it go the waits of the library itself: between the attempts of a request and the connections
    of a stream of events, and the timeouts of credentials and decisions. What watches a socket goes
    by the system's time. May serve several clients. A forked child makes one of its own.
    """

    def __init__(self, calendar: Optional[float] = None) -> None:
        """Makes a clock.

        `calendar` is the time of the calendar at the beginning, in seconds since 1970-01-01 00:00
        UTC; None is the system's time now.
        """
        start = -1.0 if calendar is None else _number(calendar, "calendar")
        self._handle = Handle(lib.ntapi_manual_clock_create(start), lib.ntapi_manual_clock_free)

    def __repr__(self) -> str:
        return f"<ntapi.testing.ManualClock at {self.elapsed} s, {self.sleepers} sleepers>"

    @property
    def elapsed(self) -> float:
        """Seconds that it was advanced in all."""
        return float(lib.ntapi_manual_clock_elapsed(self._handle.pointer))

    @property
    def sleepers(self) -> int:
        """How many wait for time to pass, to go on then; what only waits to give up is not
        counted.
        """
        return int(lib.ntapi_manual_clock_sleepers(self._handle.pointer))

    @property
    def next_wake(self) -> Optional[float]:
        """In how many seconds the first of the sleepers goes on; None when there is none."""
        seconds = float(lib.ntapi_manual_clock_next_wake(self._handle.pointer))
        return None if seconds < 0 else seconds

    def advance(self, seconds: float) -> None:
        """Lets time pass. What is due by then goes on, in order, on background threads.

        Time jumps: what goes on sees the new time, and what it begins counts from that.
        """
        lib.ntapi_manual_clock_advance(self._handle.pointer, _number(seconds, "seconds"))

    def wait_for_sleepers(self, count: int = 1, timeout: Optional[float] = 30.0) -> bool:
        """Waits until so many sleepers wait for time to pass, so that an advance finds them.

        Returns False when `timeout` seconds of the system's time have passed before. Blocks the
        thread, and runs no handlers meanwhile; in asyncio, `await
        asyncio.to_thread(clock.wait_for_sleepers)`.
        """
        check_timeout(timeout)
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError(f"count has to be a number from 0, not {count!r}")
        end = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            rest = end - time.monotonic()
            status = lib.ntapi_manual_clock_wait_for_sleepers(
                self._handle.pointer, count, max(0.0, min(_SLICE, rest))
            )
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
