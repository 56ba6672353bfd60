"""The handle to a request."""

from __future__ import annotations

from . import _registry
from ._checks import check_handler, check_timeout
from ._delivery import Outcome, state_of
from ._enums import RequestState
from ._handles import Handle
from ._headers import Headers, lines_of
from ._library import lib, take_text
from ._loops import is_loop_mailbox_here
from ._native import get_ident
from ._numbers import Bytes, Handler, Status
from ._threads import current_mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._aliases import ProgressHandler
    from ._response import Response


class Request:
    """A handle to a request.

    Dropping it does not end the request; handles to the same request are equal.
    """

    __slots__ = ("__weakref__", "_handle", "_outcome")

    def __init__(self, handle: Optional[Handle], outcome: Outcome) -> None:
        self._handle = handle
        self._outcome = outcome

    @property
    def _pointer(self) -> Optional[int]:
        return self._handle.pointer if self._handle else None

    def resume(self) -> bool:
        """Starts a request that was created suspended, or lets one go on that was suspended since.

        False when there was nothing to do: it runs, or has ended. Too late is no error.
        """
        delivery = self._outcome.delivery
        if delivery is not None and not delivery.has_begun:
            return delivery.client._start(delivery, self)
        return bool(lib.ntapi_request_resume(self._pointer) == Status.OK)

    def suspend(self) -> bool:
        """Suspends a request that runs, until `resume`: no byte is sent or received, and no timeout
        runs.

        Handlers may still be called for what was received before. The connection is kept; a server
        may lose patience with it, and then the request fails once it is resumed. False when it does
        not run, or is suspended.
        """
        return bool(lib.ntapi_request_suspend(self._pointer) == Status.OK)

    def cancel(self) -> None:
        """Cancels: the handler gets "request cancelled", once. Too late is no error."""
        delivery = self._outcome.delivery
        if delivery is None:
            return
        if delivery.failure is None:
            # Never resumed, perhaps: C calls its handler all the same.
            delivery.begin()
        delivery.cancel()

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Waits until the handler has returned; False when `timeout` seconds were not enough.

        Runs the calling thread's other handlers meanwhile.
        """
        check_timeout(timeout)
        outcome = self._outcome
        delivery = outcome.delivery
        if outcome.is_done or delivery is None:
            return True
        if delivery.token not in _registry.pending:
            if outcome.is_done:
                # Since we asked.
                return True
            raise RuntimeError(
                "the request was never resumed, or belongs to the process that forked this one"
            )
        this_thread = get_ident()
        if outcome.runner == this_thread:
            raise RuntimeError("a handler cannot wait for its own request")
        mailbox = current_mailbox()
        if is_loop_mailbox_here(delivery.place(Handler.RESPONSE).mailbox):
            raise RuntimeError(
                "the response comes through this thread's event loop: await it instead"
            )
        with _registry.observing(mailbox):
            return mailbox.run_until(lambda: outcome.is_done, timeout)

    def set_upload_progress(self, handler: Optional[ProgressHandler]) -> None:
        """Sets the upload progress handler of a request that is not sent yet; None removes it.

        In the client's hook `request_started`, say. It runs where the args say, as one that
        `create_request` is given. Raises RuntimeError once the request is sent.
        """
        self._set_progress(Handler.UPLOAD_PROGRESS, handler, "the upload progress handler")

    def set_download_progress(self, handler: Optional[ProgressHandler]) -> None:
        """Sets the download progress handler of a request that is not sent yet; None removes it.

        As `set_upload_progress`.
        """
        self._set_progress(Handler.DOWNLOAD_PROGRESS, handler, "the download progress handler")

    def _set_progress(self, kind: int, handler: Optional[ProgressHandler], name: str) -> None:
        check_handler(handler, name)
        delivery = self._outcome.delivery
        if delivery is None or not delivery.set_progress(kind, handler):
            raise RuntimeError(f"{name} comes too late: the request is sent")

    @property
    def response(self) -> Optional[Response]:
        """The response, once there is one."""
        return self._outcome.response

    @property
    def state(self) -> RequestState:
        """Suspended, running, completed or cancelled."""
        return state_of(self._handle, self._outcome)

    @property
    def is_running(self) -> bool:
        """Whether it was resumed and its handler has not returned yet."""
        delivery = self._outcome.delivery
        return delivery is not None and delivery.token in _registry.pending

    @property
    def identifier(self) -> int:
        """Unique in the client, from 1; 0 for a request that could not be built."""
        return int(lib.ntapi_request_identifier(self._pointer))

    @property
    def description(self) -> Optional[str]:
        """A text of yours."""
        return take_text(lib.ntapi_request_description(self._pointer))

    @description.setter
    def description(self, text: Optional[str]) -> None:
        lib.ntapi_request_set_description(self._pointer, None if text is None else text.encode())

    @property
    def priority(self) -> float:
        """From 0 (last) to 1 (first) among those that wait for the same host.

        Takes effect when set before resume.
        """
        return float(lib.ntapi_request_priority(self._pointer))

    @priority.setter
    def priority(self, value: float) -> None:
        if lib.ntapi_request_set_priority(self._pointer, value) != Status.OK:
            raise ValueError("a priority is from 0 to 1")

    @property
    def bytes_sent(self) -> int:
        """Body bytes sent so far."""
        return int(lib.ntapi_request_bytes(self._pointer, Bytes.SENT))

    @property
    def bytes_expected_to_send(self) -> Optional[int]:
        """Body bytes to send; None while unknown."""
        return _known(lib.ntapi_request_bytes(self._pointer, Bytes.EXPECTED_TO_SEND))

    @property
    def bytes_received(self) -> int:
        """Body bytes received so far, as they came over the wire."""
        return int(lib.ntapi_request_bytes(self._pointer, Bytes.RECEIVED))

    @property
    def bytes_expected_to_receive(self) -> Optional[int]:
        """Body bytes that the server announced; None while unknown."""
        return _known(lib.ntapi_request_bytes(self._pointer, Bytes.EXPECTED_TO_RECEIVE))

    @property
    def bytes_decoded(self) -> int:
        """Body bytes received so far, after decompression."""
        return int(lib.ntapi_request_bytes(self._pointer, Bytes.DECODED))

    @property
    def received_status(self) -> Optional[int]:
        """The status of the response whose body is being received by the data handler or into a
        file; None before.
        """
        return int(lib.ntapi_request_received_status(self._pointer)) or None

    @property
    def received_headers(self) -> Headers:
        """The header lines of the response whose body is being received by the data handler or into
        a file; none before.
        """
        return Headers(lines_of(lib.ntapi_request_received_headers(self._pointer)))

    @property
    def resume_data(self) -> Optional[str]:
        """What a later request can go on from with the arg `resume`, should the download end before
        it is whole; None when there is nothing to go on from, or nothing that could be trusted.

        For a program that wants to be prepared for its own sudden end: save it now and then.
        """
        return take_text(lib.ntapi_request_resume_data(self._pointer))

    def _leave_resume_data(self, interrupt: BaseException) -> None:
        """Gives an exception that ends a wait what the download can be gone on with."""
        data = self.resume_data
        if data is not None:
            interrupt.resume_data = data  # type: ignore[attr-defined]

    @property
    def curl_command(self) -> Optional[str]:
        """The request as a curl command line that sends the same when it is pasted into a shell,
        secrets redacted.
        """
        text = lib.ntapi_request_curl_command(self._pointer)
        return None if text is None else text.decode("utf-8", "replace")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Request):
            return NotImplemented
        if self._handle is None:
            return self._outcome is other._outcome
        return self._handle is other._handle

    def __hash__(self) -> int:
        return hash(id(self._handle or self._outcome))

    def __repr__(self) -> str:
        return f"<ntapi.Request {self.identifier} {self.state.name.lower()}>"


def _known(count: Any) -> Optional[int]:
    return None if count < 0 else int(count)
