"""Python's client classes as C's: each is a named place for defaults that inherits its parent's."""

from __future__ import annotations

import threading
import weakref

from ._handles import Handle
from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_handles: weakref.WeakKeyDictionary[type, Handle] = weakref.WeakKeyDictionary()
_lock = threading.RLock()


def class_handle(python_class: type, root: type) -> Handle:
    """The C class of a Python class, made on first use, and those that it derives from up to
    `root`.

    Its parent is the first class after it in the method resolution order that is a client class
    too; others, mix-ins, have no defaults of their own.
    """
    handle = _handles.get(python_class)
    if handle is not None:
        return handle
    with _lock:
        handle = _handles.get(python_class)
        if handle is None:
            parents = (base for base in python_class.__mro__[1:] if issubclass(base, root))
            parent = next(parents, None)
            parent_pointer = None if parent is None else class_handle(parent, root).pointer
            name = f"{python_class.__module__}.{python_class.__qualname__}"
            pointer = lib.ntapi_class_create(name.encode("utf-8", "replace"), parent_pointer)
            handle = _handles[python_class] = Handle(pointer, lib.ntapi_class_free)
    return handle


def class_scope(python_class: type, root: type) -> Any:
    """The C defaults of a Python class."""
    return lib.ntapi_class_defaults(class_handle(python_class, root).pointer)


def reset_lock_in_child() -> None:
    """In a forked child: another thread of the parent may have held the lock."""
    global _lock
    _lock = threading.RLock()
