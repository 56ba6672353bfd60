"""A fork waits until other threads have imported what they are importing of this package.

A module that another thread is importing stays locked in the child: if the child imports it, too,
it waits for ever.
"""

from __future__ import annotations

import os
import sys


def _import_before() -> None:
    """To import a module is to wait until the thread that is importing it has done so."""
    if len(sys._current_frames()) == 1:
        return
    try:
        from .native import import_the_rest
    except ImportError:  # Nor could the program import the package.
        return
    import_the_rest()


os.register_at_fork(before=_import_before)
