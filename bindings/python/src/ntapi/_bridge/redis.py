"""Finds libntapi-redis, and gives its function a signature."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from ctypes import POINTER, Structure, c_char_p, c_double, c_size_t, c_void_p

from .library import lib

SONAME = "libntapi-redis.so.0"


class RedisOptions(Structure):
    """ntapi_redis_options."""

    _fields_ = (
        ("size", c_size_t),
        ("url", c_char_p),
        ("username", c_char_p),
        ("password", c_char_p),
        ("ca_file", c_char_p),
        ("client_certificate", c_char_p),
        ("client_key", c_char_p),
        ("timeout", c_double),
        ("encryption_keys", c_char_p),
    )


FUNCTIONS = {
    "ntapi_redis_store_create": (c_void_p, (POINTER(RedisOptions), POINTER(c_void_p))),
}


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
    for name, (result, parameters) in FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, parameters
    return loaded
