"""The passages of requests through interceptors, and what C calls for them.

C knows an interceptor by a number, its token. A passage begins when the request comes, on a
background worker. It stays in `_passages` until it has given its last answer, or until C reports
that the request has ended.
"""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import Awaitable, Generator
from functools import partial

from . import codes
from ._args import c_text
from ._bridge import signatures
from ._bridge.callbacks import InterceptFunction, InterceptorEndFunction
from ._bridge.enums import ErrorDomain
from ._bridge.library import Handle, lib
from ._bridge.logging import from_c, report
from ._bridge.native import allocate_lock
from ._bridge.signatures import DestroyFunction, Status
from ._errors import ApiError, c_error
from ._http import HTTPRequest, HTTPResponse
from ._interceptors import InterceptedCall
from ._request import Request
from ._runtime.checks import shown, type_name

# asyncio and concurrent.futures take several times as long to import as this package. Only the
# functions that need them import them.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any, Callable, Optional

    from ._handlers import Delivery
    from ._interceptors import Interceptor

    Deliveries = weakref.WeakValueDictionary[int, Delivery]

_SCOPES = {"call": 0, "attempt": 1}
_tokens = itertools.count(1)


class Use:
    """The use of an interceptor by one client or one request. C knows it by the token."""

    __slots__ = ("__weakref__", "_deliveries", "_holder", "interceptor", "token")

    def __init__(
        self, interceptor: Interceptor, holder: dict[int, Use], deliveries: Deliveries
    ) -> None:
        """`holder` keeps it alive; `deliveries` has the client's requests by their identifiers."""
        self.interceptor: Interceptor = interceptor
        self.token: int = next(_tokens)
        self._holder = holder
        self._deliveries = deliveries
        holder[self.token] = self
        _uses[self.token] = self

    def delivery(self, pointer: Optional[int]) -> Optional[Delivery]:
        """The delivery of the request that a C interception belongs to."""
        request = lib.ntapi_interception_request(pointer)
        return self._deliveries.get(lib.ntapi_request_identifier(request))

    def append_to(self, args: int) -> None:
        """Appends the interceptor to a C list of args."""
        scope = _SCOPES[self.interceptor.scope]
        made = lib.ntapi_interceptor_create(scope, _intercept, _end, self.token, _forget)
        status = lib.ntapi_args_interceptor(args, made)
        lib.ntapi_interceptor_free(made)
        if status != Status.OK:
            raise ValueError(f"{shown(self.interceptor)} cannot be used")

    def forget(self) -> None:
        """C has dropped the interceptor."""
        self._holder.pop(self.token, None)


# Weak, because an interceptor is often a method of the object that owns the client.
_uses: weakref.WeakValueDictionary[int, Use] = weakref.WeakValueDictionary()
_passages: dict[int, Passage] = {}


