"""How requests are made from a command and args, also page after page."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping

from . import codes
from ._args import THREAD_KINDS, Arg, append_args, c_text, flatten, shown_url
from ._bridge import native
from ._bridge.enums import DecisionKind, ErrorDomain
from ._bridge.library import Handle, lib
from ._bridge.logging import follow_levels
from ._bridge.signatures import Handler
from ._errors import ApiError
from ._handlers import PROGRESS_HOOKS, Delivery
from ._hooks import configuring, may_replace_error
from ._interceptor_lists import add_to_args
from ._request import Request
from ._runtime.checks import check_handler, check_member, check_string
from ._runtime.delivery import nothing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, TypeVar, Union

    from ._client import BaseClient
    from ._response import Response
    from ._runtime.types import Place
    from ._service import ServiceCall
    from ._stream import StreamReader
    from ._types import Args, ResponseHandler

    Function = TypeVar("Function", bound=Callable[..., object])

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
HANDLER_KEYWORDS = {
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


def split(
    args: tuple[Union[Args, Function], ...], handler: Optional[Function]
) -> tuple[tuple[Args, ...], Optional[Function]]:
    """Separates the args from a handler among them, which is recognized because no arg is
    callable.
    """
    own: list[Any] = []
    for each in args:
        if not callable(each):
            own.append(each)
        elif handler is not None:
            raise TypeError("a request has one response handler, and two are given")
        else:
            handler = each
    return tuple(own), handler


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
    """Makes a suspended request. `handlers` are the other handlers, by keyword.

    `response_place` overrides the args. Without an arg, a handler runs in the `usual_place`; a data
    or decision handler runs where the response handler does. `call` is the service call that the
    request is made for, if any.
    """
    check_string(command, "the command")
    check_handler(handler)
    functions = {Handler.RESPONSE: handler or nothing, **_checked(handlers, HANDLER_KEYWORDS)}
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
        # A reader runs no user code, and one thread has to deliver both the pieces and the end.
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
        # A request that cannot be built still calls its handler, with the error, in the place that
        # was asked for.
        delivery.failure = error
    except BaseException:
        delivery.forget_sources()
        raise
    return Request(delivery.handle, delivery.outcome)


def restore(
    client: BaseClient,
    args: Iterable[Args],
    handlers: Mapping[str, Any],
    *,
    usual_place: Place,
    handler: Optional[ResponseHandler],
) -> list[Request]:
    """Makes a suspended request for each transfer that a background session has on disk."""
    check_handler(handler)
    functions = {Handler.RESPONSE: handler or nothing, **_checked(handlers, _PROGRESS_KEYWORDS)}
    follow_levels()
    places = _places(client, flatten(args), usual_place)
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
        # Another thread has resumed it meanwhile.
        if not request:
            continue
        delivery.handle = Handle(request, lib.ntapi_request_free)
        # If a hook parses, the recorded transfer has the option that keeps the core from parsing.
        delivery.parses = "parse_json" in client._overridden
        delivery.keeps_body = True
        delivery.progress_places = {kind: places.get(kind, usual_place) for kind in PROGRESS_HOOKS}
        _set_events(delivery, request, events)
        requests.append(Request(delivery.handle, delivery.outcome))
    return requests


def _checked(
    handlers: Mapping[str, Any], keywords: dict[str, int]
) -> dict[int, Optional[Callable[..., object]]]:
    """The handlers by their kinds. Raises TypeError for unknown keywords and for what cannot be
    called.
    """
    functions = {}
    for name, handler in handlers.items():
        kind = keywords.get(name)
        if kind is None:
            from ._keywords import keyword_error

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
    """The places of the handlers that do not run in the usual place."""
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
    """The handlers of a request, each with the place where it runs."""
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
            # The hook parses instead of the core, unless the request asks for raw data.
            delivery.parses = not any(_is_raw(arg) for arg in (*client.args, *args))
            lib.ntapi_args_option(pointer, b"raw_data", b"")
        events = 0
        for mailbox, kinds in delivery.mailboxes().items():
            # All of them, because progress handlers may be set later.
            lib.ntapi_args_mailbox(pointer, Handler.ALL, mailbox.pointer)
            events |= kinds
        request = lib.ntapi_client_create_request(client._handle.pointer, c_text(command), pointer)
    finally:
        lib.ntapi_args_free(pointer)
    if not request:
        raise ValueError(f"{shown_url(command)!r} cannot be a command")
    delivery.handle = Handle(request, lib.ntapi_request_free)
    # Raises what build_request or a default's provider raised. Then the handle is dropped, which
    # ends the request without a call of its handlers.
    native.raise_kept()
    _set_events(delivery, request, events)


def _set_events(delivery: Delivery, request: int, events: int) -> None:
    lib.ntapi_request_set_events(request, events, delivery.token)
    if delivery.client._deliveries is not None:
        delivery.client._deliveries[lib.ntapi_request_identifier(request)] = delivery
    if delivery.keeps_body and events & Handler.DATA:
        lib.ntapi_request_set_keeps_body(request, True)
    if events & Handler.DECISION:
        kinds = delivery.client.decision_kinds
        check_member(kinds, DecisionKind)
        lib.ntapi_request_set_decision_kinds(request, int(kinds))
    if may_replace_error(delivery.client, delivery.call):
        lib.ntapi_request_set_logs_error(request, False)
    if delivery.reader is not None:
        lib.ntapi_request_set_data_format(request, delivery.reader.format)


def _is_raw(arg: Arg) -> bool:
    return arg.kind == "option" and arg.values[0] == "raw_data"


_OF_THE_URL = frozenset({"base_url", "path", "url", "url_default"})
"""Kinds of args that the next request leaves out, because the URL of the next page contains them.
"""


class Pages:
    """The command and args of the next request of a series."""

    def __init__(
        self,
        command: str,
        args: tuple[Args, ...],
        following: Optional[Callable[[Response], Args]],
        unknown: Mapping[str, object],
    ) -> None:
        if unknown:
            from ._keywords import keyword_error

            raise keyword_error(unknown, ("following",), of_client=False)
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
        # The origin of the request, not that of the page: a redirect may have led elsewhere,
        # without credentials.
        sent = page.request_metrics.transactions
        if _origin(link) != _origin(sent[0].url if sent else page.url):
            raise ApiError(
                codes.INVALID_REQUEST,
                f"the next page of {page._summary()} is at another origin, where this request's "
                "credentials are not sent; pass `following`, a function that returns its args",
                domain=ErrorDomain.REQUEST,
                response=page,
            )
        kept = [arg for arg in self._first if arg.kind not in _OF_THE_URL]
        self.command = ""
        self.args = [*kept, Arg("base_url", (link,))]
        return True


def _origin(url: str) -> tuple[str, Optional[str], Optional[int]]:
    # Imported here because few programs read pages.
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or usual
