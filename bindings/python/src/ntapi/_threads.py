"""The mailboxes of the main thread and of each other thread, and running them."""

from __future__ import annotations

import threading
import weakref

from ._events import Watching
from ._library import lib
from ._mailbox import Mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ._thread_call import ThreadCall

_FIRST_WAIT = 0.05
"""Seconds until the main thread looks up for the first time from a request that it waits for.

A signal that comes while the thread waits interrupts the wait. One that comes before, while the
request is built and sent, interrupts nothing, and would not be seen until the server answers.
"""


class Owner:
    """What a thread has for itself. It lives in the thread's own storage and dies with it; the
    mailbox may outlive both.
    """

    __slots__ = ("__weakref__", "call", "first_wait", "mailbox", "thread", "watching")

    def __init__(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox
        self.call: Optional[ThreadCall] = None
        """The request that the thread waits for in C, or has waited for last."""
        self.thread = threading.get_ident()
        is_main = self.thread == threading.main_thread().ident
        self.first_wait = _FIRST_WAIT if is_main else -1.0
        self.watching = Watching(mailbox.fileno(), self.first_wait)


class _Mailboxes:
    """What a forked child has to make anew."""

    def __init__(self) -> None:
        self.local = threading.local()
        self.lock = threading.RLock()
        self.main: Optional[Mailbox] = None


_mailboxes = _Mailboxes()


def main_mailbox() -> Mailbox:
    """The main thread's. Only the main thread may drain it."""
    mailbox = _mailboxes.main
    if mailbox is None:
        with _mailboxes.lock:
            if _mailboxes.main is None:
                owner = threading.main_thread().ident
                assert owner is not None
                _mailboxes.main = Mailbox._of_thread(lib.ntapi_mailbox_main(), owner)
            mailbox = _mailboxes.main
    return mailbox


def current_mailbox() -> Mailbox:
    """The calling thread's, made on first use.

    It is one of ntapi_mailbox_create and not C's own of the thread, so that the background thread
    can go on with it when this thread ends before its requests do.
    """
    return current_owner().mailbox


def current_owner() -> Owner:
    """What the calling thread has for itself, made on first use."""
    owner: Optional[Owner] = getattr(_mailboxes.local, "owner", None)
    if owner is not None:
        return owner
    identifier = threading.get_ident()
    if identifier == threading.main_thread().ident:
        owner = _mailboxes.local.owner = Owner(main_mailbox())
        return owner
    mailbox = Mailbox._of_thread(lib.ntapi_mailbox_create(), identifier)
    owner = _mailboxes.local.owner = Owner(mailbox)
    weakref.finalize(owner, _orphan, mailbox).atexit = False
    return owner


def adopt_as_current(mailbox: Mailbox) -> None:
    """Makes a mailbox the calling thread's own."""
    _mailboxes.local.owner = Owner(mailbox)


def _orphan(mailbox: Mailbox) -> None:
    """The thread of a mailbox has ended."""
    from . import _background

    _background.adopt(mailbox)


def mailbox() -> Mailbox:
    """The calling thread's mailbox: `fileno()` for an event loop of your own, `drain()` when it is
    readable.
    """
    return current_mailbox()


def drain_mailbox() -> int:
    """Runs every handler that waits for the calling thread; returns at once when none does."""
    return current_mailbox().drain()


def run(timeout: Optional[float] = None) -> bool:
    """Runs the calling thread's handlers as they arrive, for `timeout` seconds or until `stop`.

    Returns whether it was stopped.
    """
    return current_mailbox().run(timeout)


def stop() -> None:
    """Ends the calling thread's innermost `run` after its current handler.

    For another thread's: `mailbox.stop()`.
    """
    current_mailbox().stop()


def reset_in_child() -> None:
    """In a forked child: the parent's threads are gone, and their mailboxes are the parent's."""
    global _mailboxes
    _mailboxes = _Mailboxes()
