"""What spans and metrics say of an attempt, by OpenTelemetry's stable HTTP conventions.

https://opentelemetry.io/docs/specs/semconv/http/http-spans/
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote, unquote_plus, urlsplit

from .. import codes
from .._bridge.enums import ErrorDomain, NetworkFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from .._errors import ApiError

_SIGNED = frozenset(
    (
        "AWSAccessKeyId",
        "Signature",
        "sig",
        "X-Goog-Signature",
        "X-Amz-Signature",
        "X-Amz-Credential",
        "X-Amz-Security-Token",
    )
)
"""Names in a query whose values are secret: those of signed URLs."""
_USER = re.compile(r"^([^:/?#]+://)[^/?#]*@")
_CODES = {
    codes.TIMEOUT,
    codes.TLS,
    codes.RESPONSE_TOO_LARGE,
    codes.TOO_MANY_REDIRECTS,
    codes.NOT_ALLOWED,
    codes.CIRCUIT_OPEN,
    codes.STORE_FAILED,
    codes.NOT_CACHED,
    codes.AUTHENTICATION,
    codes.INVALID_REQUEST,
    codes.INVALID_JSON,
    codes.UNEXPECTED_JSON,
}
"""The codes that are values of `error.type`, in lower case and with underscores."""
VERSIONS = {1.0: "1.0", 1.1: "1.1", 2.0: "2", 3.0: "3"}
"""Texts for `network.protocol.version`."""


def full_url(url: str, keeps_query: bool = True) -> str:
    """`url.full`: the URL without secrets."""
    url, hash_mark, fragment = _USER.sub(r"\1REDACTED:REDACTED@", url).partition("#")
    path, mark, query = url.partition("?")
    if not keeps_query:
        mark = query = ""
    elif query:
        query = "&".join(map(_without_secret, query.split("&")))
    return path + mark + query + hash_mark + fragment


def without_queries(text: str) -> str:
    """A message up to its first question mark: a query may have any characters, also spaces."""
    before, mark, _ = text.partition("?")
    return f"{before}…" if mark else text


def _without_secret(pair: str) -> str:
    name, mark, _ = pair.partition("=")
    return f"{name}=REDACTED" if mark and unquote_plus(name) in _SIGNED else pair


def server_of(url: str, host: Optional[str] = None) -> tuple[str, int]:
    """`server.address` and `server.port`: of the header Host if there is one, else of the URL."""
    parts = urlsplit(url)
    usual = 443 if parts.scheme == "https" else 80
    if host:
        try:
            named = urlsplit(f"//{host}")
            if named.hostname:
                return named.hostname, named.port or usual
        except ValueError:
            # The server refuses such a header; the URL is right.
            pass
    return parts.hostname or "", parts.port or usual


def template_of(command: str, url: str) -> Optional[str]:
    """`url.template`: the URL's path with the command's {names} in place of their values; None if
    there are none, or if the URL is not the command's, because of a redirect.
    """
    if "{" not in command:
        return None
    command = command.partition("#")[0]
    path, mark, query = command.partition("?")
    parts = urlsplit(url)
    wanted = path[path.startswith("/") :].split("/") if path else []
    segments = parts.path.split("/")
    base = segments[: len(segments) - len(wanted)]
    if not base or not _match(wanted, segments[len(base) :]):
        return None
    if query and not _match(query.split("&"), parts.query.split("&")):
        return None
    return "/".join((*base, *wanted)) + mark + query


def _match(wanted: list[str], parts: list[str]) -> bool:
    """Whether each wanted part matches the part at its place; more parts may follow."""
    return len(parts) >= len(wanted) and all(
        _expression(text).fullmatch(unquote(part)) for text, part in zip(wanted, parts)
    )


@lru_cache(maxsize=1024)
def _expression(text: str) -> re.Pattern[str]:
    """Matches the parts of a URL that a part of a command can become. Odd pieces are names."""
    pieces = re.split(r"\{([^{}]*)\}", text)
    literals = (re.escape(unquote(piece)) for piece in pieces[::2])
    return re.compile(".*".join(literals), re.DOTALL)


def error_type(status: int, error: Optional[ApiError]) -> Optional[str]:
    """`error.type`, a value of a short list; None for a success, and for a cancel by the caller."""
    if status >= 400 or (error is not None and error.code is codes.HTTP_ERROR):
        return str(status)
    if error is None or error.domain is ErrorDomain.CANCELLED:
        return None
    if error.failure is not None and error.failure is not NetworkFailure.OTHER:
        return error.failure.name.lower()
    return error.code.lower().replace(" ", "_") if error.code in _CODES else "_OTHER"
