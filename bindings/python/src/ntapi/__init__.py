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

from ._bridge import forks as _forks  # noqa: F401 (first: a fork waits for what follows)
from ._bridge.library import lib as _lib
from ._bridge.library import require as _require
from ._bridge.logging import end_with_the_process as _end_with_the_process
from ._bridge.logging import use_python_logging as use_python_logging
from ._bridge.native import import_all as _import_all

# The names of the package, for type checkers. `__getattr__` is hidden from them, so they report a
# misspelled name. A test compares these lines with `_NAMES_OF`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import arg as arg
    from . import codes as codes
    from . import testing as testing
    from . import transports as transports
    from ._args import Arg as Arg
    from ._async_client import AsyncClient as AsyncClient
    from ._auth import Authenticator as Authenticator
    from ._auth import Refresh as Refresh
    from ._auth import Token as Token
    from ._bridge.enums import BACKGROUND as BACKGROUND
    from ._bridge.enums import CURRENT as CURRENT
    from ._bridge.enums import MAIN as MAIN
    from ._bridge.enums import UNSET as UNSET
    from ._bridge.enums import Authentication as Authentication
    from ._bridge.enums import BodyKind as BodyKind
    from ._bridge.enums import CachePolicy as CachePolicy
    from ._bridge.enums import ChallengeKind as ChallengeKind
    from ._bridge.enums import Clock as Clock
    from ._bridge.enums import DecisionKind as DecisionKind
    from ._bridge.enums import ErrorDomain as ErrorDomain
    from ._bridge.enums import LogFlags as LogFlags
    from ._bridge.enums import NetworkFailure as NetworkFailure
    from ._bridge.enums import Persistence as Persistence
    from ._bridge.enums import RequestState as RequestState
    from ._bridge.enums import SessionKind as SessionKind
    from ._bridge.enums import Source as Source
    from ._bridge.enums import Storage as Storage
    from ._bridge.enums import Thread as Thread
    from ._bridge.enums import Unset as Unset
    from ._config import RetryPolicy as RetryPolicy
    from ._config import SessionConfiguration as SessionConfiguration
    from ._decision import Challenge as Challenge
    from ._decision import Decision as Decision
    from ._defaults import defaults as defaults
    from ._errors import ApiError as ApiError
    from ._errors import resume_data_of as resume_data_of
    from ._headers import Headers as Headers
    from ._http import HTTPRequest as HTTPRequest
    from ._http import HTTPResponse as HTTPResponse
    from ._http import Metrics as Metrics
    from ._http import RequestMetrics as RequestMetrics
    from ._http import TransactionMetrics as TransactionMetrics
    from ._interceptors import InterceptedCall as InterceptedCall
    from ._interceptors import Interceptor as Interceptor
    from ._interceptors import attempt_interceptor as attempt_interceptor
    from ._interceptors import call_interceptor as call_interceptor
    from ._observers import Observation as Observation
    from ._observers import Observer as Observer
    from ._observers import add_observer as add_observer
    from ._observers import remove_observer as remove_observer
    from ._problem import ProblemDetails as ProblemDetails
    from ._rate_limits import RateLimit as RateLimit
    from ._rate_limits import RateLimiter as RateLimiter
    from ._request import Request as Request
    from ._response import Response as Response
    from ._response import discard_resume_data as discard_resume_data
    from ._runtime.ending import drain as drain
    from ._runtime.mailbox import Mailbox as Mailbox
    from ._runtime.threads import drain_mailbox as drain_mailbox
    from ._runtime.threads import mailbox as mailbox
    from ._runtime.threads import run as run
    from ._runtime.threads import stop as stop
    from ._runtime.types import PlaceLike as PlaceLike
    from ._service import CallResult as CallResult
    from ._service import Service as Service
    from ._storage import Cache as Cache
    from ._storage import Cookie as Cookie
    from ._storage import Cookies as Cookies
    from ._storage import Credential as Credential
    from ._storage import CredentialStorage as CredentialStorage
    from ._storage import ProtectionSpace as ProtectionSpace
    from ._stores import Store as Store
    from ._stores import StoreScript as StoreScript
    from ._stream import AsyncStream as AsyncStream
    from ._stream import ServerSentEvent as ServerSentEvent
    from ._stream import Stream as Stream
    from ._sync_client import Client as Client
    from ._types import JSON as JSON
    from ._types import Args as Args
    from ._types import InterceptorFunction as InterceptorFunction
    from ._types import StatusErrors as StatusErrors
    from .arg import add_header as add_header
    from .arg import base_url as base_url
    from .arg import basic_auth as basic_auth
    from .arg import bearer as bearer
    from .arg import cache_policy as cache_policy
    from .arg import data as data
    from .arg import data_thread as data_thread
    from .arg import decision_thread as decision_thread
    from .arg import digest_auth as digest_auth
    from .arg import download as download
    from .arg import download_progress_thread as download_progress_thread
    from .arg import file as file
    from .arg import form as form
    from .arg import header as header
    from .arg import idempotency_key as idempotency_key
    from .arg import interceptor as interceptor
    from .arg import json as json
    from .arg import method as method
    from .arg import multipart as multipart
    from .arg import multipart_file as multipart_file
    from .arg import option as option
    from .arg import path as path
    from .arg import query as query
    from .arg import rate_limiter as rate_limiter
    from .arg import response_thread as response_thread
    from .arg import resume as resume
    from .arg import retry as retry
    from .arg import stream as stream
    from .arg import timeout as timeout
    from .arg import upload_progress_thread as upload_progress_thread
    from .arg import url as url
    from .arg import url_default as url_default
    from .codes import ErrorCode as ErrorCode
    from .codes import register_code as register_code
    from .decoding.decoder import decode as decode
    from .decoding.options import CustomDateFormat as CustomDateFormat
    from .decoding.options import DateFormat as DateFormat
    from .decoding.options import DecodingOptions as DecodingOptions
    from .decoding.options import Key as Key
    from .decoding.options import Keys as Keys
    from .decoding.values import URL as URL


