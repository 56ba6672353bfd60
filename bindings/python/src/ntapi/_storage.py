"""What a session stores: its HTTP cache, cookies and credentials."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from typing import NamedTuple, Optional

from ._args import c_text, shown_url
from ._bridge import signatures
from ._bridge.enums import Authentication, Storage
from ._bridge.json import from_c, to_c
from ._bridge.library import Handle, lib
from ._bridge.signatures import Status
from ._errors import take_error
from ._runtime.checks import (
    NeedsInit,
    check_member,
    check_string,
    even_without_init,
    refuse_copy,
    shown,
)
from ._stores import Store, check_sharing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from ._client import BaseClient
    from ._types import Path


class Cache(NeedsInit):
    """A private HTTP cache (RFC 9111), in memory and, with a folder, on disk.

    Each session has one: `client.cache`. To share a cache, pass it to several configurations:

        cache = ntapi.Cache(folder=folder)
        configuration = ntapi.SessionConfiguration.ephemeral(cache=cache)
    """

    def __init__(
        self,
        memory_capacity: int = 16 << 20,
        disk_capacity: int = 128 << 20,
        folder: Optional[Path] = None,
    ) -> None:
        """Makes a cache. The capacities are bytes. Memory or disk does not keep a response that
        takes more than a quarter of its capacity. The folder is for the cache alone, and is made
        when something is stored.
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
        # The object that owns it.
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
        """Bytes of memory that responses may take."""
        return int(lib.ntapi_cache_capacity(self._pointer, Storage.MEMORY.value))

    @property
    def disk_capacity(self) -> int:
        """Bytes of disk that responses may take; 0 for a cache in memory."""
        return int(lib.ntapi_cache_capacity(self._pointer, Storage.DISK.value))

    @property
    def memory_usage(self) -> int:
        """Bytes of memory that the responses take now, approximately."""
        return int(lib.ntapi_cache_usage(self._pointer, Storage.MEMORY.value))

    @property
    def disk_usage(self) -> int:
        """Bytes of disk that responses take now, including those of other processes. Blocks for the
        disk.
        """
        return int(lib.ntapi_cache_usage(self._pointer, Storage.DISK.value))

    def clear(self) -> None:
        """Removes every response. Blocks for the disk."""
        lib.ntapi_cache_clear(self._pointer)

    def remove(self, url: str) -> None:
        """Removes the responses for a URL, if there are any. Blocks for the disk."""
        check_string(url, "the URL")
        if lib.ntapi_cache_remove(self._pointer, url.encode()) != Status.OK:
            raise ValueError(f"{shown_url(url)!r} is not an http or https URL")

    def save(self) -> None:
        """Blocks until what was stored is on disk. The cache also writes soon by itself, when a
        client is drained, and when the process exits. Raises an ApiError if writing failed.
        """
        error = ctypes.c_void_p()
        status = lib.ntapi_cache_save(self._pointer, ctypes.byref(error))
        if status != Status.OK:
            raise take_error(error.value, "the cache was not written")

    def share(
        self, store: Store, key: str, *, store_timeout: float = 0.5, lease: float = 10.0
    ) -> None:
        """Shares responses with other processes, by a store. Call it before the first request.

            cache.share(ntapi.fleet.Redis("rediss://redis.example"), "partner")

        All caches with the same `key` of the same store have these responses, in any language. A
        request that finds no fresh response in its own process looks there. When several processes
        need the same response, one loads or revalidates it; the others use a stale one if they may,
        or wait for it.

        Only what a shared cache may have is stored there: no responses to requests with credentials
        or cookies, none that are `private` or set a cookie, and none above 1 MB. A store that
        encrypts also has responses to requests with credentials, even `private` ones: each only for
        requests with the same credentials. A response expires when it can no longer be used or
        validated.

        A store that has not replied in `store_timeout` seconds fails. Until it answers again, each
        process uses its own cache. A process that has loaded nothing within `lease` seconds, from
        0.1, is replaced. After twice that, a request waits no longer.
        """
        check_sharing(store, key, store_timeout, lease)
        size = ctypes.sizeof(signatures.CacheSharing)
        kept = store._kept()
        sharing = signatures.CacheSharing(size, kept.pointer, c_text(key), store_timeout, lease)
        error = ctypes.c_void_p()
        status = lib.ntapi_cache_share(self._pointer, ctypes.byref(sharing), ctypes.byref(error))
        if status != Status.OK:
            raise ValueError(take_error(error.value, "the options are wrong").message)

    def __reduce__(self) -> NoReturn:
        refuse_copy(
            self,
            "give each process a cache of the same folder, `ntapi.Cache(folder=folder)`",
        )

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.Cache of {self.memory_capacity} bytes, {self.disk_capacity} on disk>"


