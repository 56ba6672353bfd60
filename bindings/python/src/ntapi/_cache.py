"""The HTTP cache of a session."""

from __future__ import annotations

import ctypes
import os
from typing import Optional

from ._checks import check_string
from ._enums import Storage
from ._errors import take_error
from ._handles import Handle
from ._library import lib
from ._numbers import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._aliases import Path
    from ._client import BaseClient


class Cache:
    """A private HTTP cache after RFC 9111: responses that need not be asked for again, in memory
    and, with a folder, on disk.

    Each session has one of its kind, `client.cache`; sessions share one when their configurations
    are given it:

        cache = ntapi.Cache(folder=folder)
        configuration = ntapi.SessionConfiguration.ephemeral(cache=cache)
    """

    def __init__(
        self,
        memory_capacity: int = 16 << 20,
        disk_capacity: int = 128 << 20,
        folder: Optional[Path] = None,
    ) -> None:
        """Makes a cache. The capacities are bytes; a response that takes more than a quarter of one
        is not kept there. The folder is for the cache alone, and made when something is stored.
        """
        name = None if folder is None else os.path.abspath(os.fsencode(folder))
        pointer = lib.ntapi_cache_create(memory_capacity, disk_capacity, name)
        if not pointer:
            raise ValueError(
                f"no cache of {memory_capacity} and {disk_capacity} bytes at {folder!r}"
            )
        self._own(Handle(pointer, lib.ntapi_cache_free))

    def _own(self, handle: Handle, client: Optional[BaseClient] = None) -> None:
        self._handle = handle
        # Who lends it.
        self._client = client

    @classmethod
    def _lent(cls, client: BaseClient, pointer: int) -> Cache:
        """The cache of a client."""
        cache = cls.__new__(cls)
        cache._own(Handle(pointer), client)
        return cache

    @property
    def _pointer(self) -> Optional[int]:
        return self._handle.pointer

    @property
    def memory_capacity(self) -> int:
        """How many bytes of memory responses may take."""
        return int(lib.ntapi_cache_capacity(self._pointer, Storage.MEMORY.value))

    @property
    def disk_capacity(self) -> int:
        """How many bytes of disk responses may take; 0 for a cache in memory."""
        return int(lib.ntapi_cache_capacity(self._pointer, Storage.DISK.value))

    @property
    def memory_usage(self) -> int:
        """About how many bytes of memory responses take now."""
        return int(lib.ntapi_cache_usage(self._pointer, Storage.MEMORY.value))

    @property
    def disk_usage(self) -> int:
        """How many bytes of disk responses take now, those of other processes included. Waits for
        the disk.
        """
        return int(lib.ntapi_cache_usage(self._pointer, Storage.DISK.value))

    def clear(self) -> None:
        """Forgets every response. Waits for the disk."""
        lib.ntapi_cache_clear(self._pointer)

    def remove(self, url: str) -> None:
        """Forgets the responses for a URL, if there are any. Waits for the disk."""
        check_string(url, "the URL")
        if lib.ntapi_cache_remove(self._pointer, url.encode()) != Status.OK:
            from ._redaction import shown_url

            raise ValueError(f"{shown_url(url)!r} is not an http or https URL")

    def save(self) -> None:
        """Waits until what was stored is on disk. It is done anyway soon, when a client is drained,
        and when the process exits. Raises an ApiError when it failed.
        """
        error = ctypes.c_void_p()
        status = lib.ntapi_cache_save(self._pointer, ctypes.byref(error))
        if status != Status.OK:
            raise take_error(error.value, "the cache was not written")

    def __repr__(self) -> str:
        return f"<Cache of {self.memory_capacity} bytes, {self.disk_capacity} on disk>"
