"""The server as programs see it."""

from __future__ import annotations

from ..._runtime.checks import check_timeout, even_without_init, refuse_copy, type_name
from ..answers import Answer
from ..clock import ManualClock
from ..doubles import Stub
from ._answer import ServerAnswer
from ._certificates import Certificates
from ._latch import PATIENCE
from ._log import Log
from ._serving import Queue, Serving

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Literal, NoReturn, Optional

    from ..._types import Self
    from ._log import ReceivedRequest, Stage

    ConnectionFault = Literal["alert", "close", "reset", "stall"]

CONNECTION_FAULTS = ("alert", "close", "reset", "stall")


class Server:
    """A server on a real port of 127.0.0.1, whose answers are those of a `Stub`, for any client.

        stub = ntapi.testing.Stub()
        stub.on("GET", "find?q=London").answer(json={"name": "London"})
        server = ntapi.testing.Server(stub)
        with server as url:
            ...  # send requests to the URL, with any client
            print(server.take_request().headers["User-Agent"])

    A request takes the next answer of the queue, if there is one; else the stub answers. If no rule
    matches, the answer is 501, with the stub's words. At the end, the `with` block raises
    AssertionError as `verify` does, unless it has raised already.
    """

    def __init__(
        self,
        stub: Optional[Stub] = None,
        *,
        tls: bool = False,
        client_certificates: Optional[Literal["optional", "required"]] = None,
        http2: bool = True,
        clock: Optional[ManualClock] = None,
    ) -> None:
        """Makes a server; `start`, or the `with` block, opens its port.

        - `stub`: has the rules; by default a new one.
        - `tls`: whether the URL begins with https. The server makes an authority and certificates
          of its own.
        - `client_certificates`: whether clients are asked for a certificate, or need one.
        - `http2`: whether clients may choose HTTP/2, by ALPN or by prior knowledge.
        - `clock`: the clock of the stub's delays.
        """
        if stub is not None and not isinstance(stub, Stub):
            raise TypeError(f"the stub has to be a Stub, not {type_name(stub)}")
        if client_certificates not in (None, "optional", "required"):
            raise ValueError(
                f'client_certificates is "optional", "required" or None, '
                f"not {client_certificates!r}"
            )
        if client_certificates is not None and not tls:
            raise ValueError("client_certificates needs tls=True")
        if clock is not None and not isinstance(clock, ManualClock):
            raise TypeError(f"the clock has to be a ManualClock, not {type_name(clock)}")
        self.stub: Stub = Stub() if stub is None else stub
        """The rules of the server."""
        self._has_tls = tls
        self._has_http2 = http2
        self._client_certificates = client_certificates
        self._clock = clock
        self._log = Log()
        self._queue = Queue()
        self._certificates: Optional[Certificates] = None
        self._serving: Optional[Serving] = None

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "pass on its URL")

    @even_without_init
    def __repr__(self) -> str:
        place = "not started" if self._serving is None else self.url
        return f"<ntapi.testing.Server {place}, {len(self._log.requests)} requests>"

    # Its life.

    def start(self) -> Self:
        """Opens the port. A server is started once."""
        if self._serving is not None:
            raise RuntimeError("the server was started already; make a new one")
        if self._has_tls:
            protocols = ["h2", "http/1.1"] if self._has_http2 else ["http/1.1"]
            self._certificates = Certificates(self._client_certificates, protocols)
        try:
            self._serving = Serving(
                self.stub,
                self._queue,
                self._log,
                self._certificates,
                self._clock,
                has_http2=self._has_http2,
            )
        except BaseException:
            if self._certificates is not None:
                self._certificates.close()
            raise
        return self

    def close(self) -> None:
        """Ends all connections, frees the port and removes the certificates. Checks nothing. A
        second call does nothing.
        """
        if self._serving is not None and not self._serving.is_closed:
            self._serving.close()
            if self._certificates is not None:
                self._certificates.close()

    def __enter__(self) -> str:
        return self.start().url

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()
        if error is None:
            self.verify()

    def verify(self) -> None:
        """Raises AssertionError if an answer in the queue is left, if `Stub.verify` would raise, or
        if a client has made a mistake, for example sent a request that is not HTTP.
        """
        problems = self._log.problems
        for left, what in ((self._queue.answers, ""), (self._queue.connects, " for CONNECT")):
            if left:
                problems.append(f"{len(left)} answers of the queue{what} were never asked for")
        cause = None
        try:
            self.stub.verify()
        except AssertionError as error:
            problems.append(str(error))
            cause = error.__cause__
        if problems:
            raise AssertionError("; ".join(problems)) from cause

    # Where it is.

    @property
    def url(self) -> str:
        """The URL without a path, such as "http://127.0.0.1:40123"."""
        return f"{'https' if self._has_tls else 'http'}://{self._started.authority}"

    @property
    def port(self) -> int:
        """The port on 127.0.0.1. The system has chosen it, and no other server has it."""
        return self._started.port

    @property
    def ca_path(self) -> Path:
        """The PEM file with the certificate of the authority, which clients have to trust. It is
        removed when the server is closed.
        """
        return self._with_tls.authority

    @property
    def ca_pem(self) -> bytes:
        """What is in that file."""
        return self.ca_path.read_bytes()

    @property
    def client_certificate_path(self) -> Path:
        """A PEM file with a private key, and a certificate of the same authority, for clients."""
        return self._with_tls.client

    @property
    def _started(self) -> Serving:
        if self._serving is None:
            raise RuntimeError("the server was not started: write `with server as url:`")
        return self._serving

    @property
    def _with_tls(self) -> Certificates:
        if not self._has_tls:
            raise RuntimeError("the server has no certificates: it needs tls=True")
        assert self._started is not None
        assert self._certificates is not None
        return self._certificates

    # What it answers.

    def enqueue(self, *answers: Answer) -> None:
        """Adds answers for the next requests, one for each, whatever is asked for. The queue comes
        before the rules of the stub.
        """
        for answer in answers:
            is_before_body = isinstance(answer, ServerAnswer) and answer.is_before_body
            self._queue.answers.append((_only(answer), is_before_body))

    def enqueue_connect(self, *answers: Answer) -> None:
        """Adds answers for the next CONNECT requests, such as 407. Without one, CONNECT opens a
        tunnel: to the address that it names if that is on this machine, else to this server.
        """
        self._queue.connects.extend(map(_only, answers))

    def fail_connections(self, kind: ConnectionFault, count: int = 1) -> None:
        """Makes the next new connections fail when their first bytes have come, in place of the TLS
        handshake or the first request.

        The kinds: "alert" fails the handshake with a TLS alert; "close", "reset" and "stall" are
        those of `Fault`.
        """
        if kind not in CONNECTION_FAULTS:
            raise ValueError(f"the kind is one of {', '.join(CONNECTION_FAULTS)}, not {kind!r}")
        if kind == "alert" and not self._has_tls:
            raise ValueError("an alert is a part of TLS: the server needs tls=True")
        self._started.connection_faults.extend([kind] * count)

    # What has come.

    @property
    def requests(self) -> list[ReceivedRequest]:
        """All requests, in the order in which their heads came."""
        return self._log.requests

    @property
    def failed_handshakes(self) -> list[str]:
        """Why TLS handshakes have failed, such as a client that does not trust the authority."""
        return list(self._started.failed_handshakes)

    def take_request(
        self, *, at: Stage = "body", timeout: Optional[float] = PATIENCE
    ) -> ReceivedRequest:
        """Waits for the next request, and returns it. Each call returns the request after that of
        the previous call.

        `at` says for what to wait: until its head is there ("head"), until all of it is there
        ("body"), or until its answer was sent or broken ("end"). Raises TimeoutError after
        `timeout` seconds.
        """
        check_timeout(timeout)
        if at not in ("head", "body", "end"):
            raise ValueError(f"at is one of head, body, end, not {at!r}")
        return self._log.take(at, timeout)


def _only(answer: Answer) -> Stub:
    """A stub that has this answer for one request."""
    stub = Stub()
    stub.on(None).add(answer).used_up()
    return stub
