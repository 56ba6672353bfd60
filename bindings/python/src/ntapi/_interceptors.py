"""Interceptors: they see each request before it is sent, and each answer before the program gets
it.
"""

from __future__ import annotations

from ._bridge import signatures
from ._bridge.library import lib
from ._runtime.checks import NeedsInit, even_without_init, is_async, refuse_copy, type_name

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, NoReturn, Optional

    from ._http import HTTPRequest, HTTPResponse
    from ._interceptions import Passage
    from ._request import Request
    from ._types import InterceptorFunction

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


class Interceptor(NeedsInit):
    """Sees each request before it is sent and each answer before the program gets it, and may
    change, repeat or replace them. `attempt_interceptor` and `call_interceptor` make one from a
    function.

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

    An exception ends the request: an ApiError becomes its error, any other exception the cause of
    its error. Plain functions and generators run on a worker of the library and may block. Until
    they return, their request does not end, not even by a cancel.
    """

    __slots__ = ("__weakref__", "function", "is_async", "scope")
    _needed = __slots__

    function: InterceptorFunction
    """What is called for each passage of a request."""
    scope: Scope
    """What it surrounds: "call", each whole request, or "attempt", each exchange with a server."""
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

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.Interceptor {self._name} scope={self.scope!r}>"


def attempt_interceptor(function: InterceptorFunction) -> Interceptor:
    """A decorator: makes an interceptor around each exchange with a server. Redirects, retries and
    repeats pass it again; answers from the cache do not.

    It comes after the rate limit and just before the network, so that signatures are fresh. Stub
    and recorder see the request with its changes.
    """
    return Interceptor(function, "attempt")


def call_interceptor(function: InterceptorFunction) -> Interceptor:
    """A decorator: makes an interceptor around each whole request, with its redirects, retries,
    credentials and the cache. A request passes it once.

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
    """One passage of a request through an `Interceptor`."""

    __slots__ = ("_passage", "is_own_origin", "number", "reason", "request")

    request: HTTPRequest
    """The request. Your changes are sent."""
    number: int
    """The number of this passage of the request, from 1."""
    reason: Reason
    """Why the request passes: "first", "redirect", "retry", "credentials", "reconnect", "range",
    "reload" or "interceptor".
    """
    is_own_origin: bool
    """Whether the request goes to the origin of the client's base URL. A redirect may lead to
    another origin: add nothing secret there.
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
        """The client's request that this passage belongs to."""
        return self._passage.request

    async def next(self, request: Optional[HTTPRequest] = None) -> HTTPResponse:
        """Sends the request and returns its answer. A failure is not raised: see
        `HTTPResponse.error`. May be called any number of times, one call after the other.

        For async functions only; a generator yields the request. Raises CancelledError if the
        request ends first.
        """
        return await self._passage.next(self.request if request is None else request)

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "it is valid while its interceptor runs")

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.InterceptedCall {self.number} {self.reason} {self.request!r}>"


# The interceptors of clients, of their classes, and of requests.
