"""Interceptors: they look at requests on their way out and at answers on their way back."""

from __future__ import annotations

from ._bridge import signatures
from ._bridge.library import lib
from ._checks import is_async, refuse_copy, type_name

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal, NoReturn, Optional

    from ._bridge.interceptions import Passage, Use
    from ._client import BaseClient
    from ._configuration import SessionConfiguration
    from ._delivery import Delivery
    from ._http import HTTPRequest, HTTPResponse
    from ._request import Request
    from ._types import InterceptorFunction
    from .arg import Arg

    Scope = Literal["call", "attempt"]
    Reason = Literal[
        "first",
        "reconnect",
        "redirect",
        "retry",
        "credentials",
        "range",
        "reload",
        "interceptor",
    ]


class Interceptor:
    """Looks at requests on their way out and at answers on their way back, and may change, repeat
    or replace them. `attempt_interceptor` and `call_interceptor` make one of a function.

        @ntapi.attempt_interceptor
        def sign(call):
            call.request.headers["X-Signature"] = signature(call.request)

        client.interceptors = [sign]

    The function is given an `InterceptedCall`. It is one of these:

    - a plain function: it may change `call.request`, which then goes on. If it returns an
      `HTTPResponse`, that is the answer, and nothing is sent.
    - a generator: each `yield call.request` sends the request and gives its `HTTPResponse`. The
      one that it returns is the answer; None lets the last one pass.
    - an async function, for an `AsyncClient` only: `await call.next()` sends the request. What it
      returns has the same meaning as for a generator.

    An exception is the request's error: an ApiError as it is, any other one as the cause. The first
    two run on a worker of the library and may block. Until they return, their request does not end,
    not even by a cancel.
    """

    __slots__ = ("__weakref__", "function", "is_async", "scope")

    function: InterceptorFunction
    """What is called for each passage of a request."""
    scope: Scope
    """Where it stands: "call", once around each request, or "attempt", around each exchange."""
    is_async: bool
    """Whether it needs an `AsyncClient`."""

    def __init__(self, function: InterceptorFunction, scope: Scope) -> None:
        if not callable(function):
            raise TypeError(f"an interceptor has to be callable, not {type_name(function)}")
        if scope not in ("call", "attempt"):
            raise ValueError(f'a scope is "call" or "attempt", not {scope!r}')
        from inspect import isasyncgenfunction

        if isasyncgenfunction(function):
            raise TypeError(
                "an interceptor is a function, a generator or an async function, not an async "
                "generator: use `await call.next()` in place of `yield`"
            )
        self.function = function
        self.scope = scope
        self.is_async = is_async(function)

    def __copy__(self) -> Interceptor:
        return self

    def __deepcopy__(self, _: object) -> Interceptor:
        return self

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "it is code; import it where it is needed")

    @property
    def _name(self) -> str:
        return str(getattr(self.function, "__qualname__", type_name(self.function)))

    def __repr__(self) -> str:
        return f"<ntapi.Interceptor {self._name} scope={self.scope!r}>"


def attempt_interceptor(function: InterceptorFunction) -> Interceptor:
    """Makes an interceptor around each exchange with a server: redirects, retries and replays pass
    it again, and what the cache answers does not. A decorator.

    It comes last before the network, after the rate limit, so that signatures are fresh. Stub and
    recorder see what it made of the request.
    """
    return Interceptor(function, "attempt")


def call_interceptor(function: InterceptorFunction) -> Interceptor:
    """Makes an interceptor around each request: once, before and behind redirects, retries,
    credentials and the cache. A decorator.

    It sees the final answer, before that is parsed.
    """
    return Interceptor(function, "call")


def check_interceptor(value: object) -> None:
    """Raises TypeError for anything but an interceptor."""
    if not isinstance(value, Interceptor):
        raise TypeError(
            f"an Interceptor is expected, not {type_name(value)}: make one of a function with "
            "ntapi.attempt_interceptor or ntapi.call_interceptor"
        )


