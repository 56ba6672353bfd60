"""Places: where a handler runs, whatever way the user said it."""

from __future__ import annotations

import concurrent.futures
import logging
from typing import Any, Callable, Protocol, Union

from ._background import background_mailbox
from ._enums import Thread
from ._mailbox import Job, Mailbox
from ._report import report
from ._threads import current_mailbox, main_mailbox

_logger = logging.getLogger("ntapi")

Submit = Callable[[Job], object]
PlaceLike = Union[Thread, Mailbox, concurrent.futures.Executor, Submit]
"""A thread of `Thread`, a mailbox, an executor, or any function that takes a job, such as
loop.call_soon_threadsafe.
"""


class Place(Protocol):
    """Where a handler runs."""

    @property
    def mailbox(self) -> Mailbox:
        """Where C delivers its events."""

    @property
    def runs_inline(self) -> bool:
        """Whether the thread that drains that mailbox is already the right one."""

    def post(self, job: Job) -> None:
        """Runs a job there. From any thread."""


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
        except Exception as error:
            # Shut down or closed. The promise of exactly one call stands.
            _logger.warning("%r refuses a handler, which runs in the background: %s", self, error)
            background_mailbox().post(job)
            return
        if isinstance(future, concurrent.futures.Future):
            future.add_done_callback(lambda done: self._submitted(done, job))

    def _submitted(self, future: concurrent.futures.Future[Any], job: Job) -> None:
        if future.cancelled():
            _logger.warning("%r cancelled a handler, which runs in the background", self)
            background_mailbox().post(job)

    def __repr__(self) -> str:
        return f"executor {self._submit!r}"


def check_place(place: object) -> None:
    """Raises TypeError for what is no place."""
    known = (Thread, Mailbox, concurrent.futures.Executor)
    if not isinstance(place, known) and not callable(place):
        raise TypeError(f"a Thread, Mailbox, executor or function is expected, not {place!r}")


def resolve(place: PlaceLike) -> Place:
    """What the user said, as a place. On the thread that begins the request."""
    if place is Thread.MAIN:
        return main_mailbox()
    if place is Thread.BACKGROUND:
        return background_mailbox()
    if place is Thread.CURRENT:
        return current_mailbox()
    if isinstance(place, Mailbox):
        return place
    if isinstance(place, concurrent.futures.Executor):
        return _Submitting(place.submit)
    return _Submitting(place)
