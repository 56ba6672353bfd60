"""The library's log lines in Python's logging, under the name "ntapi"."""

from __future__ import annotations

from _thread import LockType, allocate_lock

from ._library import lib
from ._signatures import DestroyFunction, LogFunction

_NAME = "ntapi"
# The numbers that logging documents; it is imported with the first line, which most programs never
# log.
_INFO = 20
_LEVELS = {1: 10, 2: _INFO, 4: 30, 8: 40}
_installed: dict[int, LockType] = {}
"""The sink that C has, with a lock that is held until its last call has returned."""


def log_line(level: int, message: bytes) -> None:
    """Logs one line."""
    import logging

    text = message.decode("utf-8", "replace")
    logging.getLogger(_NAME).log(_LEVELS.get(level, _INFO), "%s", text)


def warn(text: str, *values: object) -> None:
    """Logs a warning of Python's own."""
    import logging

    logging.getLogger(_NAME).warning(text, *values)


def _write(_: int, level: int, message: bytes) -> None:
    """ntapi_log_fn; on any thread but the network's."""
    try:
        log_line(level, message)
    except BaseException as error:
        from ._report import report

        report(error, log_line)


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