# The cookies of a session.


class Cookie(NamedTuple):
    """One cookie."""

    name: str
    value: str
    domain: str
    """The host that it is for. When you set a cookie, a leading dot includes the hosts below it."""
    path: str = "/"
    """It is sent with requests for this path and below it."""
    expires: Optional[float] = None
    """Seconds since 1970-01-01 00:00 UTC. None is the end of the session: such a cookie is never
    written to disk.
    """
    secure: bool = False
    """Whether it is only sent over https."""
    http_only: bool = False
    """Whether it is hidden from scripts in a browser."""
    includes_subdomains: bool = False
    """Whether it is also for the hosts below the domain."""

    def __repr__(self) -> str:
        return f"<ntapi.Cookie {self.name} domain={self.domain} path={self.path}>"


_NAMES = {"http_only": "httpOnly", "includes_subdomains": "includesSubdomains"}


def _cookie(members: dict[str, Any]) -> Cookie:
    return Cookie._make(members.get(_NAMES.get(name, name)) for name in Cookie._fields)


class Cookies:
    """The cookies of a client that is a session: `client.cookies`.

    Requests send and store cookies automatically; these methods read and change them. Default and
    background sessions share the program's storage on disk. Each ephemeral session has its own, in
    memory.
    """

    def __init__(self, client: BaseClient, pointer: int) -> None:
        # The client owns the storage.
        self._client = client
        self._pointer = pointer

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "pass on `cookies.all()`, a list of plain values")

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.Cookies {[cookie.name for cookie in self]}>"

    def __iter__(self) -> Iterator[Cookie]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self.all())

    def all(self, url: Optional[str] = None) -> list[Cookie]:
        """The cookies that have not expired; with a URL, those that a request for it would send."""
        if url is not None:
            check_string(url, "the URL")
        text = None if url is None else url.encode()
        found = from_c(lib.ntapi_cookie_storage_get(self._pointer, text))
        if found is None:
            raise ValueError(f"{shown_url(url or '')!r} is not an http or https URL")
        return [_cookie(members) for members in found]

    def set(self, cookie: Cookie) -> None:
        """Sets a cookie and replaces one with the same name, domain and path. An expired cookie
        deletes that one. Raises an ApiError for a cookie that could not be sent.
        """
        members = {_NAMES.get(name, name): value for name, value in cookie._asdict().items()}
        document = to_c(members)
        error = ctypes.c_void_p()
        try:
            status = lib.ntapi_cookie_storage_set(self._pointer, document, ctypes.byref(error))
        finally:
            lib.ntapi_json_free(document)
        if status != Status.OK:
            raise take_error(error.value, "the cookie cannot be set")

    def delete(self, name: str, domain: Optional[str] = None, path: Optional[str] = None) -> None:
        """Deletes the cookies with this name and, if given, this domain and path."""
        for text, what in ((name, "the name"), (domain, "the domain"), (path, "the path")):
            if text is not None:
                check_string(text, what)
        texts = [None if text is None else text.encode() for text in (name, domain, path)]
        lib.ntapi_cookie_storage_delete(self._pointer, *texts)

    def clear(self) -> None:
        """Deletes every cookie."""
        lib.ntapi_cookie_storage_clear(self._pointer)

    def save(self) -> None:
        """Writes changes to disk now. Otherwise they are written half a second after a change, when
        a client is drained or closed, and when the process exits. Raises an ApiError if writing
        failed.
        """
        error = ctypes.c_void_p()
        status = lib.ntapi_cookie_storage_save(self._pointer, ctypes.byref(error))
        if status != Status.OK:
            raise take_error(error.value, "the cookies were not written")


