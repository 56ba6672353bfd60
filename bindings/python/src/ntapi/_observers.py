"""Observers: they hear what happens to requests, as it happens."""

from __future__ import annotations

import itertools
import weakref
from contextvars import copy_context

from ._bridge.callbacks import ObserveFunction
from ._bridge.library import Handle, lib
from ._bridge.logging import call_inside_c, from_c
from ._bridge.signatures import DestroyFunction, Status
from ._bridge.signatures import Observation as Observed
from ._errors import read_error
from ._headers import Headers, lines_of
from ._runtime.checks import even_without_init, named, refuse_copy, type_name

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextvars import Context
    from typing import Any, Callable, NoReturn, Optional, Union

    from ._client import BaseClient
    from ._errors import ApiError

_BEGUN, _WAIT_BEGINS, _WAIT_ENDS, _ATTEMPT_BEGINS = 1, 2, 4, 8
_ATTEMPT_ENDS, _CACHE, _CIRCUIT, _ENDED = 16, 32, 64, 128
_METHODS = {
    _BEGUN: "begun",
    _WAIT_BEGINS: "wait_begins",
    _WAIT_ENDS: "wait_ends",
    _ATTEMPT_BEGINS: "attempt_begins",
    _ATTEMPT_ENDS: "attempt_ends",
    _CACHE: "cache_answered",
    _CIRCUIT: "circuit_changed",
    _ENDED: "ended",
}
_TEXTS = ("request", "command", "method", "url", "wait", "reason", "address", "outcome", "origin")
_NUMBERS = (
    "status",
    "attempt",
    "port",
    "seconds",
    "http_version",
    "queued",
    "name_lookup",
    "connect",
    "tls",
    "first_byte",
    "total",
    "bytes_sent",
    "bytes_received",
    "bytes_decoded",
    "connection_reused",
)


class Observation:
    """An event for an `Observer`. Attributes that do not apply to it are None, 0 or empty.

    URLs and headers are as they are sent, with secrets.
    """

    __slots__ = (*_TEXTS, *_NUMBERS, "_event", "error", "headers")

    request: str
    """The request's name in log lines, such as "12.3"; unique in the process."""
    command: str
    """The command of the request as it was given, with its {names}."""
    method: Optional[str]
    """In an attempt: as it is sent. In `begun` and `ended`: as it was built; None when the args are
    invalid.
    """
    url: Optional[str]
    """As for `method`: in an attempt as it is sent, otherwise as it was built, or None."""
    wait: Optional[str]
    """In a wait: "connection" (the limit of connections to its server is reached), "rate_limit",
    "token", "decision" or "pause" (before another attempt).
    """
    reason: Optional[str]
    """In an attempt: why it is sent, as in `InterceptedCall.reason`."""
    attempt: int
    """In an attempt: its number, from 1. Before it, the request was sent `attempt - 1` times."""
    status: int
    """In `attempt_ends` and `ended`: the HTTP status; 0 without an answer."""
    error: Optional[ApiError]
    """In `attempt_ends`: why there is no complete answer. In `ended`: the error of the response."""
    headers: Headers
    """In `attempt_begins`: the request's. In `attempt_ends` and `ended`: the answer's."""
    address: Optional[str]
    """In `attempt_ends`: what was connected to, the server or the proxy, in numbers, or the path of
    a Unix socket; empty without a connection.
    """
    port: int
    """In `attempt_ends`: the port of that address; 0 for a Unix socket."""
    outcome: Optional[str]
    """In `cache_answered`: "hit", "stale", "validated" or "miss". In `circuit_changed`: "opened",
    "closed" or "refused".
    """
    origin: Optional[str]
    """In `circuit_changed`: the server, such as "https://example.org:443"."""
    seconds: float
    """In `wait_ends`, `attempt_ends` and `ended`: how long it took."""
    http_version: float
    """1.0, 1.1, 2 or 3; 0 without an answer. This and the attributes below describe the attempt in
    `attempt_ends`, and the request in `ended`.
    """
    queued: float
    """Seconds that it waited for a connection; in `ended` also for the rate limit."""
    name_lookup: float
    """Seconds from the start of the exchange until the name was resolved."""
    connect: float
    """Seconds from the start of the exchange until the connection was established."""
    tls: float
    """Seconds from the start of the exchange until the TLS handshake was done; 0 without TLS."""
    first_byte: float
    """Seconds from the start of the exchange until the first byte of the answer."""
    total: float
    """Seconds from the start of the exchange until the end."""
    bytes_sent: int
    """Bytes of the body that were sent."""
    bytes_received: int
    """Bytes of the body that were received, before decompression."""
    bytes_decoded: int
    """Bytes of the body that were received, after decompression."""
    connection_reused: bool
    """Whether it used a connection that was already open."""

    def __init__(self, told: Observed) -> None:
        self._event: int = told.event
        for name in _TEXTS:
            text: Optional[bytes] = getattr(told, name)
            setattr(self, name, None if text is None else text.decode(errors="replace"))
        for name in _NUMBERS:
            setattr(self, name, getattr(told, name))
        self.error = read_error(told.error) if told.error else None
        self.headers = Headers(lines_of(told.headers) if told.headers else ())

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "keep what you need of it")

    @even_without_init
    def __repr__(self) -> str:
        told = _METHODS.get(self._event), self.method, self.status or None
        said = (*told, self.wait, self.outcome, self.reason, self.error)
        words = " ".join(str(word) for word in said if word is not None)
        return f"<ntapi.Observation #{self.request} {words}>"


