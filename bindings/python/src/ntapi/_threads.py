"""The mailboxes of the main thread and of each other thread, and running them."""

from __future__ import annotations

import os

from ._library import lib
from ._mailbox import Mailbox
from ._native import RLock, get_ident, local, main_ident

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

    __slots__ = ("__weakref__", "call", "first_wait", "mailbox", "thread")

    def __init__(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox
        self.call: Optional[ThreadCall] = None
        """The request that the thread waits for in C, or has waited for last."""
        self.thread = get_ident()
        self.first_wait = _FIRST_WAIT if is_main_thread() else -1.0


class Mailboxes:
    """What a forked child has to make anew."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.local = local()
        """Its `owner` is the thread's, if it has one: see `current_owner`."""
        self.lock = RLock()
        self.main: Optional[Mailbox] = None


mailboxes = Mailboxes()


def is_main_thread() -> bool:
    """Whether the caller is the main thread, on which signals are handled."""
    return get_ident() == main_ident()


def main_mailbox() -> Mailbox:
    """The main thread's. Only the main thread may drain it."""
    mailbox = mailboxes.main
    if mailbox is None:
        with mailboxes.lock:
            if mailboxes.main is None:
                mailboxes.main = Mailbox._of_thread(lib.ntapi_mailbox_main(), main_ident())
            mailbox = mailboxes.main
    return mailbox


def current_mailbox() -> Mailbox:
    """The calling thread's, made on first use.

    It is one of ntapi_mailbox_create and not C's own of the thread, so that the background thread
    can go on with it when this thread ends before its requests do.
    """
    return current_owner().mailbox


def current_owner() -> Owner:
    """What the calling thread has for itself, made on first use."""
    owner: Optional[Owner] = getattr(mailboxes.local, "owner", None)
    if owner is not None:
        return owner
    if is_main_thread():
        owner = mailboxes.local.owner = Owner(main_mailbox())
        return owner
    import weakref

    # Here and not in the finaliser, which may run in a forked child while the lock of an import is
    # held by a thread of the parent: it would wait for ever.
    from . import _background

    mailbox = Mailbox._of_thread(lib.ntapi_mailbox_create(), get_ident())
    owner = mailboxes.local.owner = Owner(mailbox)
    weakref.finalize(owner, _background.adopt, mailbox).atexit = False
    return owner


def adopt_as_current(mailbox: Mailbox) -> None:
    """Makes a mailbox the calling thread's own."""
    mailboxes.local.owner = Owner(mailbox)


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


def _reset_in_child() -> None:
    """In a forked child: the parent's threads are gone, and their mailboxes are the parent's."""
    mailboxes.reset()


os.register_at_fork(after_in_child=_reset_in_child)
