"""Session configurations and retry policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Generic, Optional, TypeVar, Union, overload

from ._advice import setting_problem, unknown_keyword
from ._bridge.enums import CachePolicy, SessionKind
from ._bridge.library import lib
from ._defaults import set_in
from ._runtime.checks import (
    check_member,
    check_string,
    even_without_init,
    keywords_of,
)
from ._storage import Cache, CredentialStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Unpack

    from ._interceptors import Interceptor
    from ._types import (
        CachePolicyName,
        CircuitBreakerSetting,
        ConnectionPolicy,
        CookieAcceptPolicy,
        HTTPVersion,
        PublicAddresses,
        RateLimitSetting,
        Settings,
        TLSVersion,
    )

Value = TypeVar("Value")


# Retry policies, for a session, a client or a request.


STANDARD_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})


def _explained(cls: type[Value]) -> type[Value]:
    """Makes a class explain unknown keywords, such as those of urllib3: its error says what to
    write.
    """
    init: Any = cls.__init__

    @wraps(init)
    def __init__(self: Value, *args: Any, **given: Any) -> None:  # noqa: N807
        unknown = [name for name in given if name not in keywords_of(init)]
        if unknown:
            count = given[unknown[0]]
            # Those libraries count the attempts after the first.
            attempts = f"attempts={count + 1 if type(count) is int else 4}"
            spelled = {
                **_OF_POLICIES,
                **dict.fromkeys(_COUNTS, f"{attempts}, the first one included"),
            }
            raise unknown_keyword(init, unknown, "a retry policy", spelled)
        init(self, *args, **given)

    setattr(cls, "__init__", __init__)  # noqa: B010 - for mypy it is no attribute
    return cls


_COUNTS = ("connect", "max_retries", "read", "retries", "status", "total")
_OF_POLICIES = {
    "allowed_methods": "ntapi.idempotency_key() beside the policy, if a POST may be sent twice",
    "backoff": "base=0.5, the seconds before the second attempt",
    "backoff_factor": "base=0.5, the seconds before the second attempt",
    "backoff_max": "cap=30.0",
    "max_attempts": "attempts=4",
    "max_delay": "cap=30.0",
    "respect_retry_after_header": "maximum_retry_after=60.0; 0 never waits for a Retry-After",
    "status_forcelist": "statuses={503}",
}


@_explained
@dataclass(frozen=True)
class RetryPolicy:
    """Which failed requests are sent again, and after which time.

        client = ntapi.Client(url, args=[ntapi.retry(ntapi.RetryPolicy(attempts=6, base=1))])

    A request is sent again only if that is safe: its method is idempotent (RFC 9110, 9.2.2), it has
    an idempotency key, or it has certainly not reached the server. All attempts together have one
    deadline, the resource timeout.
    """

    attempts: int = 4
    """How often a request is sent at most, including the first time."""
    base: float = 0.5
    """Seconds: the random wait before the second attempt is at most this. The limit doubles with
    each further attempt.
    """
    cap: float = 30.0
    """Seconds: the longest random wait."""
    maximum_retry_after: float = 60.0
    """Seconds: if a server's Retry-After asks for more, the answer is delivered at once.
    """
    statuses: Iterable[int] = STANDARD_STATUSES
    """The HTTP statuses, from 400 up, after which a request is sent again."""
    network_errors: bool = True
    """Whether a request is sent again after a failed or broken connection, or a timeout other than
    the total one.
    """
    budget: float = 0.0
    """How many of the client's requests to the same origin may be repeated at a time, as a share
    from 0 to 1: with 0.2, one of five. 0 is no bound.

    A request whose policy has a budget counts from its start to its end. It counts as repeated once
    it waits for another attempt.
    """
    budget_minimum: int = 3
    """How many requests may be repeated at a time, whatever `budget` says."""
    attempt_header: Optional[str] = None
    """The header that tells the server the number of the attempt, from 1. None sends none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "statuses", frozenset(self.statuses))
        good = {
            "attempts": 1 <= self.attempts <= 1000,
            "base or cap": self.base >= 0 and self.cap >= 0,
            "maximum_retry_after": self.maximum_retry_after >= 0,
            "statuses": self.statuses and all(400 <= status <= 999 for status in self.statuses),
            "budget": 0 <= self.budget <= 1,
            "budget_minimum": 0 <= self.budget_minimum <= 1_000_000,
        }
        for name, is_good in good.items():
            if not is_good:
                raise ValueError(f"{name} makes no sense: {self!r}")

    def as_json(self) -> dict[str, Any]:
        """The policy as JSON, for the default `retry`."""
        policy = {
            "attempts": self.attempts,
            "base": self.base,
            "cap": self.cap,
            "maximum_retry_after": self.maximum_retry_after,
            "statuses": sorted(self.statuses),
            "network_errors": self.network_errors,
            "budget": self.budget,
            "budget_minimum": self.budget_minimum,
        }
        if self.attempt_header is not None:
            policy["attempt_header"] = self.attempt_header
        return policy


