"""Each event loop has a mailbox, which it drains when the descriptor is readable."""

from __future__ import annotations

import os
import sys
import weakref

from .mailbox import Mailbox
from .registry import observing
from .threads import adopt

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Callable, Optional

_mailboxes: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Mailbox] = (
    weakref.WeakKeyDictionary()
)


def _no_loop() -> None:
    """Stands in for a weak reference to a loop that is gone."""


# A weak reference to the last loop, and its mailbox. Threads replace the tuple as a whole.
_latest: tuple[Callable[[], object], Optional[Mailbox]] = (_no_loop, None)


class Reader:
    """The loop calls it when its mailbox has something. Only the loop refers to it."""

    __slots__ = ("__weakref__", "_mailbox")

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    def __call__(self) -> None:
        self._mailbox.drain()


def loop_mailbox(loop: asyncio.AbstractEventLoop) -> Mailbox:
    """The mailbox of a loop, made on first use. Runs on the loop's thread."""
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
        # Both descriptors are level-triggered: one turn of the loop takes everything that waits.
        loop.add_reader(mailbox.event_fd, reader)
        loop.add_reader(mailbox.wake_fd, reader)
        # If the loop ends before its requests, the background takes them over. The reader is
        # watched and not the loop, because a closed loop drops its readers, but the program may
        # keep the loop for ever.
        weakref.finalize(reader, adopt, mailbox).atexit = False
        # Add the mailbox after its readers: without them, its events would wait for ever.
        _mailboxes[loop] = mailbox
    return mailbox


def running_loop() -> Optional[asyncio.AbstractEventLoop]:
    """The loop that runs on this thread, or None."""
    module = sys.modules.get("asyncio")
    if module is None:
        return None
    try:
        loop: asyncio.AbstractEventLoop = module.get_running_loop()
    except RuntimeError:
        return None
    return loop


def needed_loop() -> asyncio.AbstractEventLoop:
    """The loop that runs on this thread. Without one, raises a RuntimeError that says what to
    do.
    """
    loop = running_loop()
    if loop is None:
        raise no_loop()
    return loop


def no_loop() -> RuntimeError:
    """The error for a call that needs a running loop."""
    trio = getattr(sys.modules.get("trio"), "lowlevel", None)
    try:
        trio.current_task()  # type: ignore[union-attr]
    except (AttributeError, RuntimeError):
        return RuntimeError(
            "no running event loop: await an AsyncClient inside of asyncio.run(...), or use a "
            "Client, which needs none"
        )
    return RuntimeError(
        "no running event loop of asyncio: an AsyncClient does not support trio. Use a Client on a "
        "thread: `await trio.to_thread.run_sync(client.send, command, *args)`"
    )


def running_mailbox() -> Mailbox:
    """The mailbox of the loop that runs on this thread."""
    return loop_mailbox(needed_loop())


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
    """Whether a running loop, on any thread, drains this mailbox."""
    return any(own is mailbox and loop.is_running() for loop, own in list(_mailboxes.items()))


class _Observer:
    """Wakes a coroutine when a request ends on any thread."""

    def __init__(self) -> None:
        import asyncio

        self._loop = needed_loop()
        self.event = asyncio.Event()

    def wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self.event.set)
        except RuntimeError:
            # The loop is closed: nobody waits there any more.
            pass


async def until(is_over: Callable[[], bool], timeout: Optional[float] = None) -> None:
    """Waits for a condition that becomes true when a request ends on any thread, or for `timeout`
    seconds.
    """
    import asyncio

    async def watch() -> None:
        while not is_over():
            await observer.event.wait()
            observer.event.clear()

    observer = _Observer()
    with observing(observer):
        try:
            await asyncio.wait_for(watch(), timeout)
        except asyncio.TimeoutError:
            pass


def _reset_in_child() -> None:
    """Drops the mailboxes in a forked child: the loops are the parent's."""
    global _latest
    _mailboxes.clear()
    _latest = (_no_loop, None)


os.register_at_fork(after_in_child=_reset_in_child)
