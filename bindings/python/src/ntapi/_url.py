"""URLs in the JSON of a service, checked."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._typing import Self


class URL(str):
    """An absolute http or https URL: a string that was checked.

    Declare `str` for URLs of other schemes and for relative ones. Raises ValueError for what is
    none.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if re.search(r"[\x00-\x20\x7f]", text):
            raise ValueError("a URL with a space or a control character")
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not text[len(parts.scheme) :].startswith("://"):
            raise ValueError("a URL must begin with http:// or https://")
        if not parts.hostname:
            raise ValueError("a URL without a host")
        if parts.username is not None:
            raise ValueError("a user or password does not belong into a URL")
        if parts.port == 0:
            raise ValueError("a port is from 1 to 65535")
        return super().__new__(cls, text)
