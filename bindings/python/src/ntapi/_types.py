"""The types that have no class. Only type checkers import this at once; a program that names them
gets them when it does, for typing takes longer to import than all of this package.
"""

from __future__ import annotations

import concurrent.futures
import datetime
import enum
import os
from collections.abc import AsyncIterable, Awaitable, Generator, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, Callable, Literal, Optional, Protocol, TypedDict, Union

from ._bridge.signatures import Facts
from ._client import BaseClient
from ._configuration import RetryPolicy
from ._decision import Decision
from ._enums import CachePolicy, Thread
from ._http import HTTPRequest, HTTPResponse
from ._interceptors import InterceptedCall, Interceptor
from ._mailbox import Mailbox
from ._response import Response
from ._storage import Cache, CredentialStorage
from .arg import Arg


class ListOfArgs(Protocol):
    """A list, tuple or other collection of args. A string is none: it contains only strings, and is
    a collection of itself for type checkers. The keys of a dictionary are none, either.
    """

    def __iter__(self) -> Iterator[Args]: ...

    def __contains__(self, value: object, /) -> bool: ...


class IteratorOfArgs(Protocol):
    """A generator, say. Without `__iter__`, which strings have, too: mypy would look into them."""

    def __next__(self) -> Args: ...


Args = Union[Arg, None, ListOfArgs, IteratorOfArgs]
"""What methods accept as args: an arg, None, or any nesting of lists of them."""

JSON = Union[None, bool, int, float, str, list["JSON"], dict[str, "JSON"]]
"""A JSON value, as `Response.json` returns it."""

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


# Keyword arguments. Only type checkers import this.


class ProgressHandlers(TypedDict, total=False):
    """They get bytes so far and bytes expected, None while unknown."""

    upload_progress: Optional[ProgressHandler]
    download_progress: Optional[ProgressHandler]


class Handlers(ProgressHandlers, total=False):
    """The handlers of a request beside that of its response."""

    data_handler: Optional[DataHandler]
    decision_handler: Optional[DecisionHandler]


class Settings(TypedDict, total=False):
    """Each is an attribute of `SessionConfiguration`, which says what it means."""

    additional_headers: dict[str, str]
    user_agent: str
    decompression: bool
    maximum_response_size: int
    maximum_redirects: int
    cache_policy: Union[CachePolicy, CachePolicyName]
    uses_cache: bool
    cache_memory_capacity: int
    cache_disk_capacity: int
    cache_folder: str
    cache: Cache
    credential_storage: Optional[CredentialStorage]
    interceptors: Sequence[Interceptor]
    cookie_accept_policy: CookieAcceptPolicy
    sends_cookies: bool
    application_name: str
    request_timeout: float
    resource_timeout: float
    exit_timeout: float
    connect_timeout: float
    queue_timeout: float
    attempt_timeout: float
    maximum_connections_per_host: int
    maximum_connections: int
    http_version: HTTPVersion
    network_interface: str
    allows_cellular_access: bool
    proxy: str
    proxy_user: str
    proxy_password: str
    proxy_exceptions: list[str]
    retry: Union[RetryPolicy, bool]
    rate_limit: dict[str, float]
    user: str
    password: str
    tls_minimum_version: TLSVersion
    ca_file: str
    client_certificate: str
    client_certificate_origins: list[str]
    client_key: str
    client_key_password: str
    pinned_public_keys: list[str]


# The interfaces inside of the package. Only type checkers import this.


class Ending(Protocol):
    """Whether a request has ended, and who runs a handler of it."""

    is_done: bool
    runner: Optional[int]


class Owed(Protocol):
    """A request that is not over: a `Delivery`, or one that its caller waits for."""

    @property
    def client(self) -> Optional[BaseClient]:
        """Whose request it is; None between two requests."""

    @property
    def outcome(self) -> Ending:
        """How it ends."""

    @property
    def exit_timeout(self) -> float:
        """Seconds that it may go on when the process exits or its client's block is left."""

    def uses(self, mailbox: Mailbox) -> bool:
        """Whether one of its handlers may have to run there."""

    def place_mailboxes(self) -> set[Mailbox]:
        """Where its handlers may have to run."""

    def runs_in(self, mailboxes: Iterable[Mailbox]) -> bool:
        """Whether all of its handlers run when these are drained."""

    def take_response(self, event: Facts) -> None:
        """The last event from C, on the thread that took it."""

    def take_decision(self, event: Facts) -> None:
        """A question from C, on the thread that took it."""

    def take_data(self, event: Facts) -> None:
        """A piece of a body from C, on the thread that took it."""

    def take_progress(self, handler: int, count: int, total: int) -> None:
        """An event from C, on the thread that took it."""

    def stop_reading(self) -> None:
        """It is cancelled: a body that is awaited is not awaited any more."""

    def cancel(self) -> None:
        """Cancels in C, which answers with "request cancelled". Too late is no error."""


class Observer(Protocol):
    """Somebody who waits for requests that end on another thread."""

    def wake(self) -> None: ...


class Place(Protocol):
    """Where a handler runs."""

    @property
    def mailbox(self) -> Mailbox:
        """Where C delivers its events."""

    @property
    def runs_inline(self) -> bool:
        """Whether the thread that drains that mailbox is already the right one."""

    def post(self, job: Job) -> None:
        """Runs a job there. From any thread."""


class SetDefault(Protocol):
    """Sets a default, any JSON value; None removes it, a function of the key is asked at each
    look-up.
    """

    def __call__(self, key: str, value: Union[Callable[[str], Any], object]) -> None: ...


class GetDefault(Protocol):
    """Looks a default up: in the client, its class, the classes it derives from, then globally."""

    def __call__(self, key: str, fallback: Any = None) -> Any: ...


class Scope(Protocol):
    """Finds the C defaults of a client, or of its class."""

    def __call__(self, owner: type, instance: Any) -> Optional[int]: ...


# Names of typing that Python 3.9 does not have.


if TYPE_CHECKING:
    from typing_extensions import Self
else:
    Self = Any

__all__ = ["Self"]
