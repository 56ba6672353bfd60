"""Stores: what several processes share."""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass

from ._args import c_text
from ._bridge.callbacks import (
    StoreCipherFunction,
    StoreFunctions,
    StoreGetFunction,
    StoreRemoveFunction,
    StoreRunFunction,
    StoreSetFunction,
)
from ._bridge.library import Handle, lib
from ._bridge.logging import from_c, report
from ._bridge.signatures import DestroyFunction
from ._runtime.checks import check_string, even_without_init, named, refuse_copy, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Optional, Union


@dataclass(frozen=True)
class StoreScript:
    """A script of a store. The library has all of them; the store only runs them."""

    name: str
    """Name and version, such as "ntapi.permits.1". It tells a store without Lua what to do."""
    lua: str
    """The script in Lua, as Redis 7 and Valkey 8 run it. It replies with an array of texts
    and whole numbers."""


class Store:
    """What several processes share, such as a Redis server.

        class Redis(ntapi.Store):
            def __init__(self, client: redis.Redis) -> None:
                self.client = client

            def run(self, script, keys, arguments):
                return self.client.eval(script.lua, len(keys), *keys, *arguments)

            def get(self, key):
                return self.client.get(key)

            def set(self, key, value, seconds):
                self.client.set(key, value, px=max(1, int(seconds * 1000)))

            def remove(self, key):
                self.client.delete(key)

    `ntapi.RateLimiter.of` keeps its limits in one, `ntapi.Authenticator.share` a token, and
    `ntapi.Cache.share` responses. Only the last needs `get`, `set` and `remove`; its scripts read
    and change the same values.
    `ntapi.testing.MemoryStore` is one within the process.

    A store with `encrypt` and `decrypt` keeps tokens and responses encrypted. Then caches also
    share responses to requests with credentials.

    The methods run on background threads, and may block. They raise what went wrong. A mistake of
    the program, such as a TypeError, goes to `sys.unraisablehook` as well.
    """

    def run(
        self, script: StoreScript, keys: list[str], arguments: list[str]
    ) -> Sequence[Union[str, bytes, int]]:
        """Runs a script as one step, in which nobody else uses its keys, and returns the values
        that it replies with.
        """
        raise NotImplementedError(f"{type(self).__name__} has to override run")

    def get(self, key: str) -> Optional[bytes]:
        """The value under a key; None if there is none."""
        raise NotImplementedError(f"{type(self).__name__} has to override get, to have a cache")

    def set(self, key: str, value: bytes, seconds: float) -> None:
        """Keeps a value under a key, in place of any other, until it expires after `seconds`. The
        store may remove it sooner.
        """
        raise NotImplementedError(f"{type(self).__name__} has to override set, to have a cache")

    def remove(self, key: str) -> None:
        """Removes a value, if there is one."""
        raise NotImplementedError(f"{type(self).__name__} has to override remove, to have a cache")

    def encrypt(self, value: bytes, context: str) -> bytes:
        """Encrypts a token or a response before it is stored, with a key that the server does not
        have and all processes do. `context` says where it belongs: authenticate it, too.
        """
        raise NotImplementedError(f"{type(self).__name__} has to override encrypt, to encrypt")

    def decrypt(self, value: bytes, context: str) -> bytes:
        """The value that `encrypt` was given with the same context. Raises for any other value."""
        raise NotImplementedError(f"{type(self).__name__} has to override decrypt, to encrypt")

    _c_store: Handle

    def _pointer(self) -> int:
        """The C store, made when it is first used."""
        made: Optional[Handle] = self.__dict__.get("_c_store")
        if made is None:
            made = self._c_store = _c_store(next(_tokens), self, _stores)
        assert made.pointer is not None
        return made.pointer

    def _kept(self) -> Handle:
        """A C store that keeps this object for as long as the library uses it."""
        return _c_store(next(_tokens), self, _kept_stores)

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "make one in each process")

    @even_without_init
    def __repr__(self) -> str:
        return f"<{named(self)}>"


class LibraryStore(Store):
    """A store that is written in C or Swift."""

    def _kept(self) -> Handle:
        return self._c_store

    def run(self, script: StoreScript, keys: list[str], arguments: list[str]) -> NoReturn:
        """Only the library uses it: it has no scripts that Python could run."""
        raise self._refusal

    def get(self, key: str) -> NoReturn:
        """Only the library uses it."""
        raise self._refusal

    def set(self, key: str, value: bytes, seconds: float) -> NoReturn:
        """Only the library uses it."""
        raise self._refusal

    def remove(self, key: str) -> NoReturn:
        """Only the library uses it."""
        raise self._refusal

    def encrypt(self, value: bytes, context: str) -> NoReturn:
        """Only the library uses it."""
        raise self._refusal

    def decrypt(self, value: bytes, context: str) -> NoReturn:
        """Only the library uses it."""
        raise self._refusal

    @property
    def _refusal(self) -> NotImplementedError:
        return NotImplementedError(f"only the library uses an {named(self)}")


def check_sharing(store: Store, key: str, store_timeout: float, lease: float) -> None:
    """Raises TypeError or ValueError for a wrong store, key or number of seconds."""
    if not isinstance(store, Store):
        raise TypeError(f"store has to be an ntapi.Store, not {type_name(store)}")
    check_string(key, "key")
    for name, seconds in (("store_timeout", store_timeout), ("lease", lease)):
        if not seconds > 0:
            raise ValueError(f"{name} has to be above 0 seconds, not {seconds}")


