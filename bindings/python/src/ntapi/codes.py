"""Error codes: interned texts that compare by identity, `if error.code is codes.TIMEOUT`."""

from __future__ import annotations

import os

from ._bridge.native import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "AUTHENTICATION",
    "CANCELLED",
    "CIRCUIT_OPEN",
    "DETACHED",
    "GENERIC",
    "HTTP_ERROR",
    "INVALID_JSON",
    "INVALID_REQUEST",
    "NETWORK",
    "NOT_ALLOWED",
    "NOT_CACHED",
    "NO_INTERNET",
    "NO_STUB",
    "RESPONSE_TOO_LARGE",
    "STORE_FAILED",
    "TIMEOUT",
    "TLS",
    "TOO_MANY_REDIRECTS",
    "UNEXPECTED_JSON",
    "ErrorCode",
    "register_code",
]

_codes: dict[str, ErrorCode] = {}
_lock = allocate_lock()


class ErrorCode(str):
    """The text of an error code. Equal texts give the same object, so codes compare with `is`."""

    __slots__ = ()

    def __new__(cls, name: str) -> ErrorCode:
        if not isinstance(name, str):
            raise TypeError(f"a code has to be a string, not {type(name).__name__}")
        text = str(name)
        code = _codes.get(text)
        if code is None:
            with _lock:
                # Two threads may both have missed it; with setdefault the first one wins.
                code = _codes.setdefault(text, super().__new__(cls, text))
        return code

    def __repr__(self) -> str:
        return f"ErrorCode({str(self)!r})"

    def __reduce__(self) -> tuple[type[ErrorCode], tuple[str]]:
        # Pickling and copying keep the identity.
        return ErrorCode, (str(self),)


def register_code(name: str) -> ErrorCode:
    """The code with this name, registered on first use. Compare it with `is`."""
    return ErrorCode(name)


NETWORK = ErrorCode("network")
"""The connection failed or broke, or the answer was not HTTP."""
NO_INTERNET = ErrorCode("no internet")
"""The machine is offline."""
TIMEOUT = ErrorCode("timeout")
"""A timeout ran out; `ApiError.clock` says which."""
TLS = ErrorCode("TLS")
"""The handshake failed, or the certificate was not accepted."""
INVALID_JSON = ErrorCode("invalid JSON")
"""The body is not JSON."""
UNEXPECTED_JSON = ErrorCode("unexpected JSON")
"""The JSON does not fit the type that it should become."""
HTTP_ERROR = ErrorCode("HTTP error")
"""A status of 300 or above."""
AUTHENTICATION = ErrorCode("authentication failed")
"""The token could not be refreshed."""
NOT_CACHED = ErrorCode("not cached")
"""Nothing is stored, and the cache policy forbids asking the server."""
TOO_MANY_REDIRECTS = ErrorCode("too many redirects")
"""More redirects than the option "maximum_redirects" allows."""
CANCELLED = ErrorCode("request cancelled")
"""The request was cancelled by the caller."""
DETACHED = ErrorCode("detached")
"""A background transfer goes on in the next process."""
INVALID_REQUEST = ErrorCode("invalid request")
"""The request could not be built: fix the call."""
RESPONSE_TOO_LARGE = ErrorCode("response too large")
"""The body is larger than the option "maximum_response_size" allows."""
NO_STUB = ErrorCode("no stub")
"""No rule of a stub matches the request."""
NOT_ALLOWED = ErrorCode("not allowed")
"""The connection policy does not allow the URL, or the address of its host. Nothing was sent."""
CIRCUIT_OPEN = ErrorCode("circuit open")
"""The circuit breaker allows no request to the server now. Nothing was sent."""
STORE_FAILED = ErrorCode("store failed")
"""The store of a shared rate limit has failed, and requests fail with it. Nothing was sent."""
GENERIC = ErrorCode("generic")
"""An error without a code of its own."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._advice import missing_name

        raise missing_name(__name__, name, __all__, "codes")


def _reset_in_child() -> None:
    """In a forked child: another thread of the parent may have held the lock."""
    global _lock
    _lock = allocate_lock()


os.register_at_fork(after_in_child=_reset_in_child)
