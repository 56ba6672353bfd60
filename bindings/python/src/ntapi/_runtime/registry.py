"""The pending requests of this process, and what happens to them in a fork."""

from __future__ import annotations

import itertools
import os

from .._bridge.events import DATA, DECISION, RESPONSE, Facts
from .._bridge.library import is_over, lib
from .._bridge.native import get_ident

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Optional

    from .._bridge.library import Handle
    from .mailbox import Mailbox
    from .types import Ending, Waiter


class Owed:
    """A pending request. There are three kinds: a thread waits in C (`ThreadCall`), a coroutine
    awaits it (`LoopCall`), or handlers get its events (`Delivery`).

    The methods here suit a request without handlers.
    """

    __slots__ = ("__weakref__", "siblings")

    token: int = 0
    """The number by which C's events find it."""

    def __init__(self, siblings: set[Owed]) -> None:
        self.siblings = siblings
        """The pending requests of the same client."""

    @property
    def outcome(self) -> Ending:
        """The end of the request."""
        raise NotImplementedError

    def uses(self, mailbox: Mailbox) -> bool:
        """Whether one of its handlers may have to run in this mailbox."""
        return mailbox in self.place_mailboxes()

    def place_mailboxes(self) -> set[Mailbox]:
        """The mailboxes in which its handlers may have to run."""
        return set()

    def runs_in(self, mailboxes: Iterable[Mailbox]) -> bool:
        """Whether all of its handlers run when these mailboxes are drained."""
        return False

    def take_response(self, event: Facts) -> None:
        """Takes the last event from C, on the thread that took it from the mailbox."""

    def take_decision(self, event: Facts) -> None:
        """Takes a decision from C, on the thread that took it from the mailbox."""

    def take_data(self, event: Facts) -> None:
        """Takes a piece of a body from C, on the thread that took it from the mailbox."""

    def take_progress(self, handler: int, count: int, total: int) -> None:
        """Takes an event from C, on the thread that took it from the mailbox."""

    def go_on_without(self, thread: int) -> None:
        """At exit: calls the handlers that wait until a handler or hook on `thread` returns."""

    def recover(self, has_response: bool) -> None:
        """Goes on with a delivery that an exception such as KeyboardInterrupt has interrupted at
        any moment. No handler of it is running.
        """

    @property
    def is_held(self) -> bool:
        """Whether it has been received, and ends when the program reads on."""
        return False

    def stop_reading(self) -> None:
        """The request is cancelled: ends the wait for the next chunk of its body."""

    @property
    def exit_timeout(self) -> float:
        """Seconds for which it may continue when the process exits or its client's block is left.

        0 without handlers: the thread or task that waits for it ends with the process.
        """
        return 0.0

    def cancel(self) -> None:
        """Cancels in C, which answers with "request cancelled". Does nothing if the request has
        ended.
        """
        raise NotImplementedError


class Call(Owed):
    """A request without handlers, whose caller waits for it."""

    __slots__ = ("is_done", "runner")

    def __init__(self, siblings: set[Owed]) -> None:
        super().__init__(siblings)
        self.is_done: bool = False
        self.runner: Optional[int] = None

    @property
    def outcome(self) -> Ending:
        return self


# No lock protects these: each operation on them is atomic, and no code here needs two operations to
# be one step.
pending: dict[int, Owed] = {}
"""The requests whose handlers have not returned, by the token that C returns with each event."""
observers: dict[int, Waiter] = {}
cancelled_downloads: dict[int, str] = {}
"""By thread: the resume data of the first download that was cancelled in a loop of the thread. The
next request of the thread removes it: see `resume_data_of`.
"""
is_exiting = bool(is_over)
"""Whether the process is ending. A request that a daemon thread begins now is cancelled
immediately.
"""
forks = 0
"""Counts the forks between the first process that used the package and this one."""
process = os.getpid()
"""The process that this state belongs to. In a forked child it is still the parent until
`_reset_in_child`: Python deletes what other threads of the parent owned before it calls that.
"""
_tokens = itertools.count(1)


def new_token() -> int:
    """A number by which C's events find their request. A late event, whose request is gone, finds
    nothing.
    """
    return next(_tokens)


def recover(token: int, kind: int, is_nested: bool) -> None:
    """Called when an exception has come out of the delivery of an event, or of a job of a request.
    It may have come before or after any step, if it is a signal handler's.

    `is_nested` says whether handlers are running on this thread.
    """
    owed = pending.get(token)
    if owed is not None and not (is_nested and is_running_here(owed)):
        owed.recover(kind == RESPONSE)


def dispatch(event: Facts) -> None:
    """Passes an event from a mailbox to its request, on the thread that took it."""
    owed = pending.get(event[1])
    if event[0] == RESPONSE:
        if owed is None:
            lib.ntapi_response_free(event[2])
        else:
            owed.take_response(event)
    elif event[0] == DATA:
        if owed is None:
            lib.ntapi_data_free(event[5])
        else:
            owed.take_data(event)
    elif event[0] == DECISION:
        if owed is None:
            lib.ntapi_decision_free(event[6])
        else:
            owed.take_decision(event)
    elif owed is not None:
        owed.take_progress(event[0], event[3], event[4])


def delivers_to(mailbox: Mailbox) -> bool:
    """Whether a pending request may still deliver something to this mailbox."""
    return any(owed.uses(mailbox) for owed in tuple(pending.values()))


class observing:  # noqa: N801 - used as a function
    """In this block, the observer is woken after every request that ends on any thread."""

    def __init__(self, observer: Waiter) -> None:
        self._token = new_token()
        self._observer = observer

    def __enter__(self) -> None:
        observers[self._token] = self._observer

    def __exit__(self, *_: object) -> None:
        # A handler may have forked: the child has no observers.
        observers.pop(self._token, None)


def ended(token: int) -> None:
    """Removes a request whose handler has returned."""
    pending.pop(token, None)
    if observers:
        wake_observers()


def wake_observers() -> None:
    """Wakes all observers."""
    for observer in tuple(observers.values()):
        observer.wake()


def runs_handler_here(handle: Optional[Handle]) -> bool:
    """Whether the calling thread is inside a handler of the request with this handle."""
    return handle is not None and any(
        getattr(owed, "handle", None) is handle and is_running_here(owed)
        for owed in tuple(pending.values())
    )


def is_running_here(owed: Owed) -> bool:
    """Whether the calling thread is running a handler of this request."""
    return owed.outcome.runner == get_ident()


def _reset_in_child() -> None:
    """In a forked child: requests that were begun in the parent belong to the parent."""
    global forks, process
    forks += 1
    process = os.getpid()
    for owed in pending.values():
        owed.siblings.discard(owed)
    pending.clear()
    observers.clear()
    cancelled_downloads.clear()


os.register_at_fork(after_in_child=_reset_in_child)
