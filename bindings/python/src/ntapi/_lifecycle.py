"""The process's end and its forks."""

from __future__ import annotations

import atexit
import os
import threading
import time

from . import (
    _background,
    _classes,
    _handles,
    _loops,
    _registry,
    _request,
    _streams,
    _threads,
    codes,
)
from ._library import lib
from ._logging import use_standard_error
from ._mailbox import Mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ._protocols import Owed

_PATIENCE = 5.0
"""Seconds that the end of the process waits for handlers, at most."""


def drain(timeout: Optional[float] = None) -> int:
    """Waits until every begun request of the process has called its handler; returns how many are
    left.

    Runs the calling thread's handlers meanwhile. A calling handler's own request is not waited for.
    """
    mailbox = _threads.current_mailbox()
    mine = sum(map(_is_running_here, tuple(_registry.pending.values())))
    with _registry.observing(mailbox):
        mailbox.run_until(lambda: len(_registry.pending) <= mine, timeout)
    return max(0, len(_registry.pending) - mine)


def _is_running_here(owed: Owed) -> bool:
    return owed.outcome.runner == threading.get_ident()


def _is_attended(mailbox: Mailbox) -> bool:
    """Whether a daemon thread waits for it, or its loop runs; else it does something else."""
    return mailbox.is_being_drained or _loops.is_of_running_loop(mailbox)


def _at_exit() -> None:
    """Cancels what is left and lets every handler run, while there still is an interpreter to run
    them.

    Afterwards no thread of the library has a reason to call into Python, where it would crash.
    """
    deadline = time.monotonic() + _PATIENCE
    _registry.is_exiting = True
    main = _threads.main_mailbox()
    for delivery in tuple(_registry.pending.values()):
        delivery.cancel()
        for mailbox in delivery.place_mailboxes():
            if mailbox is not main and not _is_attended(mailbox):
                _background.adopt(mailbox)
    drain(deadline - time.monotonic())
    _background.end(max(0.1, deadline - time.monotonic()))
    lib.ntapi_drain(max(0.0, deadline - time.monotonic()))
    use_standard_error(timeout=0.5)
    _handles.is_over.append(True)


def _after_fork_in_child() -> None:
    _registry.forget_all()
    _streams.forget_all_sources()
    _threads.reset_in_child()
    _background.reset_in_child()
    _loops.reset_in_child()
    _classes.reset_lock_in_child()
    _request.reset_lock_in_child()
    codes._forget_lock()


def install() -> None:
    """Hooks into the end of the process and into forks."""
    atexit.register(_at_exit)
    os.register_at_fork(after_in_child=_after_fork_in_child)
