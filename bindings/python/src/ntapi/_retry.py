"""Retry policies and rate limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ._bridge.library import Handle, lib
from ._checks import check_timeout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STANDARD_STATUSES = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class RetryPolicy:
    """When a request is sent again by itself, and after how long.

        client = ntapi.Client(url, args=[ntapi.retry(ntapi.RetryPolicy(attempts=6, base=1))])

    A request is sent again only if that is safe: its method is idempotent (RFC 9110, 9.2.2), it has
    an idempotency key, or it has certainly not reached the server. All attempts together have one
    deadline, the resource timeout.
    """

    attempts: int = 4
    """How often it is sent at most, including the first time."""
    base: float = 0.5
    """Seconds: the wait before the second attempt is random, from 0 to this. The limit doubles with
    each attempt.
    """
    cap: float = 30.0
    """Seconds: no random wait is longer."""
    maximum_retry_after: float = 60.0
    """Seconds: if a server's Retry-After asks for more, the answer is delivered at once.
    """
    statuses: Iterable[int] = STANDARD_STATUSES
    """The statuses that another attempt may change, from 400 up."""
    network_errors: bool = True
    """Whether a connection that failed or broke, or a timeout other than the total one, is followed
    by another attempt.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "statuses", frozenset(self.statuses))
        good = {
            "attempts": 1 <= self.attempts <= 1000,
            "base or cap": self.base >= 0 and self.cap >= 0,
            "maximum_retry_after": self.maximum_retry_after >= 0,
            "statuses": self.statuses and all(400 <= status <= 999 for status in self.statuses),
        }
        for name, is_good in good.items():
            if not is_good:
                raise ValueError(f"{name} makes no sense: {self!r}")

    def as_json(self) -> dict[str, Any]:
        """The policy as the default `retry` has it."""
        return {
            "attempts": self.attempts,
            "base": self.base,
            "cap": self.cap,
            "maximum_retry_after": self.maximum_retry_after,
            "statuses": sorted(self.statuses),
            "network_errors": self.network_errors,
        }


class RateLimiter:
    """Limits how many requests are sent in how many seconds; the others wait for their turn.

        client.rate_limiter = ntapi.RateLimiter(30, seconds=1)

    Several clients may share one. Each exchange with a server counts, also a redirect, a replay
    with other credentials and another attempt. Requests wait in the order of their priority, then
    of their arrival. A request that would wait beyond its resource or queue timeout fails at once
    with `codes.TIMEOUT`. One that waits can be cancelled, or suspended, and others pass it then.
    """

    def __init__(
        self,
        requests: float,
        seconds: float = 1.0,
        *,
        burst: int = 1,
        maximum_pause: float = 60.0,
    ) -> None:
        """They go evenly.

        `burst` is how many may go at once after a while in which none did. For `maximum_pause`
        seconds at most a 429 or 503 with Retry-After holds up all; 0 never.
        """
        if not maximum_pause >= 0:
            raise ValueError(f"maximum_pause has to be a number from 0, not {maximum_pause}")
        pointer = lib.ntapi_rate_limiter_create(requests, seconds, burst, maximum_pause)
        if not pointer:
            raise ValueError(f"{requests} requests in {seconds} s, burst {burst}, make no sense")
        self._handle = Handle(pointer, lib.ntapi_rate_limiter_free)
        self._shown = f"{requests:g} requests in {seconds:g} s"

    def __repr__(self) -> str:
        return f"<ntapi.RateLimiter {self._shown}, {self.waiting} waiting>"

    def pause(self, seconds: float) -> None:
        """Lets no request go for so many seconds from now; a longer pause is not cut short."""
        check_timeout(seconds)
        lib.ntapi_rate_limiter_pause(self._handle.pointer, seconds)

    @property
    def waiting(self) -> int:
        """How many requests wait for their turn now."""
        return int(lib.ntapi_rate_limiter_waiting(self._handle.pointer))
