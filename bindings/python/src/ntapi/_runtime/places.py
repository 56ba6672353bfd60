"""Places in which handlers run: a thread of the package or the program, an executor, a function."""

from __future__ import annotations

from .._bridge.enums import Thread
from .._bridge.logging import report, warn
from .checks import member_to_write, shown
from .mailbox import Mailbox
from .threads import background_mailbox, current_mailbox, main_mailbox

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import concurrent.futures
    from typing import Any

    from .types import Job, Place, PlaceLike, Submit


class _Submitting:
    """An executor or loop of the program. The background thread submits jobs to it."""

    def __init__(self, submit: Submit) -> None:
        self._submit = submit

    @property
    def mailbox(self) -> Mailbox:
        return background_mailbox()

    @property
    def runs_inline(self) -> bool:
        return False

    def post(self, job: Job, token: int = 0) -> None:
        def run() -> None:
            try:
                job()
            except BaseException as error:
                # Nobody reads the executor's own future.
                report(error, job)

        try:
            future: Any = self._submit(run)
        except BaseException as error:
            # It was shut down or closed. Run the job in the background: a handler is called exactly
            # once.
            warn("%r refuses a handler, which runs in the background: %s", self, error)
            background_mailbox().post(job, token)
            if not isinstance(error, Exception):
                report(error, self._submit)
            return
        from concurrent.futures import Future

        if isinstance(future, Future):
            future.add_done_callback(lambda done: self._submitted(done, job, token))

    def _submitted(self, future: concurrent.futures.Future[Any], job: Job, token: int) -> None:
        if future.cancelled():
            warn("%r cancelled a handler, which runs in the background", self)
            background_mailbox().post(job, token)

    def __repr__(self) -> str:
        return f"executor {self._submit!r}"


def check_place(place: object) -> None:
    """Raises TypeError for anything that is not a place."""
    if isinstance(place, (Thread, Mailbox)) or callable(place):
        return
    from concurrent.futures import Executor

    if not isinstance(place, Executor):
        problem = f"a Thread, Mailbox, executor or function is expected, not {shown(place)}"
        raise TypeError(problem + member_to_write(place, Thread))


def resolve(place: PlaceLike) -> Place:
    """The place that the program named. Runs on the thread that begins the request."""
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
