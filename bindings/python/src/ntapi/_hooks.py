"""The hooks that C calls: build request, information received, write log and session invalidated.
Python itself calls the other hooks.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import weakref

from . import codes
from ._bridge import callbacks, native
from ._bridge.callbacks import (
    BuildRequestFunction,
    InformationFunction,
    SessionInvalidatedFunction,
    WriteLogFunction,
)
from ._bridge.enums import ErrorDomain, LogFlags
from ._bridge.library import lib
from ._bridge.logging import call_reporting, from_c, in_order, keep_or_report, log_line
from ._bridge.native import get_ident, raise_kept
from ._bridge.signatures import DestroyFunction
from ._errors import ApiError
from ._headers import Headers, lines_of
from ._http import HTTPRequest
from ._runtime import registry
from ._runtime.checks import refuse_coroutine, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Callable, Optional

    from ._client import BaseClient, Hooks
    from ._response import Response
    from ._service import ServiceCall

_clients: weakref.WeakValueDictionary[int, BaseClient] = weakref.WeakValueDictionary()
_tokens = itertools.count(1)
_configuring: dict[int, Callable[[HTTPRequest], None]] = {}
"""The hook of the service whose request a thread is building."""


def _keep_or_report(hook: str) -> Callable[..., None]:
    """What happens when a hook has raised."""
    return lambda error, token, *_: keep_or_report(error, getattr(_clients.get(token), hook, None))


@from_c(BuildRequestFunction, lambda error, *_: native.keep(error))
def _build_request(token: int, pointer: int) -> None:
    """ntapi_build_request_fn for every client. Runs on the thread that begins the request."""
    client = _clients.get(token)
    if client is None:
        return
    request = HTTPRequest(pointer)
    try:
        configure = _configuring.get(get_ident())
        if configure is not None:
            configure(request)
        if "build_request" in client._overridden:
            client.build_request(request)
    finally:
        request._end()


@from_c(WriteLogFunction, _keep_or_report("write_log"))
def _write_log(token: int, level: int, message: bytes) -> None:
    """ntapi_write_log_fn for every client. Runs on any thread."""
    client = _clients.get(token)
    if client is None:
        log_line(level, message)
        return
    client.write_log(LogFlags(level), message.decode("utf-8", "replace"))


@from_c(InformationFunction, _keep_or_report("information_received"))
def _information(token: int, pointer: int, status: int, headers: int) -> None:
    """ntapi_information_fn for every client. Runs on a background worker."""
    # Imported here because few clients have this hook.
    from ._request import Request
    from ._runtime.delivery import Delivery

    client = _clients.get(token)
    if client is None:
        return
    identifier = lib.ntapi_request_identifier(pointer)
    for owed in tuple(registry.pending.values()):
        if not isinstance(owed, Delivery) or owed.siblings is not client._pending:
            continue
        if owed.handle is None:
            continue
        if lib.ntapi_request_identifier(owed.handle.pointer) == identifier:
            request = Request(owed.handle, owed.outcome)
            lines = Headers(lines_of(headers))
            owed.outcome.call(client.information_received, request, status, lines)
            return


@from_c(SessionInvalidatedFunction, _keep_or_report("_core_is_over"))
def _session_invalidated(token: int) -> None:
    """ntapi_session_invalidated_fn for every client. Runs on a background worker."""
    client = _clients.get(token)
    if client is not None:
        client._core_is_over()


@contextlib.contextmanager
def configuring(
    client: BaseClient, configure: Optional[Callable[[HTTPRequest], None]]
) -> Iterator[None]:
    """While the block runs, a service's `configure` first adjusts the requests that this thread
    builds.
    """
    if configure is None:
        yield
        return
    if not client._calls_build_request:
        pointer = client._handle.pointer
        assert pointer is not None
        install(client, pointer, client._overridden | {"build_request"})
    thread = get_ident()
    before = _configuring.get(thread)
    _configuring[thread] = configure
    try:
        yield
    finally:
        if before is None:
            del _configuring[thread]
        else:
            _configuring[thread] = before


def install(client: BaseClient, pointer: int, overridden: frozenset[str]) -> None:
    """Gives a C client the hooks that its Python class overrides."""
    if overridden.isdisjoint(
        {"build_request", "information_received", "write_log", "session_invalidated"}
    ):
        return
    token = next(_tokens)
    _clients[token] = client
    hooks = callbacks.Hooks(size=ctypes.sizeof(callbacks.Hooks))
    if "build_request" in overridden:
        client._calls_build_request = True
        hooks.build_request = _build_request
    if "information_received" in overridden:
        hooks.information = _information
    if "write_log" in overridden:
        hooks.write_log = _write_log
    if "session_invalidated" in overridden:
        hooks.session_invalidated = _session_invalidated
    lib.ntapi_client_set_hooks(pointer, ctypes.byref(hooks), token, DestroyFunction())


# The hooks that see a response before its handler.


_MAPPING = ("map_error", "map_service_error")


def complete(
    client: Hooks,
    response: Response,
    parses: bool,
    call: Optional[ServiceCall[Any]],
) -> None:
    """Runs on the handler's thread. `call` is the service call that the request was made for, if
    any.

    Each hook is called, even if the ones before it raised.
    """
    hooks = client._overridden
    before = response.error

    def parse() -> None:
        # With raw data, only the JSON of an HTTP error is parsed.
        wants_json = parses or ("parse_json" in hooks and response.error is not None)
        if wants_json and answered(response) and response.data:
            response._parse_with(client.parse_json)

    def refine_error() -> None:
        nonlocal before
        client._refine_error(response, call)
        # The library has logged its own error.
        before = response.error

    def map_service_error() -> None:
        if "map_service_error" in hooks and response.has_json and answered(response):
            error = mapped_error("map_service_error", client.map_service_error, response)
            if error is not None:
                response._set_error(error)

    def interpret() -> None:
        if call is not None:
            call.interpret(response)

    def map_error() -> None:
        if "map_error" in hooks:
            replace_error(client.map_error, response)

    def map_error_of_service() -> None:
        if call is not None and call.maps_errors:
            replace_error(call.service.map_error, response)

    def log() -> None:
        log_verdict(response, None if may_replace_error(client, call) else before)

    def tell_metrics() -> None:
        if "metrics_collected" in hooks:
            call_reporting(client.metrics_collected, response.request, response.request_metrics)

    def tell_end() -> None:
        if "request_completed" in hooks:
            call_reporting(client.request_completed, response.request, response)

    in_order(
        (
            parse,
            refine_error,
            map_service_error,
            interpret,
            map_error,
            map_error_of_service,
            log,
            tell_metrics,
            tell_end,
        )
    )


def may_replace_error(client: Hooks, call: Optional[ServiceCall[Any]]) -> bool:
    """Whether a hook may replace the core's error. Then the core does not log its own."""
    return not client._overridden.isdisjoint(_MAPPING) or (call is not None and call.may_map)


