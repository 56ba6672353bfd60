"""Finds libntapi-redis, and gives its function a signature."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os

from .callbacks import CALLBACK_FUNCTIONS
from .library import lib

SONAME = "libntapi-redis.so.0"


@functools.cache
def library() -> ctypes.CDLL:
    """The library of the wheel ntapi-redis, the one beside libntapi, or that of the system. It uses
    the libntapi that is loaded already.
    """
    folders = [os.path.dirname(lib.library._name)]
    with contextlib.suppress(ImportError):
        import ntapi_redis

        folders += ntapi_redis.__path__
    places = [os.path.join(folder, SONAME) for folder in folders]
    found = next(filter(os.path.isfile, places), SONAME)
    try:
        loaded = ctypes.CDLL(found)
    except OSError as error:
        raise ImportError(
            f"{SONAME} cannot be loaded: {error}. Install it by `pip install 'ntapi[redis]'`, as "
            f"Debian's package libntapi-redis0, or beside {lib.library._name}"
        ) from None
    create = loaded.ntapi_redis_store_create
    create.restype, create.argtypes = CALLBACK_FUNCTIONS["ntapi_redis_store_create"]
    return loaded
