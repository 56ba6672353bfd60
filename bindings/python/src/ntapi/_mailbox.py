"""Mailboxes: how handlers reach the thread that they were asked to run on. Each thread has one."""

from __future__ import annotations

import os
import time
from select import EPOLLIN

from . import _registry
from ._bridge.library import Handle, lib
from ._bridge.native import (
    RLock,
    epoll,
    get_ident,
    greenlets_may_run,
    local,
    main_ident,
    wait_with_others,
)
from ._bridge.signatures import BATCH, RESPONSE, Facts, new_batch
from ._checks import check_timeout, refuse_copy

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterator
    from typing import Any, Callable, NoReturn, Optional

    from ._sync import ThreadCall
    from ._types import Job
else:
    # Without the rest of collections, which takes longer to import than this module.
    from _collections import deque

_LONGEST = 1_000_000.0
"""Seconds, less than epoll's own limit of about 24 days."""


class Mailbox:
    """A place for handlers: the thread that drains it runs them.

    The main thread's and each thread's own are found with `ntapi.mailbox()`; one made with
    `ntapi.Mailbox()` belongs to no thread, but only one may drain it at a time. Its file
    descriptor, `fileno()`, is readable while something waits: add it to any event loop and call
    `drain()`.
    """

    def __init__(self) -> None:
        self._set_up(lib.ntapi_mailbox_create(), None)

    @classmethod
    def _of_thread(cls, pointer: int, owner: Optional[int]) -> Mailbox:
        """A mailbox that only one thread may drain."""
        mailbox = cls.__new__(cls)
        mailbox._set_up(pointer, owner)
        return mailbox

    def _set_up(self, pointer: int, owner: Optional[int]) -> None:
        self._handle = Handle(pointer, lib.ntapi_mailbox_free)
        self.pointer = pointer
        """The C mailbox."""
        self._owner = owner
        # Events as C stored them. The array is put here before C fills it, so that a
        # KeyboardInterrupt right after the call finds them here at the next drain, instead of
        # losing them.
        self._batches: deque[Iterator[Facts]] = deque()
        self._jobs: deque[Job] = deque()
        self._forks = _registry.forks
        self._waker = Waker()
        self._taking = 0
        self._woken = False
        self.sleepers: list[Any] = []
        """The greenlets that wait here, where threads are greenlets."""
        self.may_block = False
        """Whether nobody else runs on the thread that waits here."""
        self._stopping = False
        self._is_orphan = False
        self.is_abandoned = False
        """Whether nobody drains it any more: its thread has ended, or its loop."""
        self.whose = "thread"
        self._adopted: list[Mailbox] = []
        # Held while draining; tells two drainers apart and lets a handler drain again.
        self._draining = RLock()
        self.acquire: Callable[[bool], bool] = self._draining.acquire
        """What `enter` does, for the mailbox's own thread."""
        self.leave: Callable[[], None] = self._draining.release
        """Ends what `enter` began."""
        self._epoll = epoll()
        self._epoll.register(self.event_fd, EPOLLIN)
        self._epoll.register(self._waker.fileno(), EPOLLIN)

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "it belongs to a thread of this process")

    def __repr__(self) -> str:
        whose = f" of a {self.whose}" if self._owner is not None else ""
        return f"<ntapi.Mailbox{whose}, fileno {self.fileno()}>"

    @property
    def event_fd(self) -> int:
        """The descriptor of the C mailbox alone."""
        return int(lib.ntapi_mailbox_fd(self._handle.pointer))

    @property
    def wake_fd(self) -> int:
        """The descriptor of what Python itself put in."""
        return self._waker.fileno()

    @property
    def runs_inline(self) -> bool:
        """As a place: the thread that takes an event here may run its handler."""
        return True

    @property
    def mailbox(self) -> Mailbox:
        """As a place: where its events are delivered."""
        return self

    def fileno(self) -> int:
        """A descriptor that is readable while something waits.

        Watch it for reading only; never read or close it.
        """
        return self._epoll.fileno()

    def post(self, job: Job) -> None:
        """Puts in a job of your own, to be run by the next drain. From any thread."""
        self._jobs.append(job)
        self.wake()

    def wake(self) -> None:
        """Makes a thread that waits here look again."""
        self._waker.wake()
        self._woken = True

    def drain(self) -> int:
        """Runs everything that waits and returns at once when there is nothing.

        Returns how many ran.
        """
        count = 0
        self.enter()
        try:
            # What arrives meanwhile leaves the descriptor readable; a loop that drains on it is not
            # starved.
            self._take()
            count = self._run_responses()
            while self.step(take=False):
                self.check_process()
                count += 1
        except BaseException:
            self.wake_for_more()
            raise
        finally:
            self.leave()
        return count

    def run(self, timeout: Optional[float] = None) -> bool:
        """Runs handlers as they arrive, for `timeout` seconds or until `stop`.

        Returns whether it was stopped.
        """
        stopped = self.run_until(lambda: self._stopping, timeout)
        if stopped:
            self._stopping = False
        return stopped

    def stop(self) -> None:
        """Ends the innermost `run` after its current handler; the next one, if none is running.

        From any thread.
        """
        self._stopping = True
        self.wake()

    def run_until(self, is_over: Callable[[], bool], timeout: Optional[float] = None) -> bool:
        """Runs handlers until `is_over()`, asked after each and after each wake, or until the time
        is over.
        """
        check_timeout(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        self.enter()
        try:
            while not is_over():
                if self.step(take=True):
                    self.check_process()
                    continue
                # Another thread may have made it over after we asked, and woken us before that step
                # cleared the wake: without a second look we would sleep for ever.
                if is_over():
                    break
                remaining = None if deadline is None else deadline - time.monotonic()
                if remaining is not None and remaining <= 0:
                    return is_over()
                # A signal's handler runs inside; a KeyboardInterrupt leaves from here.
                seconds = None if remaining is None else min(remaining, _LONGEST)
                if self.may_block or not greenlets_may_run():
                    self._sleep(seconds)
                else:
                    wait_with_others(self, seconds)
            return True
        except BaseException:
            self.wake_for_more()
            raise
        finally:
            self.leave()

    def wake_for_more(self) -> None:
        """After Ctrl-C, or a handler's SystemExit: what was taken out of C waits for the next turn,
        and the descriptor has to say so.
        """
        if self.has_more and self._forks == _registry.forks:
            self.wake()

    def _sleep(self, seconds: Optional[float]) -> None:
        """Waits until there is something. On a worker of the library, as in an interceptor, another
        worker takes over meanwhile.
        """
        is_worker = lib.ntapi_worker_begin_wait()
        try:
            # PyPy wants a number for ever, too.
            self._epoll.poll(-1 if seconds is None else seconds, 1)
        finally:
            if is_worker:
                lib.ntapi_worker_end_wait()

    def adopt(self, other: Mailbox) -> None:
        """Drains the other with this one from now on, because its own thread has ended.

        This ends when no request delivers there any more. From any thread.
        """

        def take_over() -> None:
            if other is not self and other not in self._adopted:
                other._owner = None
                other._is_orphan = True
                self._adopted.append(other)
                self._epoll.register(other.fileno(), EPOLLIN)

        self.post(take_over)

    @property
    def has_more(self) -> bool:
        """Whether something waits here that was taken from C before."""
        return bool(self._batches or self._jobs)

    @property
    def owner(self) -> Optional[int]:
        """The identifier of the thread that it belongs to."""
        return self._owner

    @property
    def is_being_drained(self) -> bool:
        """Whether another thread drains it now."""
        if not self._draining.acquire(blocking=False):
            return True
        self._draining.release()
        return False

    def enter(self) -> None:
        """Checks that this thread may drain, and keeps other threads out until `leave`."""
        if self._owner is not None and self._owner != get_ident():
            raise RuntimeError("this mailbox belongs to another thread")
        self.check_process()
        if not self._draining.acquire(False):
            raise RuntimeError("another thread is draining this mailbox")

    def check_process(self) -> None:
        """Raises RuntimeError in a child that was forked since the mailbox was made, in one of its
        handlers, say: what waits here is the parent's, and so are the descriptors.
        """
        if self._forks != _registry.forks:
            raise RuntimeError(
                "this process was forked since: the mailbox, and what waits for it, belong to the "
                "parent"
            )

    def _clear_wake(self) -> None:
        """Only when woken: a system call for each drain is worth saving.

        `wake` writes before it sets the flag. The other way round, a drain between the two would
        clear an empty pipe and the late byte would keep the descriptor readable for ever.
        """
        if self._woken:
            self._woken = False
            self._waker.clear()

    def _take(self) -> bool:
        """Fetches what C holds, a whole batch per call; whether there was anything."""
        self._clear_wake()
        for sleeper in self.sleepers:
            sleeper.set()
        found = False
        while True:
            room, events = new_batch()
            self._batches.append(events)
            self._taking += 1
            try:
                count = lib.ntapi_mailbox_take(self._handle.pointer, room, BATCH)
            finally:
                self._taking -= 1
            found = found or count > 0
            if count < BATCH:
                return found

    def _run_responses(self) -> int:
        """Runs the responses that come first of what was taken, and returns how many ran.

        On a loop nearly all events are responses, and this is quicker than `step` for each.
        """
        pending = _registry.pending
        count = 0
        while self._batches and not self._taking and not self._is_orphan:
            batch = self._batches[0]
            # A handler that drains goes on with the same iterator.
            for event in batch:
                owed = pending.get(event[1])
                if event[0] != RESPONSE or owed is None:
                    if not event[0]:
                        break
                    _registry.dispatch(event)
                else:
                    owed.take_response(event)
                    self.check_process()
                count += 1
            if self._batches and self._batches[0] is batch:
                self._batches.popleft()
        return count

    def step(self, take: bool) -> bool:
        """Runs one event or job; False when none waits."""
        while True:
            # While C fills a batch it may run a C program's callback that comes back here: the
            # batch is not ready then.
            while self._batches and not self._taking:
                batch = self._batches[0]
                event = next(batch, None)
                if event is not None and event[0]:
                    if self._is_orphan and event[0] == RESPONSE:
                        self._warn_of_orphan()
                    _registry.dispatch(event)
                    return True
                self._batches.popleft()
            if self._jobs:
                job = self._jobs.popleft()
                job()
                return True
            if self._adopted and self._drain_adopted():
                return True
            if not take:
                return False
            take = self._take()

    def _warn_of_orphan(self) -> None:
        from threading import current_thread

        from ._logging import warn

        warn(
            "a %s has ended before its response came; the handler runs on %s",
            self.whose,
            current_thread().name,
        )

    def _drain_adopted(self) -> bool:
        """Drains the mailboxes of threads that have ended; whether anything ran."""
        found = False
        for other in tuple(self._adopted):
            # At the end of the process its thread may wake up once more and be faster.
            found = (not other.is_being_drained and other.drain() > 0) or found
            if not _registry.delivers_to(other):
                self._adopted.remove(other)
                self._epoll.unregister(other.fileno())
        return found


# A file descriptor that one thread makes readable to wake another.


class Waker:
    """A pipe that holds at most a few bytes: readable from `wake` until `clear`.

    It closes when it is collected, so keep it as long as somebody may call `wake`.
    """

    __slots__ = ("_read", "_write")

    def __init__(self) -> None:
        self._read = self._write = -1
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __del__(self, _close: Callable[[int], None] = os.close) -> None:
        for descriptor in (self._read, self._write):
            if descriptor >= 0:
                _close(descriptor)

    def fileno(self) -> int:
        return self._read

    def wake(self) -> None:
        """Makes it readable. From any thread."""
        try:
            os.write(self._write, b"!")
        except BlockingIOError:
            # Full: it is readable already.
            pass

    def clear(self) -> None:
        """Makes it unreadable until the next wake."""
        try:
            while len(os.read(self._read, 512)) == 512:
                pass
        except BlockingIOError:
            pass


# The mailboxes of the main thread and of each other thread, and running them.


_FIRST_WAIT = 0.05
"""Seconds after which the main thread interrupts its wait for a request for the first time.

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
    """What a forked child has to make again."""

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
    from ._places import adopt

    mailbox = Mailbox._of_thread(lib.ntapi_mailbox_create(), get_ident())
    owner = mailboxes.local.owner = Owner(mailbox)
    weakref.finalize(owner, adopt, mailbox).atexit = False
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
