"""A forked child can import what another thread was importing.

Python locks a module while a thread imports it, and the lock stays locked in the child: if the
child imports the module, too, it waits for ever. The package imports most of its modules on first
use, so a first request on another thread is such a moment.

So a fork waits for other threads' imports. That is not enough: an import may begin just before the
fork, and an import may wait for the thread that forks. The child forgets these imports, and imports
their modules anew.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from time import monotonic, sleep
from typing import Any

_PATIENCE = 0.5
"""Seconds."""


def _locks_of_others() -> dict[str, Any]:
    """Python's own list: each module that other threads are importing, with the thread.

    None stands for a thread that is about to lock the module, or has just unlocked it.
    """
    locks = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    owners = {name: getattr(lock(), "owner", None) for name, lock in list(locks.items())}
    return {name: owner for name, owner in owners.items() if owner != get_ident()}


def _wait_for_imports() -> None:
    end = monotonic() + _PATIENCE
    while any(_locks_of_others().values()) and monotonic() < end:
        sleep(0.0005)


def _forget_imports() -> None:
    """Does what Python does after an import that failed."""
    for name in _locks_of_others():
        sys.modules["_frozen_importlib"]._module_locks.pop(name, None)
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if getattr(spec, "_initializing", False):
            del sys.modules[name]


os.register_at_fork(before=_wait_for_imports, after_in_child=_forget_imports)