_stores: weakref.WeakValueDictionary[int, Store] = weakref.WeakValueDictionary()
_kept_stores: dict[int, Store] = {}
_tokens = itertools.count(1)


def _c_store(token: int, store: Store, known: MutableMapping[int, Store]) -> Handle:
    encrypts = type(store).encrypt is not Store.encrypt
    if encrypts is (type(store).decrypt is Store.decrypt):
        raise TypeError(f"{type(store).__name__} has to override both encrypt and decrypt, or none")
    known[token] = store
    functions = StoreFunctions(ctypes.sizeof(StoreFunctions), _run, _get, _set, _remove)
    if encrypts:
        functions.encrypt, functions.decrypt = _encrypt, _decrypt
    pointer = lib.ntapi_store_create(ctypes.byref(functions), token, _forgotten, None)
    return Handle(pointer, lib.ntapi_store_free)


_MISTAKES = (
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    TypeError,
)
"""The program causes these errors, and not a server or a value that another process has stored."""


def _store(token: int) -> Store:
    store = _stores.get(token, _kept_stores.get(token))
    if store is None:
        raise RuntimeError("the store is no longer there")
    return store


def _report(error: BaseException, token: int, *_: Any) -> None:
    """Reports mistakes of the program, and exceptions that end it. Ignores all other exceptions."""
    if isinstance(error, _MISTAKES) or not isinstance(error, Exception):
        report(error, _stores.get(token, _kept_stores.get(token)))


def _fail(error: BaseException, *passed: Any) -> None:
    """Fails the call, which is the last argument. A call that has its reply does not change."""
    lib.ntapi_store_call_fail(passed[-1], _problem(error))


def _problem(error: BaseException) -> bytes:
    name = type(error).__name__
    try:
        return f"{name}: {error}".encode("utf-8", "replace")
    except BaseException:
        # The exception cannot be printed. The call has to fail in any case.
        return name.encode("utf-8", "replace")


# What C calls. All run on a worker.


@from_c(StoreRunFunction, _report, _fail)
def _run(
    token: int,
    name: bytes,
    lua: bytes,
    keys: Any,
    key_count: int,
    arguments: Any,
    argument_count: int,
    call: int,
) -> None:
    """ntapi_store_run_fn for every store."""
    script = StoreScript(name.decode(), lua.decode())
    texts = [text.decode() for text in keys[:key_count] + arguments[:argument_count]]
    values = _values(_store(token).run(script, texts[:key_count], texts[key_count:]))
    reply = (ctypes.c_char_p * len(values))(*values)
    lib.ntapi_store_call_reply(call, reply, len(values))


@from_c(StoreGetFunction, _report, _fail)
def _get(token: int, key: bytes, call: int) -> None:
    """ntapi_store_get_fn for every store."""
    value = _store(token).get(key.decode())
    if value is None:
        lib.ntapi_store_call_reply_value(call, None, 0)
    else:
        _reply(call, value, "get has to return bytes or None")


@from_c(StoreSetFunction, _report, _fail)
def _set(token: int, key: bytes, value: int, size: int, seconds: float, call: int) -> None:
    """ntapi_store_set_fn for every store."""
    _store(token).set(key.decode(), ctypes.string_at(value, size), seconds)
    lib.ntapi_store_call_reply_value(call, None, 0)


@from_c(StoreRemoveFunction, _report, _fail)
def _remove(token: int, key: bytes, call: int) -> None:
    """ntapi_store_remove_fn for every store."""
    _store(token).remove(key.decode())
    lib.ntapi_store_call_reply_value(call, None, 0)


@from_c(StoreCipherFunction, _report, _fail)
def _encrypt(token: int, context: bytes, value: int, size: int, call: int) -> None:
    """ntapi_store_cipher_fn for every store that encrypts."""
    made = _store(token).encrypt(ctypes.string_at(value, size), context.decode())
    _reply(call, made, "encrypt has to return bytes")


@from_c(StoreCipherFunction, _report, _fail)
def _decrypt(token: int, context: bytes, value: int, size: int, call: int) -> None:
    """ntapi_store_cipher_fn for every store that encrypts."""
    made = _store(token).decrypt(ctypes.string_at(value, size), context.decode())
    _reply(call, made, "decrypt has to return bytes")


@from_c(DestroyFunction)
def _forgotten(token: int) -> None:
    """ntapi_destroy_fn: the library does not use the store any more."""
    _kept_stores.pop(token, None)


def _reply(call: int, value: object, expected: str) -> None:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{expected}, not {type_name(value)}")
    copied = bytes(value)
    lib.ntapi_store_call_reply_value(call, copied, len(copied))


def _values(reply: object) -> list[Optional[bytes]]:
    if not isinstance(reply, (list, tuple)):
        raise TypeError(f"run has to return a list, not {type_name(reply)}")
    for value in reply:
        if not isinstance(value, (str, bytes, int)):
            raise TypeError(f"a value has to be a str, bytes or an int, not {type_name(value)}")
    return [c_text(v.decode() if isinstance(v, bytes) else str(v)) for v in reply]