def replace_error(
    hook: Callable[[ApiError, Response], Optional[ApiError]], response: Response
) -> None:
    """If a response has an error, passes it to a hook that maps errors."""
    before = response.error
    if before is None:
        return
    error = mapped_error("map_error", hook, before, response)
    if error is None or error is before:
        return
    if error.__cause__ is None:
        error.__cause__ = before
    response._set_error(error)


_NOTE = "; not sent again: "


def _with_note(error: ApiError, response: Response) -> ApiError:
    """The service's error, with the note of the library's error about why the request was not sent
    again.
    """
    before = response._error
    if before is not None and _NOTE in before.message and _NOTE not in error.message:
        error.message += before.message[before.message.index(_NOTE) :]
    return error


def mapped_error(
    name: str, hook: Callable[..., Optional[ApiError]], *arguments: Any
) -> Optional[ApiError]:
    """The error that a hook returns or raises; the last argument is the response.

    Raises KeyboardInterrupt and the like after the response has got the error.
    """
    response: Response = arguments[-1]
    response._is_judged = True
    try:
        error: object = hook(*arguments)
        refuse_coroutine(error)
        if error is not None and not isinstance(error, ApiError):
            raise TypeError(f"it has to return an ApiError or None, not {shown(error)}")
        return error if error is None or name == "map_error" else _with_note(error, response)
    except ApiError as raised:
        return raised if name == "map_error" else _with_note(raised, response)
    except BaseException as raised:
        # If the hook failed, the response must not look like a good one.
        failure = ApiError(codes.GENERIC, f"the hook {name} failed: {raised!r}")
        failure.__cause__ = raised
        if isinstance(raised, Exception):
            return failure
        response._set_error(failure)
        raise
    finally:
        response._is_judged = False


def answered(response: Response) -> bool:
    """Whether there is a complete answer: it has no error, or only the error of its status."""
    return response.error is None or response.error.domain is ErrorDomain.HTTP


def log_verdict(response: Response, before: Optional[ApiError]) -> None:
    """Logs an error that a hook has set, as the library logs its own."""
    error = response.error
    if error is None or error is before:
        return
    # Names of the enum's members: importing the enum for a comparison costs too much.
    domain = error.domain.name
    level = 2 if domain == "CANCELLED" else 4 if domain == "SERVICE" else 8
    text = str(error.code) if error.message == error.code else f"{error.code}: {error.message}"
    line = text.replace("\0", " ").encode("utf-8", "replace")
    lib.ntapi_request_log(response.request._pointer, level, line)
    raise_kept()
