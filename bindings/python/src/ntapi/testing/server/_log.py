"""The log of a server: what it has received, and waiting for it."""

from __future__ import annotations

import threading
from typing import NamedTuple

from ..._args import shown_url
from ..._headers import Headers
from ..._runtime.checks import check_timeout, even_without_init, refuse_copy
from ..doubles import RequestBody
from ._latch import PATIENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Literal, NoReturn, Optional

    Stage = Literal["head", "body", "end"]


class TLSInfo(NamedTuple):
    """What a TLS connection has agreed on."""

    version: str
    """For example "TLSv1.3"."""
    cipher: str
    alpn: Optional[str]
    """The protocol that was chosen, such as "h2"."""
    server_name: Optional[str]
    """The name that the client has asked for (SNI)."""
    client_certificate: Optional[dict[str, Any]]
    """As `ssl.SSLSocket.getpeercert` returns it; None if the client has shown none."""


def in_ascii(target: bytes) -> bytes:
    """A target or a request line, with bytes that are not ASCII percent-encoded."""
    return b"".join(bytes((byte,)) if byte < 0x80 else b"%%%02X" % byte for byte in target)


class ReceivedRequest(RequestBody):
    """A request as a server has received it. It grows until its body has arrived."""

    def __init__(
        self,
        log: Log,
        connection: int,
        exchange: int,
        method: str,
        target: str,
        url: str,
        headers: Headers,
        http_version: float,
        tls: Optional[TLSInfo],
    ) -> None:
        self._log = log
        self._body = bytearray()
        self.connection: int = connection
        """The number of its connection, from 1."""
        self.exchange: int = exchange
        """Which request of its connection it is, from 1."""
        self.method: str = method
        self.target: str = target
        """As it stood in the request line, or in `:path`. Bytes that are not ASCII, which curl does
        not encode, are percent-encoded.
        """
        self.url: str = url
        """The whole URL, whose host is that of the Host header or `:authority`."""
        self.headers: Headers = headers
        """In the order received; over HTTP/2 without those that begin with a colon."""
        self.http_version: float = http_version
        """1.0, 1.1 or 2.0."""
        self.tls: Optional[TLSInfo] = tls
        """None without TLS."""
        self.trailers: Headers = Headers()
        self.has_body_arrived: bool = False
        """Whether the whole body is there."""
        self.is_matched: bool = True
        """False if neither the queue nor a rule had an answer."""
        self.outcome: Optional[str] = None
        """None while it is being answered; then "answered", "fault", "hung up" if the client has
        closed the connection or cancelled its stream, or "closed" if the server was closed.
        """
        self.reset_code: Optional[int] = None
        """Of a client that has cancelled its HTTP/2 stream: the code of its RST_STREAM."""

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "it belongs to its server")

    @even_without_init
    def __repr__(self) -> str:
        place = f"connection {self.connection}, exchange {self.exchange}"
        shown = shown_url(self.url).partition("?")[0]
        return f"<ntapi.testing.server.ReceivedRequest {self.method} {shown}, {place}>"

    @property
    def body(self) -> bytes:
        """What has arrived of the body."""
        return bytes(self._body)

    def wait_for_body(self, timeout: Optional[float] = PATIENCE) -> None:
        """Waits until the whole body has arrived, or the exchange has ended without it. Raises
        TimeoutError after `timeout` seconds.
        """
        self._log.wait(lambda: self._is_at("body"), timeout, f"the body of {self!r}")

    def wait_for_end(self, timeout: Optional[float] = PATIENCE) -> str:
        """Waits until it was answered, or the client has hung up. Returns the `outcome`. Raises
        TimeoutError after `timeout` seconds.
        """
        self._log.wait(lambda: self._is_at("end"), timeout, f"the end of {self!r}")
        assert self.outcome is not None
        return self.outcome

    def _is_at(self, stage: Stage) -> bool:
        """Whether it has come as far as this. After the end no body comes any more."""
        is_over = self.outcome is not None
        return is_over or stage == "head" or (stage == "body" and self.has_body_arrived)

    # Called on the server's loop.

    def _add(self, piece: bytes) -> None:
        self._body += piece

    def _complete(self, trailers: Headers) -> None:
        self.trailers = trailers
        self._set("has_body_arrived", True)

    def _end(self, outcome: str) -> None:
        if self.outcome is None:
            self._set("outcome", outcome)

    def _set(self, name: str, value: object) -> None:
        with self._log.changed:
            setattr(self, name, value)
            self._log.changed.notify_all()


class Log:
    """The requests of a server. Any thread may read it; the server's loop adds to it."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._requests: list[ReceivedRequest] = []
        self._taken = 0
        self._problems: list[str] = []

    def add(self, request: ReceivedRequest) -> None:
        with self.changed:
            self._requests.append(request)
            self.changed.notify_all()

    def add_problem(self, problem: str) -> None:
        with self.changed:
            self._problems.append(problem)
            self.changed.notify_all()

    @property
    def requests(self) -> list[ReceivedRequest]:
        with self.changed:
            return list(self._requests)

    @property
    def problems(self) -> list[str]:
        with self.changed:
            return list(self._problems)

    def take(self, at: Stage, timeout: Optional[float]) -> ReceivedRequest:
        """The next request that was not taken, once it has come as far as `at`."""
        check_timeout(timeout)
        with self.changed:
            index = self._taken

            def is_there() -> bool:
                return len(self._requests) > index and self._requests[index]._is_at(at)

            self._taken += 1
            try:
                self.wait(is_there, timeout, f"the {at} of request {index + 1}")
            except TimeoutError:
                self._taken -= 1
                raise
            return self._requests[index]

    def wait(self, is_there: Callable[[], bool], timeout: Optional[float], what: str) -> None:
        check_timeout(timeout)
        with self.changed:
            if not self.changed.wait_for(is_there, timeout):
                count = len(self._requests)
                raise TimeoutError(f"{what} has not come in {timeout} s; {count} requests have")
