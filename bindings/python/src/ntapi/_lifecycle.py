"""The process's end."""

from __future__ import annotations

import atexit
import sys
import time

from . import _registry
from ._bridge import library
from ._bridge.library import lib
from ._bridge.native import get_ident
from ._logging import use_standard_error
from ._session import finishing

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ._mailbox import Mailbox
    from ._types import Owed

_PATIENCE = 5.0
"""Seconds that the end of the process waits for handlers, at most."""


def drain(timeout: Optional[float] = None) -> int:
    """Waits until every begun request of the process has called its handler; returns how many are
    left.

    Runs the calling thread's handlers meanwhile. A calling handler's own request is not waited for.
    """
    from ._threads import current_mailbox

    mailbox = current_mailbox()
    mine = sum(map(_is_running_here, tuple(_registry.pending.values())))
    with _registry.observing(mailbox):
        mailbox.run_until(lambda: len(_registry.pending) <= mine, timeout)
    return max(0, len(_registry.pending) - mine)


def _is_running_here(owed: Owed) -> bool:
    return owed.outcome.runner == get_ident()


def _is_attended(mailbox: Mailbox) -> bool:
    """Whether a daemon thread waits for it, or its loop runs; else it does something else."""
    if mailbox.is_being_drained:
        return True
    from ._loops import is_of_running_loop

    return is_of_running_loop(mailbox)


def _at_exit() -> None:
    """Lets what runs finish, cancels what is left and lets every handler run, while there still is
    an interpreter to run them.

    Afterwards no thread of the library has a reason to call into Python, where it would crash.
    """
    _registry.is_exiting = True
    # Most programs have nothing that runs, and what that needs not even imported.
    is_used = bool(_registry.pending) or f"{__package__}._background" in sys.modules
    if is_used:
        _adopt_mailboxes()
        for seconds in finishing(lambda: tuple(_registry.pending.values())):
            drain(seconds)
    deadline = time.monotonic() + _PATIENCE
    if is_used:
        _end_handlers(deadline)
    lib.ntapi_drain(max(0.0, deadline - time.monotonic()))
    use_standard_error(timeout=0.5)
    library.is_over.append(True)


def _adopt_mailboxes() -> None:
    """Hands what nobody runs to a worker."""
    from . import _background
    from ._threads import main_mailbox

    main = main_mailbox()
    for delivery in tuple(_registry.pending.values()):
        for mailbox in delivery.place_mailboxes():
            if mailbox is not main and not _is_attended(mailbox):
                _background.adopt(mailbox)


def _end_handlers(deadline: float) -> None:
    from . import _background

    for delivery in tuple(_registry.pending.values()):
        delivery.cancel()
    _adopt_mailboxes()
    drain(deadline - time.monotonic())
    _background.end(max(0.1, deadline - time.monotonic()))


def install() -> None:
    """Hooks into the end of the process."""
    atexit.register(_at_exit)
