"""NTApi: a client for JSON web APIs.

    import ntapi

    with ntapi.Client("https://api.example.com") as client:
        response = client.send("data/2.5/find", ntapi.url("q", "London"), ntapi.timeout(5))
        print(response.json()["list"][0]["name"])

`Client` blocks, `AsyncClient` is for asyncio. Args are plain values made by functions: `url`,
`form`, `json`, ...
"""

from __future__ import annotations

# The version of the header that the package was written against.
__version__ = "0.2.0"

from ._bridge.library import lib as _lib
from ._bridge.native import import_all as _import_all
from ._logging import use_python_logging
from ._registry import install as _install

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import arg, codes
    from ._async import AsyncClient
    from ._authenticator import Authenticator, Refresh, Token
    from ._client_parts import defaults
    from ._configuration import RateLimiter, RetryPolicy, SessionConfiguration
    from ._decision import Challenge, Decision
    from ._enums import (
        BACKGROUND,
        CURRENT,
        MAIN,
        UNSET,
        Authentication,
        CachePolicy,
        ChallengeKind,
        Clock,
        DecisionKind,
        ErrorDomain,
        LogFlags,
        NetworkFailure,
        Persistence,
        RequestState,
        SessionKind,
        Source,
        Storage,
        Thread,
        Unset,
    )
    from ._errors import ApiError, resume_data_of
    from ._http import (
        HTTPRequest,
        HTTPResponse,
        Metrics,
        RequestMetrics,
        TransactionMetrics,
    )
    from ._interceptors import (
        InterceptedCall,
        Interceptor,
        attempt_interceptor,
        call_interceptor,
    )
    from ._mailbox import Mailbox, drain_mailbox, mailbox, run, stop
    from ._registry import drain
    from ._request import Request
    from ._response import Headers, Response, discard_resume_data
    from ._service import CallResult, Service
    from ._storage import Cache, Cookie, Cookies, Credential, CredentialStorage, ProtectionSpace
    from ._stream import AsyncStream, ServerSentEvent, Stream
    from ._sync import Client
    from ._types import JSON, Args, InterceptorFunction, PlaceLike
    from .arg import (
        Arg,
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
        interceptor,
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
    from .decoding.decoder import decode
    from .decoding.options import DateFormat, DecodingOptions, Key, Keys
    from .decoding.values import URL

__all__ = [
    "BACKGROUND",
    "CURRENT",
    "JSON",
    "MAIN",
    "UNSET",
    "URL",
    "ApiError",
    "Arg",
    "Args",
    "AsyncClient",
    "AsyncStream",
    "Authentication",
    "Authenticator",
    "BodyKind",
    "Cache",
    "CachePolicy",
    "CallResult",
    "Challenge",
    "ChallengeKind",
    "Client",
    "Clock",
    "Cookie",
    "Cookies",
    "Credential",
    "CredentialStorage",
    "CustomDateFormat",
    "DateFormat",
    "Decision",
    "DecisionKind",
    "DecodingOptions",
    "ErrorCode",
    "ErrorDomain",
    "HTTPRequest",
    "HTTPResponse",
    "Headers",
    "InterceptedCall",
    "Interceptor",
    "InterceptorFunction",
    "Key",
    "Keys",
    "LogFlags",
    "Mailbox",
    "Metrics",
    "NetworkFailure",
    "Persistence",
    "PlaceLike",
    "ProtectionSpace",
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
    "Unset",
    "__version__",
    "add_header",
    "arg",
    "attempt_interceptor",
    "base_url",
    "basic_auth",
    "bearer",
    "cache_policy",
    "call_interceptor",
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
    "interceptor",
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
    "resume_data_of",
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


# Where each name is, to be imported when it is asked for. A process with one request imports 18 of
# the package's 45 modules, and neither enum, re, json nor asyncio: all of them take four times as
# long. For that, modules that every process imports have imports inside their functions.
_NAMES_OF = {
    "_async": "AsyncClient",
    "_authenticator": "Authenticator Refresh Token",
    "_client_parts": "defaults",
    "_configuration": "RateLimiter RetryPolicy SessionConfiguration",
    "_decision": "Challenge Decision",
    "_enums": (
        "Authentication BodyKind CachePolicy ChallengeKind Clock DecisionKind ErrorDomain "
        "LogFlags NetworkFailure Persistence RequestState SessionKind Source Storage Thread "
        "BACKGROUND CURRENT MAIN UNSET Unset"
    ),
    "_errors": "ApiError resume_data_of",
    "_http": "HTTPRequest HTTPResponse Metrics RequestMetrics TransactionMetrics",
    "_interceptors": "InterceptedCall Interceptor attempt_interceptor call_interceptor",
    "_mailbox": "Mailbox drain_mailbox mailbox run stop",
    "_registry": "drain",
    "_request": "Request",
    "_response": "Headers Response discard_resume_data",
    "_service": "CallResult Service",
    "_storage": "Cache Cookie Cookies Credential CredentialStorage ProtectionSpace",
    "_stream": "ServerSentEvent AsyncStream Stream",
    "_sync": "Client",
    "_types": "Args InterceptorFunction JSON PlaceLike",
    "arg": (
        "Arg add_header base_url basic_auth bearer cache_policy data data_thread decision_thread "
        "digest_auth download download_progress_thread file form header idempotency_key "
        "interceptor json method multipart multipart_file option path rate_limiter "
        "response_thread resume retry stream timeout upload_progress_thread url url_default"
    ),
    "codes": "ErrorCode register_code",
    "decoding.decoder": "decode",
    "decoding.values": "URL",
    "decoding.options": "CustomDateFormat DateFormat DecodingOptions Key Keys",
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names.split()}


def library_version() -> str:
    """The version of the shared library."""
    return str(_lib.ntapi_version().decode())


def __getattr__(name: str) -> Any:
    if name in ("arg", "codes"):
        # The import makes it an attribute of the package.
        return __import__(f"{__name__}.{name}", fromlist=[name])
    module = _MODULE_OF.get(name)
    if module is None:
        if name.startswith("_"):
            # The import system asks, before it imports a module of the package.
            raise AttributeError(name)
        from ._checks import instead

        problem = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(problem + instead("package", name))
    _import_all()
    value = getattr(__import__(f"{__name__}.{module}", fromlist=[name]), name)
    # From now on it is found without this.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


use_python_logging()
_install()
