"""What a loop calls when its mailbox has something.

The coroutines whose responses have come go on from here: a future has the loop call each one later,
by a handle of its own, which costs as much as all that Python does for the request beside it.
"""

from __future__ import annotations

from asyncio import _get_running_loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future
    from collections import deque
    from typing import Any

    from ._mailbox import Mailbox
    from ._response import Response
else:
    from _collections import deque


class Reader:
    """Only the loop refers to it."""

    __slots__ = ("__weakref__", "_mailbox")

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    def __call__(self) -> None:
        mailbox = self._mailbox
        loop = _get_running_loop()
        # In debug mode a loop says of each handle how long it took. One that coroutines may run
        # again, as notebooks patch it, has to know of every answer before.
        if loop is None or loop.get_debug() or hasattr(loop, "_nest_patched"):
            mailbox.drain()
            return
        answered: deque[tuple[Future[Response], Response]] = deque()
        # No other thread drains it meanwhile, and has its answers here.
        mailbox.enter()
        mailbox.answered = answered
        try:
            mailbox.drain()
        except BaseException:
            leave_to_loop(answered)
            raise
        finally:
            # What drains from now on, in a coroutine that goes on, leaves its answers to the loop.
            mailbox.answered = None
            mailbox.leave()
        go_on(answered)


def go_on(answered: deque[tuple[Future[Response], Response]]) -> None:
    """Gives the futures their results, and runs those that wait for them. In no task."""
    task: Any = None
    try:
        while answered:
            waiter, response = answered[0]
            # Nobody waits for one that was cancelled with its task. An implementation of futures
            # that does not say who waits, or says it of several, is left to tell them.
            callbacks = getattr(waiter, "_callbacks", None)
            if not callbacks or len(callbacks) != 1:
                answer(*answered.popleft())
                continue
            task, context = callbacks[0]
            waiter.remove_done_callback(task)
            waiter.set_result(response)
            answered.popleft()
            wake, task = task, None
            context.run(wake, waiter)
    except BaseException:
        # Ctrl-C, or a task's SystemExit. The others are not forgotten.
        if task is not None:
            waiter.remove_done_callback(task)
            waiter.add_done_callback(task, context=context)
        leave_to_loop(answered)
        raise


def leave_to_loop(answered: deque[tuple[Future[Response], Response]]) -> None:
    """Has the loop tell all who wait."""
    while answered:
        answer(*answered.popleft())


def answer(waiter: Future[Response], response: Response) -> None:
    """Has the loop tell who waits."""
    # It may be done, cancelled with its task.
    if not waiter.done():
        try:
            waiter.set_result(response)
        except RuntimeError:
            # The loop is closed: nobody waits there any more.
            pass
