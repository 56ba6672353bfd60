"""Decisions: questions that a request waits for."""

from __future__ import annotations

import os

from ._enums import DecisionKind, Status
from ._handles import Handle
from ._hooks import HTTPRequest
from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ._aliases import Path
    from ._request import Request


class Decision:
    """A question that a request waits for: answered once, at once or later, from any thread.

    One that is dropped without an answer is answered by `proceed`, and so is one whose request is
    cancelled or out of time.
    """

    __slots__ = ("_handle", "request")

    def __init__(self, pointer: int, request: Request) -> None:
        """Owns a C decision."""
        self._handle = Handle(pointer, lib.ntapi_decision_free)
        self.request = request

    @property
    def kind(self) -> DecisionKind:
        """What is asked."""
        return DecisionKind(lib.ntapi_decision_get_kind(self._handle.pointer))

    @property
    def status(self) -> int:
        """The status of the response that asks."""
        return int(lib.ntapi_decision_status(self._handle.pointer))

    def header(self, name: str) -> Optional[str]:
        """A header of the response that asks, several of a name joined with ", "; or None."""
        text = lib.ntapi_decision_header(self._handle.pointer, name.encode())
        return None if text is None else text.decode("utf-8", "replace")

    @property
    def http_request(self) -> Optional[HTTPRequest]:
        """Of a redirect: the request that would follow it, with what must not leave its origin
        taken out. Change it, and `proceed` sends it as it is. None for other kinds.
        """
        pointer = lib.ntapi_decision_http_request(self._handle.pointer)
        return HTTPRequest(pointer) if pointer else None

    def proceed(self) -> bool:
        """Answers: the redirect is followed, the response is received.

        This and the other answers return False when there was one before, or it does not answer
        this kind.
        """
        return bool(lib.ntapi_decision_proceed(self._handle.pointer) == Status.OK)

    def cancel(self) -> bool:
        """Answers: the request ends with "request cancelled"."""
        return bool(lib.ntapi_decision_cancel(self._handle.pointer) == Status.OK)

    def refuse(self) -> bool:
        """Answers a redirect: it is not followed; the response that points elsewhere is the
        request's, with its HTTP error.
        """
        return bool(lib.ntapi_decision_refuse(self._handle.pointer) == Status.OK)

    def download(self, path: Path) -> bool:
        """Answers a response: its body is written to a file, as with the arg `download`."""
        name = os.fsencode(path)
        return bool(lib.ntapi_decision_download(self._handle.pointer, name) == Status.OK)

    def __repr__(self) -> str:
        return f"<ntapi.Decision {self.kind.name} {self.status}>"
