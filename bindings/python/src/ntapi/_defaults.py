"""Defaults: named values, set for all clients, for a class of clients or for one client."""

from __future__ import annotations

import os

from ._bridge import native
from ._bridge.library import Handle, lib
from ._bridge.native import RLock
from ._bridge.signatures import Status
from ._runtime.checks import check_string

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, Union

    from ._types import GetDefault, Scope, SetDefault


def set_in(scope: Optional[int], key: str, value: Any) -> None:
    """Sets a default in a C scope. None removes it; a function is called at each look-up."""
    check_string(key, "the name of a default")
    name = key.encode()
    if value is None:
        status = lib.ntapi_defaults_set(scope, name, None)
    elif callable(value):
        # Imported here: few programs have such a default, and the callbacks take 2 ms to import.
        from ._providers import set_provider

        status = set_provider(scope, name, value)
    else:
        from ._bridge.json import to_c

        document = to_c(value)
        try:
            status = lib.ntapi_defaults_set(scope, name, document)
        finally:
            lib.ntapi_json_free(document)
    if status != Status.OK:
        raise ValueError(f"the default {key!r} cannot be set")


def get_in(scope: Optional[int], key: str, fallback: Any) -> Any:
    """Looks a default up in a C scope and the scopes that it inherits from."""
    check_string(key, "the name of a default")
    pointer = lib.ntapi_defaults_get(scope, key.encode())
    native.raise_kept()
    if not pointer:
        return fallback
    from ._bridge.json import from_c

    return from_c(pointer)


class GlobalDefaults:
    """The defaults of every client: `ntapi.defaults`."""

    def __reduce__(self) -> str:
        # Copies are the same object: there is one in each process.
        return "defaults"

    def __repr__(self) -> str:
        return "<ntapi.defaults>"

    def set(self, key: str, value: Union[Callable[[str], Any], object]) -> None:
        """Sets a default to any JSON value. None removes it. A function is called with the key at
        each look-up.
        """
        set_in(lib.ntapi_defaults_global(), key, value)

    def get(self, key: str, fallback: Any = None) -> Any:
        """The default's value, or `fallback` when it is not set."""
        return get_in(lib.ntapi_defaults_global(), key, fallback)


defaults: GlobalDefaults = GlobalDefaults()


class SetDefaultMethod:
    """A method of a class and of its instances: `Client.set_default(...)`,
    `client.set_default(...)`.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __get__(self, instance: Any, owner: type) -> SetDefault:
        def set_default(key: str, value: Any) -> None:
            set_in(self._scope(owner, instance), key, value)

        return set_default


class GetDefaultMethod:
    """A method of a class and of its instances for look-ups: `get_default`."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __get__(self, instance: Any, owner: type) -> GetDefault:
        def get_default(key: str, fallback: Any = None) -> Any:
            return get_in(self._scope(owner, instance), key, fallback)

        return get_default


_HANDLE = "_ntapi_class"
"""The attribute of a class that owns its C class, which is freed with the Python class."""
_lock = RLock()


def class_handle(python_class: type, root: type) -> Handle:
    """The C class of a Python class. Makes it on first use, and those of the base classes up to
    `root`.

    Its parent is the next client class in the method resolution order; mix-ins have no defaults of
    their own.
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
