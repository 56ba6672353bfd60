"""The handle to a request, and how requests are made: of a command and args, or page after page."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping

from . import _registry, codes
from ._bridge import native
from ._bridge.args import THREAD_KINDS, append_args, c_text, shown_url
from ._bridge.hooks import configuring, may_replace_error
from ._bridge.library import Handle, lib, take_text
from ._bridge.native import get_ident
from ._bridge.signatures import Bytes, Handler, Status
from ._checks import check_handler, check_string, check_timeout, keyword_error, refuse_copy
from ._delivery import PROGRESS_HOOKS, Delivery, Outcome, nothing, state_of
from ._enums import ErrorDomain, RequestState
from ._errors import ApiError
from ._interceptors import add_to_args
from ._logging import follow_levels
from ._mailbox import current_mailbox
from ._places import is_loop_mailbox_here
from ._response import Headers, lines_of
from .arg import Arg, flatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from ._client import BaseClient
    from ._response import Response
    from ._service import ServiceCall
    from ._stream import StreamReader
    from ._types import Args, Place, ProgressHandler, ResponseHandler


_OWN = "a handler, hook or interceptor cannot wait for its own request"


class Request:
    """A handle to a request.

    Dropping it does not end the request; handles to the same request are equal.
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
        """What `_PARTS` read before the response was pickled or copied; None of a request of C's.
        """

    def __reduce__(self) -> tuple[Any, ...]:
        response = self._outcome.response
        if response is None:
            refuse_copy(self, "it runs in this process; pickle its response when it has ended")
        return _of_response, (response,)

    def _part(self, name: str) -> Any:
        """What C says, or has said before the response was copied."""
        if self._copied is not None:
            return self._copied[name]
        return _PARTS[name](self._pointer)

    @property
    def _pointer(self) -> Optional[int]:
        return self._handle.pointer if self._handle else None

    def resume(self) -> bool:
        """Starts a request that was created suspended, or continues one that was suspended later.

        False when there was nothing to do: it runs, or has ended. Too late is no error.
        """
        delivery = self._outcome.delivery
        if delivery is not None and not delivery.has_begun:
            return delivery.client._start(delivery, self)
        return bool(lib.ntapi_request_resume(self._pointer) == Status.OK)

    def suspend(self) -> bool:
        """Suspends a request that runs, until `resume`: no byte is sent or received, and no timeout
        runs.

        Handlers may still be called for what was received before. The connection stays open, but
        the server may close it, and then the request fails when it is resumed. False when it does
        not run, or is suspended.
        """
        return bool(lib.ntapi_request_suspend(self._pointer) == Status.OK)

    def cancel(self) -> None:
        """Cancels: the handler gets "request cancelled", once. Too late is no error."""
        delivery = self._outcome.delivery
        if delivery is None:
            return
        if delivery.failure is None:
            # It may never have been resumed. C calls its handler all the same.
            delivery.begin()
        delivery.cancel()

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Waits until the handler has returned; False when `timeout` seconds were not enough.

        Runs the calling thread's other handlers meanwhile. Raises RuntimeError in a handler, hook
        or interceptor of the request itself, which would wait for ever.
        """
        check_timeout(timeout)
        outcome = self._outcome
        delivery = outcome.delivery
        if outcome.is_done or delivery is None:
            if _registry.runs_handler_here(self._handle):
                # This is the request of the response that the handler was given.
                raise RuntimeError(_OWN)
            return True
        if delivery.token not in _registry.pending:
            if outcome.is_done:
                # Since we asked.
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
        with _registry.observing(mailbox):
            return mailbox.run_until(lambda: outcome.is_done, timeout)

    def set_upload_progress(self, handler: Optional[ProgressHandler]) -> None:
        """Sets the upload progress handler of a request that is not sent yet; None removes it.

        For example in the client's hook `request_started`. The args say where it runs, as for a
        handler of `create_request`. Raises RuntimeError once the request is sent.
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
        if self._copied is not None:
            state: RequestState = self._copied["state"]
            return state
        return state_of(self._handle, self._outcome)

    @property
    def is_running(self) -> bool:
        """Whether it was resumed and its handler has not returned yet."""
        delivery = self._outcome.delivery
        return delivery is not None and delivery.token in _registry.pending

    @property
    def identifier(self) -> int:
        """Unique in the client, from 1; 0 for a request that could not be built."""
        return int(self._part("identifier"))

    @property
    def description(self) -> Optional[str]:
        """A text of yours."""
        text: Optional[str] = self._part("description")
        return text

    @description.setter
    def description(self, text: Optional[str]) -> None:
        if self._copied is not None:
            self._copied["description"] = text
        lib.ntapi_request_set_description(self._pointer, None if text is None else text.encode())

    @property
    def priority(self) -> float:
        """From 0 (last) to 1 (first) among those that wait for the same host.

        Takes effect when set before resume.
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
        """The status of the response whose body is being received by the data handler or into a
        file; None before.
        """
        return int(self._part("received_status")) or None

    @property
    def received_headers(self) -> Headers:
        """The header lines of the response whose body is being received by the data handler or into
        a file; none before.
        """
        return Headers(self._part("received_lines"))

    @property
    def resume_data(self) -> Optional[str]:
        """For the arg `resume` of a later request, if the download does not complete; None when
        nothing was received, or the server gave nothing to verify it by.

        A program that may be killed saves it now and then.
        """
        text: Optional[str] = self._part("resume_data")
        return text

    def _leave_resume_data(self, interrupt: BaseException) -> None:
        """Gives an exception that ends a wait the resume data of the download."""
        data = self.resume_data
        if data is not None:
            interrupt.resume_data = data  # type: ignore[attr-defined]

    @property
    def curl_command(self) -> Optional[str]:
        """The request as a curl command line that sends the same when it is pasted into a shell,
        secrets redacted.
        """
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

    def __repr__(self) -> str:
        return f"<ntapi.Request {self.identifier} {self.state.name.lower()}>"


def _known(count: Any) -> Optional[int]:
    return None if count < 0 else int(count)


# What a request says of itself, each read of its C pointer. A copied response has all of it.


def _bytes(count: int) -> Callable[[Optional[int]], int]:
    return lambda pointer: int(lib.ntapi_request_bytes(pointer, count))


def _curl_command(pointer: Optional[int]) -> Optional[str]:
    text = lib.ntapi_request_curl_command(pointer)
    return None if text is None else text.decode("utf-8", "replace")


def _last_state(pointer: Optional[int]) -> RequestState:
    # It has a response: if it runs, then only its handlers do.
    if lib.ntapi_request_get_state(pointer) == RequestState.CANCELLED.value:
        return RequestState.CANCELLED
    return RequestState.COMPLETED


_PARTS: dict[str, Callable[[Optional[int]], Any]] = {
    "bytes_decoded": _bytes(Bytes.DECODED),
    "bytes_expected_to_receive": _bytes(Bytes.EXPECTED_TO_RECEIVE),
    "bytes_expected_to_send": _bytes(Bytes.EXPECTED_TO_SEND),
    "bytes_received": _bytes(Bytes.RECEIVED),
    "bytes_sent": _bytes(Bytes.SENT),
    "curl_command": _curl_command,
    "description": lambda pointer: take_text(lib.ntapi_request_description(pointer)),
    "identifier": lambda pointer: lib.ntapi_request_identifier(pointer),
    "priority": lambda pointer: lib.ntapi_request_priority(pointer),
    "received_lines": lambda pointer: tuple(lines_of(lib.ntapi_request_received_headers(pointer))),
    "received_status": lambda pointer: lib.ntapi_request_received_status(pointer),
    "resume_data": lambda pointer: take_text(lib.ntapi_request_resume_data(pointer)),
    "state": _last_state,
}


def read_parts(pointer: Optional[int]) -> dict[str, Any]:
    """What a response keeps of its C request when it is copied."""
    return {name: read(pointer) for name, read in _PARTS.items()}


def _of_response(response: Response) -> Request:
    return response.request


# From a command and args to a request in C that waits to be resumed.


_HANDLER_OF = {
    "response_thread": Handler.RESPONSE,
    "upload_progress_thread": Handler.UPLOAD_PROGRESS,
    "download_progress_thread": Handler.DOWNLOAD_PROGRESS,
    "data_thread": Handler.DATA,
    "decision_thread": Handler.DECISION,
}

_PROGRESS_KEYWORDS = {
    "upload_progress": Handler.UPLOAD_PROGRESS,
    "download_progress": Handler.DOWNLOAD_PROGRESS,
}
_KEYWORDS = {
    **_PROGRESS_KEYWORDS,
    "data_handler": Handler.DATA,
    "decision_handler": Handler.DECISION,
}
_SPOKEN = {
    Handler.UPLOAD_PROGRESS: "the upload progress handler",
    Handler.DOWNLOAD_PROGRESS: "the download progress handler",
    Handler.DATA: "the data handler",
    Handler.DECISION: "the decision handler",
}


def build(
    client: BaseClient,
    command: str,
    args: Iterable[Args],
    handlers: Mapping[str, Any],
    *,
    usual_place: Place,
    response_place: Optional[Place] = None,
    handler: Optional[ResponseHandler] = None,
    reader: Optional[StreamReader] = None,
    call: Optional[ServiceCall[Any]] = None,
) -> Request:
    """Makes a suspended request. `handlers` are those other than the response's, by their keywords.

    `response_place` overrides the args. Handlers that no arg places run in the `usual_place`, but
    the data and the decision handler run where the response handler does. `call` is what the
    request is made for, if that is a service.
    """
    check_string(command, "the command")
    check_handler(handler)
    functions = {Handler.RESPONSE: handler or nothing, **_checked(handlers, _KEYWORDS)}
    follow_levels()
    if client._authenticator is not None:
        args = client._authenticator._adjust(tuple(args))
    flat = flatten(args)
    if "build_args" in client._overridden:
        adjusted = client.build_args(command, flat)
        flat = flatten(flat if adjusted is None else adjusted)
    places = _places(client, flat, usual_place, response_place)
    placed = _placed(client, functions, places, usual_place)
    if reader is not None:
        # It runs no user code, and one thread has to deliver the pieces and the end.
        placed[Handler.DATA] = placed[Handler.RESPONSE][0], nothing
    delivery = Delivery(client, placed, reader)
    delivery.keeps_body = handlers.get("data_handler") is None and reader is None
    delivery.progress_places = {kind: places.get(kind, usual_place) for kind in PROGRESS_HOOKS}
    configure = None
    if call is not None:
        delivery.call = call
        configure = call.configure
    try:
        with configuring(client, configure):
            _create_in_c(delivery, command, flat)
    except ApiError as error:
        # A request that cannot be built still calls its handler, with the error, where it was asked
        # to.
        delivery.failure = error
    except BaseException:
        delivery.forget_sources()
        raise
    return Request(delivery.handle, delivery.outcome)


def restore(
    client: BaseClient,
    args: Args,
    handlers: Mapping[str, Any],
    *,
    usual_place: Place,
    handler: Optional[ResponseHandler],
) -> list[Request]:
    """Suspended requests for what a background session has on disk."""
    check_handler(handler)
    functions = {Handler.RESPONSE: handler or nothing, **_checked(handlers, _PROGRESS_KEYWORDS)}
    follow_levels()
    places = _places(client, flatten([args]), usual_place)
    placed = _placed(client, functions, places, usual_place)
    count = lib.ntapi_client_restored_requests(client._handle.pointer, None, None, 0)
    if not count:
        return []
    deliveries = [Delivery(client, placed) for _ in range(count)]
    pointer: Any = lib.ntapi_args_create()
    room = (ctypes.c_void_p * count)()
    events = 0
    try:
        for mailbox, kinds in deliveries[0].mailboxes().items():
            lib.ntapi_args_mailbox(pointer, Handler.ALL, mailbox.pointer)
            events |= kinds
        lib.ntapi_client_restored_requests(client._handle.pointer, pointer, room, count)
    finally:
        lib.ntapi_args_free(pointer)
    requests = []
    for delivery, request in zip(deliveries, room):
        # Resumed meanwhile, by another thread.
        if not request:
            continue
        delivery.handle = Handle(request, lib.ntapi_request_free)
        # With a hook that parses, it was recorded that the core does not.
        delivery.parses = "parse_json" in client._overridden
        delivery.keeps_body = True
        delivery.progress_places = {kind: places.get(kind, usual_place) for kind in PROGRESS_HOOKS}
        _set_events(delivery, request, events)
        requests.append(Request(delivery.handle, delivery.outcome))
    return requests


def _checked(
    handlers: Mapping[str, Any], keywords: dict[str, int]
) -> dict[int, Optional[Callable[..., object]]]:
    """The handlers by their kinds. Raises TypeError for anything else."""
    functions = {}
    for name, handler in handlers.items():
        kind = keywords.get(name)
        if kind is None:
            raise keyword_error(handlers, keywords, of_client=False)
        check_handler(handler, _SPOKEN[kind])
        functions[kind] = handler
    return functions


def _places(
    client: BaseClient,
    args: list[Arg],
    usual_place: Place,
    response_place: Optional[Place] = None,
) -> dict[int, Place]:
    """Where handlers run that do not run in the usual place."""
    places: dict[int, Place] = {}
    for arg in (*client.args, *args):
        if arg.kind in THREAD_KINDS:
            places[_HANDLER_OF[arg.kind]] = client._resolve(arg.values[0])
    if response_place is not None:
        places[Handler.RESPONSE] = response_place
    for kind in (Handler.DATA, Handler.DECISION):
        places.setdefault(kind, places.get(Handler.RESPONSE, usual_place))
    return places


def _placed(
    client: BaseClient,
    functions: dict[int, Any],
    places: dict[int, Place],
    usual_place: Place,
) -> dict[int, tuple[Place, Callable[..., object]]]:
    """The handlers that there are, each with the place where it runs."""
    for kind, hook in (*PROGRESS_HOOKS.items(), (Handler.DATA, "data_received")):
        if functions.get(kind) is None and hook in client._overridden:
            functions[kind] = nothing
    if functions.get(Handler.DECISION) is None and "decide" in client._overridden:
        functions[Handler.DECISION] = client.decide
    return {
        kind: (places.get(kind, usual_place), function)
        for kind, function in functions.items()
        if function is not None
    }


def _create_in_c(delivery: Delivery, command: str, args: list[Arg]) -> None:
    client = delivery.client
    for arg in args:
        if arg.kind == "stream" and arg.values[0].on_loop is not None:
            if not client._has_loop:
                raise TypeError("an async iterable can be the body of an AsyncClient's request")
            arg.values[0].on_loop.bind()
    pointer: Any = lib.ntapi_args_create()
    try:
        append_args(pointer, args, delivery.source_tokens)
        add_to_args(pointer, args, delivery)
        if "parse_json" in client._overridden:
            # The hook parses instead of the core, unless nobody wants it parsed.
            delivery.parses = not any(_is_raw(arg) for arg in (*client.args, *args))
            lib.ntapi_args_option(pointer, b"raw_data", b"")
        events = 0
        for mailbox, kinds in delivery.mailboxes().items():
            # All, as progress handlers may be set later.
            lib.ntapi_args_mailbox(pointer, Handler.ALL, mailbox.pointer)
            events |= kinds
        request = lib.ntapi_client_create_request(client._handle.pointer, c_text(command), pointer)
    finally:
        lib.ntapi_args_free(pointer)
    if not request:
        raise ValueError(f"{shown_url(command)!r} cannot be a command")
    delivery.handle = Handle(request, lib.ntapi_request_free)
    # What build_request or a default's provider raised. Dropping the handle ends the request
    # without a call.
    native.raise_kept()
    _set_events(delivery, request, events)


def _set_events(delivery: Delivery, request: int, events: int) -> None:
    lib.ntapi_request_set_events(request, events, delivery.token)
    if delivery.client._deliveries is not None:
        delivery.client._deliveries[lib.ntapi_request_identifier(request)] = delivery
    if delivery.keeps_body and events & Handler.DATA:
        lib.ntapi_request_set_keeps_body(request, True)
    if events & Handler.DECISION:
        kinds = int(delivery.client.decision_kinds)
        lib.ntapi_request_set_decision_kinds(request, kinds)
    if may_replace_error(delivery.client, delivery.call):
        lib.ntapi_request_set_logs_error(request, False)
    if delivery.reader is not None:
        lib.ntapi_request_set_data_format(request, delivery.reader.format)


def _is_raw(arg: Arg) -> bool:
    return arg.kind == "option" and arg.values[0] == "raw_data"


# The requests for page after page.


_OF_THE_URL = frozenset({"base_url", "path", "url", "url_default"})
"""Kinds of args that the URL of the next page has in it already."""


class Pages:
    """What the next request of a series is made with."""

    def __init__(
        self,
        command: str,
        args: tuple[Args, ...],
        following: Optional[Callable[[Response], Args]],
    ) -> None:
        self.command = command
        self._first = flatten(args)
        self.args: list[Arg] = self._first
        self._following = following

    def go_on(self, page: Response) -> bool:
        """Makes the request for the page after this one; False when this is the last."""
        if self._following is not None:
            more = flatten([self._following(page)])
            self.args = [*self._first, *more]
            return bool(more)
        link = page.link("next")
        if link is None:
            return False
        # Not where the page comes from: a redirect may have led elsewhere, without credentials.
        sent = page.request_metrics.transactions
        if _origin(link) != _origin(sent[0].url if sent else page.url):
            raise ApiError(
                codes.HTTP_ERROR,
                f"the next page of {page._summary()} is at another origin, where this request's "
                "credentials are not sent; pass `following`, a function that returns its args",
                domain=ErrorDomain.HTTP,
                http_status=page.status,
                response=page,
            )
        kept = [arg for arg in self._first if arg.kind not in _OF_THE_URL]
        self.command = ""
        self.args = [*kept, Arg("base_url", (link,))]
        return True


def _origin(url: str) -> tuple[str, Optional[str], Optional[int]]:
    # Here, for a cold start: few programs read pages.
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or usual
