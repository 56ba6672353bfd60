"""Interceptors: they look at requests on their way out and at answers on their way back."""

from __future__ import annotations

from ._checks import is_async, type_name
from ._http_request import HTTPRequest
from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Optional

    from ._aliases import InterceptorFunction
    from ._handles import Handle
    from ._http_response import HTTPResponse
    from ._passages import Passage
    from ._request import Request

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

    - a plain function: it may change `call.request`, which then goes on. With an `HTTPResponse`
      that it returns, it answers, and nothing is sent.
    - a generator: each `yield call.request` sends the request and gives its `HTTPResponse`. With
      the one that it returns it answers; None lets the last one pass.
    - an async function, for an `AsyncClient` only: `await call.next()` sends the request. It
      answers as a generator does.

    An exception is the request's error: an ApiError as it is, any other one as the cause.
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

    def __init__(self, handle: Handle, passage: Passage) -> None:
        pointer = handle.pointer
        self._passage = passage
        self.request = HTTPRequest(lib.ntapi_interception_http_request(pointer), handle)
        self.number = int(lib.ntapi_interception_number(pointer))
        reason: Any = lib.ntapi_interception_reason(pointer).decode()
        self.reason = reason
        self.is_own_origin = bool(lib.ntapi_interception_is_own_origin(pointer))

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

    def __repr__(self) -> str:
        return f"<ntapi.InterceptedCall {self.number} {self.reason}>"
