"""The types that have no class. Only type checkers import this at once; a program that names them
gets them when it does, for typing takes longer to import than all of this package.
"""

from __future__ import annotations

import concurrent.futures
import datetime
import enum
import os
from collections.abc import AsyncIterable, Awaitable, Generator, Iterable
from typing import IO, Callable, Literal, Optional, Union

from ._arg import Arg
from ._decision import Decision
from ._enums import Thread
from ._http_request import HTTPRequest
from ._http_response import HTTPResponse
from ._interceptor import InterceptedCall
from ._mailbox import Mailbox
from ._response import Response

Args = Union[Arg, None, Iterable["Args"]]
"""What methods accept as args: an arg, None, or any nesting of lists of them."""

Job = Callable[[], object]
Submit = Callable[[Job], object]
PlaceLike = Union[Thread, Mailbox, concurrent.futures.Executor, Submit]
"""A thread of `Thread`, a mailbox, an executor, or any function that takes a job, such as
loop.call_soon_threadsafe.
"""

ResponseHandler = Callable[[Response], object]
ProgressHandler = Callable[[int, Optional[int]], object]
DataHandler = Callable[[bytes], object]
DecisionHandler = Callable[[Decision], object]

InterceptorFunction = Union[
    Callable[[InterceptedCall], Generator[HTTPRequest, HTTPResponse, Optional[HTTPResponse]]],
    Callable[[InterceptedCall], Awaitable[Optional[HTTPResponse]]],
    Callable[[InterceptedCall], Optional[HTTPResponse]],
]
"""What an interceptor is made of: a generator, an async function, or a plain one."""

Scalar = Union[str, int, float, bool, enum.Enum, datetime.date]
Path = Union[str, "os.PathLike[str]"]
BytesLike = Union[bytes, bytearray, memoryview]
ClockName = Literal["idle", "connect", "queue", "attempt", "total"]
CachePolicyName = Literal[
    "protocol",
    "reload_ignoring_cache",
    "return_cached_else_load",
    "return_cached_dont_load",
    "reload_revalidating",
    "no_store",
]
CookieAcceptPolicy = Literal["always", "never", "only_from_main_document"]
HTTPVersion = Literal["1.0", "1.1", "2"]
TLSVersion = Literal["1.2", "1.3"]

Chunk = BytesLike
StreamContent = Union[IO[bytes], Iterable[Chunk], AsyncIterable[Chunk], Callable[[int], Chunk]]
