"""The requests that are pending in this process, and what happens to them when it forks or ends."""

from __future__ import annotations

import atexit
import itertools
import os
import sys
import time

from ._bridge import library
from ._bridge.library import lib
from ._bridge.native import get_ident
from ._bridge.signatures import DATA, DECISION, RESPONSE, Facts
from ._logging import use_standard_error

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Callable, Optional

    from ._mailbox import Mailbox
    from ._types import Observer, Owed


# Single operations on these are atomic, and nothing here reads first and writes later what follows
# from it.
pending: dict[int, Owed] = {}
"""The requests whose handlers have not returned, by the token that C gives back with each event."""
observers: dict[int, Observer] = {}
is_exiting = False
"""Whether the process ends: what is begun from now on by a daemon thread is cancelled at once."""
forks = 0
"""How often this process was forked from one that used the package."""
_tokens = itertools.count(1)


def new_token() -> int:
    """A number that C gives back. A late event, whose request is gone, finds nothing under it."""
    return next(_tokens)


def dispatch(event: Facts) -> None:
    """Hands an event that was taken from a mailbox to its request. On the thread that took it."""
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
    """Whether a request may still have something for this mailbox."""
    return any(owed.uses(mailbox) for owed in tuple(pending.values()))


class observing:  # noqa: N801 - used as a function
    """Wakes the observer after every request that ends meanwhile, on whatever thread."""

    def __init__(self, observer: Observer) -> None:
        self._token = new_token()
        self._observer = observer

    def __enter__(self) -> None:
        observers[self._token] = self._observer

    def __exit__(self, *_: object) -> None:
        # A handler may have forked: the child has none.
        observers.pop(self._token, None)


def ended(token: int) -> None:
    """Says that a request's handler has returned."""
    pending.pop(token, None)
    if observers:
        wake_observers()


def wake_observers() -> None:
    """Wakes everybody who waits for the end of a request."""
    for observer in tuple(observers.values()):
        observer.wake()


def _reset_in_child() -> None:
    """In a forked child: requests that were begun in the parent belong to the parent."""
    global forks
    forks += 1
    for owed in pending.values():
        if owed.client is not None:
            owed.client._pending.discard(owed)
    pending.clear()
    observers.clear()


os.register_at_fork(after_in_child=_reset_in_child)


# The end of the process.


_PATIENCE = 5.0
"""The end of the process waits for handlers for so many seconds at most."""


def drain(timeout: Optional[float] = None) -> int:
    """Waits until every begun request of the process has called its handler; returns how many are
    left.

    Runs the calling thread's handlers meanwhile. In a handler, it does not wait for that handler's
    own request.
    """
    from ._mailbox import current_mailbox

    mailbox = current_mailbox()
    mine = sum(map(_is_running_here, tuple(pending.values())))
    with observing(mailbox):
        mailbox.run_until(lambda: len(pending) <= mine, timeout)
    return max(0, len(pending) - mine)


def finishing(pending: Callable[[], Iterable[Owed]]) -> Iterator[float]:
    """Lets begun requests finish, each for as long as its `exitTimeout` says, and cancels what is
    left then.

    Yields seconds to wait for them, until there is nothing to wait for.
    """
    begun = time.monotonic()
    this_thread = get_ident()
    while True:
        elapsed = time.monotonic() - begun
        timeouts = []
        for owed in pending():
            # To wait for the request whose handler calls this would never end.
            if owed.outcome.runner == this_thread:
                continue
            timeout = owed.exit_timeout
            if timeout > elapsed:
                timeouts.append(timeout)
            else:
                owed.cancel()
        if not timeouts:
            return
        yield max(0.0, begun + min(timeouts) - time.monotonic())


def runs_handler_here(handle: Optional[library.Handle]) -> bool:
    """Whether the calling thread is in a handler of the request with this handle."""
    return handle is not None and any(
        getattr(owed, "handle", None) is handle and _is_running_here(owed)
        for owed in tuple(pending.values())
    )


def _is_running_here(owed: Owed) -> bool:
    return owed.outcome.runner == get_ident()


def _is_attended(mailbox: Mailbox) -> bool:
    """Whether a daemon thread waits for it, or its loop runs. If not, nobody drains it now."""
    if mailbox.is_being_drained:
        return True
    from ._places import is_of_running_loop

    return is_of_running_loop(mailbox)


def _at_exit() -> None:
    """Lets what runs finish, cancels what is left and lets every handler run, while there still is
    an interpreter to run them.

    Afterwards no thread of the library has a reason to call into Python, where it would crash.
    """
    global is_exiting
    is_exiting = True
    # In most programs nothing runs, and the modules for what runs are not even imported.
    is_used = bool(pending) or f"{__package__}._places" in sys.modules
    if is_used:
        _adopt_mailboxes()
        for seconds in finishing(lambda: tuple(pending.values())):
            drain(seconds)
    deadline = time.monotonic() + _PATIENCE
    if is_used:
        _end_handlers(deadline)
    lib.ntapi_drain(max(0.0, deadline - time.monotonic()))
    use_standard_error(timeout=0.5)
    library.is_over.append(True)


def _adopt_mailboxes() -> None:
    """Hands the mailboxes that nobody drains to a worker."""
    from . import _places
    from ._mailbox import main_mailbox

    main = main_mailbox()
    for delivery in tuple(pending.values()):
        for mailbox in delivery.place_mailboxes():
            if mailbox is not main and not _is_attended(mailbox):
                _places.adopt(mailbox)


def _end_handlers(deadline: float) -> None:
    from . import _places

    for delivery in tuple(pending.values()):
        delivery.cancel()
    _adopt_mailboxes()
    drain(deadline - time.monotonic())
    _places.end(max(0.1, deadline - time.monotonic()))


def install() -> None:
    """Registers what happens when the process ends."""
    atexit.register(_at_exit)
