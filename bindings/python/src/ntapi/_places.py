"""Where handlers run beside the threads of the program: worker threads, executors and event loops.

The workers are `ntapi-background`, which runs handlers, and `ntapi-stream` and `ntapi-refresh`,
which run none, so that a slow handler does not hold up what waits for them.
"""

from __future__ import annotations

import os
import sys
import time
import weakref

from . import _registry
from ._bridge.library import is_over
from ._bridge.native import RLock, Worker
from ._checks import shown
from ._enums import Thread
from ._logging import report, warn
from ._mailbox import Mailbox, adopt_as_current, current_mailbox, main_mailbox

# asyncio and concurrent.futures take several times as long to import as this package. The functions
# that need them import them, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    import concurrent.futures
    from typing import Any, Callable, Optional

    from ._types import Job, Place, PlaceLike, Submit


class _Worker:
    """A daemon thread that drains a mailbox of its own and adopts those of ended threads."""

    def __init__(self, name: str) -> None:
        self.mailbox = Mailbox()
        self._is_ending = False
        # Nothing but its handlers runs on the thread.
        self.mailbox.may_block = True
        self.thread = Worker(self._work, name)

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


_BACKGROUND = "ntapi-background"
_STREAM = "ntapi-stream"
_REFRESH = "ntapi-refresh"
_workers: dict[str, _Worker] = {}
# Re-entrant: a collection may end a thread's mailbox, and so come here, while this thread is here.
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
    """Where handlers run in the background; starts the worker on first use."""
    return _started(_BACKGROUND).mailbox


def stream_mailbox() -> Mailbox:
    """Where the pieces of streams arrive that a thread reads."""
    return _started(_STREAM).mailbox


def worker_mailboxes() -> list[Mailbox]:
    """The mailboxes of the workers that were started."""
    return [worker.mailbox for worker in tuple(_workers.values())]


def refresh_mailbox() -> Mailbox:
    """Where authenticators are asked for a token.

    What is drained there runs nothing of the user's: it starts a thread for each refresh. In the
    background, a handler that takes its time would hold up the requests that wait for the token.
    """
    return _started(_REFRESH).mailbox


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
    """Ends the workers for good, and waits for them."""
    global _has_ended
    deadline = time.monotonic() + timeout
    with _lock:
        _has_ended = True
        ending = tuple(_workers.values())
        _workers.clear()
    for worker in ending:
        worker.end()
    for worker in ending:
        worker.thread.join(max(0.0, deadline - time.monotonic()))


# Places: where a handler runs.


class _Submitting:
    """An executor or loop of the user's. The background thread submits to it."""

    def __init__(self, submit: Submit) -> None:
        self._submit = submit

    @property
    def mailbox(self) -> Mailbox:
        return background_mailbox()

    @property
    def runs_inline(self) -> bool:
        return False

    def post(self, job: Job) -> None:
        def run() -> None:
            try:
                job()
            except BaseException as error:
                # Nobody looks at the executor's own record of it.
                report(error, job)

        try:
            future: Any = self._submit(run)
        except BaseException as error:
            # Shut down or closed. The promise of exactly one call stands.
            warn("%r refuses a handler, which runs in the background: %s", self, error)
            background_mailbox().post(job)
            if not isinstance(error, Exception):
                report(error, self._submit)
            return
        from concurrent.futures import Future

        if isinstance(future, Future):
            future.add_done_callback(lambda done: self._submitted(done, job))

    def _submitted(self, future: concurrent.futures.Future[Any], job: Job) -> None:
        if future.cancelled():
            warn("%r cancelled a handler, which runs in the background", self)
            background_mailbox().post(job)

    def __repr__(self) -> str:
        return f"executor {self._submit!r}"


def check_place(place: object) -> None:
    """Raises TypeError for anything that is not a place."""
    if isinstance(place, (Thread, Mailbox)) or callable(place):
        return
    from concurrent.futures import Executor

    if not isinstance(place, Executor):
        raise TypeError(f"a Thread, Mailbox, executor or function is expected, not {shown(place)}")


def resolve(place: PlaceLike) -> Place:
    """The place that the program named. On the thread that begins the request."""
    if place is Thread.MAIN:
        return main_mailbox()
    if place is Thread.BACKGROUND:
        return background_mailbox()
    if place is Thread.CURRENT:
        return current_mailbox()
    if isinstance(place, Mailbox):
        return place
    from concurrent.futures import Executor

    if isinstance(place, Executor):
        return _Submitting(place.submit)
    return _Submitting(place)


# Event loops: one mailbox for each, drained by the loop itself when its descriptor is readable.


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
        self._mailbox.drain()


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
        weakref.finalize(reader, adopt, mailbox).atexit = False
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


def needed_loop() -> asyncio.AbstractEventLoop:
    """The loop that runs on this thread. Without one, the RuntimeError says what to do."""
    loop = running_loop()
    if loop is None:
        raise no_loop()
    return loop


def no_loop() -> RuntimeError:
    """The error where a loop is needed and none runs."""
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
    """Whether a loop, of whatever thread, runs and drains this mailbox."""
    return any(own is mailbox and loop.is_running() for loop, own in list(_mailboxes.items()))


def _reset_in_child() -> None:
    """In a forked child: the parent's workers are not here, the next use starts others. Its loops
    are the parent's.
    """
    global _lock, _latest
    _workers.clear()
    _lock = RLock()
    _mailboxes.clear()
    _latest = (_no_loop, None)


os.register_at_fork(after_in_child=_reset_in_child)