class Observer:
    """Hears what happens to requests, as it happens: for traces, metrics and statistics. Override
    the methods for the events that you want to hear of.

        class Attempts(ntapi.Observer):
            def attempt_ends(self, context, attempt):
                print(attempt.attempt, attempt.reason, attempt.status, attempt.total)

        client.add_observer(Attempts())

    The calls for one request come one after the other, in order: `begun` first and `ended` last,
    each once, before the response handler. What has begun also ends. `begun` is called on the
    thread that begins the request. The others are called there or on a background worker, in a copy
    of the caller's context (`contextvars`). The request goes on when the method returns. An
    exception goes to `sys.unraisablehook`, and changes nothing else. KeyboardInterrupt and
    SystemExit on the main thread are raised where the request was begun.
    """

    def begun(self, observed: Observation) -> object:
        """A request begins. What you return is the `context` of the other calls for it."""

    def wait_begins(self, context: Any, observed: Observation) -> None:
        """The request begins to wait."""

    def wait_ends(self, context: Any, observed: Observation) -> None:
        """The request waits no longer."""

    def attempt_begins(
        self, context: Any, observed: Observation
    ) -> Union[Mapping[str, str], Iterable[tuple[str, str]], None]:
        """The request is about to be sent to a server. You may return headers that this attempt
        sends, too, in place of others with the same names. They are not part of a signature that an
        interceptor has made.
        """

    def attempt_ends(self, context: Any, observed: Observation) -> None:
        """The answer has arrived to the last byte, or the attempt has failed."""

    def cache_answered(self, context: Any, observed: Observation) -> None:
        """The cache has looked for a response."""

    def circuit_changed(self, context: Any, observed: Observation) -> None:
        """A circuit breaker has opened, closed, or refused the request."""

    def ended(self, context: Any, observed: Observation) -> None:
        """The outcome is final. The response handler follows."""

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "make one where it is needed")

    def __repr__(self) -> str:
        return f"<{named(self)}>"

    def _events(self) -> int:
        """The events that C reports: always `begun` and `ended`, which keep the context."""
        kind = type(self)
        return (
            _BEGUN
            | _ENDED
            | sum(
                event
                for event, name in _METHODS.items()
                if getattr(kind, name) is not getattr(Observer, name)
            )
        )


_tokens = itertools.count(1)
_observers: weakref.WeakValueDictionary[int, Observer] = weakref.WeakValueDictionary()
_of_process: list[Observer] = []
_observed: dict[int, tuple[Observer, object, Context]] = {}
"""The requests that run, by their C context."""


def _handle(observer: object) -> int:
    """The C observer, made when it is first used."""
    if not isinstance(observer, Observer):
        raise TypeError(f"an ntapi.Observer is expected, not {type_name(observer)}")
    made: Optional[Handle] = observer.__dict__.get("_c_observer")
    if made is None:
        token = next(_tokens)
        _observers[token] = observer
        created = lib.ntapi_observer_create(observer._events(), _observe, token, _nothing)
        made = Handle(created, lib.ntapi_observer_free)
        observer.__dict__["_c_observer"] = made
    pointer = made.pointer
    assert pointer is not None
    return pointer


def add(observer: Observer, client: Optional[BaseClient] = None) -> None:
    # Do this first: a client that was not initialised raises an error that says so.
    owner = None if client is None else client._handle.pointer
    pointer = _handle(observer)
    if client is None:
        lib.ntapi_add_observer(pointer)
        _of_process.append(observer)
    else:
        lib.ntapi_client_add_observer(owner, pointer)
        client._observers.append(observer)


def remove(observer: Observer, client: Optional[BaseClient] = None) -> None:
    held = _of_process if client is None else client._observers
    pointer = _handle(observer)
    if client is None:
        status = lib.ntapi_remove_observer(pointer)
    else:
        status = lib.ntapi_client_remove_observer(client._handle.pointer, pointer)
    if status != Status.OK:
        raise ValueError(f"{observer!r} was not added")
    held.remove(observer)


def add_observer(observer: Observer) -> None:
    """Adds an observer of the requests of all clients; it comes before their own. It gets the
    events of requests that begin from now on.
    """
    add(observer)


def remove_observer(observer: Observer) -> None:
    """Removes an observer of all clients. It still gets the events of requests that it has
    seen begin. Raises ValueError when it was not added.
    """
    remove(observer)


@from_c(ObserveFunction)
def _observe(token: int, pointer: int) -> None:
    """ntapi_observe_fn for every observer."""
    told = Observed.from_address(pointer)
    if told.event == _BEGUN:
        observer = _observers.get(token)
        if observer is not None:
            context = call_inside_c(observer.begun, Observation(told))
            told.context = number = next(_tokens)
            _observed[number] = observer, context, copy_context()
        return
    known = _observed.get(told.context) if told.context else None
    if known is None:
        return
    observer, context, surroundings = known
    if told.event == _ENDED:
        _observed.pop(told.context, None)
        if type(observer).ended is Observer.ended:
            return
    method: Callable[..., Any] = getattr(observer, _METHODS[told.event])
    result = surroundings.run(call_inside_c, method, context, Observation(told))
    if told.event == _ATTEMPT_BEGINS and result is not None:
        call_inside_c(_add_headers, pointer, result)


def _add_headers(pointer: int, headers: Any) -> None:
    for name, value in headers.items() if hasattr(headers, "items") else headers:
        if lib.ntapi_observation_add_header(pointer, name.encode(), value.encode()) != Status.OK:
            raise ValueError(f"a header {name!r} of an observer may not be sent")


@from_c(DestroyFunction)
def _nothing(_: int) -> None:
    """ntapi_destroy_fn: Python's own references keep an observer."""
