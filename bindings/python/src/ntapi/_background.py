"""The worker thread of the package, `ntapi-background`."""

from __future__ import annotations

import os
import threading

from . import _registry
from ._handles import is_over
from ._mailbox import Mailbox
from ._report import report
from ._threads import adopt_as_current, main_mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


class _Worker:
    """A daemon thread that drains a mailbox of its own and adopts those of ended threads."""

    def __init__(self) -> None:
        self.mailbox = Mailbox()
        self._is_ending = False
        self.thread = threading.Thread(target=self._work, name="ntapi-background", daemon=True)

    def end(self) -> None:
        self._is_ending = True
        self.mailbox.wake()

    def _work(self) -> None:
        adopt_as_current(self.mailbox)
        forks = _registry.forks
        while not self._is_ending:
            try:
                self.mailbox.run_until(lambda: self._is_ending)
            except BaseException as error:
                if forks != _registry.forks:
                    # A handler has forked: the child ends with its only thread.
                    return
                # A handler's SystemExit ends nothing here: other requests wait for this thread.
                report(error, self._work)


_worker: Optional[_Worker] = None
# Re-entrant: a collection may end a thread's mailbox, and so come here, while this thread is here.
_lock = threading.RLock()
_has_ended = False


def _started() -> _Worker:
    global _worker
    worker = _worker
    if worker is None:
        with _lock:
            if _worker is None:
                if _has_ended or is_over:
                    raise RuntimeError("the interpreter is exiting")
                starting = _Worker()
                starting.thread.start()
                _worker = starting
            worker = _worker
    return worker


def background_mailbox() -> Mailbox:
    """The worker's mailbox; starts the worker on first use."""
    return _started().mailbox


def adopt(mailbox: Mailbox) -> None:
    """Goes on with a mailbox whose thread has ended, when requests still deliver there."""
    mailbox.is_abandoned = True
    if not _registry.delivers_to(mailbox):
        return
    try:
        adopter = background_mailbox()
    except RuntimeError:
        # The interpreter is exiting and starts no threads any more. The main thread still drains.
        adopter = main_mailbox()
    adopter.adopt(mailbox)


def end(timeout: float) -> None:
    """Ends the worker, for ever, and waits for it."""
    global _worker, _has_ended
    with _lock:
        _has_ended = True
        worker, _worker = _worker, None
    if worker is not None:
        worker.end()
        worker.thread.join(timeout)


def _reset_in_child() -> None:
    """In a forked child: the parent's worker is not here; the next use starts one."""
    global _worker, _lock
    _worker = None
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_reset_in_child)
