"""The library's log lines in Python's logging, under the name "ntapi".

As the libraries of Python do, it prints nothing by itself: the logger has a NullHandler, and the
program configures logging. The level of the logger says what is logged.
"""

from __future__ import annotations

from sys import modules

from ._bridge.library import lib
from ._bridge.native import allocate_lock, get_ident, keep, main_ident, raise_kept
from ._bridge.signatures import DestroyFunction, LogFunction

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    from _thread import LockType
    from typing import Any, Callable, Optional

    from ._errors import ApiError
    from ._response import Response

_NAME = "ntapi"
_DEBUG, _INFO, _WARNING, _ERROR = 10, 20, 30, 40
"""The numbers that logging documents."""
_LEVELS = {1: _DEBUG, 2: _INFO, 4: _WARNING, 8: _ERROR}
_logger: Optional[logging.Logger] = None
_followed = _WARNING
"""The level that C was given last. At first it logs warnings and errors."""
_installed: dict[int, LockType] = {}
"""The sink that C has, with a lock that is held until its last call has returned."""


def find_logger() -> Optional[logging.Logger]:
    """The logger; None until the program imports logging. Most never do, and nobody could read a
    line before.
    """
    global _logger
    if _logger is None:
        module = modules.get("logging")
        # Another thread may be in the middle of the import.
        if module is None or not hasattr(module, "getLogger"):
            return None
        logger: logging.Logger = module.getLogger(_NAME)
        if not any(isinstance(handler, module.NullHandler) for handler in logger.handlers):
            # Without it logging would print warnings to standard error.
            logger.addHandler(module.NullHandler())
        _logger = logger
    return _logger


def follow_levels() -> None:
    """Has C log what the logger's level asks for, where no log flags say otherwise. Called for each
    request, so that a level may be set at any time.
    """
    global _followed
    logger = _logger
    if logger is None:
        if "logging" not in modules:
            return
        logger = find_logger()
        if logger is None:
            return
    # The effective level, as a name without dots has the root above it. What else logging may leave
    # out, by a filter say, it leaves out of the lines.
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


def log_verdict(response: Response, before: Optional[ApiError]) -> None:
    """Logs the error that a response has got from a hook, as the library logs its own."""
    error = response.error
    if error is None or error is before:
        return
    # The names of the enum, which is not imported for a comparison.
    domain = error.domain.name
    level = 2 if domain == "CANCELLED" else 4 if domain == "SERVICE" else 8
    text = str(error.code) if error.message == error.code else f"{error.code}: {error.message}"
    line = text.replace("\0", " ").encode("utf-8", "replace")
    lib.ntapi_request_log(response.request._pointer, level, line)
    raise_kept()


def _write(_: int, level: int, message: bytes) -> None:
    """ntapi_log_fn; on any thread but the network's."""
    call_inside_c(log_line, level, message)


_sink = LogFunction(_write)


def _end_sink(token: int) -> None:
    """Called by C when the sink's last call has returned."""
    ended = _installed.pop(token, None)
    if ended is not None:
        ended.release()


_sink_ended = DestroyFunction(_end_sink)


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
    """Sends them to standard error, as without Python; waits at most `timeout` seconds for the last
    call to return.
    """
    ended = _installed.get(1)
    if ended is not None:
        lib.ntapi_log_set_sink(LogFunction(), None, DestroyFunction())
        if timeout > 0:
            ended.acquire(timeout=timeout)


# Exceptions that nobody waits for: reported through sys.unraisablehook, never lost.


class _Target:
    """What a report refers to weakly."""

    __slots__ = ("__weakref__",)


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

    traceback = error.__traceback__
    target = _Target()
    reference: Any = ref(target, _Report(error, source))
    del target
    del reference
    # The report has added frames that refer to the error. Until the next collection such a cycle
    # would keep alive what the callback's frames have: a piece of a body, say, for which the
    # request waits.
    error.__traceback__ = traceback


def call_reporting(function: Any, *arguments: Any) -> None:
    """Calls the user's function.

    An Exception is reported. KeyboardInterrupt, SystemExit and GeneratorExit pass through: what
    must happen after the call happens in a `finally`.
    """
    try:
        function(*arguments)
    except Exception as error:
        report(error, function)


def call_inside_c(function: Any, *arguments: Any) -> None:
    """Calls the user's function where C calls: no exception can pass through C.

    Ctrl-C on the main thread is raised when C has returned; all others are reported.
    """
    try:
        function(*arguments)
    except BaseException as error:
        if isinstance(error, Exception) or get_ident() != main_ident():
            report(error, function)
        else:
            keep(error)


def in_order(*steps: Callable[[], object]) -> None:
    """Takes each step, also after one that has raised; that exception passes on at the end."""
    if steps:
        try:
            steps[0]()
        finally:
            in_order(*steps[1:])


_tasks: set[Any] = set()
"""What runs on a loop, which itself refers to it weakly."""


def run_on_this_loop(coroutine: Any, failed: Callable[[BaseException], object]) -> None:
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
        except BaseException as error:
            failed(error)
            if not isinstance(error, Exception):
                raise

    task = loop.create_task(run())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
