"""From a command and args to a request in C that waits to be resumed."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping

from . import _same_thread
from ._arg import Arg, flatten
from ._arg_list import THREAD_KINDS, append_args, c_text
from ._checks import check_handler, check_string
from ._completing import may_replace_error
from ._delivery import PROGRESS_HOOKS, Delivery, nothing
from ._errors import ApiError
from ._handles import Handle
from ._hooks import configuring
from ._interceptors import add_to_args
from ._library import lib
from ._logging import follow_levels
from ._numbers import Handler
from ._request import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from ._aliases import Args, ResponseHandler
    from ._client import BaseClient
    from ._protocols import Place
    from ._service import ServiceCall
    from ._stream_reader import StreamReader

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
    """A suspended request. `handlers` are those beside the response's, by their keywords.

    `response_place` rules over what args say, `usual_place` where they say nothing. The places
    of the data and the decision handler are the response handler's where they say nothing of them.
    `call` is what the request is made for, if that is a service.
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
        # It runs nothing of the user's, and must be told of pieces and end by the same thread.
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
    """The handlers by their kinds. Raises TypeError for what is none."""
    functions = {}
    for name, handler in handlers.items():
        kind = keywords.get(name)
        if kind is None:
            from ._hints import keyword_error

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
            lib.ntapi_args_option(pointer, b"raw_data")
        events = 0
        for mailbox, kinds in delivery.mailboxes().items():
            # All, as progress handlers may be set later.
            lib.ntapi_args_mailbox(pointer, Handler.ALL, mailbox.pointer)
            events |= kinds
        request = lib.ntapi_client_create_request(client._handle.pointer, c_text(command), pointer)
    finally:
        lib.ntapi_args_free(pointer)
    if not request:
        raise ValueError(f"{command.partition('?')[0]!r} cannot be a command")
    delivery.handle = Handle(request, lib.ntapi_request_free)
    # What build_request or a default's provider raised. Dropping the handle ends the request
    # without a call.
    _same_thread.raise_kept()
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
