"""NTApi: a client for JSON web APIs.

    import ntapi

    with ntapi.Client("https://api.example.com") as client:
        response = client.send("data/2.5/find", ntapi.url("q", "London"), ntapi.timeout(5))
        print(response.json["list"][0]["name"])

`Client` blocks, `AsyncClient` is for asyncio. Args are plain values made by functions: `url`,
`form`, `json`, ...
"""

from __future__ import annotations

from . import arg, codes
from ._arg import Arg
from ._authenticator import Authenticator, Refresh, Token
from ._decision import Challenge, Decision
from ._defaults import defaults
from ._enums import (
    CachePolicy,
    ChallengeKind,
    Clock,
    DecisionKind,
    ErrorDomain,
    LogFlags,
    RequestState,
    SessionKind,
    Source,
    Storage,
    Thread,
)
from ._errors import ApiError
from ._headers import Headers
from ._hooks import HTTPRequest
from ._library import lib as _lib
from ._lifecycle import drain
from ._lifecycle import install as _install
from ._logging import use_python_logging
from ._mailbox import Mailbox
from ._request import Request
from ._response import Response, discard_resume_data
from ._sync import Client
from ._threads import drain_mailbox, mailbox, run, stop
from ._version import __version__
from .arg import (
    add_header,
    base_url,
    basic_auth,
    bearer,
    cache_policy,
    data,
    data_thread,
    decision_thread,
    digest_auth,
    download,
    download_progress_thread,
    file,
    form,
    header,
    idempotency_key,
    json,
    method,
    multipart,
    multipart_file,
    option,
    path,
    rate_limiter,
    response_thread,
    resume,
    retry,
    stream,
    timeout,
    upload_progress_thread,
    url,
    url_default,
)
from .codes import ErrorCode, register_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._aliases import Args, PlaceLike
    from ._async import AsyncClient
    from ._cache import Cache
    from ._configuration import SessionConfiguration
    from ._cookies import Cookie, Cookies
    from ._decoding import decode
    from ._decoding_options import DateFormat, DecodingOptions, Key, Keys
    from ._metrics import Metrics, RequestMetrics, TransactionMetrics
    from ._retry import RateLimiter, RetryPolicy
    from ._server_event import ServerSentEvent
    from ._service import CallResult, Service
    from ._stream import AsyncStream, Stream
    from ._url import URL

BACKGROUND = Thread.BACKGROUND
CURRENT = Thread.CURRENT
MAIN = Thread.MAIN

__all__ = [
    "BACKGROUND",
    "CURRENT",
    "MAIN",
    "URL",
    "ApiError",
    "Arg",
    "Args",
    "AsyncClient",
    "AsyncStream",
    "Authenticator",
    "Cache",
    "CachePolicy",
    "CallResult",
    "Challenge",
    "ChallengeKind",
    "Client",
    "Clock",
    "Cookie",
    "Cookies",
    "DateFormat",
    "Decision",
    "DecisionKind",
    "DecodingOptions",
    "ErrorCode",
    "ErrorDomain",
    "HTTPRequest",
    "Headers",
    "Key",
    "Keys",
    "LogFlags",
    "Mailbox",
    "Metrics",
    "PlaceLike",
    "RateLimiter",
    "Refresh",
    "Request",
    "RequestMetrics",
    "RequestState",
    "Response",
    "RetryPolicy",
    "ServerSentEvent",
    "Service",
    "SessionConfiguration",
    "SessionKind",
    "Source",
    "Storage",
    "Stream",
    "Thread",
    "Token",
    "TransactionMetrics",
    "__version__",
    "add_header",
    "arg",
    "base_url",
    "basic_auth",
    "bearer",
    "cache_policy",
    "codes",
    "data",
    "data_thread",
    "decision_thread",
    "decode",
    "defaults",
    "digest_auth",
    "discard_resume_data",
    "download",
    "download_progress_thread",
    "drain",
    "drain_mailbox",
    "file",
    "form",
    "header",
    "idempotency_key",
    "json",
    "library_version",
    "mailbox",
    "method",
    "multipart",
    "multipart_file",
    "option",
    "path",
    "rate_limiter",
    "register_code",
    "response_thread",
    "resume",
    "retry",
    "run",
    "stop",
    "stream",
    "timeout",
    "upload_progress_thread",
    "url",
    "url_default",
    "use_python_logging",
]


def library_version() -> str:
    """The version of the shared library."""
    return str(_lib.ntapi_version().decode())


# Imported when they are asked for: what they need takes longer to import than the rest.
_LATER = {
    "Cache": "_cache",
    "Cookie": "_cookies",
    "Cookies": "_cookies",
    "Args": "_aliases",
    "AsyncClient": "_async",
    "Metrics": "_metrics",
    "RequestMetrics": "_metrics",
    "TransactionMetrics": "_metrics",
    "AsyncStream": "_stream",
    "CallResult": "_service",
    "decode": "_decoding",
    "DateFormat": "_decoding_options",
    "DecodingOptions": "_decoding_options",
    "Key": "_decoding_options",
    "Keys": "_decoding_options",
    "Service": "_service",
    "URL": "_url",
    "PlaceLike": "_aliases",
    "RateLimiter": "_retry",
    "RetryPolicy": "_retry",
    "ServerSentEvent": "_server_event",
    "Stream": "_stream",
    "SessionConfiguration": "_configuration",
}


def __getattr__(name: str) -> Any:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{module}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


use_python_logging()
_install()
