"""Rate limits: of one process, or of several that share a store."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from ._args import c_text
from ._bridge import signatures
from ._bridge.library import Handle, lib
from ._errors import take_error
from ._runtime.checks import (
    NeedsInit,
    check_string,
    check_timeout,
    even_without_init,
    refuse_copy,
    type_name,
)
from ._stores import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, NoReturn, Optional

    from typing_extensions import Self

    Substitute = Literal["local", "open", "closed"]


@dataclass(frozen=True)
class RateLimit:
    """How many requests may start in a period of time: see `RateLimiter.of`."""

    requests: float
    """The number of requests, above 0."""
    seconds: float = 1.0
    """The length of the period, above 0. The requests are spread evenly over it."""
    burst: int = 1
    """How many may start at once after a time without requests."""
    maximum_pause: float = 60.0
    """For how many seconds at most a server may pause all requests; 0 never pauses them."""


class RateLimiter(NeedsInit):
    """Limits how many requests are sent in a given time; the others wait.

        client.rate_limiter = ntapi.RateLimiter(30, seconds=1)

    Several clients may share one. Each exchange with a server counts: also a redirect, a repeat
    with other credentials, and a retry. Requests wait in the order of priority, then of arrival. A
    request that would have to wait beyond its resource or queue timeout fails immediately with
    `codes.TIMEOUT`. A waiting request can be cancelled, or suspended; then others pass it.

    `RateLimiter.of` makes one with several limits, or with limits that processes share.
    """

    def __init__(
        self,
        requests: float,
        seconds: float = 1.0,
        *,
        burst: int = 1,
        maximum_pause: float = 60.0,
    ) -> None:
        """Allows `requests` in `seconds`, evenly spaced.

        `burst` is how many may be sent at once after a time without requests. A server pauses all
        requests by a 429 or 503 with Retry-After, or by RateLimit headers when nothing is left, for
        at most `maximum_pause` seconds; 0 never pauses them.
        """
        if not maximum_pause >= 0:
            raise ValueError(f"maximum_pause has to be a number from 0, not {maximum_pause}")
        pointer = lib.ntapi_rate_limiter_create(requests, seconds, burst, maximum_pause)
        if not pointer:
            raise ValueError(f"{requests} requests in {seconds} s, burst {burst}, make no sense")
        self._handle = Handle(pointer, lib.ntapi_rate_limiter_free)
        self._shown = _words(RateLimit(requests, seconds))

    @classmethod
    def of(
        cls,
        *limits: RateLimit,
        store: Optional[Store] = None,
        key: Optional[str] = None,
        store_timeout: float = 0.5,
        on_failure: Substitute = "local",
        batch: int = 1,
    ) -> Self:
        """Makes a limiter with several limits. A request starts when all of them allow it, and
        counts for each.

            limits = [ntapi.RateLimit(10), ntapi.RateLimit(1000, seconds=3600)]
            client.rate_limiter = ntapi.RateLimiter.of(*limits, store=store, key="partner")

        With a `store`, all limiters with the same `key` keep the limits together, in any process
        and language. Give each the same limits. Limiters that wait get permits in turn. When a
        server asks for a pause, all of them pause.

        A store that has not replied in `store_timeout` seconds fails. Until it answers again,
        `on_failure` says what happens: "local", each process keeps the limits alone, so together
        they may exceed them; "open", requests are not limited; "closed", they fail with
        `codes.STORE_FAILED`.

        A process takes `batch` permits at a time, from 1 to the smallest burst, if nobody waits for
        them. It uses them within a second, so that these requests do not wait for the store. In any
        period, all processes together may exceed the limits by `batch - 1` requests for each
        process.
        """
        if on_failure not in SUBSTITUTES:
            raise ValueError(f"on_failure is one of {', '.join(SUBSTITUTES)}, not {on_failure!r}")
        if not 1 <= batch <= 1000:
            raise ValueError(f"batch has to be from 1 to 1000, not {batch}")
        if store is not None and not isinstance(store, Store):
            raise TypeError(f"store has to be an ntapi.Store, not {type_name(store)}")
        for limit in limits:
            if not isinstance(limit, RateLimit):
                raise TypeError(f"a limit has to be a RateLimit, not {type_name(limit)}")
        if key is not None:
            check_string(key, "key")
        size = ctypes.sizeof(signatures.RateLimit)
        rows = [
            signatures.RateLimit(size, each.requests, each.seconds, each.burst, each.maximum_pause)
            for each in limits
        ]
        table = (signatures.RateLimit * max(1, len(limits)))(*rows)
        options = signatures.RateLimiterOptions(
            ctypes.sizeof(signatures.RateLimiterOptions),
            ctypes.addressof(table),
            len(limits),
            None if store is None else store._pointer(),
            None if key is None else c_text(key),
            store_timeout,
            SUBSTITUTES[on_failure],
            batch,
        )
        error = ctypes.c_void_p()
        pointer = lib.ntapi_rate_limiter_create_with(ctypes.byref(options), ctypes.byref(error))
        if not pointer:
            raise ValueError(take_error(error.value, "the limits are wrong").message)
        limiter = cls.__new__(cls)
        limiter._handle = Handle(pointer, lib.ntapi_rate_limiter_free)
        limiter._store = store
        shared = "" if store is None else f", shared as {key!r}"
        limiter._shown = ", ".join(map(_words, limits)) + shared
        return limiter

    _store: Optional[Store] = None

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "it counts the requests of this process; make one in each")

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.RateLimiter {self._shown}, {self.waiting} waiting>"

    def pause(self, seconds: float) -> None:
        """Sends no request for this many seconds from now. Does not shorten a longer pause."""
        check_timeout(seconds)
        lib.ntapi_rate_limiter_pause(self._handle.pointer, seconds)

    @property
    def waiting(self) -> int:
        """How many requests are waiting now."""
        return int(lib.ntapi_rate_limiter_waiting(self._handle.pointer))


SUBSTITUTES = {"local": 1, "open": 2, "closed": 3}
"""What requests do while a store fails: ntapi_store_substitute."""


def _words(limit: RateLimit) -> str:
    burst = f", burst {limit.burst}" if limit.burst > 1 else ""
    return f"{limit.requests:g} requests in {limit.seconds:g} s{burst}"
