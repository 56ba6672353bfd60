"""The closed sets of values, with the numbers of the C header."""

from __future__ import annotations

import enum


class Thread(enum.Enum):
    """Where a handler runs; an executor or a `Mailbox` may stand in its place."""

    MAIN = 0
    """The main thread, when it runs its mailbox. The default."""
    BACKGROUND = 1
    """The worker thread of the package, `ntapi-background`."""
    CURRENT = 2
    """The thread that begins the request, when it runs its mailbox."""


BACKGROUND = Thread.BACKGROUND
CURRENT = Thread.CURRENT
MAIN = Thread.MAIN


class DecisionKind(enum.IntFlag):
    """What a decision asks; combined with | where kinds are chosen."""

    REDIRECT = 1
    """Whether a redirect is followed, and how."""
    RESPONSE = 2
    """Whether a response is received, now that its head is there, and where its body goes."""
    CHALLENGE = 4
    """Who asks, or whether a certificate is trusted: see `Decision.challenge`."""
    RETRY = 8
    """Whether an attempt that failed is followed by another, of a request with a retry policy: see
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
    """The proxy does (407)."""
    CERTIFICATE = 3
    """The server's certificate cannot be verified. Is it trusted nevertheless?"""


class Authentication(enum.Enum):
    """How a server or a proxy asks for a credential."""

    BASIC = 1
    DIGEST = 2


class Persistence(enum.Enum):
    """How long an answer to a challenge is remembered."""

    NONE = 0
    """For this request alone."""
    FOR_SESSION = 1
    """The client's other requests to the same protection space use it, too, until it fails."""
    PERMANENT = 2
    """It is stored in the client's `credential_storage`, once the server has taken it; without a
    storage as FOR_SESSION.
    """


class ErrorDomain(enum.Enum):
    """Where an error comes from."""

    NONE = 0
    REQUEST = 1
    """The request could not be built or sent: fix the call."""
    NETWORK = 2
    """There is no answer, or not a whole one."""
    HTTP = 3
    """The status is 300 or above."""
    JSON = 4
    """The body is not JSON, or does not fit the type."""
    SERVICE = 5
    """The service reports it in its own fields: see `Client.map_service_error`."""
    CANCELLED = 6
    """The request was cancelled."""


class NetworkFailure(enum.Enum):
    """What kind of failure of the network an error is about."""

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
    """The connection broke before the answer was whole."""
    NO_ANSWER = 7
    """The server closed the connection without an answer."""
    CUT_SHORT = 8
    """The server closed the connection in the middle of the answer."""
    NOT_HTTP = 9
    """The answer is not HTTP, or breaks its rules."""
    DECODING = 10
    """The body cannot be decompressed, or is not all that was compressed."""
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
    """What goes wrong in the place of an answer, or in the middle of one."""

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
    """The idle clock has run out, at once: "timeout"."""
    SILENCE = 6
    """Nothing ever comes: the request's own timeouts run out, by the client's clock."""
    CONNECTION_LOST = 7
    """The connection breaks: "network"."""


class Clock(enum.Enum):
    """The five clocks of a timeout."""

    IDLE = 0
    """No byte has moved for so long."""
    CONNECT = 1
    """Name look-up, connection and TLS handshake."""
    QUEUE = 2
    """Waiting for a free connection to the host."""
    ATTEMPT = 3
    """One exchange with one server; each redirect starts another."""
    TOTAL = 4
    """The whole request, everything included."""


class BodyKind(enum.Enum):
    """What the body of a request is."""

    NONE = 0
    """There is none."""
    BYTES = 1
    """Bytes, also of the args `data`, `json` and `form`."""
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
    """A member of a dataclass, or of a dictionary, that is not there: it is not sent, and the
    decoder leaves it where the JSON has none. None is null then.
    """

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "ntapi.UNSET"


UNSET = Unset.UNSET


class CachePolicy(enum.Enum):
    """How a cache may be used, by a client that has one."""

    PROTOCOL = 0
    """As the headers say (RFC 9111)."""
    RELOAD_IGNORING_CACHE = 1
    """The server is asked; what it answers is stored."""
    RETURN_CACHED_ELSE_LOAD = 2
    """What is stored, however old; else the server is asked."""
    RETURN_CACHED_DONT_LOAD = 3
    """What is stored, however old; else the error "not cached", with the status 504."""
    RELOAD_REVALIDATING = 4
    """The server is asked whether what is stored is still valid."""
    NO_STORE = 5
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

    NETWORK = 0
    """From the server, all of it."""
    CACHE = 1
    """From the cache, without asking the server."""
    VALIDATED_CACHE = 2
    """From the cache, after the server has said that it is still valid (304)."""


class SessionKind(enum.Enum):
    """What a session keeps, and how long."""

    NONE = 0
    """No session: a client without a configuration."""
    DEFAULT = 1
    """Cookies and cache are kept on disk, below the XDG directories."""
    EPHEMERAL = 2
    """Nothing is ever written."""
    BACKGROUND = 3
    """Transfers survive the process."""


class LogFlags(enum.IntFlag):
    """Levels of a log line; combined with | they say what a client logs."""

    NONE = 0
    DEBUG = 1
    INFO = 2
    WARN = 4
    ERROR = 8
    ALL = 15
