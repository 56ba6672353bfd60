"""A fork waits until no other thread is importing a module.

Python locks a module while a thread imports it, and the lock stays locked in the child: if the
child imports the module, too, it waits for ever. The package imports most of its modules on first
use, so a first request on another thread is such a moment.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from time import monotonic, sleep
from typing import Any

_PATIENCE = 0.5
"""Seconds. An import may wait for something else, even for the thread that forks."""


def _is_importing() -> bool:
    """Whether another thread is importing something: Python's own list of locks says so."""
    locks: dict[str, Any] = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    owners = {getattr(reference(), "owner", None) for reference in list(locks.values())}
    return bool(owners - {None, get_ident()})


def _wait_for_imports() -> None:
    end = monotonic() + _PATIENCE
    while _is_importing() and monotonic() < end:
        sleep(0.0005)


os.register_at_fork(before=_wait_for_imports)
