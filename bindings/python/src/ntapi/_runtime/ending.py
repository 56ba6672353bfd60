"""The end of the process, and waiting for all of its requests."""

from __future__ import annotations

import sys
import time

from .._bridge import library
from .._bridge.library import lib
from .._bridge.native import get_ident

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Callable, Optional

    from .mailbox import Mailbox
    from .registry import Owed

_PATIENCE = 5.0
"""At the end of the process, wait at most this many seconds for handlers."""
_PATIENCE_FOR_CALLS = 2.0
"""After this many seconds, responses no longer wait for a body, an interceptor, a hook or other
code of the program that has not returned.
"""
_STEP = 0.1
"""After this many seconds more, a handler or hook that runs in the background counts as blocked."""


def drain(timeout: Optional[float] = None) -> int:
    """Waits until every begun request of the process has called its handler, or for `timeout`
    seconds. Returns how many requests are left.

    Runs the calling thread's handlers meanwhile. If a handler calls this, its own request is not
    waited for. If 16 handlers wait inside one another, this returns at once.
    """
    from .registry import is_running_here, observing, pending
    from .threads import current_mailbox

    mailbox = current_mailbox()
    mine = sum(map(is_running_here, tuple(pending.values())))
    with observing(mailbox):
        mailbox.run_until(lambda: mailbox.is_deep or len(pending) <= mine, timeout)
    return max(0, len(pending) - mine)


def finishing(pending: Callable[[], Iterable[Owed]]) -> Iterator[float]:
    """Lets begun requests finish, each for the seconds of its `exitTimeout`, and then cancels the
    rest.

    Yields the seconds to wait next, until there is nothing to wait for.
    """
    begun = time.monotonic()
    this_thread = get_ident()
    while True:
        elapsed = time.monotonic() - begun
        timeouts = []
        for owed in pending():
            # Waiting for the request whose handler calls this would never end.
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


def _is_attended(mailbox: Mailbox) -> bool:
    """Whether a daemon thread or a running loop drains the mailbox. If not, nobody does."""
    if mailbox.is_being_drained:
        return True
    from .loops import is_of_running_loop

    return is_of_running_loop(mailbox)


def _end_requests() -> None:
    """Lets requests finish, cancels the rest and runs every handler, before the interpreter
    ends.
    """
    # In most programs no request is left, and these modules were never imported.
    from . import registry

    registry.is_exiting = True
    threads = sys.modules.get(f"{__package__}.threads")
    is_used = threads is not None and bool(registry.pending or threads.worker_mailboxes())
    if is_used:
        _adopt_mailboxes()
        for seconds in finishing(lambda: tuple(registry.pending.values())):
            drain(seconds)
    deadline = time.monotonic() + _PATIENCE
    if is_used:
        _end_handlers(deadline)
    lib.ntapi_drain(max(0.0, deadline - time.monotonic()))


def _go_on_without_blocked() -> None:
    from .registry import pending
    from .threads import go_on_without_blocked

    blocked = go_on_without_blocked()
    if blocked is not None:
        for owed in tuple(pending.values()):
            owed.go_on_without(blocked)


def _adopt_mailboxes() -> None:
    """Gives the mailboxes that nobody drains to a worker."""
    from .registry import pending
    from .threads import adopt, main_mailbox

    main = main_mailbox()
    for owed in tuple(pending.values()):
        for mailbox in owed.place_mailboxes():
            if mailbox is not main and not _is_attended(mailbox):
                adopt(mailbox)


def _end_handlers(deadline: float) -> None:
    from .registry import pending
    from .threads import end

    for owed in tuple(pending.values()):
        owed.cancel()
    _adopt_mailboxes()
    if drain(_PATIENCE_FOR_CALLS):
        lib.ntapi_stop_waiting_for_calls()
        while drain(_STEP) and time.monotonic() < deadline:
            _go_on_without_blocked()
    end(max(0.1, deadline - time.monotonic()))


library.endings.append(_end_requests)