# Credentials of users, by protection space.


class Credential(NamedTuple):
    """A user and a password. Its repr has no password."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"<ntapi.Credential {self.user}>"

    def __str__(self) -> str:
        return repr(self)


class ProtectionSpace(NamedTuple):
    """Where a credential is valid: a server or a proxy, and the realm that demands it."""

    scheme: str
    """"http" or "https"; for a proxy, the protocol to the proxy itself."""
    host: str
    port: int
    realm: Optional[str] = None
    """The part of the server; None if the server does not name one, and for a proxy."""
    authentication: Authentication = Authentication.BASIC
    is_proxy: bool = False

    @classmethod
    def _of_c(cls, space: signatures.ProtectionSpace) -> ProtectionSpace:
        return cls(
            space.scheme.decode(),
            space.host.decode(),
            space.port,
            None if space.realm is None else space.realm.decode("utf-8", "replace"),
            Authentication(space.authentication),
            space.is_proxy,
        )

    def _make_c(self) -> signatures.ProtectionSpace:
        """The space as a C struct. Raises ValueError if there can be no such server."""
        check_member(self.authentication, Authentication)
        space = signatures.ProtectionSpace(
            ctypes.sizeof(signatures.ProtectionSpace),
            c_text(self.scheme),
            c_text(self.host),
            self.port if 0 < self.port < 65536 else 0,
            c_text(self.realm),
            self.authentication.value,
            self.is_proxy,
        )
        # C checks the space: ask an empty storage about it.
        storage = lib.ntapi_credential_storage_create(None)
        status = lib.ntapi_credential_storage_remove(storage, ctypes.byref(space), None, None)
        lib.ntapi_credential_storage_free(storage)
        if status != Status.OK:
            raise ValueError(f"there is no server {self.scheme}://{self.host}:{self.port}")
        return space


class CredentialStorage(NeedsInit):
    """Users and passwords by protection space, in memory or in a file.

        space = ntapi.ProtectionSpace("https", "api.example.com", 443, "members")
        storage = ntapi.CredentialStorage()
        storage.set(ntapi.Credential("ann", "sesame"), space)
        configuration = ntapi.SessionConfiguration.ephemeral(credential_storage=storage)

    When a server or a proxy demands a credential, the session looks here before it asks the
    program. Credentials are never sent without such a demand.
    """

    _file: Optional[bytes] = None
    _is_shared: bool = False

    def __init__(self, file: Optional[Path] = None) -> None:
        """Makes a storage in memory, or in a file. The file is made when something is set. It has
        the passwords unencrypted, readable by the user only (mode 0600).
        """
        name = None if file is None else os.path.abspath(os.fsencode(file))
        pointer = lib.ntapi_credential_storage_create(name)
        if not pointer:
            raise ValueError(f"{file!r} cannot be the path of a file for credentials")
        self._own(Handle(pointer, lib.ntapi_credential_storage_free))
        self._file = name

    def _own(self, handle: Handle, client: Optional[BaseClient] = None) -> None:
        self._handle = handle
        # The client that owns it.
        self._client = client

    @classmethod
    def _of(cls, handle: Handle, client: Optional[BaseClient] = None) -> CredentialStorage:
        storage = cls.__new__(cls)
        storage._own(handle, client)
        return storage

    @classmethod
    def shared(cls) -> CredentialStorage:
        """The program's storage, in a file beside the cookies. Its default and background sessions
        use it. The program's name is that of the interpreter, or the default `applicationName`.
        """
        pointer = lib.ntapi_credential_storage_shared()
        storage = cls._of(Handle(pointer, lib.ntapi_credential_storage_free))
        storage._is_shared = True
        return storage

    @property
    def _pointer(self) -> Optional[int]:
        return self._handle.pointer

    def default(self, space: ProtectionSpace) -> Optional[Credential]:
        """The credential that requests use for a protection space, or None. Raises an ApiError if
        the file is damaged or cannot be read.
        """
        return next(iter(self.credentials(space)), None)

    def credentials(self, space: ProtectionSpace) -> list[Credential]:
        """The credentials for a protection space, the default first. Raises as `default`."""
        return [credential for _, credential in self._get(space)]

    def all(self) -> list[tuple[ProtectionSpace, Credential]]:
        """Every credential with its protection space; the default of each space first. Raises as
        `default`.
        """
        return self._get(None)

    def _get(self, space: Optional[ProtectionSpace]) -> list[tuple[ProtectionSpace, Credential]]:
        wanted = None if space is None else space._make_c()
        error = ctypes.c_void_p()
        found = from_c(
            lib.ntapi_credential_storage_get(
                self._pointer, None if wanted is None else ctypes.byref(wanted), ctypes.byref(error)
            )
        )
        if found is None:
            raise take_error(error.value, "the credentials cannot be read")
        return [_entry(members) for members in found]

    def set(self, credential: Credential, space: ProtectionSpace) -> None:
        """Sets a credential and replaces one with the same user. The first one of a space is its
        default. Raises an ApiError if it cannot be sent, or if the file cannot be written.
        """
        self._change(lib.ntapi_credential_storage_set, space, *credential)

    def set_default(self, credential: Credential, space: ProtectionSpace) -> None:
        """Sets a credential as `set` does, and makes it the one that requests use."""
        self._change(lib.ntapi_credential_storage_set_default, space, *credential)

    def remove(self, space: ProtectionSpace, user: Optional[str] = None) -> None:
        """Removes the credentials for a protection space, or only that of a user. Does nothing if
        there are none. Raises an ApiError if the file cannot be written.
        """
        self._change(lib.ntapi_credential_storage_remove, space, user)

    def clear(self) -> None:
        """Removes every credential. Raises as `remove`."""
        error = ctypes.c_void_p()
        status = lib.ntapi_credential_storage_clear(self._pointer, ctypes.byref(error))
        if status != Status.OK:
            raise take_error(error.value, "the credentials cannot be changed")

    def _change(self, function: Any, space: ProtectionSpace, *texts: Optional[str]) -> None:
        if not isinstance(space, ProtectionSpace):
            raise TypeError(f"a ProtectionSpace is expected, not {shown(space)}")
        wanted = space._make_c()
        error = ctypes.c_void_p()
        values = [c_text(text) for text in texts]
        status = function(self._pointer, ctypes.byref(wanted), *values, ctypes.byref(error))
        if status != Status.OK:
            raise take_error(error.value, "the credentials cannot be changed")

    def __reduce__(self) -> tuple[Any, ...]:
        if self._client is not None:
            refuse_copy(
                self, "its client lends it; pass on `storage.all()`, which has the passwords"
            )
        if self._is_shared:
            return CredentialStorage.shared, ()
        if self._file is not None:
            return CredentialStorage, (self._file,)
        return _in_memory, (self.all(),)

    @even_without_init
    def __repr__(self) -> str:
        if self._client is not None:
            return f"<ntapi.CredentialStorage of {self._client!r}>"
        place = "in memory" if self._file is None else f"in {os.fsdecode(self._file)}"
        return f"<ntapi.CredentialStorage {'shared' if self._is_shared else place}>"


def _in_memory(entries: list[tuple[ProtectionSpace, Credential]]) -> CredentialStorage:
    """A storage in memory with these entries; the first one of each space is its default."""
    storage = CredentialStorage()
    for space, credential in entries:
        storage.set(credential, space)
    return storage


def _entry(members: dict[str, Any]) -> tuple[ProtectionSpace, Credential]:
    return _space(members), Credential(members["user"], members["password"])


def _space(members: dict[str, Any]) -> ProtectionSpace:
    return ProtectionSpace(
        members["scheme"],
        members["host"],
        members["port"],
        members["realm"],
        Authentication[members["authentication"].upper()],
        members["isProxy"],
    )
