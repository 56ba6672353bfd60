"""The mailboxes of the program's threads, and the package's own threads.

The package's threads are `ntapi-background`, which runs handlers, and `ntapi-stream` and
`ntapi-refresh`, which run none, so that a slow handler does not delay what they deliver.
"""

from __future__ import annotations

import os
import time

from .._bridge.library import is_over, lib
from .._bridge.logging import from_c, report
from .._bridge.native import RLock, Worker, allocate_lock, get_ident, local, main_ident
from .._bridge.signatures import DestroyFunction
from . import registry
from .mailbox import Mailbox

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from .thread_call import ThreadCall

_FIRST_WAIT = 0.05
"""Seconds after which the main thread first interrupts its wait for a request.

A signal interrupts the wait. But a signal that comes earlier, while the request is built and sent,
interrupts nothing: without this, it would not be handled until the server answers.
"""


class Owner:
    """The state of a thread. It is in the thread's own storage and ends with it; the mailbox may
    outlive both.
    """

    __slots__ = ("__weakref__", "call", "first_wait", "mailbox", "thread")

    def __init__(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox
        self.call: Optional[ThreadCall] = None
        """The request for which the thread waits in C, or waited last."""
        self.thread = get_ident()
        self.first_wait = _FIRST_WAIT if is_main_thread() else -1.0


class Mailboxes:
    """State that a forked child has to make again."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.local = local()
        """Its `owner` is the thread's `Owner`, if it has one: see `current_owner`."""
        self.lock = RLock()
        self.main: Optional[Mailbox] = None


mailboxes = Mailboxes()


def is_main_thread() -> bool:
    """Whether the caller is on the main thread, which handles signals."""
    return get_ident() == main_ident()


def main_mailbox() -> Mailbox:
    """The main thread's mailbox. Only the main thread may drain it."""
    mailbox = mailboxes.main
    if mailbox is None:
        with mailboxes.lock:
            if mailboxes.main is None:
                mailboxes.main = Mailbox._of_thread(lib.ntapi_mailbox_main(), main_ident())
            mailbox = mailboxes.main
    return mailbox


def current_mailbox() -> Mailbox:
    """The calling thread's mailbox, made on first use.

    It comes from ntapi_mailbox_create and is not C's own mailbox of the thread. So the background
    thread can take it over if this thread ends before its requests.
    """
    return current_owner().mailbox


def current_owner() -> Owner:
    """The state of the calling thread, made on first use."""
    owner: Optional[Owner] = getattr(mailboxes.local, "owner", None)
    if owner is not None:
        return owner
    if is_main_thread():
        owner = mailboxes.local.owner = Owner(main_mailbox())
        return owner
    import weakref

    mailbox = Mailbox._of_thread(lib.ntapi_mailbox_create(), get_ident())
    owner = mailboxes.local.owner = Owner(mailbox)
    weakref.finalize(owner, adopt, mailbox).atexit = False
    return owner


class _NoMailbox:
    """Replaces a thread's mailbox during a wait in C. Nothing arrives here."""

    is_deep = True
    has_more = False

    def fileno(self) -> int:
        return -1

    def acquire(self, _: bool) -> bool:
        return True

    def leave(self) -> None:
        pass

    def check_process(self) -> None:
        pass


def owner_for_request() -> Owner:
    """The calling thread's state, which has no mailbox if there is no file descriptor for one: a
    request that the thread waits for needs none.
    """
    try:
        return current_owner()
    except OSError:
        nothing: Any = _NoMailbox()
        return Owner(nothing)


def adopt_as_current(mailbox: Mailbox) -> None:
    """Makes a mailbox the calling thread's own."""
    mailboxes.local.owner = Owner(mailbox)


def mailbox() -> Mailbox:
    """The calling thread's mailbox: `fileno()` for an event loop of your own, `drain()` when it is
    readable.
    """
    return current_mailbox()


def drain_mailbox() -> int:
    """Runs every handler that waits for the calling thread, without blocking. Returns how many
    ran.
    """
    return current_mailbox().drain()


def run(timeout: Optional[float] = None) -> bool:
    """Runs the calling thread's handlers as they arrive, for `timeout` seconds or until `stop`.
    Returns whether it was stopped.
    """
    return current_mailbox().run(timeout)


def stop() -> None:
    """Ends the calling thread's innermost `run` after its current handler.

    To stop another thread, call `stop()` of its mailbox.
    """
    current_mailbox().stop()


# The workers.


class _Worker:
    """A daemon thread that drains its own mailbox and adopts those of ended threads."""

    def __init__(self, name: str) -> None:
        self.mailbox = Mailbox()
        self._is_ending = False
        self._drainer = 0
        """The identifier of the thread that drains the mailbox."""
        self._ended: Any = None
        """Held while a worker of the library drains it, if `go_on` was called."""
        # No greenlets run on this thread.
        self.mailbox.may_block = True
        self.thread = Worker(self._work, name)

    def end(self) -> None:
        self._is_ending = True
        self.mailbox.wake()

    def join(self, timeout: float) -> None:
        """Waits until its thread has ended, for at most `timeout` seconds. Does not wait for a
        handler that blocks.
        """
        if self._ended is None:
            self.thread.join(timeout)
        elif not self.mailbox.is_running:
            self._ended.acquire(timeout=timeout)

    def go_on(self) -> int:
        """Lets a worker of the library drain the mailbox from now on, because a handler does not
        return. Returns the identifier of the thread that is blocked.

        Python starts no threads at its exit any more.
        """
        blocked, self._drainer = self._drainer, 0
        self.mailbox.let_in()
        ended = self._ended = allocate_lock()
        ended.acquire()

        @from_c(DestroyFunction)
        def run(_: object) -> None:
            try:
                self._work()
            finally:
                ended.release()

        # Keep it: C returns into this function.
        _kept.append(run)
        lib.ntapi_run_on_worker(run, None)
        return blocked

    def _work(self) -> None:
        this_thread = self._drainer = get_ident()
        adopt_as_current(self.mailbox)
        forks = registry.forks

        def is_over() -> bool:
            return self._is_ending or self._drainer != this_thread

        while not is_over():
            try:
                self.mailbox.run_until(is_over)
            except BaseException as error:
                if forks != registry.forks:
                    # A handler has forked: this is the child's only thread, and the child ends with
                    # it.
                    return
                # A handler's SystemExit does not end this thread: other requests need it.
                report(error, self._work)


_BACKGROUND = "ntapi-background"
_STREAM = "ntapi-stream"
_REFRESH = "ntapi-refresh"
_workers: dict[str, _Worker] = {}
_kept: list[Any] = []
"""Functions that C calls. They are kept until the process ends."""
# Re-entrant: while a thread holds it, a garbage collection may adopt a mailbox and take it again.
_lock = RLock()
_has_ended = False


def _started(name: str) -> _Worker:
    worker = _workers.get(name)
    if worker is None:
        with _lock:
            worker = _workers.get(name)
            if worker is None:
                if _has_ended or is_over:
                    raise RuntimeError("the interpreter is exiting")
                worker = _Worker(name)
                worker.thread.start()
                _workers[name] = worker
    return worker


def background_mailbox() -> Mailbox:
    """The mailbox for handlers in the background. Starts its thread on first use."""
    return _started(_BACKGROUND).mailbox


def stream_mailbox() -> Mailbox:
    """The mailbox for the pieces of streams that a thread reads. Starts its thread on first use."""
    return _started(_STREAM).mailbox


def worker_mailboxes() -> list[Mailbox]:
    """The mailboxes of the started workers."""
    return [worker.mailbox for worker in tuple(_workers.values())]


def refresh_mailbox() -> Mailbox:
    """The mailbox for refreshes of authenticators. Starts its thread on first use.

    It runs no code of the user: it starts a thread for each refresh. In the background mailbox, a
    slow handler would delay the requests that wait for the token.
    """
    return _started(_REFRESH).mailbox


def adopt(mailbox: Mailbox) -> None:
    """Makes the background drain a mailbox whose thread has ended, while requests deliver there."""
    if os.getpid() != registry.process:
        # In the middle of a fork, in the child: the mailbox is the parent's. Another thread may
        # have held our locks, and threads cannot be started yet.
        return
    mailbox.is_abandoned = True
    if not registry.delivers_to(mailbox):
        return
    try:
        adopter = background_mailbox()
    except RuntimeError:
        # The interpreter is exiting and starts no threads. The main thread still drains.
        adopter = main_mailbox()
    adopter.adopt(mailbox)


def go_on_without_blocked() -> Optional[int]:
    """At exit: if a handler runs in the background, the others no longer wait for it. Returns the
    identifier of its thread.
    """
    worker = _workers.get(_BACKGROUND)
    return worker.go_on() if worker is not None and worker.mailbox.is_running else None


def end(timeout: float) -> None:
    """Ends the workers for good, and waits for them, at most `timeout` seconds."""
    global _has_ended
    deadline = time.monotonic() + timeout
    with _lock:
        _has_ended = True
        ending = tuple(_workers.values())
        _workers.clear()
    for worker in ending:
        worker.end()
    for worker in ending:
        worker.join(max(0.0, deadline - time.monotonic()))


def _reset_in_child() -> None:
    """Runs in a forked child: threads and mailboxes are the parent's. The next use starts new
    workers.
    """
    global _lock
    mailboxes.reset()
    _workers.clear()
    _lock = RLock()


os.register_at_fork(after_in_child=_reset_in_child)