def library_version() -> str:
    """The version of the shared library."""
    return str(_lib.ntapi_version().decode())


def versions() -> dict[str, str]:
    """The versions of the shared library, of the libcurl that it has loaded and of libcurl's own
    libraries: `{"ntapi": "0.2.0", "libcurl": "8.22.0", "OpenSSL": "3.5.4", …}`.
    """
    text: str = _lib.ntapi_version_text().decode()
    # Leave out what is in parentheses: a library that another of these libraries uses.
    parts = (part.partition("/") for part in text.split() if not part.startswith("("))
    return {name: version for name, _, version in parts}


# The module of each name. A name is imported on first use. A process with one request imports about
# half of the package's modules, and none of enum, re, json and asyncio, which would take four times
# as long. For that reason, modules that every process imports have imports inside their functions.
_NAMES_OF = {
    "_args": "Arg",
    "_async_client": "AsyncClient",
    "_auth": "Authenticator Refresh Token",
    "_bridge.enums": (
        "BACKGROUND CURRENT MAIN UNSET Authentication BodyKind CachePolicy ChallengeKind Clock "
        "DecisionKind ErrorDomain LogFlags NetworkFailure Persistence RequestState SessionKind "
        "Source Storage Thread Unset"
    ),
    "_config": "RetryPolicy SessionConfiguration",
    "_decision": "Challenge Decision",
    "_defaults": "defaults",
    "_errors": "ApiError resume_data_of",
    "_headers": "Headers",
    "_http": "HTTPRequest HTTPResponse Metrics RequestMetrics TransactionMetrics",
    "_interceptors": "InterceptedCall Interceptor attempt_interceptor call_interceptor",
    "_observers": "Observation Observer add_observer remove_observer",
    "_problem": "ProblemDetails",
    "_rate_limits": "RateLimit RateLimiter",
    "_request": "Request",
    "_response": "Response discard_resume_data",
    "_runtime.ending": "drain",
    "_runtime.mailbox": "Mailbox",
    "_runtime.threads": "drain_mailbox mailbox run stop",
    "_runtime.types": "PlaceLike",
    "_service": "CallResult Service",
    "_storage": "Cache Cookie Cookies Credential CredentialStorage ProtectionSpace",
    "_stores": "Store StoreScript",
    "_stream": "AsyncStream ServerSentEvent Stream",
    "_sync_client": "Client",
    "_types": "JSON Args InterceptorFunction StatusErrors",
    "arg": (
        "add_header base_url basic_auth bearer cache_policy data data_thread decision_thread "
        "digest_auth download download_progress_thread file form header idempotency_key "
        "interceptor json method multipart multipart_file option path query rate_limiter "
        "response_thread resume retry stream timeout upload_progress_thread url url_default"
    ),
    "codes": "ErrorCode register_code",
    "decoding.decoder": "decode",
    "decoding.options": "CustomDateFormat DateFormat DecodingOptions Key Keys",
    "decoding.values": "URL",
}
_MODULES = ("arg", "codes", "testing", "transports")
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names.split()}

if not TYPE_CHECKING:
    __all__ = sorted(
        [
            *_MODULE_OF,
            "__version__",
            "arg",
            "codes",
            "library_version",
            "use_python_logging",
            "versions",
        ]
    )

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            # The import makes it an attribute of the package.
            return __import__(f"{__name__}.{name}", fromlist=[name])
        module = _MODULE_OF.get(name)
        if module is None:
            if name.startswith("_"):
                # The import system asks for this before it imports a module of the package.
                raise AttributeError(name)
            from ._advice import missing_name

            raise missing_name(__name__, name, __all__, "package")
        _import_all()
        value = getattr(__import__(f"{__name__}.{module}", fromlist=[name]), name)
        # From now on the name is found without this function.
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_MODULES})


_require(__version__)
use_python_logging()
_end_with_the_process()
