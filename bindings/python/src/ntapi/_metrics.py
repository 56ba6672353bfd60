"""What a request cost."""

from __future__ import annotations

from dataclasses import dataclass

from ._library import lib


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


def read_metrics(response: int | None) -> Metrics:
    """The metrics of a C response; the numbers are those of ntapi_metric."""
    (lookup, connect, tls, first_byte, total, queued, *counts, version, reused, cached, decoded) = (
        float(lib.ntapi_response_metric(response, metric)) for metric in range(14)
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
        from_cache=bool(cached),
        bytes_decoded=int(decoded),
    )
