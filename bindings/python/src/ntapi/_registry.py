"""The requests whose handlers Python still owes, by the token that C gives back with each event."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

from ._enums import Handler
from ._events import DATA, DECISION, RESPONSE, Facts
from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._mailbox import Mailbox
    from ._protocols import Observer, Owed


# Single operations on these are atomic, and nothing here reads first and writes later on what it
# read.
pending: dict[int, Owed] = {}
_observers: dict[int, Observer] = {}
is_exiting = False
"""Whether the process ends: what is begun from now on by a daemon thread is cancelled at once."""
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
        owed.take_progress(Handler(event[0]), event[3], event[4])


def delivers_to(mailbox: Mailbox) -> bool:
    """Whether a request may still have something for this mailbox."""
    return any(owed.uses(mailbox) for owed in tuple(pending.values()))


@contextlib.contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Wakes the observer after every request that ends meanwhile, on whatever thread."""
    token = new_token()
    _observers[token] = observer
    try:
        yield
    finally:
        del _observers[token]


def ended(token: int) -> None:
    """Says that a request's handler has returned."""
    pending.pop(token, None)
    if _observers:
        for observer in tuple(_observers.values()):
            observer.wake()


def forget_all() -> None:
    """In a forked child: requests that were begun in the parent belong to the parent."""
    pending.clear()
    _observers.clear()
