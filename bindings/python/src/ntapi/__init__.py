"""NTApi: a client for JSON web APIs.

    import ntapi

    with ntapi.Client("https://api.example.com") as client:
        response = client.send("data/2.5/find", ntapi.url("q", "London"), ntapi.timeout(5))
        print(response.json["list"][0]["name"])

`Client` blocks, `AsyncClient` is for asyncio. Args are plain values made by functions: `url`,
`form`, `json`, ...
"""

from . import arg, codes
from ._arg import Arg, Args
from ._async import AsyncClient
from ._defaults import defaults
from ._enums import CachePolicy, Clock, ErrorDomain, LogFlags, RequestState, Thread
from ._errors import ApiError
from ._headers import Headers
from ._hooks import HTTPRequest
from ._library import lib as _lib
from ._lifecycle import drain
from ._lifecycle import install as _install
from ._logging import use_python_logging
from ._mailbox import Mailbox
from ._metrics import Metrics
from ._places import PlaceLike
from ._request import Request
from ._response import Response
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
    download_progress_thread,
    file,
    form,
    header,
    json,
    method,
    multipart,
    multipart_file,
    option,
    path,
    response_thread,
    stream,
    timeout,
    upload_progress_thread,
    url,
)
from .codes import ErrorCode, register_code

BACKGROUND = Thread.BACKGROUND
CURRENT = Thread.CURRENT
MAIN = Thread.MAIN

__all__ = [
    "BACKGROUND",
    "CURRENT",
    "MAIN",
    "ApiError",
    "Arg",
    "Args",
    "AsyncClient",
    "CachePolicy",
    "Client",
    "Clock",
    "ErrorCode",
    "ErrorDomain",
    "HTTPRequest",
    "Headers",
    "LogFlags",
    "Mailbox",
    "Metrics",
    "PlaceLike",
    "Request",
    "RequestState",
    "Response",
    "Thread",
    "__version__",
    "add_header",
    "arg",
    "base_url",
    "basic_auth",
    "bearer",
    "cache_policy",
    "codes",
    "data",
    "defaults",
    "download_progress_thread",
    "drain",
    "drain_mailbox",
    "file",
    "form",
    "header",
    "json",
    "library_version",
    "mailbox",
    "method",
    "multipart",
    "multipart_file",
    "option",
    "path",
    "register_code",
    "response_thread",
    "run",
    "stop",
    "stream",
    "timeout",
    "upload_progress_thread",
    "url",
    "use_python_logging",
]


def library_version() -> str:
    """The version of the shared library."""
    return str(_lib.ntapi_version().decode())


use_python_logging()
_install()
