"""One mailbox for each asyncio loop, drained by the loop itself when its descriptor is readable."""

from __future__ import annotations

import os
import sys
import weakref

from . import _background
from ._mailbox import Mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Callable, Optional

_mailboxes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Mailbox] = (
    weakref.WeakKeyDictionary()
)


def _no_loop() -> None:
    """Stands for a weak reference to a loop that has gone."""


# The loop that asked last, weakly, and its mailbox: one tuple, which other threads replace whole.
_latest: tuple[Callable[[], object], Optional[Mailbox]] = (_no_loop, None)


class Reader:
    """What a loop calls when its mailbox has something. Only the loop refers to it."""

    __slots__ = ("__weakref__", "_mailbox")

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    def __call__(self) -> None:
        mailbox = self._mailbox
        try:
            mailbox.drain()
        except BaseException:
            # Ctrl-C, or a handler's SystemExit: what was taken out of C waits for the next turn.
            if mailbox.has_more:
                mailbox.wake()
            raise


def loop_mailbox(loop: asyncio.AbstractEventLoop) -> Mailbox:
    """The mailbox of a loop, made on first use. On the loop's thread."""
    global _latest
    reference, latest = _latest
    if latest is not None and reference() is loop:
        return latest
    mailbox = _made_mailbox(loop)
    _latest = (weakref.ref(loop), mailbox)
    return mailbox


def _made_mailbox(loop: asyncio.AbstractEventLoop) -> Mailbox:
    mailbox = _mailboxes.get(loop)
    if mailbox is None:
        mailbox = Mailbox()
        mailbox.whose = "loop"
        reader = Reader(mailbox)
        # Two descriptors, both level-triggered: one turn of the loop takes everything that waits.
        loop.add_reader(mailbox.event_fd, reader)
        loop.add_reader(mailbox.wake_fd, reader)
        # When the loop goes before its requests do, the background goes on with them. A loop that
        # is closed drops its readers, though somebody may keep the loop itself for ever.
        weakref.finalize(reader, _background.adopt, mailbox).atexit = False
        # Not before it has its readers: what waits for one without them waits for ever.
        _mailboxes[loop] = mailbox
    return mailbox


def running_loop() -> Optional[asyncio.AbstractEventLoop]:
    """The loop that runs on this thread, if there is one."""
    module = sys.modules.get("asyncio")
    if module is None:
        return None
    try:
        loop: asyncio.AbstractEventLoop = module.get_running_loop()
    except RuntimeError:
        return None
    return loop


def running_mailbox() -> Mailbox:
    """The mailbox of the loop that runs on this thread."""
    import asyncio

    return loop_mailbox(asyncio.get_running_loop())


def is_loop_mailbox_here(mailbox: Mailbox) -> bool:
    """Whether the loop that runs on this thread drains this mailbox."""
    if not _mailboxes:
        return False
    import asyncio

    try:
        return _mailboxes.get(asyncio.get_running_loop()) is mailbox
    except RuntimeError:
        return False


def is_of_running_loop(mailbox: Mailbox) -> bool:
    """Whether a loop, of whatever thread, runs and drains this mailbox."""
    return any(own is mailbox and loop.is_running() for loop, own in list(_mailboxes.items()))


def _reset_in_child() -> None:
    """In a forked child: the parent's loops are the parent's."""
    global _latest
    _latest = (_no_loop, None)
    _mailboxes.clear()


os.register_at_fork(after_in_child=_reset_in_child)
