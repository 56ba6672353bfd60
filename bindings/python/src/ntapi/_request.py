"""The handle to a request."""

from __future__ import annotations

from ._bridge.enums import RequestState
from ._bridge.library import Handle, lib, take_text
from ._bridge.native import get_ident
from ._bridge.signatures import Handler, Status
from ._headers import Headers, header_text, take_lines
from ._runtime import registry
from ._runtime.checks import check_handler, check_timeout, even_without_init, refuse_copy
from ._runtime.delivery import Outcome, state_of
from ._runtime.loops import is_loop_mailbox_here
from ._runtime.threads import current_mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from ._handlers import Delivery
    from ._response import Response
    from ._types import ProgressHandler


_OWN = "a handler, hook or interceptor cannot wait for its own request"


class Request:
    """A handle to a request.

    Dropping it does not end the request. Handles to the same request are equal.
    """

    __slots__ = ("__weakref__", "_copied", "_handle", "_outcome")

    def __init__(
        self,
        handle: Optional[Handle],
        outcome: Outcome,
        copied: Optional[dict[str, Any]] = None,
    ) -> None:
        self._handle = handle
        self._outcome = outcome
        self._copied = copied
        """The values of `_PARTS` from before the response was pickled or copied; None for a request
        in C.
        """

    def __reduce__(self) -> tuple[Any, ...]:
        response = self._outcome.response
        if response is None:
            refuse_copy(self, "it runs in this process; pickle its response when it has ended")
        return _of_response, (response,)

    def _part(self, name: str) -> Any:
        """The value from C, or that from before the response was copied."""
        if self._copied is not None:
            return self._copied[name]
        return _PARTS[name](self._pointer)

    @property
    def _pointer(self) -> Optional[int]:
        return self._handle.pointer if self._handle else None

    @property
    def _delivery(self) -> Optional[Delivery]:
        """The object that calls its handlers; None after the last one has returned."""
        delivery: Optional[Delivery] = self._outcome.delivery
        return delivery

    def resume(self) -> bool:
        """Starts a request that was created suspended, or continues one that was suspended later.

        Returns False if there was nothing to do, because it runs or has ended.
        """
        delivery = self._delivery
        if delivery is not None and not delivery.has_begun:
            return delivery.client._start(delivery, self)
        return bool(lib.ntapi_request_resume(self._pointer) == Status.OK)

    def suspend(self) -> bool:
        """Suspends a running request until `resume`: no byte is sent or received, and no timeout
        runs.

        Handlers may still be called for what was received before. If the server closes the
        connection meanwhile, the request fails when it is resumed. Returns False if it does not run
        or is already suspended.
        """
        return bool(lib.ntapi_request_suspend(self._pointer) == Status.OK)

    def cancel(self) -> None:
        """Cancels the request: its handler gets "request cancelled", once. Does nothing after its
        end.
        """
        delivery = self._delivery
        if delivery is None:
            return
        if delivery.failure is None:
            # C calls the handler even if the request was never resumed.
            delivery.begin()
        delivery.cancel()

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Waits until the handler has returned. Returns False after `timeout` seconds.

        Runs the calling thread's other handlers meanwhile. Raises RuntimeError in a handler, hook
        or interceptor of the request itself, which would wait for ever.
        """
        check_timeout(timeout)
        outcome = self._outcome
        delivery = self._delivery
        if outcome.is_done or delivery is None:
            if registry.runs_handler_here(self._handle):
                # This handle comes from the response that the handler was given.
                raise RuntimeError(_OWN)
            return True
        if delivery.token not in registry.pending:
            if outcome.is_done:
                # It has ended since the check.
                return True
            raise RuntimeError(
                "the request was never resumed, or belongs to the process that forked this one"
            )
        this_thread = get_ident()
        if outcome.runner == this_thread or this_thread in outcome.workers:
            raise RuntimeError(_OWN)
        mailbox = current_mailbox()
        if is_loop_mailbox_here(delivery.place(Handler.RESPONSE).mailbox):
            raise RuntimeError(
                "the response comes through this thread's event loop: await it instead"
            )
        with registry.observing(mailbox):
            return mailbox.run_until(lambda: outcome.is_done, timeout, (delivery.token,))

    def set_upload_progress(self, handler: Optional[ProgressHandler]) -> None:
        """Sets the upload progress handler of a request that is not sent yet; None removes it.

        Call it, for example, in the client's hook `request_started`. The args say where the handler
        runs, as with `create_request`. Raises RuntimeError if the request is already sent.
        """
        self._set_progress(Handler.UPLOAD_PROGRESS, handler, "the upload progress handler")

    def set_download_progress(self, handler: Optional[ProgressHandler]) -> None:
        """Sets the download progress handler of a request that is not sent yet; None removes it.

        As `set_upload_progress`.
        """
        self._set_progress(Handler.DOWNLOAD_PROGRESS, handler, "the download progress handler")

    def _set_progress(self, kind: int, handler: Optional[ProgressHandler], name: str) -> None:
        check_handler(handler, name)
        delivery = self._delivery
        if delivery is None or not delivery.set_progress(kind, handler):
            raise RuntimeError(f"{name} comes too late: the request is sent")

    @property
    def response(self) -> Optional[Response]:
        """The response; None until there is one."""
        response: Optional[Response] = self._outcome.response
        return response

    @property
    def state(self) -> RequestState:
        """The state: suspended, running, completed or cancelled."""
        if self._copied is not None:
            state: RequestState = self._copied["state"]
            return state
        return state_of(self._handle, self._outcome)

    @property
    def is_running(self) -> bool:
        """Whether it was resumed and its handler has not returned yet."""
        delivery = self._delivery
        return delivery is not None and delivery.token in registry.pending

    @property
    def identifier(self) -> int:
        """Unique in the client, from 1; 0 for a request that could not be built."""
        return int(self._part("identifier"))

    @property
    def description(self) -> Optional[str]:
        """A text for the program's own use."""
        text: Optional[str] = self._part("description")
        return text

    @description.setter
    def description(self, text: Optional[str]) -> None:
        if self._copied is not None:
            self._copied["description"] = text
        lib.ntapi_request_set_description(self._pointer, None if text is None else text.encode())

    @property
    def priority(self) -> float:
        """From 0 (last) to 1 (first) among requests that wait for the same host.

        Has an effect if set before `resume`.
        """
        return float(self._part("priority"))

    @priority.setter
    def priority(self, value: float) -> None:
        if lib.ntapi_request_set_priority(self._pointer, value) != Status.OK:
            raise ValueError("a priority is from 0 to 1")

    @property
    def bytes_sent(self) -> int:
        """Body bytes sent so far."""
        return int(self._part("bytes_sent"))

    @property
    def bytes_expected_to_send(self) -> Optional[int]:
        """Body bytes to send; None while unknown."""
        return _known(self._part("bytes_expected_to_send"))

    @property
    def bytes_received(self) -> int:
        """Body bytes received so far, as they came over the wire."""
        return int(self._part("bytes_received"))

    @property
    def bytes_expected_to_receive(self) -> Optional[int]:
        """Body bytes that the server announced; None while unknown."""
        return _known(self._part("bytes_expected_to_receive"))

    @property
    def bytes_decoded(self) -> int:
        """Body bytes received so far, after decompression."""
        return int(self._part("bytes_decoded"))

    @property
    def received_status(self) -> Optional[int]:
        """The HTTP status, once a data handler or a file receives the body; None before."""
        return int(self._part("received_status")) or None

    @property
    def received_headers(self) -> Headers:
        """The header lines, once a data handler or a file receives the body; empty before."""
        return Headers(self._part("received_lines"))

    @property
    def received_reason_phrase(self) -> str:
        """The text behind that status in the status line, such as "Not Found"; "" if there is none,
        as over HTTP/2.
        """
        return str(self._part("received_reason_phrase"))

    @property
    def received_http_version(self) -> Optional[float]:
        """The version of HTTP of that response: 1.0, 1.1, 2 or 3; None before."""
        return float(self._part("received_http_version")) or None

    @property
    def resume_data(self) -> Optional[str]:
        """For the arg `resume` of a later request, if the download does not complete. None if
        nothing was received, or if the server sent no usable validator (ETag, Last-Modified).

        A program that may be killed should save it now and then.
        """
        text: Optional[str] = self._part("resume_data")
        return text

    def _leave_resume_data(self, interrupt: BaseException) -> Optional[str]:
        """Adds the download's resume data to an exception that ends the wait for it, and returns
        it.
        """
        data = self.resume_data
        if data is not None:
            interrupt.resume_data = data  # type: ignore[attr-defined]
        return data

    @property
    def curl_command(self) -> Optional[str]:
        """A curl command line that sends the same request from a shell, secrets redacted."""
        text: Optional[str] = self._part("curl_command")
        return text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Request):
            return NotImplemented
        if self._handle is None:
            return self._outcome is other._outcome
        return self._handle is other._handle

    def __hash__(self) -> int:
        return hash(id(self._handle or self._outcome))

    @even_without_init
    def __repr__(self) -> str:
        line = self._part("line")
        return f"<ntapi.Request {line and line + ' '}{self.state.name.lower()}>"