class InterceptedCall:
    """A request in the hands of an `Interceptor`, on one passage."""

    __slots__ = ("_passage", "is_own_origin", "number", "reason", "request")

    request: HTTPRequest
    """The request. Change it, and it goes on as it is."""
    number: int
    """Which passage of the request it is, from 1."""
    reason: Reason
    """Why it passes."""
    is_own_origin: bool
    """Whether it goes to the origin of the client's base URL. A redirect may lead elsewhere: add
    nothing secret there.
    """

    def __init__(self, pointer: Optional[int], request: HTTPRequest, passage: Passage) -> None:
        self._passage = passage
        self.request = request
        told = signatures.Passage.from_address(lib.ntapi_interception_passage(pointer))
        self.number = told.number
        reason: Any = told.reason.decode()
        self.reason = reason
        self.is_own_origin = told.is_own_origin

    @property
    def api_request(self) -> Request:
        """The request of the client that it is about."""
        return self._passage.request

    async def next(self, request: Optional[HTTPRequest] = None) -> HTTPResponse:
        """Sends the request and returns its answer, also where there is none: see
        `HTTPResponse.error`. As often as you like, one call after the other.

        For async functions; a generator yields the request. Raises CancelledError when the request
        ends first.
        """
        return await self._passage.next(self.request if request is None else request)

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "it is valid while its interceptor runs")

    def __repr__(self) -> str:
        return f"<ntapi.InterceptedCall {self.number} {self.reason}>"


# The interceptors of clients, of their classes, and of requests.


class InterceptorsAttribute:
    """`interceptors`, of a client and of a class of clients."""

    def __init__(self, of_class: Iterable[Interceptor] = ()) -> None:
        self.of_class = checked(of_class)

    def __get__(self, instance: Any, _: type) -> tuple[Interceptor, ...]:
        if instance is None:
            return self.of_class
        own: tuple[Interceptor, ...] = instance._interceptors
        return own

    def __set__(self, instance: BaseClient, interceptors: Iterable[Interceptor]) -> None:
        replace(instance, interceptors)


def checked(interceptors: Iterable[Interceptor]) -> tuple[Interceptor, ...]:
    """A copy. Raises TypeError for anything but interceptors."""
    if not interceptors:
        return ()

    found = tuple(interceptors)
    for interceptor in found:
        check_interceptor(interceptor)
    return found


def _of_class(python_class: type) -> tuple[Interceptor, ...]:
    """What a class, or the first that it derives from, says in its body."""
    for base in python_class.__mro__:
        if "interceptors" not in base.__dict__:
            continue
        found = base.__dict__["interceptors"]
        if not isinstance(found, InterceptorsAttribute):
            # A plain list would hide the attribute of the client.
            found = InterceptorsAttribute(found)
            type.__setattr__(base, "interceptors", found)
        return found.of_class
    return ()


def inherit(client: BaseClient, configuration: SessionConfiguration | None) -> None:
    """Gives a new client those of its class and of its configuration."""
    client._inherited_interceptors = _of_class(type(client))
    if configuration is not None:
        client._inherited_interceptors += checked(configuration.interceptors)
    if client._inherited_interceptors:
        replace(client, ())


def replace(client: BaseClient, interceptors: Iterable[Interceptor]) -> None:
    """Gives a client interceptors of its own, in the place of those that it had."""
    own = checked(interceptors)
    everyone = client._inherited_interceptors + own
    check_loop(client, everyone)
    if everyone:
        # Before they are there: they ask whose request it is.
        client._may_start_fast = False
    pointer = lib.ntapi_args_create()
    try:
        _append(pointer, everyone, client._uses, client)
        # In one step: no request goes without them meanwhile.
        lib.ntapi_client_set_interceptors(client._handle.pointer, pointer)
    finally:
        lib.ntapi_args_free(pointer)
    client._interceptors = own
    client._may_start_fast = client._is_plain and not everyone


def add_to_args(pointer: int, args: list[Arg], delivery: Delivery) -> None:
    """Gives a request its own interceptors, and all of them what they ask of it."""
    client = delivery.client
    own = checked([arg.values[0] for arg in args if arg.kind == "interceptor"])
    check_loop(client, own)
    _append(pointer, own, delivery.interceptor_uses, client)
    if client._deliveries is not None:
        from ._places import running_loop

        loop = running_loop()
        if loop is not None:
            from contextvars import copy_context

            delivery.home = loop, copy_context()


def check_loop(client: BaseClient, interceptors: Iterable[Interceptor]) -> None:
    """Raises TypeError for an async interceptor of a blocking client."""
    if client._has_loop:
        return
    for interceptor in interceptors:
        if interceptor.is_async:
            raise TypeError(
                f"{interceptor!r} is async and needs an AsyncClient; a generator works for both"
            )


def _append(
    pointer: int, interceptors: Iterable[Interceptor], holder: dict[int, Use], client: BaseClient
) -> None:
    """Appends interceptors to a C list of args; `holder` keeps them."""
    for interceptor in interceptors:
        from ._bridge.interceptions import Use

        if client._deliveries is None:
            from weakref import WeakValueDictionary

            client._deliveries = WeakValueDictionary()
        Use(interceptor, holder, client._deliveries).append_to(pointer)
