"""Decisions: questions that a request waits for."""

from __future__ import annotations

import os

from ._bridge import signatures
from ._bridge.args import c_text
from ._bridge.library import Handle, lib
from ._bridge.signatures import Status
from ._checks import refuse_copy
from ._enums import ChallengeKind, DecisionKind, Persistence, Storage
from ._http import HTTPRequest
from ._response import Response, header_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, Optional

    from ._request import Request
    from ._storage import ProtectionSpace
    from ._types import Path


class Challenge:
    """What a server or a proxy asks for before it goes on."""

    __slots__ = (
        "certificates",
        "failures",
        "host",
        "kind",
        "port",
        "protection_space",
        "realm",
        "reason",
        "scheme",
    )

    kind: ChallengeKind
    """Who asks for what."""
    host: str
    """The host that the request goes to."""
    port: int
    """The port that it goes to."""
    scheme: Optional[str]
    """How an answer would be used: "Basic", which sends the password readable unless it is https,
    or "Digest". None for a certificate.
    """
    realm: Optional[str]
    """The part of the server that it is for; None when it is not told."""
    failures: int
    """How many answers of this request were wrong."""
    reason: str
    """Why a certificate was not accepted; of a proxy's challenge, which proxy asks."""
    certificates: list[str]
    """The chain that the server has shown, in PEM, its own certificate first."""
    protection_space: Optional[ProtectionSpace]
    """Where a credential for it holds, as a `CredentialStorage` has it; None for a certificate."""

    def __init__(self, pointer: Optional[int]) -> None:
        """Reads a C decision."""

        def text(value: Optional[bytes]) -> Optional[str]:
            return None if value is None else value.decode("utf-8", "replace")

        asked = signatures.Challenge.from_address(lib.ntapi_decision_challenge(pointer))
        self.kind = ChallengeKind(asked.kind)
        self.host = text(asked.host) or ""
        self.port = asked.port
        self.scheme = text(asked.scheme)
        self.realm = text(asked.realm)
        self.failures = asked.failures
        self.reason = text(asked.reason) or ""
        self.protection_space = _protection_space(asked.space)
        self.certificates = [
            pem.decode("ascii", "replace") for pem in asked.certificates[: asked.certificate_count]
        ]

    def __repr__(self) -> str:
        realm = "" if self.realm is None else f", realm {self.realm!r}"
        return f"<ntapi.Challenge {self.kind.name} of {self.host}:{self.port}{realm}>"


def _protection_space(pointer: Optional[int]) -> Optional[ProtectionSpace]:
    if not pointer:
        return None
    # Here, for a cold start: each request with a handler needs this module, and few are challenged.
    from ._storage import ProtectionSpace

    return ProtectionSpace._of_c(signatures.ProtectionSpace.from_address(pointer))


