"""Defaults that are functions of the program, which C calls at each look-up."""

from __future__ import annotations

import itertools

from ._bridge import native
from ._bridge.callbacks import ProviderFunction
from ._bridge.library import lib
from ._bridge.logging import from_c, report
from ._bridge.signatures import DestroyFunction

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    Provider = Callable[[str], Any]

_tokens = itertools.count(1)


_providers: dict[int, Provider] = {}


def _fail(error: BaseException, token: int, _: bytes) -> None:
    """Ctrl-C and the like are raised on the thread that looks up."""
    if isinstance(error, Exception):
        report(error, _providers.get(token))
    else:
        native.keep(error)


@from_c(ProviderFunction, _fail)
def _provide(token: int, key: bytes) -> Optional[int]:
    """ntapi_provider_fn for every dynamic default. Runs on the thread that looks up."""
    provider = _providers.get(token)
    if provider is None:
        return None
    value = provider(key.decode())
    if value is None:
        return None
    # Imported here because json takes 2 ms to import.
    from ._bridge.json import to_c

    return to_c(value)


@from_c(DestroyFunction)
def _forget_provider(token: int) -> None:
    """C calls this when no look-up uses the provider any more. So a look-up can finish with a
    replaced provider.
    """
    _providers.pop(token, None)


def set_provider(scope: Optional[int], name: bytes, provider: Provider) -> int:
    """Sets a dynamic default in a C scope; returns C's status."""
    token = next(_tokens)
    _providers[token] = provider
    status: int = lib.ntapi_defaults_set_provider(scope, name, _provide, token, _forget_provider)
    return status
