"""The hooks that C has to call: build request, information received, write log, and session
invalidated.

The others are called by Python itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import weakref

from . import _registry, _same_thread
from ._callbacks import (
    BuildRequestFunction,
    Hooks,
    InformationFunction,
    SessionInvalidatedFunction,
    WriteLogFunction,
)
from ._enums import LogFlags
from ._headers import Headers, lines_of
from ._http_request import HTTPRequest
from ._library import lib
from ._logging import log_line
from ._native import get_ident
from ._report import call_reporting
from ._signatures import DestroyFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Callable, Optional

    from ._client import BaseClient

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
        _same_thread.keep(error)
    finally:
        request._end()


_build_request = BuildRequestFunction(_call_build_request)


def _call_write_log(token: int, level: int, message: bytes) -> None:
    """ntapi_write_log_fn for every client; on any thread."""
    client = _clients.get(token)
    if client is None:
        log_line(level, message)
        return
    call_reporting(client.write_log, LogFlags(level), message.decode("utf-8", "replace"))


_write_log = WriteLogFunction(_call_write_log)


def _call_information(token: int, pointer: int, status: int, headers: int) -> None:
    """ntapi_information_fn for every client; on a background worker."""
    from ._delivery import Delivery
    from ._request import Request

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
            call_reporting(client.information_received, request, status, lines)
            return


_information = InformationFunction(_call_information)


def _call_session_invalidated(token: int) -> None:
    """ntapi_session_invalidated_fn for every client; on a background worker."""
    client = _clients.get(token)
    if client is not None:
        client._core_is_over()


_session_invalidated = SessionInvalidatedFunction(_call_session_invalidated)


@contextlib.contextmanager
def configuring(
    client: BaseClient, configure: Optional[Callable[[HTTPRequest], None]]
) -> Iterator[None]:
    """Has the request that is built within adjusted by a service, before the client's hook."""
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
    hooks = Hooks(size=ctypes.sizeof(Hooks))
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
