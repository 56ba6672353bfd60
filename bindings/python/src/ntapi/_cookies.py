"""The cookies of a session."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import NamedTuple, Optional

from ._checks import check_string
from ._errors import take_error
from ._json import from_c, to_c
from ._library import lib
from ._numbers import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._client import BaseClient


class Cookie(NamedTuple):
    """One cookie."""

    name: str
    value: str
    domain: str
    """The host that it is for; with a dot before it when it is set, the hosts below it too."""
    path: str = "/"
    """The path below which it is sent."""
    expires: Optional[float] = None
    """Seconds since 1970-01-01 00:00 UTC; None is the end of the session: such a cookie is never
    written to disk.
    """
    secure: bool = False
    """Whether it is sent over https only."""
    http_only: bool = False
    """Whether scripts in a browser may not see it."""
    includes_subdomains: bool = False
    """Whether it is for the hosts below the domain, too."""

    def __repr__(self) -> str:
        return f"<Cookie {self.name} domain={self.domain} path={self.path}>"


_NAMES = {"http_only": "httpOnly", "includes_subdomains": "includesSubdomains"}


def _cookie(members: dict[str, Any]) -> Cookie:
    return Cookie._make(members.get(_NAMES.get(name, name)) for name in Cookie._fields)


class Cookies:
    """The cookies of a client that is a session: `client.cookies`.

    They go out and come in with the requests; this is for looking at them, and for changing them.
    Default and background sessions share the storage of the program, which is kept on disk; each
    ephemeral session has its own in memory.
    """

    def __init__(self, client: BaseClient, pointer: int) -> None:
        # The storage is lent by the client.
        self._client = client
        self._pointer = pointer

    def __repr__(self) -> str:
        return f"<Cookies {[cookie.name for cookie in self]}>"

    def __iter__(self) -> Iterator[Cookie]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self.all())

    def all(self, url: Optional[str] = None) -> list[Cookie]:
        """Every cookie that has not expired; with a URL those that would be sent with a request for
        it.
        """
        if url is not None:
            check_string(url, "the URL")
        text = None if url is None else url.encode()
        found = from_c(lib.ntapi_cookie_storage_get(self._pointer, text))
        if found is None:
            from ._redaction import shown_url

            raise ValueError(f"{shown_url(url or '')!r} is not an http or https URL")
        return [_cookie(members) for members in found]

    def set(self, cookie: Cookie) -> None:
        """Sets a cookie, in the place of one with the same name, domain and path. One that has
        expired deletes that. Raises an ApiError for one that could not be sent.
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
        """Deletes the cookies with this name, and domain and path if these are given."""
        for text, what in ((name, "the name"), (domain, "the domain"), (path, "the path")):
            if text is not None:
                check_string(text, what)
        texts = [None if text is None else text.encode() for text in (name, domain, path)]
        lib.ntapi_cookie_storage_delete(self._pointer, *texts)

    def clear(self) -> None:
        """Deletes every cookie."""
        lib.ntapi_cookie_storage_clear(self._pointer)

    def save(self) -> None:
        """Writes what has changed to disk now. It is done anyway: half a second later, when a
        client is drained or closed, and when the process exits. Raises an ApiError when it failed.
        """
        error = ctypes.c_void_p()
        status = lib.ntapi_cookie_storage_save(self._pointer, ctypes.byref(error))
        if status != Status.OK:
            raise take_error(error.value, "the cookies were not written")
