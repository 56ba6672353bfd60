"""Python's own threads, locks and epoll, also where gevent has put others in their place.

After `gevent.monkey.patch_all()` what Python calls threads are greenlets, of which one runs at a
time on one thread, and a lock or a wait is a switch to another. The threads here are those that the
library in C knows, and their locks are held for a few lines only: they have to be real. Where one
waits for a request, the others run: see `is_cooperative`.
"""

from __future__ import annotations

import os
import sys

# With the package, and not when it is first needed: up to Python 3.12 the thread that imports it is
# the main thread for it.
import threading

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import RLock as RLock
    from _thread import _local
    from _thread import allocate_lock as allocate_lock
    from _thread import get_ident as get_ident
    from _thread import get_native_id as get_native_id
    from select import epoll as epoll
    from typing import Any, Callable, Optional

    from .._mailbox import Mailbox

    local = _local


def _gevent() -> Any:
    """gevent's module that knows what was patched; None when it is not used."""
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
    """Whether Python's threads are greenlets, so that who waits has to let others run."""
    gevent = _gevent()
    return gevent is not None and bool(gevent.is_module_patched("threading"))


_seen_main: Optional[int] = None


def main_ident() -> Optional[int]:
    """What `get_ident` says on the main thread. None when it was not seen there under gevent."""
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
        """Waits for its end."""
        if self._thread is not None:
            self._thread.join(timeout)
        else:
            self._ended.acquire(timeout=timeout)


def greenlets_may_run() -> bool:
    """Whether the calling thread may have greenlets that run while it waits.

    Only a thread with a hub has. Do not make one for the others: a thread of gevent's pool does not
    run it between two tasks, and gevent leaves it to a lock's hub to wake who waits for the lock.
    """
    if not is_cooperative():
        return False
    find = getattr(sys.modules.get("gevent._hub_local"), "get_hub_if_exists", None)
    return find is None or find() is not None


def wait_with_others(mailbox: Mailbox, seconds: Optional[float]) -> None:
    """Waits until there is something in a mailbox, or was, and runs other greenlets meanwhile."""
    from gevent import get_hub
    from gevent.event import Event

    woken = Event()
    # Several greenlets may wait here. The first that goes on takes what there is: it wakes the
    # others, who find nothing any more that would.
    mailbox.sleepers.append(woken)
    watcher = get_hub().loop.io(mailbox.fileno(), 1)
    watcher.start(woken.set)
    try:
        woken.wait(seconds)
    finally:
        watcher.stop()
        watcher.close()
        mailbox.sleepers.remove(woken)


# A real one, and the thread that imports may take it again.
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
"""What functions of the package import, outside it."""


def import_all() -> None:
    """Under gevent, imports what is otherwise imported on first use.

    Python then takes gevent's locks for imports too. When real threads import one module at once,
    as the threads of gevent's pool do that each send their first request, the lock that one of them
    waits for may be released without waking it, and it waits for ever.
    """
    global _has_imported
    if _has_imported or not is_cooperative():
        return
    with _importing:
        if _has_imported:
            return
        from pkgutil import walk_packages

        package = sys.modules[__package__.partition(".")[0]]
        for name in _USED_LATER:
            __import__(name)
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            __import__(module.name)
        _has_imported = True


# Exceptions of callbacks that C calls on the caller's own thread: kept until C has returned, then
# raised.


kept: dict[int, BaseException] = {}
"""By thread; most of the time empty, which is quicker to see than to be told by `raise_kept`."""


def keep(error: BaseException) -> None:
    """In a callback: exceptions cannot pass through C."""
    kept.setdefault(get_ident(), error)


def raise_kept() -> None:
    """After the C call: raises what a callback kept on this thread."""
    error = kept.pop(get_ident(), None) if kept else None
    if error is not None:
        raise error
