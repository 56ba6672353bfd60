"""The types without a class. Type checkers import this; a program does only when it uses one of the
names, because typing takes longer to import than all of this package.
"""

from __future__ import annotations

import datetime
import enum
import os
from collections.abc import Awaitable, Generator, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Callable, Literal, Optional, Protocol, TypedDict, Union

from ._args import Arg
from ._bridge.enums import CachePolicy
from ._config import RetryPolicy
from ._decision import Decision
from ._errors import ApiError
from ._http import HTTPRequest, HTTPResponse
from ._interceptors import InterceptedCall, Interceptor
from ._response import Response
from ._storage import Cache, CredentialStorage
from .codes import ErrorCode

if TYPE_CHECKING:
    from ._runtime.types import StreamContent


class ListOfArgs(Protocol):
    """A list, tuple or other collection of args. Not a string, which for type checkers is a
    collection of strings, and not a dictionary, whose keys are no args.
    """

    def __iter__(self) -> Iterator[Args]: ...

    def __contains__(self, value: object, /) -> bool: ...


class IteratorOfArgs(Protocol):
    """For example a generator. Has no `__iter__`, so that mypy does not accept strings."""

    def __next__(self) -> Args: ...


Args = Union[Arg, None, ListOfArgs, IteratorOfArgs]
"""What methods accept as args: an arg, None, or lists of these, nested to any depth."""

if TYPE_CHECKING:
    JSON = Union[None, bool, int, float, str, list["JSON"], dict[str, "JSON"]]
    """A JSON value, as `Response.json` returns it."""
else:
    # A program can name it as the type of an answer. There, "JSON" would not be known.
    JSON = Union[None, bool, int, float, str, list[Any], dict[str, Any]]

ResponseHandler = Callable[[Response], object]
ProgressHandler = Callable[[int, Optional[int]], object]
DataHandler = Callable[[bytes], object]
DecisionHandler = Callable[[Decision], object]

StatusError = Union[ErrorCode, type[ApiError], Callable[[ApiError], Optional[ApiError]]]
"""What the `HTTP error` of a status becomes: a code, a class, or what a function makes of it."""
StatusErrors = Mapping[int, StatusError]
"""What the `HTTP error` of each status becomes: {404: NotFound}."""

InterceptorFunction = Union[
    Callable[[InterceptedCall], Generator[HTTPRequest, HTTPResponse, Optional[HTTPResponse]]],
    Callable[[InterceptedCall], Awaitable[Optional[HTTPResponse]]],
    Callable[[InterceptedCall], Optional[HTTPResponse]],
]
"""The function of an interceptor: a generator, an async function, or a plain one."""

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


# Keyword arguments, for type checkers.


class ProgressHandlers(TypedDict, total=False):
    """They get the bytes so far and the bytes expected, which are None while unknown."""

    upload_progress: Optional[ProgressHandler]
    download_progress: Optional[ProgressHandler]


class Handlers(ProgressHandlers, total=False):
    """The handlers of a request, except the response handler."""

    data_handler: Optional[DataHandler]
    decision_handler: Optional[DecisionHandler]


Values = Union[Scalar, Sequence[Optional[Scalar]], None]
Body = Union[BytesLike, str, "StreamContent"]
FileContent = Union[BytesLike, str, "os.PathLike[str]", IO[bytes], IO[str]]
FilePart = Union[
    FileContent,
    tuple[Optional[str], FileContent],
    tuple[Optional[str], FileContent, Optional[str]],
    None,
]


class Keywords(Handlers, total=False):
    """The keywords of `get`, `post`, `put`, `patch` and `delete`. All but the handlers become args,
    which come after the others. None is left out.
    """

    params: Union[Mapping[str, Values], Sequence[tuple[str, Values]], None]
    """The query: `url` args."""
    headers: Union[Mapping[str, Optional[Scalar]], Sequence[tuple[str, Optional[Scalar]]], None]
    """`header` args; a name that is repeated in pairs is sent repeatedly."""
    json: Any
    """A `json` arg."""
    data: Union[Mapping[str, Values], Sequence[tuple[str, Values]], Body, None]
    """`form` args for a mapping or pairs; any other value as `content`."""
    content: Optional[Body]
    """A `data` arg for bytes or text, a `stream` arg for a file or for pieces of bytes."""
    files: Union[Mapping[str, FilePart], Sequence[tuple[str, FilePart]], None]
    """`multipart` and `multipart_file` args: bytes, text, a file, a path, or a tuple of file name,
    one of these and content type. The pairs of `data` are then fields of the same body.
    """
    auth: Optional[tuple[str, str]]
    """User and password: a `basic_auth` arg."""
    timeout: Union[float, datetime.timedelta, tuple[Optional[float], Optional[float]], None]
    """`timeout` args: seconds without a byte, or a pair: seconds for the connection, and seconds
    without a byte.
    """


PublicAddresses = Literal["public"]


class ConnectionPolicy(TypedDict, total=False):
    """`SessionConfiguration.connection_policy`. A rule that is missing allows everything."""

    schemes: list[str]
    ports: list[int]
    hosts: list[str]
    """Names and addresses as in URLs. "*.example.com" is each name below example.com."""
    denied_hosts: list[str]
    addresses: list[str]
    """Addresses and ranges such as "10.0.0.0/8", and "public": reached through the Internet."""
    denied_addresses: list[str]


class RateLimitSetting(TypedDict, total=False):
    """`SessionConfiguration.rate_limit`. `RateLimiter` says what each means."""

    requests: float
    seconds: float
    burst: int
    maximum_pause: float


class CircuitBreakerSetting(TypedDict, total=False):
    """`SessionConfiguration.circuit_breaker`."""

    failure_rate: float
    minimum_calls: int
    window_seconds: float
    open_seconds: float
    probes: int
    statuses: list[int]
    network_errors: bool


class Settings(TypedDict, total=False):
    """The settings, each documented as an attribute of `SessionConfiguration`."""

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
    background_folder: str
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
    connection_policy: Union[ConnectionPolicy, PublicAddresses]
    unix_socket: str
    resolve: list[str]
    connect_to: list[str]
    dns_over_https: str
    proxy: str
    proxy_user: str
    proxy_password: str
    proxy_exceptions: list[str]
    retry: Union[RetryPolicy, bool]
    rate_limit: RateLimitSetting
    circuit_breaker: Union[bool, CircuitBreakerSetting]
    user: str
    password: str
    tls_minimum_version: TLSVersion
    ca_file: str
    client_certificate: str
    client_certificate_origins: list[str]
    client_key: str
    client_key_password: str
    pinned_public_keys: list[str]


class SetDefault(Protocol):
    """Sets a default to any JSON value. None removes it. A function is called with the key at each
    look-up.
    """

    def __call__(self, key: str, value: Union[Callable[[str], Any], object]) -> None: ...


class GetDefault(Protocol):
    """Looks a default up in the client, its class, the base classes, then globally."""

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
