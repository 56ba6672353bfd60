"""Credentials of users, by the protection space that they are for."""

from __future__ import annotations

import ctypes
import os
from typing import NamedTuple, Optional

from ._arg_list import c_text
from ._enums import Authentication
from ._errors import take_error
from ._handles import Handle
from ._json import from_c
from ._library import lib
from ._numbers import Status
from ._signatures import ProtectionSpace as Space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._aliases import Path
    from ._client import BaseClient


class Credential(NamedTuple):
    """A user and a password. What is printed of it has no password."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"<Credential {self.user}>"

    def __str__(self) -> str:
        return repr(self)


class ProtectionSpace(NamedTuple):
    """Where a credential holds: a server, or a proxy, and the part of it that asks."""

    scheme: str
    """"http" or "https"; of a proxy, how the proxy itself is spoken to."""
    host: str
    port: int
    realm: Optional[str] = None
    """The part of the server; None when it does not say. Of a proxy it has no meaning."""
    authentication: Authentication = Authentication.BASIC
    is_proxy: bool = False

    @classmethod
    def _of_c(cls, space: Space) -> ProtectionSpace:
        return cls(
            space.scheme.decode(),
            space.host.decode(),
            space.port,
            None if space.realm is None else space.realm.decode("utf-8", "replace"),
            Authentication(space.authentication),
            space.is_proxy,
        )

    def _make_c(self) -> Space:
        """The space in C. Raises ValueError where there can be no such server."""
        space = Space(
            c_text(self.scheme),
            c_text(self.host),
            self.port if 0 < self.port < 65536 else 0,
            c_text(self.realm),
            self.authentication.value,
            self.is_proxy,
        )
        # A storage that nobody else has tells whether there can be such a server.
        storage = lib.ntapi_credential_storage_create(None)
        status = lib.ntapi_credential_storage_remove(storage, ctypes.byref(space), None, None)
        lib.ntapi_credential_storage_free(storage)
        if status != Status.OK:
            raise ValueError(f"there is no server {self.scheme}://{self.host}:{self.port}")
        return space


class CredentialStorage:
    """Users and passwords by the protection space that they are for: in memory, or in a file of the
    user's.

        space = ntapi.ProtectionSpace("https", "api.example.com", 443, "members")
        storage = ntapi.CredentialStorage()
        storage.set(ntapi.Credential("ann", "sesame"), space)
        configuration = ntapi.SessionConfiguration.ephemeral(credential_storage=storage)

    A session that is asked for a credential looks for one here before its program is asked. Nothing
    is sent unless the server, or the proxy, has asked for it.
    """

    def __init__(self, file: Optional[Path] = None) -> None:
        """Makes a storage in memory, or in a file, which is made for nobody but the user to read
        (0600) when something is set. The passwords are in it as they are.
        """
        name = None if file is None else os.path.abspath(os.fsencode(file))
        pointer = lib.ntapi_credential_storage_create(name)
        if not pointer:
            raise ValueError(f"{file!r} is no path of a file for credentials")
        self._own(Handle(pointer, lib.ntapi_credential_storage_free))

    def _own(self, handle: Handle, client: Optional[BaseClient] = None) -> None:
        self._handle = handle
        # Who lends it.
        self._client = client

    @classmethod
    def _of(cls, handle: Handle, client: Optional[BaseClient] = None) -> CredentialStorage:
        storage = cls.__new__(cls)
        storage._own(handle, client)
        return storage

    @classmethod
    def shared(cls) -> CredentialStorage:
        """The storage of the program, which its default and background sessions use, in a file
        beside the cookies. The program is the interpreter unless the default `applicationName` says
        another name.
        """
        pointer = lib.ntapi_credential_storage_shared()
        return cls._of(Handle(pointer, lib.ntapi_credential_storage_free))

    @property
    def _pointer(self) -> Optional[int]:
        return self._handle.pointer

    def default(self, space: ProtectionSpace) -> Optional[Credential]:
        """The credential that requests use for a protection space. Raises an ApiError when the file
        cannot be read, or is damaged.
        """
        return next(iter(self.credentials(space)), None)

    def credentials(self, space: ProtectionSpace) -> list[Credential]:
        """The credentials for a protection space, the default first. Raises as `default`."""
        return [credential for _, credential in self._get(space)]

    def all(self) -> list[tuple[ProtectionSpace, Credential]]:
        """Every credential with its protection space; of one space the default first. Raises as
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
        """Sets a credential, in the place of one with the same user. The first one of a space is
        its default. Raises an ApiError for what cannot be sent, and when the file cannot be
        written.
        """
        self._change(lib.ntapi_credential_storage_set, space, *credential)

    def set_default(self, credential: Credential, space: ProtectionSpace) -> None:
        """Sets a credential as `set` does, and makes it the one that requests use."""
        self._change(lib.ntapi_credential_storage_set_default, space, *credential)

    def remove(self, space: ProtectionSpace, user: Optional[str] = None) -> None:
        """Removes the credentials for a protection space, or that of a user; that there are none is
        no error. Raises an ApiError when the file cannot be written.
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
            raise TypeError(f"a ProtectionSpace is expected, not {space!r}")
        wanted = space._make_c()
        error = ctypes.c_void_p()
        values = [c_text(text) for text in texts]
        status = function(self._pointer, ctypes.byref(wanted), *values, ctypes.byref(error))
        if status != Status.OK:
            raise take_error(error.value, "the credentials cannot be changed")

    def __repr__(self) -> str:
        return "<CredentialStorage>"


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