def _known(count: Any) -> Optional[int]:
    return None if count < 0 else int(count)


# The properties that are read from the C pointer. A copied response has the values of all of them.


def _bytes(name: str, unknown: int = 0) -> Callable[[Optional[int]], int]:
    def read(pointer: Optional[int]) -> int:
        from ._http import read_numbers

        value = read_numbers(pointer).get("progress", {}).get(name)
        return unknown if value is None else int(value)

    return read


def _curl_command(pointer: Optional[int]) -> Optional[str]:
    text = lib.ntapi_request_curl_command(pointer)
    return None if text is None else text.decode("utf-8", "replace")


def _line(pointer: Optional[int]) -> str:
    """The number, method and URL, secrets redacted; "" for a request that C never saw."""
    if not pointer:
        return ""
    # C prints the type, then this line, then the state.
    text = take_text(lib.ntapi_describe(pointer)) or ""
    return text.partition(" ")[2].rpartition(" (")[0]


def _received_reason_phrase(pointer: Optional[int]) -> str:
    headers = lib.ntapi_request_received_headers(pointer)
    try:
        return header_text(lib.ntapi_headers_reason_phrase(headers) or b"")
    finally:
        lib.ntapi_headers_free(headers)


def _last_state(pointer: Optional[int]) -> RequestState:
    # It has a response: only its handlers may still run.
    if lib.ntapi_request_get_state(pointer) == RequestState.CANCELLED.value:
        return RequestState.CANCELLED
    return RequestState.COMPLETED


