"""Sends the library's log lines to Python's logging, under the name "ntapi".

Like other Python libraries, it prints nothing by itself: the logger has a NullHandler, and the
program configures logging. The level of the logger decides what is logged.
"""

from __future__ import annotations

import atexit
from sys import modules

from .library import Handle, endings, is_over, lib
from .native import allocate_lock, get_ident, keep, main_ident
from .signatures import DestroyFunction, LogFunction

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    from _thread import LockType
    from collections.abc import Sequence
    from typing import Any, Callable, Optional


_NAME = "ntapi"
_DEBUG, _INFO, _WARNING, _ERROR = 10, 20, 30, 40
"""Numbers from the documentation of logging."""
_LEVELS = {1: _DEBUG, 2: _INFO, 4: _WARNING, 8: _ERROR}
_logger: Optional[logging.Logger] = None
_followed = _WARNING
"""The level that C has. Initially C logs warnings and errors."""
_installed: dict[int, LockType] = {}
"""C's current sink, with a lock that is held until the sink's last call has returned."""


def find_logger() -> Optional[logging.Logger]:
    """The logger; None until the program imports logging. Most programs never do, and without it
    nobody can read a line.
    """
    global _logger
    if _logger is None:
        module = modules.get("logging")
        # Another thread may be importing it right now.
        if module is None or not hasattr(module, "getLogger"):
            return None
        logger: logging.Logger = module.getLogger(_NAME)
        if not any(isinstance(handler, module.NullHandler) for handler in logger.handlers):
            # Without a handler, logging would print warnings to standard error.
            logger.addHandler(module.NullHandler())
        _logger = logger
    return _logger


def follow_levels() -> None:
    """Makes C log at the logger's level, unless log flags are set. Called for each request, so that
    a program may set the level at any time.
    """
    global _followed
    logger = _logger
    if logger is None:
        if "logging" not in modules:
            return
        logger = find_logger()
        if logger is None:
            return
    # The effective level: the parent of "ntapi" is the root logger. Filters and the like of logging
    # apply to each line.
    level = logger.level or logger.root.level
    if level != _followed:
        _followed = level
        flags = sum(flag for flag, least in _LEVELS.items() if level <= least)
        lib.ntapi_log_set_flags(flags)


def log_line(level: int, message: bytes) -> None:
    """Logs one line."""
    logger = find_logger()
    if logger is not None:
        text = message.decode("utf-8", "replace")
        logger.log(_LEVELS.get(level, _INFO), "%s", text)


def warn(text: str, *values: object) -> None:
    """Logs a warning of Python's own."""
    logger = find_logger()
    if logger is not None:
        logger.warning(text, *values)


# Exceptions that no caller can catch are reported through sys.unraisablehook.


class _Target:
    """The target of a report's weak reference."""

    __slots__ = ("__weakref__",)


class _Report:
    """Raises an exception as the callback of a weak reference, so that the interpreter reports it.

    Only the interpreter can make the argument of sys.unraisablehook; this makes it do so.
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
    """Reports an exception that the user's handler or hook `source` did not catch."""
    from weakref import ref

    traceback = error.__traceback__
    target = _Target()
    reference: Any = ref(target, _Report(error, source))
    del target
    del reference
    # The report has added frames that refer to the error. Until the next collection this cycle
    # would keep alive what the callback's frames hold, such as a piece of a body for which the
    # request waits.
    error.__traceback__ = traceback


def call_reporting(function: Any, *arguments: Any) -> None:
    """Calls the user's function.

    Reports an Exception. KeyboardInterrupt, SystemExit and GeneratorExit pass through, so do what
    must follow the call in a `finally`.
    """
    try:
        function(*arguments)
    except Exception as error:
        report(error, function)


def in_order(steps: Sequence[Callable[..., object]], *arguments: object) -> None:
    """Performs all steps, even if one raises. Raises that exception at the end."""
    if steps:
        try:
            steps[0](*arguments)
        finally:
            in_order(steps[1:], *arguments)


