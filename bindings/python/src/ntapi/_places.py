"""Places: where a handler runs, whatever way the user said it."""

from __future__ import annotations

from ._background import background_mailbox
from ._enums import Thread
from ._logging import warn
from ._mailbox import Mailbox
from ._report import report
from ._threads import current_mailbox, main_mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    import concurrent.futures
    from typing import Any

    from ._aliases import Job, PlaceLike, Submit
    from ._protocols import Place


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
            warn("%r refuses a handler, which runs in the background: %s", self, error)
            background_mailbox().post(job)
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
    """Raises TypeError for what is no place."""
    if isinstance(place, (Thread, Mailbox)) or callable(place):
        return
    from concurrent.futures import Executor

    if not isinstance(place, Executor):
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
    from concurrent.futures import Executor

    if isinstance(place, Executor):
        return _Submitting(place.submit)
    return _Submitting(place)
