"""Finds libntapi-redis, and gives its function a signature."""

from __future__ import annotations

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
    )


FUNCTIONS = {
    "ntapi_redis_store_create": (c_void_p, (POINTER(RedisOptions), POINTER(c_void_p))),
}


@functools.cache
def library() -> ctypes.CDLL:
    """The library beside libntapi, or that of the system. It uses the libntapi that is loaded
    already.
    """
    beside = os.path.join(os.path.dirname(lib.library._name), SONAME)
    try:
        loaded = ctypes.CDLL(beside if os.path.isfile(beside) else SONAME)
    except OSError as error:
        raise ImportError(
            f"{SONAME} cannot be loaded: {error}. Install Debian's package libntapi-redis0, or put "
            f"the library beside {lib.library._name}"
        ) from None
    for name, (result, parameters) in FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, parameters
    return loaded