_PARTS: dict[str, Callable[[Optional[int]], Any]] = {
    "bytes_decoded": _bytes("bytesDecoded"),
    "bytes_expected_to_receive": _bytes("bytesExpectedToReceive", -1),
    "bytes_expected_to_send": _bytes("bytesExpectedToSend", -1),
    "bytes_received": _bytes("bytesReceived"),
    "bytes_sent": _bytes("bytesSent"),
    "curl_command": _curl_command,
    "description": lambda pointer: take_text(lib.ntapi_request_description(pointer)),
    "line": _line,
    "identifier": lambda pointer: lib.ntapi_request_identifier(pointer),
    "priority": lambda pointer: lib.ntapi_request_priority(pointer),
    "received_http_version": lambda pointer: lib.ntapi_request_received_http_version(pointer),
    "received_lines": lambda pointer: take_lines(lib.ntapi_request_received_headers(pointer)),
    "received_reason_phrase": _received_reason_phrase,
    "received_status": lambda pointer: lib.ntapi_request_received_status(pointer),
    "resume_data": lambda pointer: take_text(lib.ntapi_request_resume_data(pointer)),
    "state": _last_state,
}


def read_parts(pointer: Optional[int]) -> dict[str, Any]:
    """The values of a C request that a copied response keeps."""
    return {name: read(pointer) for name, read in _PARTS.items()}


def _of_response(response: Response) -> Request:
    return response.request
