"""Calls the handlers of a request in order, each in its place; the response handler last and
exactly once.
"""

from __future__ import annotations

from collections import deque
from functools import partial

from .._bridge.enums import RequestState
from .._bridge.library import Handle, lib
from .._bridge.logging import call_reporting
from .._bridge.native import allocate_lock, get_ident
from .._bridge.signatures import Handler
from . import registry
from .bodies import forget_source, stop_reading
from .registry import Owed
from .threads import adopt, background_mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextvars import Context
    from typing import Any, Callable, Optional

    from .mailbox import Mailbox
    from .types import Job, Place

_CANCELLED = int(RequestState.CANCELLED.value)
"""A plain number, because looking up an enum's member is a call."""


def nothing(*_: object) -> None:
    """The handler of a request without a handler."""


class Outcome:
    """The end of a request, shared by the handles to it.

    It refers to no handler, so that a program that keeps a handle keeps little memory.
    """

    __slots__ = ("delivery", "is_done", "response", "runner", "workers")

    def __init__(self, delivery: Any = None, response: Any = None) -> None:
        self.delivery: Any = delivery
        """The delivery of its events, until the request is over."""
        self.response: Any = response
        """The response; None until there is one."""
        self.is_done: bool = response is not None
        self.runner: Optional[int] = None
        """The thread that is running one of the request's handlers."""
        self.workers: list[int] = []
        """The threads that are running its interceptors, or other code that it waits for."""

    def call(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Calls a function for which the request waits, on a worker."""
        this_thread = get_ident()
        # Two interceptors may run at once. These two calls are atomic.
        self.workers.append(this_thread)
        try:
            return function(*arguments)
        finally:
            self.workers.remove(this_thread)


class HandlerQueue:
    """Runs the handlers of one request one after the other, each in its place.

    The core delivers events in order, but does not know when a handler returns: for the core an
    event is delivered when it was taken. If a handler waits or runs its mailbox, the next handler,
    even the response's, could run inside it. Or the next one may have to run on another thread.
    Therefore events wait here until the previous handler has returned. Newer progress replaces
    waiting progress. At most one piece of a body waits: the core delivers the next one after this
    one is freed.
    """

    __slots__ = ("_is_running", "_jobs", "_latest", "_lock", "_token", "is_over")

    def __init__(self, token: int) -> None:
        self._token = token
        # (which handler, place, job, whether a newer job of the same handler may replace it)
        self._jobs: deque[tuple[int, Place, Job, bool]] = deque()
        self._is_running = False
        self._latest = 0
        """The number of the latest call that was posted. Earlier ones do nothing any more."""
        self.is_over = False
        """Whether no job comes any more: the response's has come."""
        self._lock = allocate_lock()

    def add(self, handler: int, place: Place, job: Job, *, yields: bool, is_here: bool) -> None:
        """Runs a job in its place: immediately if `is_here`, that is, if the calling thread is that
        place.

        A waiting job that `yields` is replaced by the next one of the same handler. No job comes
        after that of the response.
        """
        with self._lock:
            if self.is_over:
                return
            self.is_over = handler == Handler.RESPONSE
            if self._jobs and self._jobs[-1][0] == handler and self._jobs[-1][3]:
                self._jobs.pop()
            self._jobs.append((handler, place, job, yields))
            if self._is_running:
                return
            self._is_running = True
        if is_here:
            self._run_first(self._latest)
        else:
            self._post_to(place)

    def restart(self) -> bool:
        """Goes on after an exception, when no job runs. Returns whether a job waits.

        Nobody knows whether the next job was posted before the exception. So it is posted again.
        """
        self.go_on()
        return bool(self._jobs)

    def abandon(self) -> None:
        """Drops all jobs."""
        with self._lock:
            self.is_over = True
            self._jobs.clear()

    def go_on(self) -> None:
        """Runs the next job, without waiting for the one that may still run."""
        with self._lock:
            next_place = self._jobs[0][1] if self._jobs else None
            self._is_running = next_place is not None
        if next_place is not None:
            self._post_to(next_place)

    def _post_to(self, place: Place) -> None:
        self._latest += 1
        place.post(partial(self._run_first, self._latest), self._token)

    def _run_first(self, number: int) -> None:
        """Runs the first job, in its place, and then passes the next one to its place."""
        with self._lock:
            if number != self._latest:
                return
            if not self._jobs:
                # The queue was emptied on the way here.
                self._is_running = False
                return
            job = self._jobs.popleft()[2]
        try:
            job()
        finally:
            self.go_on()


class Delivery(Owed):
    """Calls the handlers of a request, from its start until its response handler has returned.

    A subclass turns C's events into the arguments of handlers.
    """

    def __init__(
        self, siblings: set[Owed], handlers: dict[int, tuple[Place, Callable[..., object]]]
    ) -> None:
        super().__init__(siblings)
        self.token: int = registry.new_token()
        self._outcome: Outcome = Outcome(self)
        self.handle: Optional[Handle] = None
        """The C request; None before it is made, and if it could not be made."""
        self.source_tokens: list[int] = []
        """The streams that its body is read from."""
        self._handlers = handlers
        self._queue = HandlerQueue(self.token)
        self._is_mixed = len(self.place_mailboxes()) > 1
        """Whether its handlers run in several places."""
        self.has_begun: bool = False
        """Whether the request was resumed."""
        self.is_sent: bool = False
        """Whether it is too late to set progress handlers."""
        self._lock = allocate_lock()

    context: Optional[Context] = None
    """The context variables of the task that made the request. Handlers and hooks see them."""

    @property
    def outcome(self) -> Outcome:
        return self._outcome

    def place_mailboxes(self) -> set[Mailbox]:
        """The mailboxes in which its handlers may have to run."""
        return {place.mailbox for place, _ in self._handlers.values()}

    def runs_in(self, mailboxes: Iterable[Mailbox]) -> bool:
        """Whether all of its handlers run when these mailboxes are drained."""
        return all(
            place.runs_inline and place.mailbox in mailboxes for place, _ in self._handlers.values()
        )

    def mailboxes(self) -> dict[Mailbox, int]:
        """The kinds of events that C delivers, by mailbox."""
        kinds = self.kinds
        if self._is_mixed:
            # Two threads drain two mailboxes, and the response could overtake the last progress. So
            # all events go through one mailbox, and from there to their places.
            return {background_mailbox(): kinds}
        return {self.place(Handler.RESPONSE).mailbox: kinds}

    def place(self, handler: int) -> Place:
        return self._handlers[handler][0]

    @property
    def kinds(self) -> int:
        """The kinds of events that C delivers."""
        return sum(self._handlers)

    def set_handler(
        self, kind: int, handler: Optional[tuple[Place, Callable[..., object]]]
    ) -> bool:
        """Sets or removes a handler, and where it runs; False once the request is sent."""
        with self._lock:
            if self.is_sent:
                return False
            handlers = dict(self._handlers)
            handlers.pop(kind, None)
            if handler is not None:
                handlers[kind] = handler
            self._handlers = handlers
            # Events come to the mailbox of the response, but the handler may have to run elsewhere.
            self._is_mixed = self._is_mixed or len(self.place_mailboxes()) > 1
            if self.handle is not None:
                lib.ntapi_request_set_events(self.handle.pointer, self.kinds, self.token)
        return True

    def seal(self) -> None:
        """Refuses further progress handlers, because the request is being sent."""
        with self._lock:
            self.is_sent = True

    def begin(self) -> bool:
        """Registers the request as pending. Returns False if it has begun before."""
        with self._lock:
            # If two threads resume or cancel the request at once, only one of them does this. After
            # the end of the request nobody does: it would be pending for ever.
            if self.has_begun:
                return False
            self.has_begun = True
            self.siblings.add(self)
            registry.pending[self.token] = self
        for mailbox in self.place_mailboxes():
            # The thread or loop that created it may have ended since.
            if mailbox.is_abandoned:
                adopt(mailbox)
        return True

    def abandon(self) -> None:
        """Calls no handler, because the caller gets an exception instead of a request."""
        self._queue.abandon()
        self.cancel()
        self._end()

    def silence(self) -> None:
        """Calls no handler any more, because the wait for the request was interrupted.

        The client's hooks are still called.
        """
        self._handlers = {kind: (place, nothing) for kind, (place, _) in self._handlers.items()}

    def go_on_without(self, thread: int) -> None:
        if self.outcome.runner == thread:
            self._queue.go_on()

    def _submit(self, handler: int, job: Job, yields: bool = False) -> None:
        """Runs a job in the handler's place."""
        place = self._handlers[handler][0]
        is_here = place.runs_inline and not self._is_mixed
        self._queue.add(handler, place, self._in_context(job), yields=yields, is_here=is_here)

    def _in_context(self, job: Job) -> Job:
        # A copy: at the end of the process, one handler may run beside another.
        return job if self.context is None else partial(self.context.copy().run, job)

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        self.outcome.runner = get_ident()
        try:
            call_reporting(function, *arguments)
        finally:
            self.outcome.runner = None

    def _end(self) -> None:
        """Ends the delivery: the request is no longer pending."""
        self._outcome.is_done = True
        self._outcome.delivery = None
        self.forget_sources()
        self.siblings.discard(self)
        registry.ended(self.token)

    def forget_sources(self) -> None:
        """Forgets the sources of its body."""
        for token in self.source_tokens:
            forget_source(token)

    @property
    def is_cancelled(self) -> bool:
        """Whether the request is cancelled: then only the response is delivered."""
        if self.handle is None:
            return False
        return int(lib.ntapi_request_get_state(self.handle.pointer)) == _CANCELLED

    @property
    def is_suspended(self) -> bool:
        """Whether C calls it suspended."""
        return state_of(self.handle, self.outcome) is RequestState.SUSPENDED

    def stop_reading(self) -> None:
        """The request is cancelled: ends the wait for the next chunk of its body."""
        stop_reading(self.source_tokens)


def state_of(handle: Optional[Handle], outcome: Outcome) -> RequestState:
    """C's state; for a request that C never saw, the state that it would have."""
    if handle is not None:
        return RequestState(lib.ntapi_request_get_state(handle.pointer))
    return RequestState.COMPLETED if outcome.is_done else RequestState.RUNNING
