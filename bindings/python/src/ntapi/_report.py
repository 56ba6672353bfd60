"""Exceptions that nobody waits for: reported through sys.unraisablehook, never lost."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class _Report:
    """Stands in for a handler: the interpreter calls it as a weak reference's callback and reports
    what it raises.

    sys.unraisablehook wants an argument that only the interpreter can make; this is the way to have
    it made.
    """

    __slots__ = ("__weakref__", "error", "source")

    def __init__(self, error: BaseException, source: object) -> None:
        self.error = error
        self.source = source

    def __call__(self, _: object) -> None:
        error = self.error
        del self.error
        raise error

    def __repr__(self) -> str:
        return repr(self.source)


def report(error: BaseException, source: object) -> None:
    """Reports an exception that a handler or hook of the user's, `source`, did not catch."""

    from weakref import ref

    class Target:
        pass

    target = Target()
    reference: Any = ref(target, _Report(error, source))
    del target
    del reference


def call_reporting(function: Any, *arguments: Any) -> None:
    """Calls the user's function.

    KeyboardInterrupt and SystemExit pass through, other exceptions are reported.
    """
    try:
        function(*arguments)
    except Exception as error:
        report(error, function)


_tasks: set[Any] = set()
"""What runs on a loop, which itself refers to it weakly."""


def run_on_this_loop(coroutine: Any, failed: Callable[[Exception], object]) -> None:
    """Runs the coroutine of a handler of the user's on the loop of this thread, and hands over what
    it raises.

    Raises RuntimeError where there is none.
    """
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        coroutine.close()
        raise RuntimeError("an async handler needs an AsyncClient, and its loop") from None

    async def run() -> None:
        try:
            await coroutine
        except Exception as error:
            failed(error)

    task = loop.create_task(run())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
