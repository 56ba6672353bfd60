"""The requests whose handlers Python still owes, by the token that C gives back with each event."""

from __future__ import annotations

import itertools
import os

from ._bridge.library import lib
from ._bridge.signatures import DATA, DECISION, RESPONSE, Facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._mailbox import Mailbox
    from ._types import Observer, Owed

# Single operations on these are atomic, and nothing here reads first and writes later on what it
# read.
pending: dict[int, Owed] = {}
observers: dict[int, Observer] = {}
is_exiting = False
"""Whether the process ends: what is begun from now on by a daemon thread is cancelled at once."""
forks = 0
"""How often this process was forked from one that used the package."""
_tokens = itertools.count(1)


def new_token() -> int:
    """A number that C gives back; a late event for one that is gone finds nothing, not garbage."""
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
    """Tells who waits for the end of a request that there was one."""
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