def keep_or_report(error: BaseException, source: object) -> None:
    """Handles what the user's function `source` raised inside a callback from C: Ctrl-C on the main
    thread is raised after C has returned; all other exceptions are reported.
    """
    if isinstance(error, Exception) or get_ident() != main_ident():
        report(error, source)
    else:
        keep(error)


def call_inside_c(function: Any, *arguments: Any) -> Any:
    """Calls the user's function inside a callback from C that continues after an exception. Returns
    its result, or None after an exception.
    """
    try:
        return function(*arguments)
    except BaseException as error:
        keep_or_report(error, function)


def from_c(
    kind: Any,
    *after: Callable[..., object],
    result: Any = None,
    frees: Optional[Callable[[int], Any]] = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Makes a function that C calls, of a type in `callbacks`. No exception can pass through C.

    1. If the last argument is a new object, `frees` frees it: the function gets a `Handle`.
    2. The function runs, and C gets what it returns.
    3. After any exception each function of `after` runs once, even if one of them raises. It gets
       the exception and the arguments. Together they handle the exception, and do what C waits for.
       Without such functions, the exception is raised later or reported.
    4. Then C gets `result`.
    """

    def make(function: Callable[..., Any]) -> Any:
        steps = after or (lambda error, *_: keep_or_report(error, function),)

        def called(*passed: Any) -> Any:
            try:
                if frees is not None:
                    passed = (*passed[:-1], Handle(passed[-1], frees))
                return function(*passed)
            except BaseException as error:
                try:
                    in_order(steps, error, *passed)
                except BaseException as another:
                    report(another, function)
                return result

        return kind(called)

    return make


@from_c(LogFunction)
def _sink(_: int, level: int, message: bytes) -> None:
    """ntapi_log_fn. Runs on any thread but the network's."""
    log_line(level, message)


@from_c(DestroyFunction)
def _sink_ended(token: int) -> None:
    """C calls this when the sink's last call has returned."""
    ended = _installed.pop(token, None)
    if ended is not None:
        ended.release()


def use_python_logging() -> None:
    """Sends the library's log lines to `logging.getLogger("ntapi")`.

    Importing the package does this.
    """
    find_logger()
    if not _installed:
        held = _installed[1] = allocate_lock()
        held.acquire()
        lib.ntapi_log_set_sink(_sink, 1, _sink_ended)


def use_standard_error(timeout: float = 0) -> None:
    """Sends the library's log lines to standard error, as without Python. Waits at most `timeout`
    seconds for the last call of the old sink.
    """
    ended = _installed.get(1)
    if ended is not None:
        lib.ntapi_log_set_sink(LogFunction(), None, DestroyFunction())
        if timeout > 0:
            ended.acquire(timeout=timeout)


def end_with_the_process() -> None:
    """Ends the library before the interpreter ends. Otherwise its threads could call into Python
    afterwards and crash.
    """
    atexit.register(_at_exit)


def _at_exit() -> None:
    for end in endings:
        end()
    lib.ntapi_wait_for_stores()
    use_standard_error(timeout=0.5)
    is_over.append(True)


_tasks: set[Any] = set()
"""Keeps running tasks alive: a loop has only weak references to them."""


def run_on_this_loop(awaitable: Any, failed: Callable[[BaseException], object]) -> None:
    """Runs the coroutine of a user's handler on the loop of this thread. `failed` gets its
    exception.

    Raises RuntimeError if no loop runs here.
    """
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        if hasattr(awaitable, "close"):
            # A coroutine: without this, Python warns that nobody has awaited it.
            awaitable.close()
        raise RuntimeError("an async handler needs an AsyncClient, and its loop") from None

    async def run() -> None:
        try:
            await awaitable
        except BaseException as error:
            failed(error)
            if not isinstance(error, Exception):
                raise

    task = loop.create_task(run())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
