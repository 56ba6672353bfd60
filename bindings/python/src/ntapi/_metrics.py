"""What a request cost."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Optional

from ._bridge.json import from_c
from ._bridge.library import lib


@dataclass(frozen=True)
class Metrics:
    """Times are seconds from the start of the last exchange, sizes are bytes of the body on the
    wire unless they say otherwise.
    """

    name_lookup: float
    """Until the name was resolved."""
    connect: float
    """Until the connection was there."""
    tls: float
    """Until the TLS handshake was done; 0 without TLS."""
    first_byte: float
    """Until the first byte of the response."""
    total: float
    """The last exchange, without the time it was queued."""
    queued: float
    """How long the request waited for connections, or its turn under a rate limit."""
    redirects: int
    retries: int
    bytes_sent: int
    bytes_received: int
    http_version: float
    """1.0, 1.1, 2 or 3; 0 when there was no answer."""
    connection_reused: bool
    from_cache: bool
    bytes_decoded: int
    """Bytes of the body received, after decompression."""


@dataclass(frozen=True, repr=False)
class TransactionMetrics:
    """One exchange of a request: a redirect, a challenge or an attempt beyond the first makes
    another one.
    """

    method: str
    url: str
    status: int
    """0 when there was no answer."""
    start_time: datetime
    error: Optional[str]
    """Why it failed; None when there was a whole answer, whatever its status."""
    metrics: Metrics
    """The figures of this exchange alone: `redirects` and `retries` are 0."""

    def __repr__(self) -> str:
        # Of the URL the host alone: what in its path was marked as secret is not known here.
        host = re.sub(r"^([a-z]+://)(?:[^/?#]*@)?([^/?#]*).*", r"\1\2", self.url, flags=re.DOTALL)
        problem = "" if self.error is None else f", {self.error}"
        took = f"{self.metrics.total:.3f} s"
        return f"<ntapi.TransactionMetrics {self.method} {host} {self.status}, {took}{problem}>"


@dataclass(frozen=True)
class RequestMetrics:
    """What a request took, over all its exchanges."""

    transactions: tuple[TransactionMetrics, ...]
    """In the order in which they were made, at most the last 65; the last one's answer is the
    response.
    """
    start_time: datetime
    elapsed: float
    """Seconds from start to end, by a clock that never jumps."""
    redirects: int
    retries: int
    """Attempts beyond the first: by a retry policy, after a challenge, with another token, or of a
    stream that goes on.
    """


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


def read_request_metrics(response: int | None) -> RequestMetrics:
    """The exchanges of a C response's request; none of one that could not be built."""
    pointer = lib.ntapi_response_request_metrics(response)
    if not pointer:
        return RequestMetrics((), _moment(0), 0.0, 0, 0)
    try:
        values = from_c(pointer)
    finally:
        lib.ntapi_json_free(pointer)
    return RequestMetrics(
        tuple(map(_transaction, values["transactions"])),
        _moment(values["startTime"]),
        values["elapsed"],
        values["redirects"],
        values["retries"],
    )


def _transaction(values: dict[str, Any]) -> TransactionMetrics:
    metrics = Metrics(
        name_lookup=values["nameLookup"],
        connect=values["connect"],
        tls=values["tls"],
        first_byte=values["firstByte"],
        total=values["total"],
        queued=values["queued"],
        redirects=0,
        retries=0,
        bytes_sent=values["bytesSent"],
        bytes_received=values["bytesReceived"],
        http_version=values["httpVersion"],
        connection_reused=values["connectionReused"],
        from_cache=values["fromCache"],
        bytes_decoded=values["bytesDecoded"],
    )
    return TransactionMetrics(
        values["method"],
        values["url"],
        values["status"],
        _moment(values["startTime"]),
        values["error"],
        metrics,
    )


def read_metrics(response: int | None) -> Metrics:
    """The metrics of a C response; the numbers are those of ntapi_metric."""
    (lookup, connect, tls, first_byte, total, queued, *counts, version, reused, decoded) = (
        float(lib.ntapi_response_metric(response, metric)) for metric in range(13)
    )
    redirects, retries, sent, received = map(int, counts)
    return Metrics(
        name_lookup=lookup,
        connect=connect,
        tls=tls,
        first_byte=first_byte,
        total=total,
        queued=queued,
        redirects=redirects,
        retries=retries,
        bytes_sent=sent,
        bytes_received=received,
        http_version=version,
        connection_reused=bool(reused),
        from_cache=lib.ntapi_response_get_source(response) != 0,
        bytes_decoded=int(decoded),
    )