class Passage:
    """One passage of a request and its answer through an interceptor."""

    def __init__(self, use: Use, handle: Handle) -> None:
        self.interceptor: Interceptor = use.interceptor
        self._number: int = _identifier(handle.pointer)
        self._delivery = use.delivery(handle.pointer)
        self._current: Optional[Handle] = handle
        """The interception that C wants answered; None while the answer of the server is awaited.
        """
        self._shown: Optional[HTTPResponse] = None
        """The last response that C has shown."""
        self._is_over = False
        """Whether the request has ended, so that an answer has no effect."""
        _passages[self._number] = self

    def begin(self) -> None:
        """The request comes. This and the next two methods run on a background worker."""
        raise NotImplementedError

    def receive(self, handle: Handle) -> None:
        """The response comes back."""
        raise NotImplementedError

    def end(self) -> None:
        """The request has ended."""
        raise NotImplementedError

    async def next(self, request: HTTPRequest) -> HTTPResponse:
        """See `InterceptedCall.next`."""
        raise RuntimeError("a generator does not call next: `response = yield request`")

    @property
    def request(self) -> Request:
        """The request of the client."""
        if self._delivery is None:
            raise RuntimeError("the request has ended")
        return Request(self._delivery.handle, self._delivery.outcome)

    def _ends_here(self, error: BaseException) -> bool:
        """Whether the exception, such as SystemExit, has no thread of the program to go to."""
        return not isinstance(error, Exception)

    def _call(self) -> InterceptedCall:
        handle = self._current
        assert handle is not None
        request = HTTPRequest(lib.ntapi_interception_http_request(handle.pointer), handle)
        return InterceptedCall(handle.pointer, request, self)

    def _send(self, request: object) -> None:
        """Sends a request. Its answer may come on another thread before this returns."""
        if not isinstance(request, HTTPRequest):
            raise TypeError(
                f"an interceptor sends the HTTPRequest of its call, not {type_name(request)}"
            )
        handle = self._current
        assert handle is not None
        if request._owner is not handle:
            # Send the original request again. After a redirect, for example, the current one
            # differs from it.
            own = lib.ntapi_interception_http_request(handle.pointer)
            if lib.ntapi_http_request_assign(own, request._pointer) != Status.OK:
                raise ValueError("the request of a hook that has returned cannot be sent")
        self._current = None
        if lib.ntapi_interception_send(handle.pointer) != Status.OK:
            self._current = handle
            raise ValueError("the request cannot be sent")

    def _conclude(self, result: object) -> None:
        """Ends the passage with what the interceptor has returned."""
        _passages.pop(self._number, None)
        try:
            handle = self._current
            assert handle is not None
            if result is None or result is self._shown:
                lib.ntapi_interception_proceed(handle.pointer)
            elif not isinstance(result, HTTPResponse):
                raise TypeError(f"it has to return an HTTPResponse or None, not {shown(result)}")
            elif result.error is not None:
                # It is not the last response but an earlier one.
                self._fail(result.error)
            else:
                _respond(handle, result)
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Ends the passage with what the interceptor has raised."""
        _passages.pop(self._number, None)
        handle = self._current
        if handle is None or self._is_over or self._delivery is None or self._ends_here(error):
            # Nobody else gets this exception.
            report(error, self.interceptor.function)
        if handle is None:
            return
        failure = error
        if not isinstance(error, ApiError):
            message = f"the interceptor {self.interceptor._name} failed: {error!r}"
            failure = ApiError(codes.GENERIC, message, domain=ErrorDomain.REQUEST)
            failure.__cause__ = error
        if self._delivery is not None and isinstance(failure, ApiError):
            self._delivery.interceptor_failure = failure
        reason = c_error(failure)
        lib.ntapi_interception_fail(handle.pointer, reason)
        lib.ntapi_error_free(reason)


def _respond(handle: Handle, response: HTTPResponse) -> None:
    lines = [
        c_text(f"{name}: {value}")
        for name, value in response.headers.lines
        # These headers of a server's response describe how it was sent.
        if name.lower() not in ("content-length", "transfer-encoding")
    ]
    headers = (ctypes.c_char_p * (len(lines) + 1))(*lines, None)
    body = response.body
    status = lib.ntapi_interception_respond(
        handle.pointer, response.status, headers, body, len(body)
    )
    if status != Status.OK:
        raise ValueError(f"{shown(response)} cannot be an answer")


class GeneratorPassage(Passage):
    """Runs a generator or a plain function, on the worker on which C calls."""

    def __init__(self, use: Use, handle: Handle) -> None:
        super().__init__(use, handle)
        self._generator: Any = None
        self._lock = allocate_lock()
        self._is_waiting = False
        """Whether the generator waits at a yield."""

    def begin(self) -> None:
        try:
            result: Any = self._run(self.interceptor.function, self._call())
        except BaseException as error:
            self._fail(error)
            return
        if isinstance(result, Generator):
            self._generator = result
            self._step(None)
        elif isinstance(result, Awaitable):
            getattr(result, "close", lambda: None)()
            self._fail(TypeError("an async interceptor is made of an `async def`"))
        else:
            self._conclude(result)

    def receive(self, handle: Handle) -> None:
        with self._lock:
            was_waiting, self._is_waiting = self._is_waiting, False
        if was_waiting:
            self._current = handle
            self._shown = HTTPResponse._of(handle)
            self._step(self._shown)

    def end(self) -> None:
        with self._lock:
            self._is_over = True
            was_waiting, self._is_waiting = self._is_waiting, False
        # A running generator is closed when it yields.
        if was_waiting:
            self._close()

    def _run(self, function: Any, argument: object) -> Any:
        if self._delivery is None:
            return function(argument)
        return self._delivery.outcome.call(function, argument)

    def _step(self, response: Optional[HTTPResponse]) -> None:
        try:
            request = self._run(self._generator.send, response)
        except StopIteration as stop:
            self._conclude(stop.value)
            return
        except BaseException as error:
            self._fail(error)
            return
        with self._lock:
            # Set before sending, because the answer may come immediately.
            self._is_waiting = not self._is_over
        if self._is_over:
            self._close()
            return
        try:
            self._send(request)
        except BaseException as error:
            with self._lock:
                was_waiting, self._is_waiting = self._is_waiting, False
            if was_waiting:
                self._close()
                self._fail(error)

    def _close(self) -> None:
        """Raises GeneratorExit at the yield, so that the finally blocks run."""
        _passages.pop(self._number, None)
        try:
            self._generator.close()
        except BaseException as error:
            report(error, self.interceptor.function)


class AsyncPassage(Passage):
    """Runs an async function as a task of the loop that the request was made on."""

    _loop: asyncio.AbstractEventLoop

    def __init__(self, use: Use, handle: Handle) -> None:
        super().__init__(use, handle)
        self._task: Optional[asyncio.Task[None]] = None
        self._waiter: Optional[asyncio.Future[HTTPResponse]] = None
        self._result: Optional[Callable[[], None]] = None
        """Waits for the response if the function has returned before it came."""

    def begin(self) -> None:
        home = None if self._delivery is None else self._delivery.home
        if home is None:
            self._fail(RuntimeError("an async interceptor needs the event loop of its request"))
            return
        self._loop, context = home
        try:
            self._loop.call_soon_threadsafe(self._start, context=context)
        except RuntimeError as error:
            # The loop is closed.
            self._fail(error)

    def receive(self, handle: Handle) -> None:
        try:
            self._loop.call_soon_threadsafe(self._arrive, handle)
        except RuntimeError:
            # The loop is closed: let the response pass; nobody waits for it.
            _passages.pop(self._number, None)

    def end(self) -> None:
        self._is_over = True
        _passages.pop(self._number, None)
        try:
            self._loop.call_soon_threadsafe(self._cancel)
        except (AttributeError, RuntimeError):
            # The task has not begun, or the loop is closed.
            pass

    def _ends_here(self, error: BaseException) -> bool:
        # The exception continues to the loop.
        return False

    # The code below runs on the loop.

    def _start(self) -> None:
        if not self._is_over:
            self._task = self._loop.create_task(self._run())

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        from asyncio import CancelledError

        function: Any = self.interceptor.function
        try:
            result = await function(self._call())
        except BaseException as error:
            if not isinstance(error, CancelledError):
                self._finish(partial(self._fail, error))
            elif not self._is_over:
                # Cancelled by the program, or by the end of the loop.
                failure = ApiError(codes.CANCELLED, domain=ErrorDomain.CANCELLED)
                self._finish(partial(self._fail, failure))
            if not isinstance(error, Exception):
                raise
        else:
            if not self._is_over:
                self._finish(partial(self._conclude, result))

    def _finish(self, answer: Callable[[], None]) -> None:
        if self._current is None and not self._is_over:
            # The function has abandoned a `next` that is still running.
            self._result = answer
        else:
            answer()

    def _arrive(self, handle: Handle) -> None:
        self._current = handle
        self._shown = HTTPResponse._of(handle)
        answer, self._result = self._result, None
        if answer is not None:
            answer()
        elif self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(self._shown)

    async def next(self, request: HTTPRequest) -> HTTPResponse:
        from asyncio import CancelledError

        if self._is_over:
            raise CancelledError
        if self._current is None:
            raise RuntimeError("an interceptor calls next before its last call has returned")
        self._waiter = self._loop.create_future()
        self._send(request)
        return await self._waiter


def _identifier(pointer: Optional[int]) -> int:
    """The number of an interception's passage."""
    told = signatures.Passage.from_address(lib.ntapi_interception_passage(pointer))
    number: int = told.identifier
    return number


