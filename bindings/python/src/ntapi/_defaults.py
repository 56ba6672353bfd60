"""Defaults: named values, set globally, for a class or for one client."""

from __future__ import annotations

import itertools

from . import _same_thread
from ._checks import check_string
from ._enums import Status
from ._library import lib
from ._report import report
from ._signatures import DestroyFunction, ProviderFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from ._protocols import GetDefault, Scope, SetDefault

    Provider = Callable[[str], Any]

_providers: dict[int, Provider] = {}
_tokens = itertools.count(1)


def _ask_provider(token: int, key: bytes) -> Optional[int]:
    """ntapi_provider_fn for every dynamic default; on the thread that looks up."""
    provider = _providers.get(token)
    if provider is None:
        return None
    from ._json import to_c

    try:
        value = provider(key.decode())
        return None if value is None else to_c(value)
    except Exception as error:
        report(error, provider)
    except BaseException as error:
        _same_thread.keep(error)
    return None


_provide = ProviderFunction(_ask_provider)


def _drop_provider(token: int) -> None:
    """Called by C when no look-up uses the provider any more, so that a replaced one is never
    missed half-way.
    """
    _providers.pop(token, None)


_forget_provider = DestroyFunction(_drop_provider)


def set_in(scope: Optional[int], key: str, value: Any) -> None:
    """Sets a default in a C scope; None removes, a callable is asked at each look-up."""
    check_string(key, "the name of a default")
    name = key.encode()
    if value is None:
        status = lib.ntapi_defaults_set(scope, name, None)
    elif callable(value):
        token = next(_tokens)
        _providers[token] = value
        status = lib.ntapi_defaults_set_provider(scope, name, _provide, token, _forget_provider)
    else:
        from ._json import to_c

        document = to_c(value)
        try:
            status = lib.ntapi_defaults_set(scope, name, document)
        finally:
            lib.ntapi_json_free(document)
    if status != Status.OK:
        raise ValueError(f"the default {key!r} cannot be set")


def get_in(scope: Optional[int], key: str, fallback: Any) -> Any:
    """Looks a default up, in a C scope and what it inherits from."""
    check_string(key, "the name of a default")
    pointer = lib.ntapi_defaults_get(scope, key.encode())
    _same_thread.raise_kept()
    if not pointer:
        return fallback
    from ._json import from_c

    return from_c(pointer)


class GlobalDefaults:
    """The defaults of every client: `ntapi.defaults`."""

    def set(self, key: str, value: Any) -> None:
        """Sets a default, any JSON value; None removes it, a function of the key is asked at each
        look-up.
        """
        set_in(lib.ntapi_defaults_global(), key, value)

    def get(self, key: str, fallback: Any = None) -> Any:
        """The default's value, or `fallback` when it is not set."""
        return get_in(lib.ntapi_defaults_global(), key, fallback)


defaults = GlobalDefaults()


class SetDefaultMethod:
    """A method of a class as well as of its instances: `Client.set_default(...)`,
    `client.set_default(...)`.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __get__(self, instance: Any, owner: type) -> SetDefault:
        def set_default(key: str, value: Any) -> None:
            set_in(self._scope(owner, instance), key, value)

        return set_default


class GetDefaultMethod:
    """As SetDefaultMethod, for look-ups."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __get__(self, instance: Any, owner: type) -> GetDefault:
        def get_default(key: str, fallback: Any = None) -> Any:
            return get_in(self._scope(owner, instance), key, fallback)

        return get_default
