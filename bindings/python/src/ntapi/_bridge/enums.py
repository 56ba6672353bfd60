"""Enums, with the numbers of the C header."""

from __future__ import annotations

import enum


class Thread(enum.Enum):
    """Where a handler runs. An executor or a `Mailbox` may be used instead."""

    MAIN = 0
    """The main thread, while it runs its mailbox. The default."""
    BACKGROUND = 1
    """The worker thread of the package, `ntapi-background`."""
    CURRENT = 2
    """The thread that begins the request, while it runs its mailbox."""


BACKGROUND = Thread.BACKGROUND
CURRENT = Thread.CURRENT
MAIN = Thread.MAIN


class DecisionKind(enum.IntFlag):
    """What a decision is about. Combine kinds with `|`."""

    REDIRECT = 1
    """Whether a redirect is followed, and how."""
    RESPONSE = 2
    """The head of a response has come: whether the body is received, and where it goes."""
    CHALLENGE = 4
    """Which password is sent, or whether a certificate is trusted: see `Decision.challenge`."""
    RETRY = 8
    """For a request with a retry policy: whether a failed attempt is repeated. See
    `Decision.attempt`, `wait` and `response`.
    """
    CACHE = 16
    """Whether a response is stored in the cache, and where: see `Decision.storage`."""
    ALL = 31


class ChallengeKind(enum.Enum):
    """What a challenge is about."""

    SERVER = 1
    """The server wants a user and a password (401)."""
    PROXY = 2
    """The proxy wants a user and a password (407)."""
    CERTIFICATE = 3
    """The server's certificate cannot be verified: decide whether to trust it."""


class Authentication(enum.Enum):
    """How a server or a proxy demands a credential."""

    BASIC = 1
    DIGEST = 2


class Persistence(enum.Enum):
    """For how long an answer to a challenge is kept."""

    NONE = 0
    """For this request alone."""
    FOR_SESSION = 1
    """The client's other requests to the same protection space use it, too, until it fails."""
    PERMANENT = 2
    """It is stored in the client's `credential_storage` after the server has accepted it. Without a
    storage, as FOR_SESSION.
    """


class ErrorDomain(enum.Enum):
    """Where an error comes from."""

    NONE = 0
    REQUEST = 1
    """The request could not be built or sent: fix the call."""
    NETWORK = 2
    """There is no answer, or an incomplete one."""
    HTTP = 3
    """The status is 300 or above."""
    JSON = 4
    """The body is not JSON, or does not fit the type."""
    SERVICE = 5
    """The service reports it in its own fields: see `Client.map_service_error`."""
    CANCELLED = 6
    """The request was cancelled."""


class NetworkFailure(enum.Enum):
    """The kind of a network failure."""

    NAME_LOOKUP = 1
    """The host's name was not found."""
    REFUSED = 2
    """Nobody listens at the address."""
    UNREACHABLE = 3
    """No connection for another reason: no route to the host, or this machine is offline."""
    PROXY = 4
    """The proxy's name was not found, or the proxy refused."""
    TLS = 5
    """The TLS handshake failed, or the certificate was not accepted."""
    RESET = 6
    """The connection broke before the answer was complete."""
    NO_ANSWER = 7
    """The server closed the connection without an answer."""
    CUT_SHORT = 8
    """The server closed the connection in the middle of the answer."""
    NOT_HTTP = 9
    """The answer is not HTTP, or breaks its rules."""
    DECODING = 10
    """The body cannot be decompressed, or its compressed data is incomplete."""
    OTHER = 11
    """Anything else."""


class RequestState(enum.Enum):
    """The state of a request."""

    NONE = 0
    SUSPENDED = 1
    """Created and not yet resumed, or suspended since."""
    RUNNING = 2
    """Until its handler is called."""
    COMPLETED = 3
    CANCELLED = 4
    """Cancelled by the program."""


class StubFault(enum.Enum):
    """What fails instead of an answer, or in the middle of one."""

    NONE = 0
    NO_CONNECTION = 1
    """Nobody listens: "network"."""
    NO_INTERNET = 2
    """The machine is offline: "no internet"."""
    UNKNOWN_HOST = 3
    """The host's name is not found: "network"."""
    UNTRUSTED_CERTIFICATE = 4
    """The server's certificate is not accepted: "TLS"."""
    TIMEOUT = 5
    """The idle clock runs out immediately: "timeout"."""
    SILENCE = 6
    """No answer comes: the request's own timeouts run out, by the client's clock."""
    CONNECTION_LOST = 7
    """The connection breaks: "network"."""


class Clock(enum.Enum):
    """The five timeouts."""

    IDLE = 1
    """The longest time without a byte sent or received."""
    CONNECT = 2
    """Name look-up, connection and TLS handshake."""
    QUEUE = 3
    """Waiting for a free connection to the host."""
    ATTEMPT = 4
    """One exchange with one server; each redirect starts another."""
    TOTAL = 5
    """The whole request, everything included."""


class BodyKind(enum.Enum):
    """The kind of a request's body."""

    NONE = 0
    """There is none."""
    BYTES = 1
    """Bytes, including those of the args `data`, `json` and `form`."""
    MULTIPART = 2
    """Parts of a form."""
    FILE = 3
    """A file."""
    STREAM = 4
    """A stream."""


class Unset(enum.Enum):
    """The type of `UNSET`, for annotations: `Union[str, None, Unset] = UNSET`."""

    # None, so that an arg with this value is suppressed.
    UNSET = None
    """Marks a member of a dataclass or of a dictionary as absent. It is not sent, and the decoder
    keeps it if the JSON has no such member. None is then sent as null.
    """

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "ntapi.UNSET"


UNSET = Unset.UNSET


class CachePolicy(enum.Enum):
    """How a client's cache may be used."""

    PROTOCOL = 1
    """As the headers say (RFC 9111)."""
    RELOAD_IGNORING_CACHE = 2
    """The server is asked, and its answer is stored."""
    RETURN_CACHED_ELSE_LOAD = 3
    """A stored response of any age is used. Without one, the server is asked."""
    RETURN_CACHED_DONT_LOAD = 4
    """A stored response of any age is used. Without one, the error is "not cached", with the status
    504.
    """
    RELOAD_REVALIDATING = 5
    """The server is asked whether the stored response is still valid."""
    NO_STORE = 6
    """The cache is neither read nor written."""


class Storage(enum.Enum):
    """Where a response is kept."""

    NONE = 0
    """Nowhere."""
    MEMORY = 1
    """In memory, until the process ends."""
    DISK = 2
    """On disk and in memory."""


class Source(enum.Enum):
    """Where a response came from."""

    NETWORK = 1
    """The response came from the server."""
    CACHE = 2
    """From the cache, without asking the server."""
    VALIDATED_CACHE = 3
    """From the cache, after the server has said that it is still valid (304)."""


class SessionKind(enum.Enum):
    """What a session keeps, and for how long."""

    NONE = 0
    """No session: a client without a configuration."""
    DEFAULT = 1
    """Cookies and cache are kept on disk, below the XDG directories."""
    EPHEMERAL = 2
    """Nothing is written to disk."""
    BACKGROUND = 3
    """Transfers survive the process."""


class LogFlags(enum.IntFlag):
    """Levels of log lines. Combine them with `|` to set what a client logs."""

    NONE = 0
    DEBUG = 1
    INFO = 2
    WARN = 4
    ERROR = 8
    ALL = 15