class Decision:
    """A question that a request waits for: answered once, at once or later, from any thread.

    One that is dropped without an answer is answered by `proceed`, and so is one whose request is
    cancelled or out of time.
    """

    __slots__ = ("_handle", "request")

    def __init__(self, pointer: int, request: Request) -> None:
        """Owns a C decision."""
        self._handle = Handle(pointer, lib.ntapi_decision_free)
        self.request: Request = request

    @property
    def kind(self) -> DecisionKind:
        """What is asked."""
        return DecisionKind(lib.ntapi_decision_get_kind(self._handle.pointer))

    @property
    def status(self) -> int:
        """The status of the response that asks."""
        return int(lib.ntapi_response_status(lib.ntapi_decision_response(self._handle.pointer)))

    def header(self, name: str) -> Optional[str]:
        """A header of the response that asks, several of a name joined with ", "; or None."""

        headers = lib.ntapi_response_headers(lib.ntapi_decision_response(self._handle.pointer))
        text = lib.ntapi_headers_get(headers, name.encode())
        return None if text is None else header_text(text)

    @property
    def http_request(self) -> Optional[HTTPRequest]:
        """For a redirect: the request that would follow it, without what must not leave its origin.
        `proceed` sends it with your changes. None for other kinds.
        """
        pointer = lib.ntapi_decision_http_request(self._handle.pointer)
        # The decision lends it, and lives as long as it does.
        return HTTPRequest(pointer, self._handle) if pointer else None

    @property
    def challenge(self) -> Optional[Challenge]:
        """For a challenge: what is asked for. None for other kinds."""
        pointer = self._handle.pointer
        return Challenge(pointer) if self.kind is DecisionKind.CHALLENGE else None

    @property
    def attempt(self) -> Optional[int]:
        """For a retry: how many attempts were made. None for other kinds."""
        return int(lib.ntapi_decision_attempt(self._handle.pointer)) or None

    @property
    def wait(self) -> Optional[float]:
        """For a retry: the seconds to the next attempt, as the policy says; None when it would let
        the response stand, and for other kinds.
        """
        seconds = float(lib.ntapi_decision_wait(self._handle.pointer))
        return None if seconds < 0 else seconds

    @property
    def response(self) -> Optional[Response]:
        """For a retry: the response of the attempt, with its error, data and JSON. None for
        other kinds.
        """
        if self.kind is not DecisionKind.RETRY:
            return None
        pointer = lib.ntapi_response_retain(lib.ntapi_decision_response(self._handle.pointer))
        return Response._owning(pointer) if pointer else None

    @property
    def storage(self) -> Storage:
        """For the cache: where the response is stored unless another answer says so."""
        return Storage(lib.ntapi_decision_get_storage(self._handle.pointer))

    def proceed(self) -> bool:
        """Answers: the redirect is followed, the response is received, a challenge gets no user and
        password, a certificate that cannot be verified is not trusted, the retry policy decides,
        and a response is stored as proposed.

        This and the other answers return False when there was one before, or it does not answer
        this kind.
        """
        return bool(lib.ntapi_decision_proceed(self._handle.pointer) == Status.OK)

    def cancel(self) -> bool:
        """Answers: the request ends with "request cancelled"."""
        return bool(lib.ntapi_decision_cancel(self._handle.pointer) == Status.OK)

    def refuse(self) -> bool:
        """Answers a redirect: it is not followed; the response that points elsewhere is the
        request's, with its HTTP error. Answers a retry: there is none; the response that has failed
        is the request's. Answers the cache's: the response is not stored.
        """
        return bool(lib.ntapi_decision_refuse(self._handle.pointer) == Status.OK)

    def retry(self, seconds: float) -> bool:
        """Answers a retry: the request is sent again after so many seconds, whatever its policy
        says of the status and the wait; not when that would be after the total timeout.
        """
        return bool(lib.ntapi_decision_retry(self._handle.pointer, seconds) == Status.OK)

    def store_in_memory(self) -> bool:
        """Answers the cache's: the response is stored in memory, and never written to disk."""
        pointer = self._handle.pointer
        return bool(lib.ntapi_decision_store_in_memory(pointer) == Status.OK)

    def download(self, path: Optional[Path] = None) -> bool:
        """Answers a response: its body is written to a file, as with the arg `download`; without a
        path to a temporary file.
        """
        name = None if path is None else os.fsencode(path)
        return bool(lib.ntapi_decision_download(self._handle.pointer, name) == Status.OK)

    def use(self, user: str, password: str, *, persistence: Persistence = Persistence.NONE) -> bool:
        """Answers the challenge of a server or a proxy with a user and a password. If they are
        wrong, the next decision has one failure more.

        `persistence` says whether the client's other requests to the same protection space use it,
        too. False also for control characters, and for a colon in the user where the scheme is
        Basic.
        """
        texts = c_text(user), c_text(password)
        pointer = self._handle.pointer
        status = lib.ntapi_decision_use_credential(pointer, *texts, persistence.value)
        return bool(status == Status.OK)

    def trust(self, *, for_session: bool = False) -> bool:
        """Answers a challenge about a certificate: it is trusted. The request is sent only to a
        server that shows this certificate.

        With `for_session` the client's other requests to the same host and port trust it, too.
        """
        return bool(lib.ntapi_decision_trust(self._handle.pointer, for_session) == Status.OK)

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "answer it here")

    def __repr__(self) -> str:
        return f"<ntapi.Decision {self.kind.name} {self.status}>"
