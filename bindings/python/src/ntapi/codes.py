"""Error codes: interned texts that compare by identity, `if error.code is codes.TIMEOUT`."""

from __future__ import annotations

import os

from ._bridge.native import allocate_lock

__all__ = [
    "AUTHENTICATION",
    "CANCELLED",
    "DETACHED",
    "GENERIC",
    "HTTP_ERROR",
    "INVALID_JSON",
    "INVALID_REQUEST",
    "NETWORK",
    "NOT_CACHED",
    "NO_INTERNET",
    "NO_STUB",
    "RESPONSE_TOO_LARGE",
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
                # Two threads may have missed it together; setdefault lets the first one win.
                code = _codes.setdefault(text, super().__new__(cls, text))
        return code

    def __repr__(self) -> str:
        return f"ErrorCode({str(self)!r})"

    def __reduce__(self) -> tuple[type[ErrorCode], tuple[str]]:
        # A code that was pickled or copied is still the same object.
        return ErrorCode, (str(self),)


def register_code(name: str) -> ErrorCode:
    """The code of this name, registered on first use. Compare it with `is`."""
    return ErrorCode(name)


NETWORK = ErrorCode("network")
NO_INTERNET = ErrorCode("no internet")
TIMEOUT = ErrorCode("timeout")
TLS = ErrorCode("TLS")
INVALID_JSON = ErrorCode("invalid JSON")
UNEXPECTED_JSON = ErrorCode("unexpected JSON")
HTTP_ERROR = ErrorCode("HTTP error")
AUTHENTICATION = ErrorCode("authentication failed")
NOT_CACHED = ErrorCode("not cached")
TOO_MANY_REDIRECTS = ErrorCode("too many redirects")
CANCELLED = ErrorCode("request cancelled")
DETACHED = ErrorCode("detached")
INVALID_REQUEST = ErrorCode("invalid request")
RESPONSE_TOO_LARGE = ErrorCode("response too large")
NO_STUB = ErrorCode("no stub")
GENERIC = ErrorCode("generic")


def _reset_in_child() -> None:
    """In a forked child: another thread of the parent may have held the lock."""
    global _lock
    _lock = allocate_lock()


os.register_at_fork(after_in_child=_reset_in_child)
