"""The kinds of failures of an exchange, independent of the library's names for them."""

from __future__ import annotations

import enum

from .. import codes
from .._bridge.enums import Clock, ErrorDomain, NetworkFailure
from .._errors import ApiError


class Failure(enum.Enum):
    """What went wrong with an exchange."""

    POOL_TIMEOUT = enum.auto()
    CONNECT_TIMEOUT = enum.auto()
    READ_TIMEOUT = enum.auto()
    WRITE_TIMEOUT = enum.auto()
    TIMEOUT = enum.auto()
    """The time for the whole exchange, which only the program's own client limits."""
    CONNECT = enum.auto()
    TLS = enum.auto()
    PROXY = enum.auto()
    READ = enum.auto()
    WRITE = enum.auto()
    LOCAL_PROTOCOL = enum.auto()
    REMOTE_PROTOCOL = enum.auto()
    DECODING = enum.auto()
    OTHER = enum.auto()
    """For example an error of an interceptor."""


CONNECT_FAILURES = frozenset({Failure.CONNECT, Failure.CONNECT_TIMEOUT, Failure.TLS})
"""After these failures nothing was sent, so another connection may be tried."""

_OF_CLOCK = {
    Clock.QUEUE: Failure.POOL_TIMEOUT,
    Clock.CONNECT: Failure.CONNECT_TIMEOUT,
    Clock.ATTEMPT: Failure.TIMEOUT,
    Clock.TOTAL: Failure.TIMEOUT,
}
_OF_NETWORK = {
    NetworkFailure.NAME_LOOKUP: Failure.CONNECT,
    NetworkFailure.REFUSED: Failure.CONNECT,
    NetworkFailure.UNREACHABLE: Failure.CONNECT,
    NetworkFailure.PROXY: Failure.PROXY,
    NetworkFailure.TLS: Failure.TLS,
    NetworkFailure.RESET: Failure.READ,
    NetworkFailure.NO_ANSWER: Failure.REMOTE_PROTOCOL,
    NetworkFailure.CUT_SHORT: Failure.REMOTE_PROTOCOL,
    NetworkFailure.NOT_HTTP: Failure.REMOTE_PROTOCOL,
    NetworkFailure.DECODING: Failure.DECODING,
}
_OF_CURL = {
    45: Failure.CONNECT,  # CURLE_INTERFACE_FAILED: the local address cannot be used
    55: Failure.WRITE,  # CURLE_SEND_ERROR
    92: Failure.REMOTE_PROTOCOL,  # CURLE_HTTP2_STREAM: the server has reset the stream
}
_OF_DOMAIN = {
    ErrorDomain.REQUEST: Failure.LOCAL_PROTOCOL,
    ErrorDomain.CANCELLED: Failure.READ,  # the client was closed
}


def failure_of(error: ApiError, is_sending: bool) -> Failure:
    """The kind of an error. `is_sending` says whether the body was still being sent."""
    if error.clock is Clock.IDLE:
        return Failure.WRITE_TIMEOUT if is_sending else Failure.READ_TIMEOUT
    if error.clock is not None:
        return _OF_CLOCK[error.clock]
    if error.failure in (NetworkFailure.RESET, NetworkFailure.OTHER):
        found = _OF_CURL.get(error.transport_code or 0)
        if found is not None:
            return found
    if error.failure is not None:
        return _OF_NETWORK.get(error.failure, Failure.OTHER)
    return _OF_DOMAIN.get(error.domain, Failure.OTHER)


def refused(reason: str) -> ApiError:
    """The error of a request that NTApi cannot send as it is."""
    return ApiError(codes.INVALID_REQUEST, reason, domain=ErrorDomain.REQUEST)
