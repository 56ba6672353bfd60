"""Python's real threads, locks and epoll, also after gevent has replaced them.

After `gevent.monkey.patch_all()` Python's threads are greenlets: they take turns on one thread, and
a lock or a wait switches to another greenlet. This package needs the real ones: the C library knows
only real threads, and this package holds its locks for a few lines only. While a greenlet waits for
a request, others run: see `is_cooperative`.
"""

from __future__ import annotations

import os
import sys

# Import `threading` with the package and not later: up to Python 3.12, it takes the thread that
# imports it for the main thread.
import threading

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import RLock as RLock
    from _thread import _local
    from _thread import allocate_lock as allocate_lock
    from _thread import get_ident as get_ident
    from _thread import get_native_id as get_native_id
    from select import epoll as epoll
    from typing import Any, Callable, Optional, Protocol

    class Waited(Protocol):
        """A mailbox at which greenlets wait."""

        sleepers: list[Any]

        def fileno(self) -> int: ...

    local = _local


def _gevent() -> Any:
    """The module of gevent that knows what was patched; None if gevent is not used."""
    return sys.modules.get("gevent.monkey")


def _original(module: str, name: str) -> Any:
    gevent = _gevent()
    if gevent is not None:
        return gevent.get_original(module, name)
    found = getattr(__import__(module), name, None)
    if found is None:
        raise ImportError(
            f"something has removed {module}.{name}, as eventlet does: import ntapi before that"
        )
    return found


if not TYPE_CHECKING:
    get_ident = _original("_thread", "get_ident")
    get_native_id = _original("_thread", "get_native_id")
    allocate_lock = _original("_thread", "allocate_lock")
    RLock = _original("_thread", "RLock")
    local = _original("_thread", "_local")
    epoll = _original("select", "epoll")


def is_cooperative() -> bool:
    """Whether Python's threads are greenlets, so that a wait has to let others run."""
    gevent = _gevent()
    return gevent is not None and bool(gevent.is_module_patched("threading"))


_seen_main: Optional[int] = None


def main_ident() -> Optional[int]:
    """The value of `get_ident` on the main thread. None if that is unknown under gevent."""
    global _seen_main
    if not is_cooperative():
        return threading.main_thread().ident
    if get_native_id() == os.getpid():
        _seen_main = get_ident()
    return _seen_main


main_ident()


class Worker:
    """A daemon thread, a real one."""

    def __init__(self, work: Callable[[], object], name: str) -> None:
        self._work = work
        self._ended = allocate_lock()
        self._name = name
        self._thread: Any = None

    def start(self) -> None:
        if is_cooperative():
            self._ended.acquire()
            _original("_thread", "start_new_thread")(self._run, ())
        else:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        finally:
            self._ended.release()

    def join(self, timeout: float) -> None:
        """Waits until the thread has ended, for at most `timeout` seconds."""
        if self._thread is not None:
            self._thread.join(timeout)
        else:
            self._ended.acquire(timeout=timeout)


def greenlets_may_run() -> bool:
    """Whether the calling thread may have greenlets that run while it waits.

    Only a thread with a hub has them. Do not make a hub for other threads: a thread of gevent's
    pool does not run its hub between two tasks, but gevent relies on the hub of a lock's owner to
    wake the threads that wait for the lock.
    """
    if not is_cooperative():
        return False
    find = getattr(sys.modules.get("gevent._hub_local"), "get_hub_if_exists", None)
    return find is None or find() is not None


def wait_with_others(mailbox: Waited, seconds: Optional[float]) -> None:
    """Waits until something has come into a mailbox, and runs other greenlets meanwhile."""
    from gevent import get_hub
    from gevent.event import Event

    woken = Event()
    # Several greenlets may wait here. The first one to continue takes everything. It then wakes the
    # others, because nothing else would.
    mailbox.sleepers.append(woken)
    watcher = get_hub().loop.io(mailbox.fileno(), 1)
    watcher.start(woken.set)
    try:
        woken.wait(seconds)
    finally:
        watcher.stop()
        watcher.close()
        mailbox.sleepers.remove(woken)


# A real lock, which the importing thread may take again.
_importing = RLock()
_has_imported = False
_USED_LATER = (
    "concurrent.futures",
    "datetime",
    "email.utils",
    "enum",
    "gevent.event",
    "inspect",
    "json",
    "pathlib",
    "re",
    "weakref",
)
"""Modules outside the package that its functions import."""
_NEED_OTHERS = ("opentelemetry", "testing", "transports")
"""Packages that programs import by name, because they need other libraries."""


def import_all() -> None:
    """Under gevent, imports everything that is otherwise imported on first use.

    Under gevent, Python uses gevent's locks for imports, too. If real threads import a module at
    the same time, such as threads of gevent's pool with their first requests, a lock may be
    released without waking the thread that waits for it. Then that thread waits for ever.
    """
    global _has_imported
    if _has_imported or not is_cooperative():
        return
    with _importing:
        if _has_imported:
            return
        for name in _USED_LATER:
            __import__(name)
        _import_modules(sys.modules[__package__.partition(".")[0]])
        _has_imported = True


def _import_modules(package: Any) -> None:
    """Imports the modules of a package and of those below it."""
    from pkgutil import iter_modules

    for module in iter_modules(package.__path__):
        if module.name not in _NEED_OTHERS:
            name = f"{package.__name__}.{module.name}"
            __import__(name)
            if module.ispkg:
                _import_modules(sys.modules[name])


# Exceptions of callbacks that C calls on the caller's own thread are kept until C has returned,
# then raised.


kept: dict[int, BaseException] = {}
"""Exceptions by thread. Usually empty, so check that before you call `raise_kept`: a check is
cheaper.
"""


def keep(error: BaseException) -> None:
    """Keeps an exception of a callback, which cannot pass through C."""
    kept.setdefault(get_ident(), error)


def raise_kept() -> None:
    """Raises, after the C call, the exception that a callback has kept on this thread."""
    error = kept.pop(get_ident(), None) if kept else None
    if error is not None:
        raise error
