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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import RLock as RLock
    from _thread import _local

    local = _local
    from _thread import allocate_lock as allocate_lock
    from _thread import get_ident as get_ident
    from _thread import get_native_id as get_native_id
    from select import epoll as epoll
    from typing import Any, Callable, Optional

    from ._mailbox import Mailbox


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
