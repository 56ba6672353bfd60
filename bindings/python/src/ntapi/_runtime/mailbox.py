"""Mailboxes, through which handlers reach the thread that they run on. Each thread has one."""

from __future__ import annotations

import os
import time
from errno import EMFILE
from select import EPOLLIN

from .._bridge.events import BATCH, EVENT_SIZE, NO_EVENT, RESPONSE, Facts, new_batch
from .._bridge.library import Handle, lib
from .._bridge.native import (
    RLock,
    epoll,
    get_ident,
    greenlets_may_run,
    wait_with_others,
)
from . import registry
from .checks import check_timeout, even_without_init, refuse_copy

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any, Callable, NoReturn, Optional

    from .types import Job
else:
    # collections takes longer to import than this module, so import only this part of it.
    from _collections import deque

DEEPEST = 16
"""At most this many handlers run inside one another, each in a wait of the previous one. Without a
limit, handlers that wait would use up the stack.
"""

_LONGEST = 1_000_000.0
"""The longest wait in seconds, below epoll's own limit of about 24 days."""


class Mailbox:
    """A place for handlers: the thread that drains it runs them.

    `ntapi.mailbox()` is the calling thread's own. One made with `ntapi.Mailbox()` belongs to no
    thread, but only one thread may drain it at a time. Its file descriptor, `fileno()`, is readable
    while something waits: add it to any event loop and call `drain()`.
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
        # Events as C stored them. The array is added before C fills it. So a KeyboardInterrupt
        # right after the call loses no events: the next drain finds them here.
        self._batches: deque[Iterator[Facts]] = deque()
        # Each job with the token of its request, or 0.
        self._jobs: deque[tuple[int, Job]] = deque()
        self._next_jobs = iter(self._jobs.popleft, None)
        self._postponed = _Postponed()
        self._depth = 0
        self._forks = registry.forks
        self._waker = Waker()
        self._taking = 0
        self._woken = False
        self.sleepers: list[Any] = []
        """The greenlets that wait here, if threads are greenlets."""
        self.may_block = False
        """Whether no greenlets share the thread that waits here."""
        self._stopping = False
        self._is_orphan = False
        self.is_abandoned = False
        """Whether nobody drains it any more: its thread has ended, or its loop."""
        self.whose = "thread"
        self._adopted: list[Mailbox] = []
        # Held while draining. Keeps a second thread out, but lets a handler drain again.
        self._draining = RLock()
        self.acquire: Callable[[bool], bool] = self._draining.acquire
        """A quick `enter`, for the mailbox's own thread."""
        self.leave: Callable[[], None] = self._draining.release
        """Ends what `enter` began."""
        self._epoll = epoll()
        if self.event_fd < 0:
            raise OSError(EMFILE, os.strerror(EMFILE))
        self._epoll.register(self.event_fd, EPOLLIN)
        self._epoll.register(self._waker.fileno(), EPOLLIN)

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "it belongs to a thread of this process")

    @even_without_init
    def __repr__(self) -> str:
        whose = f" of a {self.whose}" if self._owner is not None else ""
        return f"<ntapi.Mailbox{whose}, fileno {self.fileno()}>"

    @property
    def event_fd(self) -> int:
        """The descriptor of the C mailbox alone."""
        return int(lib.ntapi_mailbox_fd(self._handle.pointer))

    @property
    def wake_fd(self) -> int:
        """The descriptor for what Python itself has added."""
        return self._waker.fileno()

    @property
    def runs_inline(self) -> bool:
        """As a place: whether the thread that takes an event here may run its handler."""
        return True

    @property
    def mailbox(self) -> Mailbox:
        """As a place: the mailbox to which C delivers its events."""
        return self

    def fileno(self) -> int:
        """A descriptor that is readable while something waits.

        Watch it for reading only; never read or close it.
        """
        return self._epoll.fileno()

    def post(self, job: Job, token: int = 0) -> None:
        """Adds a job of your own, which the next drain runs. Called from any thread."""
        self._jobs.append((token, job))
        self.wake()

    def wake(self) -> None:
        """Makes a thread that waits here check its condition again. Called from any thread."""
        self._waker.wake()
        self._woken = True

    def drain(self) -> int:
        """Runs everything that waits, without blocking. Returns how many ran. In a handler that
        runs in 15 others, it runs nothing.
        """
        if self.is_deep:
            return 0
        count = 0
        leave = self.leave
        self.enter()
        try:
            # What arrives meanwhile is left for the next drain, and the descriptor stays readable.
            # So a loop is not starved.
            self._take()
            count = self._run_responses()
            while self.step(take=False):
                self.check_process()
                count += 1
        except BaseException:
            self.wake_for_more()
            raise
        finally:
            leave()
        return count

    def run(self, timeout: Optional[float] = None) -> bool:
        """Runs handlers as they arrive, for `timeout` seconds or until `stop`. Returns whether it
        was stopped. In a handler that runs in 15 others, it only waits.
        """
        stopped = self.run_until(lambda: self._stopping, timeout, ())
        if stopped:
            self._stopping = False
        return stopped

    def stop(self) -> None:
        """Ends the innermost `run` after its current handler; if none is running, the next `run`.

        Called from any thread.
        """
        self._stopping = True
        self.wake()

    @property
    def is_deep(self) -> bool:
        """Whether so many handlers run here inside one another that a wait runs no further ones."""
        return self._depth >= DEEPEST

    def run_until(
        self,
        is_over: Callable[[], bool],
        timeout: Optional[float] = None,
        waits_for: Optional[Collection[int]] = None,
    ) -> bool:
        """Runs handlers until `is_over()`, which is checked after each handler and each wake, or
        for `timeout` seconds. Returns whether it is over.

        A wait names the tokens of the requests that it needs: if it `is_deep`, only their handlers
        run.
        """
        check_timeout(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        leave = self.leave
        self.enter()
        only = waits_for if self.is_deep else None
        try:
            while not is_over():
                if self.step(take=True) if only is None else self._step_of(only):
                    self.check_process()
                    continue
                # Another thread may have made it over after the first check and woken us before the
                # step cleared the wake. Without a second check we would sleep for ever.
                if is_over():
                    break
                remaining = None if deadline is None else deadline - time.monotonic()
                if remaining is not None and remaining <= 0:
                    return is_over()
                # Signal handlers run in here; a KeyboardInterrupt is raised from here.
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
            leave()

    def wake_for_more(self) -> None:
        """After Ctrl-C, or a handler's SystemExit: makes the descriptor readable if something that
        was taken from C still waits.
        """
        if self.has_more and self._forks == registry.forks:
            self.wake()

    def _sleep(self, seconds: Optional[float]) -> None:
        """Waits until there is something. On a worker of the library, as in an interceptor, another
        worker takes its place meanwhile.
        """
        is_worker = lib.ntapi_worker_begin_wait()
        try:
            # PyPy needs a number here, even for no limit.
            for descriptor, _ in self._epoll.poll(-1 if seconds is None else seconds, 1):
                if descriptor == self._waker.fileno():
                    # `wake` may not have set the flag yet, because it needs Python's lock for that.
                    # Without the flag the byte would stay, and this thread would spin meanwhile.
                    self._woken = True
        finally:
            if is_worker:
                lib.ntapi_worker_end_wait()

    def adopt(self, other: Mailbox) -> None:
        """From now on drains another mailbox together with this one, because the other's thread has
        ended.

        This ends when no request delivers there any more. Called from any thread.
        """

        def take_over() -> None:
            if other is not self and other not in self._adopted:
                other._owner = None
                other._is_orphan = True
                self._adopted.append(other)
                self._epoll.register(other.fileno(), EPOLLIN)

        self.post(take_over)

    def let_in(self) -> None:
        """Lets another thread drain it, although the present one has not returned from a handler.
        The present one later releases the old lock.
        """
        self._draining = RLock()
        self.acquire, self.leave = self._draining.acquire, self._draining.release
        self._depth = 0

    @property
    def is_running(self) -> bool:
        """Whether a handler runs here."""
        return self._depth > 0

    @property
    def has_more(self) -> bool:
        """Whether something waits here that was already taken from C."""
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
        """Keeps other threads out until `leave`. Raises RuntimeError if this thread may not
        drain.
        """
        if self._owner is not None and self._owner != get_ident():
            raise RuntimeError("this mailbox belongs to another thread")
        self.check_process()
        if not self._draining.acquire(False):
            raise RuntimeError("another thread is draining this mailbox")

    def check_process(self) -> None:
        """Raises RuntimeError in a child that was forked after the mailbox was made, for example by
        a handler. What waits here, and the descriptors, are the parent's.
        """
        if self._forks != registry.forks:
            raise RuntimeError(
                "this process was forked since: the mailbox, and what waits for it, belong to the "
                "parent"
            )

    def _clear_wake(self) -> None:
        """Empties the pipe, but only after a wake, to save a system call in each drain.

        `wake` writes before it sets the flag. In the other order, a drain between the two would
        clear an empty pipe, and the late byte would keep the descriptor readable for ever.
        """
        if self._woken:
            self._woken = False
            self._waker.clear()

    def _take(self) -> bool:
        """Takes all events from C, a batch at a time. Returns whether there were any."""
        self._clear_wake()
        for sleeper in self.sleepers:
            sleeper.set()
        found = False
        while True:
            room, events = new_batch()
            self._batches.append(events)
            self._taking += 1
            try:
                count = lib.ntapi_mailbox_take(self._handle.pointer, room, EVENT_SIZE, BATCH)
            finally:
                self._taking -= 1
            found = found or count > 0
            if count < BATCH:
                return found

    def _run_responses(self) -> int:
        """Runs responses at the front of what was taken, up to another kind of event. Returns how
        many ran.

        On a loop nearly all events are responses, and this is faster than a `step` for each.
        """
        pending = registry.pending
        count = 0
        while self._batches and not self._taking and not self._is_orphan:
            batch = self._batches[0]
            event: Facts = NO_EVENT
            try:
                # A handler that drains continues with the same iterator.
                for event in batch:
                    owed = pending.get(event[1])
                    if event[0] != RESPONSE or owed is None:
                        if not event[0]:
                            break
                        self._run(event)
                    else:
                        self._depth += 1
                        try:
                            owed.take_response(event)
                        finally:
                            self._depth -= 1
                        self.check_process()
                    count += 1
            except BaseException:
                registry.recover(event[1], event[0], self._depth > 0)
                raise
            if self._batches and self._batches[0] is batch:
                self._batches.popleft()
        return count

    def step(self, take: bool) -> bool:
        """Runs one event or job. Returns False if none waits."""
        while True:
            # While C fills a batch, it may run a C program's callback that comes back here: then
            # the batch is not ready.
            while self._batches and not self._taking:
                event: Facts = NO_EVENT
                try:
                    # Not `next`: a signal may come at the end of a call, and the event be lost.
                    for event in self._batches[0]:  # noqa: B007 - used after the loop
                        break
                    if event[0]:
                        self._run(event)
                        return True
                except BaseException:
                    registry.recover(event[1], event[0], self._depth > 0)
                    raise
                self._batches.popleft()
            if self._jobs:
                self._run_first_job()
                return True
            if self._adopted and self._drain_adopted():
                return True
            if not take:
                return False
            take = self._take()

    def _step_of(self, tokens: Collection[int]) -> bool:
        """As `step`, for these requests only. What belongs to others stays here."""
        self._take()
        postponed = self._postponed
        while self._batches and not self._taking:
            batch = self._batches[0]
            if batch is not postponed:
                for passed in batch:
                    if passed[0]:
                        postponed.add(passed)
            if self._batches and self._batches[0] is batch:
                self._batches.popleft()
        event = postponed.take(tokens)
        if postponed.events:
            self._batches.appendleft(postponed)
        if event is not None:
            try:
                self._run(event)
            except BaseException:
                registry.recover(event[1], event[0], self._depth > 0)
                raise
            return True
        if self._move_to_front(tokens):
            self._run_first_job()
            return True
        return any(
            other._step_of(tokens) for other in tuple(self._adopted) if not other.is_being_drained
        )

    def _move_to_front(self, tokens: Collection[int]) -> bool:
        """Moves the first job of these requests to the front. Returns whether there is one."""
        # Other threads may add jobs meanwhile.
        for index, (token, _) in enumerate(tuple(self._jobs)):
            if token in tokens:
                found = self._jobs[index]
                del self._jobs[index]
                self._jobs.appendleft(found)
                return True
        return False

    def _run(self, event: Facts) -> None:
        if self._is_orphan and event[0] == RESPONSE:
            self._warn_of_orphan()
        self._depth += 1
        try:
            registry.dispatch(event)
        finally:
            self._depth -= 1

    def _run_first_job(self) -> None:
        token = 0
        job: Optional[Job] = None
        self._depth += 1
        try:
            try:
                # Not `popleft`: a signal may come at the end of a call, and the job be lost.
                for token, job in self._next_jobs:  # noqa: B007 - used after the loop
                    break
            except IndexError:
                # A signal handler has run it.
                pass
            if job is not None:
                job()
        except BaseException:
            registry.recover(token, 0, self._depth > 1)
            raise
        finally:
            self._depth -= 1

    def _warn_of_orphan(self) -> None:
        from threading import current_thread

        from .._bridge.logging import warn

        warn(
            "a %s has ended before its response came; the handler runs on %s",
            self.whose,
            current_thread().name,
        )

    def _drain_adopted(self) -> bool:
        """Drains the mailboxes of threads that have ended. Returns whether anything ran."""
        found = False
        for other in tuple(self._adopted):
            # At the end of the process, the mailbox's own thread may wake up once more and drain it
            # first.
            self._depth += 1
            try:
                found = (not other.is_being_drained and other.drain() > 0) or found
            finally:
                self._depth -= 1
            if not registry.delivers_to(other):
                self._adopted.remove(other)
                self._epoll.unregister(other.fileno())
        return found


class _Postponed:
    """A batch of events that a deep wait has passed over, by the tokens of their requests."""

    def __init__(self) -> None:
        self.events: dict[int, deque[Facts]] = {}
        self._tokens: deque[int] = deque()
        """The token of each event, in order. It stays here after `take` has taken the event."""

    def add(self, event: Facts) -> None:
        self.events.setdefault(event[1], deque()).append(event)
        self._tokens.append(event[1])

    def take(self, tokens: Iterable[int]) -> Optional[Facts]:
        """Takes the first event of one of these requests."""
        for token in tokens:
            events = self.events.get(token)
            if events:
                event = events.popleft()
                if not events:
                    del self.events[token]
                return event
        return None

    def __iter__(self) -> Iterator[Facts]:
        return self

    def __next__(self) -> Facts:
        while self._tokens:
            event = self.take((self._tokens.popleft(),))
            if event is not None:
                return event
        raise StopIteration


# A file descriptor that one thread makes readable to wake another.


class Waker:
    """A pipe that holds at most a few bytes: readable from `wake` until `clear`.

    It closes when it is collected, so keep it while a thread may call `wake`.
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
        """Makes it readable. Called from any thread."""
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
