"""Calls the handlers of a request, in order, each in its place: the response handler exactly once,
and last.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterable
from functools import partial

from . import _registry, codes
from ._bodies import forget_source, source_error, stop_reading
from ._bridge.library import Handle, lib
from ._bridge.native import allocate_lock, get_ident
from ._bridge.signatures import Facts, Handler
from ._checks import is_async
from ._decision import Decision
from ._enums import ErrorDomain, RequestState
from ._errors import ApiError
from ._logging import call_reporting, log_verdict, report, run_on_this_loop
from ._mailbox import Mailbox
from ._places import adopt, background_mailbox
from ._response import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from contextvars import Context
    from typing import Any, Callable, Optional

    from ._bridge.interceptions import Use
    from ._client import BaseClient
    from ._request import Request
    from ._service import ServiceCall
    from ._stream import StreamReader
    from ._types import Job, Place

PROGRESS_HOOKS = {
    Handler.UPLOAD_PROGRESS: "upload_progressed",
    Handler.DOWNLOAD_PROGRESS: "download_progressed",
}
_CANCELLED = int(RequestState.CANCELLED.value)
"""A plain number: an enum's members are found by a call."""


def nothing(*_: object) -> None:
    """The handler where there is none."""


class Outcome:
    """How a request ends, shared by the handles to it.

    It refers to no handler, so a kept handle keeps little.
    """

    __slots__ = ("delivery", "is_done", "response", "runner", "workers")

    def __init__(
        self, delivery: Optional[Delivery] = None, response: Optional[Response] = None
    ) -> None:
        self.delivery: Optional[Delivery] = delivery
        self.response: Optional[Response] = response
        self.is_done: bool = response is not None
        self.runner: Optional[int] = None
        """The thread that runs one of the request's handlers now."""
        self.workers: list[int] = []
        """The threads that run its interceptors now, or other code that it waits for."""

    def call(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Calls on a worker what the request waits for."""
        this_thread = get_ident()
        # Two interceptors may run at once. These two calls are atomic.
        self.workers.append(this_thread)
        try:
            return function(*arguments)
        finally:
            self.workers.remove(this_thread)


class HandlerQueue:
    """Runs the handlers of one request one after the other, each in its place.

    The core delivers the events of a request in order, but for it an event is delivered when it has
    been taken. It cannot know when the handler returns: one that waits or runs its mailbox would
    have the next one, and even the response, called inside it. And places are Python's: the next
    handler may have to run on another thread. So events wait here until the handler before has
    returned. Newer progress replaces progress that waits. At most one piece of a body waits,
    because the core hands over the next one when that is freed.
    """

    __slots__ = ("_is_over", "_is_running", "_jobs", "_lock")

    def __init__(self) -> None:
        # (whose, where, what, whether a newer one of the same handler may replace it)
        self._jobs: deque[tuple[int, Place, Job, bool]] = deque()
        self._is_running = False
        self._is_over = False
        self._lock = allocate_lock()

    def add(self, handler: int, place: Place, job: Job, *, yields: bool, is_here: bool) -> None:
        """Has a job run in its place, at once if the calling thread `is_here`.

        One that `yields` is replaced by the next of the same handler. Nothing comes after that of
        the response.
        """
        with self._lock:
            if self._is_over:
                return
            self._is_over = handler == Handler.RESPONSE
            if self._jobs and self._jobs[-1][0] == handler and self._jobs[-1][3]:
                self._jobs.pop()
            self._jobs.append((handler, place, job, yields))
            if self._is_running:
                return
            self._is_running = True
        if is_here:
            self._run_first()
        else:
            place.post(self._run_first)

    def abandon(self) -> None:
        """Nothing runs any more."""
        with self._lock:
            self._is_over = True
            self._jobs.clear()

    def _run_first(self) -> None:
        """Runs the first job, in its place, and has the next one run in its own."""
        with self._lock:
            if not self._jobs:
                # Abandoned on the way here.
                self._is_running = False
                return
            job = self._jobs.popleft()[2]
        try:
            job()
        finally:
            with self._lock:
                next_place = self._jobs[0][1] if self._jobs else None
                self._is_running = next_place is not None
            if next_place is not None:
                next_place.post(self._run_first)


class Delivery:
    """Alive from the start of a request until its response handler has returned."""

    def __init__(
        self,
        client: BaseClient,
        handlers: dict[int, tuple[Place, Callable[..., object]]],
        reader: Optional[StreamReader] = None,
    ) -> None:
        self.token: int = _registry.new_token()
        self.outcome: Outcome = Outcome(self)
        self.handle: Optional[Handle] = None
        self.failure: Optional[ApiError] = None
        """Why there is no C request, when an arg could not be handed to C."""
        self.parses = False
        """Whether the client's hook parses the body."""
        self.source_tokens: list[int] = []
        self.call: Optional[ServiceCall[Any]] = None
        """What the request is made for, if that is a service."""
        self.reader = reader
        """Who gets the body piece by piece, in the place of a data handler."""
        self.client = client
        self.keeps_body = False
        """Whether only the client's hook looks at the body, which stays in the response."""
        self.progress_places: dict[int, Place] = {}
        """Where progress handlers run that are set before the request is sent."""
        self._handlers = handlers
        self._queue = HandlerQueue()
        self._is_mixed = len(self.place_mailboxes()) > 1
        """Whether its handlers run in several places."""
        self.has_begun: bool = False
        """Whether it is owed, or was."""
        self.is_sent: bool = False
        """Whether it is too late for progress handlers."""
        self._undecided: Optional[ApiError] = None
        """What a decision handler raised, when that ended the request."""
        self.interceptor_failure: Optional[ApiError] = None
        """What an interceptor has raised last."""
        self.interceptor_uses: dict[int, Use] = {}
        """The request's own interceptors."""
        self.home: Optional[tuple[AbstractEventLoop, Context]] = None
        """Where async interceptors run."""
        self._lock = allocate_lock()

    def uses(self, mailbox: Mailbox) -> bool:
        """Whether one of its handlers may have to run there."""
        return mailbox in self.place_mailboxes()

    def place_mailboxes(self) -> set[Mailbox]:
        """Where its handlers may have to run."""
        return {place.mailbox for place, _ in self._handlers.values()}

    def runs_in(self, mailboxes: Iterable[Mailbox]) -> bool:
        """Whether all of its handlers run when these are drained."""
        return all(
            place.runs_inline and place.mailbox in mailboxes for place, _ in self._handlers.values()
        )

    def mailboxes(self) -> dict[Mailbox, int]:
        """Which events C is to deliver where."""
        kinds = self.kinds
        if self._is_mixed:
            # Two mailboxes are drained by two threads, and the response could overtake the last
            # progress. So all events go through one, and from there to their places.
            return {background_mailbox(): kinds}
        return {self.place(Handler.RESPONSE).mailbox: kinds}

    def place(self, handler: int) -> Place:
        return self._handlers[handler][0]

    @property
    def kinds(self) -> int:
        """What C is to deliver."""
        return sum(self._handlers)

    def set_progress(self, kind: int, handler: Optional[Callable[..., object]]) -> bool:
        """Sets or removes a progress handler; False once the request is sent."""
        with self._lock:
            if self.is_sent:
                return False
            handlers = {**self._handlers, kind: (self.progress_places[kind], handler or nothing)}
            if handler is None and PROGRESS_HOOKS[kind] not in self.client._overridden:
                del handlers[kind]
            self._handlers = handlers
            # Its events come with the response's, and it may have to run elsewhere.
            self._is_mixed = self._is_mixed or len(self.place_mailboxes()) > 1
            if self.handle is not None:
                lib.ntapi_request_set_events(self.handle.pointer, self.kinds, self.token)
        return True

    def seal(self) -> None:
        """It is sent now."""
        with self._lock:
            self.is_sent = True

    def begin(self) -> bool:
        """From here on it is owed. False when it was before."""
        with self._lock:
            # Of two threads that resume or cancel it at once, one. And not again after its end, or
            # it would be waited for for ever.
            if self.has_begun:
                return False
            self.has_begun = True
            self.client._pending.add(self)
            _registry.pending[self.token] = self
        for mailbox in self.place_mailboxes():
            # It may have been created by a thread or loop that has ended since.
            if mailbox.is_abandoned:
                adopt(mailbox)
        return True

    def fail(self) -> None:
        """Delivers the failure of a request that C never saw.

        Handlers are never called inside this.
        """
        assert self.failure is not None
        response = Response._failed(self.failure)
        self.place(Handler.RESPONSE).post(partial(self._finish, response))

    def abandon(self) -> None:
        """Calls no handler: who began the request gets an exception instead."""
        self._queue.abandon()
        self.cancel()
        self._end()

    def silence(self) -> None:
        """Calls no handler any more: the wait for the request was interrupted.

        The client's hooks still learn how it ends.
        """
        self._handlers = {kind: (place, nothing) for kind, (place, _) in self._handlers.items()}

    def take_progress(self, handler: int, count: int, total: int) -> None:
        """An event from C, on the thread that took it."""
        known = None if total < 0 else total
        # That it has begun is told even when more has come before the handler is called.
        job = partial(self._call_with_progress, handler, count, known)
        self._submit(handler, job, yields=count != 0)

    def take_data(self, event: Facts) -> None:
        """A piece of the body from C, on the thread that took it."""
        piece = Handle(event[5], lib.ntapi_data_free)
        if self.reader is not None:
            try:
                self._show(event[-4], event[-3])
            finally:
                self.reader.receive(piece, event[-4], event[-3])
        else:
            self._submit(Handler.DATA, partial(self._call_with_data, piece, event[-4], event[-3]))

    def take_decision(self, event: Facts) -> None:
        """A question from C, on the thread that took it."""
        decision = Decision(event[6], self._request())
        self._submit(Handler.DECISION, partial(self._decide, decision))

    def take_response(self, event: Facts) -> None:
        """The last event from C, on the thread that took it."""
        response = Response(event[2], event, self.handle)
        self._submit(Handler.RESPONSE, partial(self._finish, response))

    def _submit(self, handler: int, job: Job, yields: bool = False) -> None:
        """Has a job run in the handler's place."""
        place = self._handlers[handler][0]
        is_here = place.runs_inline and not self._is_mixed
        self._queue.add(handler, place, job, yields=yields, is_here=is_here)

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        self.outcome.runner = get_ident()
        try:
            call_reporting(function, *arguments)
        finally:
            self.outcome.runner = None

    def _call_with_progress(self, handler: int, count: int, total: Optional[int]) -> None:
        hook = PROGRESS_HOOKS[handler]
        try:
            if hook in self.client._overridden:
                self._call(getattr(self.client, hook), self._request(), count, total)
        finally:
            self._call(self._handlers[handler][1], count, total)

    def _call_with_data(self, piece: Handle, address: int, length: int) -> None:
        content: Optional[bytes] = None
        try:
            if not self.is_cancelled:
                content = ctypes.string_at(address, length) if length else b""
                self._show_content(content)
        finally:
            # The next one may come while the handler works.
            piece.free()
            if content is not None and not self.is_cancelled:
                self._call(self._handlers[Handler.DATA][1], content)

    def _show(self, address: int, length: int) -> None:
        """Shows the client's hook a piece of the body."""
        if length and "data_received" in self.client._overridden:
            self._show_content(ctypes.string_at(address, length))

    def _show_content(self, content: bytes) -> None:
        # The first piece of a stream may have no bytes.
        if content and "data_received" in self.client._overridden:
            self._call(self.client.data_received, self._request(), content)

    def _request(self) -> Request:
        # Here, as a request is made with a delivery.
        from ._request import Request

        return Request(self.handle, self.outcome)

    def _decide(self, decision: Decision) -> None:
        function = self._handlers[Handler.DECISION][1]
        self.outcome.runner = get_ident()
        try:
            answer = function(decision)
            if is_async(function):
                run_on_this_loop(answer, partial(self._end_undecided, decision))
        except BaseException as error:
            self._end_undecided(decision, error)
            if not isinstance(error, Exception):
                raise
        finally:
            self.outcome.runner = None

    def _end_undecided(self, decision: Decision, error: BaseException) -> None:
        """Nobody knows what the handler would have said: the request must not go on as if it had
        agreed.
        """
        function = self._handlers[Handler.DECISION][1]
        who = "hook decide" if function == self.client.decide else "decision handler"
        failure = ApiError(
            codes.GENERIC, f"the {who} failed: {error!r}", domain=ErrorDomain.REQUEST
        )
        failure.__cause__ = error
        # Before the answer, after which the response may come on another thread.
        self._undecided = failure
        if not decision.cancel():
            # It was answered before, or the request has ended: the response has another story.
            self._undecided = None
            if isinstance(error, Exception):
                report(error, function)

    def _finish(self, response: Response) -> None:
        outcome = self.outcome
        try:
            outcome.runner = get_ident()
            outcome.response = response
            if self.client._is_background:
                # Not before: of many that were taken at once, those whose turn never came were not
                # delivered.
                lib.ntapi_response_begin_delivery(response._pointer)
            try:
                self._complete(response)
            finally:
                # Whatever happened there, Ctrl-C included, the promise of exactly one call stands.
                call_reporting(self._handlers[Handler.RESPONSE][1], response)
        finally:
            outcome.runner = None
            if self.client._is_background:
                lib.ntapi_response_acknowledge(response._pointer)
            self._end()

    def _complete(self, response: Response) -> None:
        """What comes before the response handler."""
        try:
            before = response.error
            if self._undecided is not None and _is_cancelled(before):
                response._set_error(self._undecided)
                log_verdict(response, before)
            if self.interceptor_failure is not None:
                _blame_interceptor(self.interceptor_failure, response)
            cause = source_error(self.source_tokens)
            if cause is not None and response.error is not None:
                response.error._blame_stream(cause)
            self.client._complete(response, self.parses, self.call)
        except Exception as error:
            # A subclass of ApiError that refuses to be filled in, say.
            report(error, self.client)

    def _end(self) -> None:
        """Nothing is owed any more."""
        self.outcome.is_done = True
        self.outcome.delivery = None
        self.forget_sources()
        self.client._pending.discard(self)
        _registry.ended(self.token)
        self.client._tell_invalidated()

    def forget_sources(self) -> None:
        """Streams are not read any more."""
        for token in self.source_tokens:
            forget_source(token)

    @property
    def is_cancelled(self) -> bool:
        """Whether it is cancelled: then only the response is delivered."""
        if self.handle is None:
            return False
        return int(lib.ntapi_request_get_state(self.handle.pointer)) == _CANCELLED

    @property
    def exit_timeout(self) -> float:
        """Seconds that it may go on when the process exits or its client's block is left."""
        if self.handle is None or self.client._is_background:
            return 0.0
        return float(lib.ntapi_request_exit_timeout(self.handle.pointer))

    @property
    def is_suspended(self) -> bool:
        """Whether C calls it suspended."""
        return state_of(self.handle, self.outcome) is RequestState.SUSPENDED

    def cancel(self) -> None:
        """Cancels in C, which answers with "request cancelled". Too late is no error.

        At the end of the process a background session is closed instead: what it has not finished
        goes on in the next one.
        """
        if self.handle is None:
            return
        if _registry.is_exiting and self.client._is_background:
            self.client._close()
        else:
            lib.ntapi_request_cancel(self.handle.pointer)
            self.stop_reading()

    def stop_reading(self) -> None:
        """It is cancelled: a body that is awaited is not awaited any more."""
        stop_reading(self.source_tokens)


def _blame_interceptor(failure: ApiError, response: Response) -> None:
    """Gives back to a response the exception that C knows by its words only."""
    error = response.error
    if error is None or (error.code, error.message) != (failure.code, failure.message):
        return
    if failure.response is None:
        response._set_error(failure)
    else:
        # Somebody has it already, with another response.
        error.__cause__ = failure


def _is_cancelled(error: Optional[ApiError]) -> bool:
    return error is not None and error.domain is ErrorDomain.CANCELLED


def state_of(handle: Optional[Handle], outcome: Outcome) -> RequestState:
    """C's state; for a request that C never saw, what it would be."""
    if handle is not None:
        return RequestState(lib.ntapi_request_get_state(handle.pointer))
    return RequestState.COMPLETED if outcome.is_done else RequestState.RUNNING
