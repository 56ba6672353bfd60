"""Functions of the user's that are asked for a default at each look-up."""

from __future__ import annotations

import itertools

from .._logging import report
from . import native
from .callbacks import ProviderFunction
from .json import to_c
from .library import lib
from .signatures import DestroyFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    Provider = Callable[[str], Any]

_providers: dict[int, Provider] = {}
_tokens = itertools.count(1)


def _ask_provider(token: int, key: bytes) -> Optional[int]:
    """ntapi_provider_fn for every dynamic default; on the thread that looks up."""
    provider = _providers.get(token)
    if provider is None:
        return None

    try:
        value = provider(key.decode())
        return None if value is None else to_c(value)
    except Exception as error:
        report(error, provider)
    except BaseException as error:
        native.keep(error)
    return None


_provide = ProviderFunction(_ask_provider)


def _drop_provider(token: int) -> None:
    """Called by C when no look-up uses the provider any more, so that a replaced one is never
    missed half-way.
    """
    _providers.pop(token, None)


_forget_provider = DestroyFunction(_drop_provider)


def set_provider(scope: Optional[int], name: bytes, provider: Provider) -> int:
    """Sets a dynamic default in a C scope; returns C's status."""
    token = next(_tokens)
    _providers[token] = provider
    status: int = lib.ntapi_defaults_set_provider(scope, name, _provide, token, _forget_provider)
    return status
