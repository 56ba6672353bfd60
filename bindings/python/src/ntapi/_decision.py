"""Decisions: questions to the program, for whose answers a request waits."""

from __future__ import annotations

import os

from ._args import c_text
from ._bridge import signatures
from ._bridge.enums import ChallengeKind, DecisionKind, Persistence, Storage
from ._bridge.library import Handle, lib
from ._bridge.signatures import Status
from ._headers import header_text
from ._http import HTTPRequest
from ._response import Response
from ._runtime.checks import Copyable, check_member, even_without_init, refuse_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, Optional

    from ._request import Request
    from ._storage import ProtectionSpace
    from ._types import Path


class Challenge(Copyable):
    """What a server or a proxy demands before the request can continue."""

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
    """What is demanded: a password for the server or for a proxy, or trust in a certificate."""
    host: str
    """The host that the request is sent to."""
    port: int
    """The port that it is sent to."""
    scheme: Optional[str]
    """How the password would be sent: "Basic" (readable unless over https) or "Digest". None for a
    certificate.
    """
    realm: Optional[str]
    """The part of the server that the credential is for; None if the server does not name one."""
    failures: int
    """How many credentials of this request were rejected before."""
    reason: str
    """Why a certificate was not accepted. In a proxy's challenge: which proxy asks."""
    certificates: list[str]
    """The chain that the server has sent, as PEM, its own certificate first."""
    protection_space: Optional[ProtectionSpace]
    """The key of the credential in a `CredentialStorage`; None for a certificate."""

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

    @even_without_init
    def __repr__(self) -> str:
        realm = "" if self.realm is None else f", realm {self.realm!r}"
        return f"<ntapi.Challenge {self.kind.name} of {self.host}:{self.port}{realm}>"


def _protection_space(pointer: Optional[int]) -> Optional[ProtectionSpace]:
    if not pointer:
        return None
    # Imported here, because each request with a handler needs this module and few are challenged.
    from ._storage import ProtectionSpace

    return ProtectionSpace._of_c(signatures.ProtectionSpace.from_address(pointer))


class Decision:
    """A question for whose answer a request waits. Answer once, immediately or later, from any
    thread.

    A decision that is dropped without an answer proceeds. So does one whose request is cancelled or
    out of time.
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
        """A header of the response that asks, or None. Several of one name are joined with ", "."""

        headers = lib.ntapi_response_headers(lib.ntapi_decision_response(self._handle.pointer))
        text = lib.ntapi_headers_get(headers, name.encode())
        return None if text is None else header_text(text)

    @property
    def http_request(self) -> Optional[HTTPRequest]:
        """For a redirect: the next request, without what must not leave its origin. `proceed` sends
        it with your changes. None for other kinds.
        """
        pointer = lib.ntapi_decision_http_request(self._handle.pointer)
        # The decision owns the C request, so the object keeps the decision alive.
        return HTTPRequest(pointer, self._handle) if pointer else None

    @property
    def challenge(self) -> Optional[Challenge]:
        """For a challenge: what is demanded. None for other kinds."""
        pointer = self._handle.pointer
        return Challenge(pointer) if self.kind is DecisionKind.CHALLENGE else None

    @property
    def attempt(self) -> Optional[int]:
        """For a retry: how many attempts were made. None for other kinds."""
        return int(lib.ntapi_decision_attempt(self._handle.pointer)) or None

    @property
    def wait(self) -> Optional[float]:
        """For a retry: the seconds until the next attempt by the policy. None if the policy would
        not send the request again, and for other kinds.
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
        """For the cache: where `proceed` stores the response."""
        return Storage(lib.ntapi_decision_get_storage(self._handle.pointer))

    def proceed(self) -> bool:
        """Does what happens without a decision. A redirect is followed. A response is received. A
        challenge gets no password. An unverified certificate is not trusted. The retry policy
        decides. A response is stored as proposed.

        This and the other answers return False if the decision is already answered, or if the
        answer does not fit its kind.
        """
        return bool(lib.ntapi_decision_proceed(self._handle.pointer) == Status.OK)

    def cancel(self) -> bool:
        """Ends the request with "request cancelled"."""
        return bool(lib.ntapi_decision_cancel(self._handle.pointer) == Status.OK)

    def refuse(self) -> bool:
        """Refuses. A redirect is not followed: the request ends with this response and its HTTP
        error. A failed attempt is not repeated: the request ends with its response. A response is
        not stored in the cache.
        """
        return bool(lib.ntapi_decision_refuse(self._handle.pointer) == Status.OK)

    def retry(self, seconds: float) -> bool:
        """For a retry: sends the request again after this many seconds, even against the policy,
        but not after the total timeout.
        """
        return bool(lib.ntapi_decision_retry(self._handle.pointer, seconds) == Status.OK)

    def store_in_memory(self) -> bool:
        """For the cache: stores the response in memory only, never on disk."""
        pointer = self._handle.pointer
        return bool(lib.ntapi_decision_store_in_memory(pointer) == Status.OK)

    def download(self, path: Optional[Path] = None) -> bool:
        """For a response: writes its body to a file, as with the arg `download`; without a path, to
        a temporary file.
        """
        name = None if path is None else os.fsencode(path)
        return bool(lib.ntapi_decision_download(self._handle.pointer, name) == Status.OK)

    def use(self, user: str, password: str, *, persistence: Persistence = Persistence.NONE) -> bool:
        """For a challenge of a server or a proxy: sends a user and a password. If they are wrong,
        the next decision counts one more failure.

        `persistence` says whether the client's other requests to the same protection space use
        them, too. Also returns False for control characters, and with Basic for a colon in the
        user.
        """
        check_member(persistence, Persistence)
        texts = c_text(user), c_text(password)
        pointer = self._handle.pointer
        status = lib.ntapi_decision_use_credential(pointer, *texts, persistence.value)
        return bool(status == Status.OK)

    def trust(self, *, for_session: bool = False) -> bool:
        """For a challenge about a certificate: trusts it. The request is sent only to a server with
        this certificate.

        With `for_session` the client's other requests to the same host and port trust it, too.
        """
        return bool(lib.ntapi_decision_trust(self._handle.pointer, for_session) == Status.OK)

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "answer it here")

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.Decision {self.kind.name} {self.status} of {self.request!r}>"
