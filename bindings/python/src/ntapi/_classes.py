"""Python's client classes as C's: each is a named place for defaults that inherits its parent's."""

from __future__ import annotations

import os

from ._handles import Handle
from ._library import lib
from ._native import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

_HANDLE = "_ntapi_class"
"""The attribute of a class that holds its C class, which so ends with it."""
_lock = RLock()


def class_handle(python_class: type, root: type) -> Handle:
    """The C class of a Python class, made on first use, and those that it derives from up to
    `root`.

    Its parent is the first class after it in the method resolution order that is a client class
    too; others, mix-ins, have no defaults of their own.
    """
    handle: Optional[Handle] = python_class.__dict__.get(_HANDLE)
    if handle is not None:
        return handle
    with _lock:
        handle = python_class.__dict__.get(_HANDLE)
        if handle is None:
            parents = (base for base in python_class.__mro__[1:] if issubclass(base, root))
            parent = next(parents, None)
            parent_pointer = None if parent is None else class_handle(parent, root).pointer
            name = f"{python_class.__module__}.{python_class.__qualname__}"
            pointer = lib.ntapi_class_create(name.encode("utf-8", "replace"), parent_pointer)
            handle = Handle(pointer, lib.ntapi_class_free)
            type.__setattr__(python_class, _HANDLE, handle)
    return handle


def class_scope(python_class: type, root: type) -> Any:
    """The C defaults of a Python class."""
    return lib.ntapi_class_defaults(class_handle(python_class, root).pointer)


def _reset_in_child() -> None:
    """In a forked child: another thread of the parent may have held the lock."""
    global _lock
    _lock = RLock()


os.register_at_fork(after_in_child=_reset_in_child)
