"""What C calls of a program: its hooks build request, information received, write log and session
invalidated, and the functions that are defaults. Python itself calls the other hooks.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import weakref

from .. import _registry, codes
from .._checks import refuse_coroutine, shown
from .._enums import ErrorDomain, LogFlags
from .._errors import ApiError
from .._http import HTTPRequest
from .._logging import (
    call_inside_c,
    call_reporting,
    in_order,
    log_line,
    log_verdict,
    report,
)
from .._response import Headers, lines_of
from . import callbacks, native
from .callbacks import (
    BuildRequestFunction,
    InformationFunction,
    ProviderFunction,
    SessionInvalidatedFunction,
    WriteLogFunction,
)
from .library import lib
from .native import get_ident
from .signatures import DestroyFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Callable, Optional

    from .._client import BaseClient, Hooks
    from .._response import Response
    from .._service import ServiceCall

    Provider = Callable[[str], Any]

_clients: weakref.WeakValueDictionary[int, BaseClient] = weakref.WeakValueDictionary()
_tokens = itertools.count(1)
_configuring: dict[int, Callable[[HTTPRequest], None]] = {}
"""The hook of the service whose request a thread is building."""


def _call_build_request(token: int, pointer: int) -> None:
    """ntapi_build_request_fn for every client; on the thread that begins the request."""
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
    except BaseException as error:
        native.keep(error)
    finally:
        request._end()


_build_request = BuildRequestFunction(_call_build_request)


def _call_write_log(token: int, level: int, message: bytes) -> None:
    """ntapi_write_log_fn for every client; on any thread."""
    client = _clients.get(token)
    if client is None:
        log_line(level, message)
        return
    call_inside_c(client.write_log, LogFlags(level), message.decode("utf-8", "replace"))


_write_log = WriteLogFunction(_call_write_log)


def _call_information(token: int, pointer: int, status: int, headers: int) -> None:
    """ntapi_information_fn for every client; on a background worker."""
    # Here, as these import this module.
    from .._delivery import Delivery
    from .._request import Request

    client = _clients.get(token)
    if client is None:
        return
    identifier = lib.ntapi_request_identifier(pointer)
    for owed in tuple(_registry.pending.values()):
        if not isinstance(owed, Delivery) or owed.client is not client or owed.handle is None:
            continue
        if lib.ntapi_request_identifier(owed.handle.pointer) == identifier:
            request = Request(owed.handle, owed.outcome)
            lines = Headers(lines_of(headers))
            hook = client.information_received
            owed.outcome.call(call_inside_c, hook, request, status, lines)
            return


_information = InformationFunction(_call_information)


def _call_session_invalidated(token: int) -> None:
    """ntapi_session_invalidated_fn for every client; on a background worker."""
    client = _clients.get(token)
    if client is not None:
        call_inside_c(client._core_is_over)


_session_invalidated = SessionInvalidatedFunction(_call_session_invalidated)


@contextlib.contextmanager
def configuring(
    client: BaseClient, configure: Optional[Callable[[HTTPRequest], None]]
) -> Iterator[None]:
    """Within it, a service adjusts the request that is built, before the client's hook does."""
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


# What hooks do with a response before its handler.


_MAPPING = ("map_error", "map_service_error")


def complete(
    client: Hooks,
    response: Response,
    parses: bool,
    call: Optional[ServiceCall[Any]],
) -> None:
    """On the handler's thread. `call` is what the request was made for, if that is a service.

    Each hook is called whatever the ones before have raised.
    """
    hooks = client._overridden
    before = response.error

    def parse() -> None:
        # What an HTTP error says is wanted also where the answer itself is not.
        wants_json = parses or ("parse_json" in hooks and response.error is not None)
        if wants_json and answered(response) and response.data:
            response._parse_with(client.parse_json)

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
        parse,
        map_service_error,
        interpret,
        map_error,
        map_error_of_service,
        log,
        tell_metrics,
        tell_end,
    )


def may_replace_error(client: Hooks, call: Optional[ServiceCall[Any]]) -> bool:
    """Whether a hook may replace the error of the core, which then does not log it."""
    return not client._overridden.isdisjoint(_MAPPING) or (call is not None and call.may_map)


def replace_error(
    hook: Callable[[ApiError, Response], Optional[ApiError]], response: Response
) -> None:
    """Shows a map error hook the error that a response has, if it has one."""
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
    """The library's error says why it did not repeat the request. The service's error says it,
    too.
    """
    before = response._error
    if before is not None and _NOTE in before.message and _NOTE not in error.message:
        error.message += before.message[before.message.index(_NOTE) :]
    return error


def mapped_error(
    name: str, hook: Callable[..., Optional[ApiError]], *arguments: Any
) -> Optional[ApiError]:
    """What a hook that maps errors says, raised or returned; the last argument is the response.

    Raises KeyboardInterrupt and the like when the response has the error.
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
        # A response that could not be judged must not pass for a good one.
        failure = ApiError(codes.GENERIC, f"the hook {name} failed: {raised!r}")
        failure.__cause__ = raised
        if isinstance(raised, Exception):
            return failure
        response._set_error(failure)
        raise
    finally:
        response._is_judged = False


def answered(response: Response) -> bool:
    """Whether there is a whole answer: no error, or only one that the answer's status made."""
    return response.error is None or response.error.domain is ErrorDomain.HTTP


# Functions of the program that are asked for a default at each look-up.


_providers: dict[int, Provider] = {}


def _ask_provider(token: int, key: bytes) -> Optional[int]:
    """ntapi_provider_fn for every dynamic default; on the thread that looks up."""
    provider = _providers.get(token)
    if provider is None:
        return None
    # Here, as every hook and handler needs this module, and few need json, which takes 2 ms.
    from .json import to_c

    try:
        value = provider(key.decode())
        return None if value is None else to_c(value)
    except Exception as error:
        report(error, provider)
    except BaseException as error:
        native.keep(error)
    return None


_provide = ProviderFunction(_ask_provider)


def _drop_provider(token: int) -> None:
    """Called by C when no look-up uses the provider any more, so that a replaced one is never
    missed half-way.
    """
    _providers.pop(token, None)


_forget_provider = DestroyFunction(_drop_provider)


def set_provider(scope: Optional[int], name: bytes, provider: Provider) -> int:
    """Sets a dynamic default in a C scope; returns C's status."""
    token = next(_tokens)
    _providers[token] = provider
    status: int = lib.ntapi_defaults_set_provider(scope, name, _provide, token, _forget_provider)
    return status