def _report(error: BaseException, token: int, _: Handle) -> None:
    use = _uses.get(token)
    report(error, None if use is None else use.interceptor.function)


def _refuse(_error: BaseException, _token: int, handle: Handle) -> None:
    lib.ntapi_interception_fail(handle.pointer, None)


@from_c(InterceptFunction, _report, _refuse, frees=lib.ntapi_interception_free)
def _intercept(token: int, handle: Handle) -> None:
    """ntapi_intercept_fn for every interceptor. Runs on a background worker."""
    if lib.ntapi_interception_response(handle.pointer):
        passage = _passages.get(_identifier(handle.pointer))
        if passage is not None:
            passage.receive(handle)
        return
    use = _uses.get(token)
    if use is None:
        # Do not send the request without the interceptor: it may be the one that signs.
        lib.ntapi_interception_fail(handle.pointer, None)
        return
    kind = AsyncPassage if use.interceptor.is_async else GeneratorPassage
    kind(use, handle).begin()


@from_c(InterceptorEndFunction)
def _end(_: int, number: int) -> None:
    """ntapi_interceptor_end_fn for every interceptor. Runs on a background worker."""
    passage = _passages.get(number)
    if passage is not None:
        passage.end()


@from_c(DestroyFunction)
def _forget(token: int) -> None:
    """ntapi_destroy_fn for every interceptor. From now on no request passes it."""
    use = _uses.get(token)
    if use is not None:
        use.forget()