# The configuration.


class Setting(Generic[Value]):
    """A setting: an attribute that stands for the default with this name. None means not set."""

    def __init__(self, name: str, doc: str) -> None:
        self._name = name
        self.__doc__ = doc

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[Value]: ...

    @overload
    def __get__(self, instance: SessionConfiguration, owner: type) -> Optional[Value]: ...

    def __get__(
        self, instance: Optional[SessionConfiguration], owner: type
    ) -> Union[Setting[Value], Optional[Value]]:
        return self if instance is None else instance._values.get(self._name)

    def __set__(self, instance: SessionConfiguration, value: Optional[Value]) -> None:
        instance[self._name] = value


class SessionConfiguration:
    """The settings of a session: a client with cookies, a cache and limits of its own.

        configuration = ntapi.SessionConfiguration.ephemeral(request_timeout=10)
        configuration.additional_headers = {"X-Api-Key": key}
        client = ntapi.Client("https://api.example.com", configuration=configuration)

    The client gets a copy: later changes of this object do not affect it. A setting that is None is
    looked up in the defaults of the client's class, then globally. `configuration["name"]` reads
    and sets a setting, or a default of your own, by the name of the default.
    """

    additional_headers: Setting[dict[str, str]] = Setting(
        "additionalHeaders",
        "Headers of every request that does not set them itself. Those named like a secret never "
        "go to another origin.",
    )
    user_agent: Setting[str] = Setting("userAgent", "The User-Agent header.")
    decompression: Setting[bool] = Setting(
        "decompression", "Whether compressed bodies are asked for, and decompressed."
    )
    maximum_response_size: Setting[int] = Setting(
        "maximumResponseSize", "Bytes that a body may have, decompressed."
    )
    maximum_redirects: Setting[int] = Setting(
        "maximumRedirects", "How many redirects are followed; 0 follows none."
    )
    cache_policy: Setting[Union[CachePolicy, CachePolicyName]] = Setting(
        "cachePolicy", "How a cache may be used; a request may say otherwise."
    )
    retry: Setting[Union[RetryPolicy, bool]] = Setting(
        "retry",
        "The retry policy of requests without a `retry` arg. Unset, a request is sent once.",
    )
    rate_limit: Setting[RateLimitSetting] = Setting(
        "rateLimit",
        'How many requests of the session go in how much time: {"requests": 30, "seconds": 1}, and '
        '"burst" and "maximum_pause"; see `RateLimiter`, which clients can share.',
    )
    circuit_breaker: Setting[Union[bool, CircuitBreakerSetting]] = Setting(
        "circuitBreaker",
        "When requests to a server that fails are no longer sent: True, or a dict with some of "
        '"failure_rate" (0.5), "minimum_calls" (20), "window_seconds" (10), "open_seconds" (30), '
        '"probes" (3), "statuses" ([500, 502, 503, 504]) and "network_errors" (True). They fail '
        "with `codes.CIRCUIT_OPEN` then.",
    )
    uses_cache: Setting[bool] = Setting("usesCache", "Whether there is a cache at all.")
    cache_memory_capacity: Setting[int] = Setting(
        "cacheMemoryCapacity", "Bytes of memory that the session's own cache may take."
    )
    cache_disk_capacity: Setting[int] = Setting(
        "cacheDiskCapacity",
        "Bytes of disk that the cache of a default session may take; 0 keeps it in memory only.",
    )
    cache_folder: Setting[str] = Setting(
        "cacheFolder",
        "The absolute path of the folder for the cache of a default session. By default it is the "
        "program's folder below the XDG cache directory.",
    )
    background_folder: Setting[str] = Setting(
        "backgroundFolder",
        "The absolute path of the folder for the records of a background session. By default it is "
        "below the XDG state directory.",
    )
    cookie_accept_policy: Setting[CookieAcceptPolicy] = Setting(
        "cookieAcceptPolicy",
        'Which cookies are taken: "always", "never", or "only_from_main_document", those from the '
        "site of the request's own URL, which is the default.",
    )
    sends_cookies: Setting[bool] = Setting("sendsCookies", "Whether stored cookies are sent.")
    application_name: Setting[str] = Setting(
        "applicationName",
        "The folder below the XDG data directory in which cookies are kept. By default it has the "
        "name of the program's file, which is the interpreter.",
    )
    request_timeout: Setting[float] = Setting(
        "requestTimeout", "Seconds without a byte: the idle clock."
    )
    resource_timeout: Setting[float] = Setting(
        "resourceTimeout", "Seconds for the whole request: the total clock."
    )
    exit_timeout: Setting[float] = Setting(
        "exitTimeout",
        "For how many seconds a request may continue when the process exits, or when the "
        "client's `with` block is left; 0 cancels it at once.",
    )
    connect_timeout: Setting[float] = Setting(
        "connectTimeout", "Seconds for name look-up, connection and TLS."
    )
    queue_timeout: Setting[float] = Setting(
        "queueTimeout", "Seconds of waiting for a connection to the host."
    )
    attempt_timeout: Setting[float] = Setting(
        "attemptTimeout", "Seconds for one exchange; a redirect starts another."
    )
    maximum_connections_per_host: Setting[int] = Setting(
        "maximumConnectionsPerHost",
        "How many connections to one host may be open at once.",
    )
    maximum_connections: Setting[int] = Setting(
        "maximumConnections",
        "How many connections to all hosts may be open at once, including idle ones. The session "
        "then has its own connections.",
    )
    http_version: Setting[HTTPVersion] = Setting(
        "httpVersion", '"1.0", "1.1" or "2". HTTP/2 is offered to the server, which may choose 1.1.'
    )
    network_interface: Setting[str] = Setting(
        "networkInterface",
        'The interface, or the address of it, that connections go out from: "eth0", "127.0.0.2", '
        '"if!eth0", "host!127.0.0.2".',
    )
    allows_cellular_access: Setting[bool] = Setting(
        "allowsCellularAccess",
        'Whether connections may leave by a mobile interface, of which Linux says "DEVTYPE=wwan". '
        'If not, requests fail with "no internet" where there is no other way.',
    )
    connection_policy: Setting[Union[ConnectionPolicy, PublicAddresses]] = Setting(
        "connectionPolicy",
        'Where the requests may go: "public" is addresses of the Internet; or a dictionary with '
        '"schemes", "ports", "hosts", "denied_hosts", "addresses" and "denied_addresses". The '
        "address of each connection is judged. What may not go fails with "
        "`codes.NOT_ALLOWED`.",
    )
    unix_socket: Setting[str] = Setting(
        "unixSocket",
        "The absolute path of a Unix socket that all requests go to, whatever host their URLs "
        "name.",
    )
    resolve: Setting[list[str]] = Setting(
        "resolve",
        'Addresses of hosts, which are not looked up: "HOST:PORT:ADDRESS", with more addresses '
        "after commas.",
    )
    connect_to: Setting[list[str]] = Setting(
        "connectTo",
        'Where to connect in place of a host: "HOST:PORT:OTHER_HOST:OTHER_PORT". The certificate '
        "and the header Host are still those of the URL.",
    )
    dns_over_https: Setting[str] = Setting(
        "dnsOverHttps",
        "The https URL of a server that resolves the names (DNS over HTTPS, RFC 8484), in place of "
        "the system.",
    )
    proxy: Setting[str] = Setting(
        "proxy",
        'A URL, with http, https, socks4, socks4a, socks5 or socks5h; "" for none. None is the '
        "environment's.",
    )
    proxy_user: Setting[str] = Setting("proxyUser", "The user that the proxy knows.")
    proxy_password: Setting[str] = Setting("proxyPassword", "The password of `proxy_user`.")
    proxy_exceptions: Setting[list[str]] = Setting(
        "proxyExceptions",
        "Hosts that are reached without the proxy: names, which cover their subdomains too, "
        "addresses, networks as 10.0.0.0/8.",
    )
    user: Setting[str] = Setting("user", "The user, if the server asks for credentials.")
    password: Setting[str] = Setting("password", "The password of `user`.")
    tls_minimum_version: Setting[TLSVersion] = Setting(
        "tlsMinimumVersion", 'The lowest version of TLS that is accepted: "1.2" or "1.3".'
    )
    ca_file: Setting[str] = Setting(
        "caFile", "A PEM file of trusted certificates, in place of the system's store."
    )
    client_certificate: Setting[str] = Setting(
        "clientCertificate",
        "A PEM file with the certificate that the client shows, and those it depends on. Only the "
        "client's own origin and `client_certificate_origins` see it.",
    )
    client_certificate_origins: Setting[list[str]] = Setting(
        "clientCertificateOrigins",
        "The URLs of other origins that may see the client's certificate. Their paths do not "
        "matter.",
    )
    client_key: Setting[str] = Setting(
        "clientKey",
        "A PEM file with the private key; None when it is in the certificate's file.",
    )
    client_key_password: Setting[str] = Setting(
        "clientKeyPassword", "The password of the key's file."
    )
    pinned_public_keys: Setting[list[str]] = Setting(
        "pinnedPublicKeys",
        'The server\'s public key must be one of these: "sha256//" and the base64 of its SHA-256 '
        "sum.",
    )

    cache: Optional[Cache] = None
    """The session's cache, which sessions may share; None makes a cache of the session's kind.
    Background sessions use none.
    """

    credential_storage: Optional[CredentialStorage] = None
    """Where the session looks for credentials before it asks the program; None to look nowhere.

    The initial value is `CredentialStorage.shared()`; in an ephemeral configuration it is a storage
    in memory, which the clients of that configuration share.
    """

    interceptors: Sequence[Interceptor] = ()
    """The interceptors of the session's clients; they come before the clients' own.
    """

    def __init__(
        self,
        kind: SessionKind = SessionKind.DEFAULT,
        identifier: Optional[str] = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Makes a configuration; its settings are the attributes of this class.

        `identifier` names a background session within the program.
        """
        check_member(kind, SessionKind)
        if kind is SessionKind.NONE:
            raise ValueError("a client without a session is made without a configuration")
        if (kind is SessionKind.BACKGROUND) != (identifier is not None):
            raise ValueError("a background session, and no other, has an identifier")
        if identifier is not None:
            check_string(identifier, "the identifier")
        self._kind = kind
        self._identifier = identifier
        self._values: dict[str, Any] = {}
        self.cache = None
        self.credential_storage = _credential_storage(kind)
        for name, value in settings.items():
            if not isinstance(getattr(type(self), name, None), Setting) and name not in _OBJECTS:
                raise TypeError(_problem(name))
            setattr(self, name, value)

    @classmethod
    def default(cls, **settings: Unpack[Settings]) -> SessionConfiguration:
        """A configuration that keeps cookies and cache on disk, below the XDG directories."""
        return cls(SessionKind.DEFAULT, **settings)

    @classmethod
    def ephemeral(cls, **settings: Unpack[Settings]) -> SessionConfiguration:
        """A configuration that writes nothing to disk."""
        return cls(SessionKind.EPHEMERAL, **settings)

    @classmethod
    def background(cls, identifier: str, **settings: Unpack[Settings]) -> SessionConfiguration:
        """A configuration whose transfers survive the process. The identifier finds them again."""
        return cls(SessionKind.BACKGROUND, identifier, **settings)

    @property
    def kind(self) -> SessionKind:
        """What the session keeps, and how long."""
        return self._kind

    @property
    def _is_background(self) -> bool:
        return self._kind is SessionKind.BACKGROUND

    @property
    def identifier(self) -> Optional[str]:
        """The identifier of a background session."""
        return self._identifier

    def __setattr__(self, name: str, value: Any) -> None:
        # A mistyped setting would have no effect.
        if not name.startswith("_") and not hasattr(type(self), name):
            raise AttributeError(_problem(name))
        super().__setattr__(name, value)

    def __getitem__(self, name: str) -> Any:
        return self._values.get(name)

    def __setitem__(self, name: str, value: Any) -> None:
        check_string(name, "the name of a setting")
        if value is None:
            self._values.pop(name, None)
        else:
            self._values[name] = value

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._values))

    @even_without_init
    def __repr__(self) -> str:
        names = ", ".join(sorted(self._values))
        identifier = "" if self._identifier is None else f" {self._identifier!r}"
        kind = self._kind.name.lower() + identifier
        return f"<ntapi.SessionConfiguration {kind}: {names or 'nothing'} set>"

    def _make(self) -> int:
        """The configuration in C, new."""
        identifier = None if self._identifier is None else self._identifier.encode()
        pointer = lib.ntapi_configuration_create(self._kind.value, identifier)
        try:
            scope = lib.ntapi_configuration_defaults(pointer)
            for name, value in self._values.items():
                set_in(scope, name, _plain(value))
            if self.cache is not None:
                lib.ntapi_configuration_set_cache(pointer, self.cache._pointer)
            storage = self.credential_storage
            lib.ntapi_configuration_set_credential_storage(
                pointer, None if storage is None else storage._pointer
            )
        except BaseException:
            lib.ntapi_configuration_free(pointer)
            raise
        return int(pointer)


def _problem(name: str) -> str:
    known = [
        name for name, value in vars(SessionConfiguration).items() if isinstance(value, Setting)
    ]
    return setting_problem(name, known)


_OBJECTS = ("cache", "credential_storage", "interceptors")


def _credential_storage(kind: SessionKind) -> CredentialStorage:
    return CredentialStorage() if kind is SessionKind.EPHEMERAL else CredentialStorage.shared()


def _plain(value: Any) -> Any:
    """The settings that C has, as JSON values."""
    if isinstance(value, CachePolicy):
        return value.name.lower()
    return list(value) if isinstance(value, (tuple, set, frozenset)) else value
