"""The calls of the file storage, as typed services: the Dropbox Core API, version 1."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, Optional, TypeVar

import ntapi

T = TypeVar("T")

STORAGE = ntapi.RetryPolicy(attempts=3, maximum_retry_after=30)
"""Another attempt when the service is busy, or does not answer."""
REFUSED = ntapi.RetryPolicy(
    attempts=3, maximum_retry_after=30, statuses=[429, 503], network_errors=False
)
"""Another attempt only when the service has refused the one before."""


@dataclass
class Entry:
    """A file or a folder, as the service describes it."""

    path: str
    bytes: int
    size: str
    is_dir: bool
    thumb_exists: bool
    # Of all but the root.
    rev: Optional[str] = None
    modified: Optional[datetime] = None
    # Of a folder that was listed.
    contents: list[Entry] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2] or "/"


@dataclass
class Account:
    name: Annotated[str, ntapi.Key("display_name")]
    email: str
    used: Annotated[int, ntapi.Key("quota_info.normal")]
    quota: Annotated[int, ntapi.Key("quota_info.quota")]


@dataclass
class Note:
    text: str
    entry: Entry


def storage_date(value: Any) -> Optional[datetime]:
    """Sat, 21 Aug 2010 22:31:20 +0000"""
    return parsedate_to_datetime(value) if isinstance(value, str) else None


class AccountInfo(ntapi.Service[Account]):
    command = "1/account/info"


class StorageService(ntapi.Service[T]):
    """What the calls about a path have in common: it goes into the command, with all its
    segments.
    """

    decoding = ntapi.DecodingOptions(dates=storage_date)
    call: str
    path: str

    @property
    def command(self) -> str:
        return f"1/{self.call}/dropbox/{{path*}}"

    def parameters(self) -> ntapi.Args:
        return [ntapi.path("path", self.path), self.options()]

    def options(self) -> ntapi.Args:
        return []


@dataclass
class Metadata(StorageService[Entry]):
    """An entry, and what is in it."""

    call = "metadata"
    path: str

    def options(self) -> ntapi.Args:
        return ntapi.url("list", True)


@dataclass
class ReadNote(StorageService[Note]):
    call = "files"
    path: str

    def options(self) -> ntapi.Args:
        # The body is the note, JSON or not.
        return ntapi.option("raw_data")

    def make_response(self, response: ntapi.Response) -> Note:
        about = json.loads(response.headers.get("x-dropbox-metadata", "null"))
        return Note(response.text, ntapi.decode(Entry, about, options=self.decoding))


@dataclass
class WriteFile(StorageService[Entry]):
    """Writes a file. One that was changed since `parent_rev`, or must not be overwritten, is kept:
    the new one gets another name.

    Sent twice it would be there twice: it is sent again only when the service has said that it did
    nothing.
    """

    call = "files_put"
    method = "PUT"
    path: str
    body: ntapi.Args
    overwrite: bool = False
    parent_rev: Optional[str] = None

    def options(self) -> ntapi.Args:
        revision = ntapi.url("parent_rev", self.parent_rev)
        overwrite = ntapi.url("overwrite", self.overwrite)
        return [overwrite, revision, ntapi.retry(REFUSED), self.body]


@dataclass
class Search(StorageService[list[Entry]]):
    call = "search"
    path: str
    query: str

    def options(self) -> ntapi.Args:
        return ntapi.url("query", self.query)


@dataclass
class Thumbnail(StorageService[bytes]):
    """A small picture of a photo: of PNG and others, what the client asks for."""

    call = "thumbnails"
    path: str
    size: str
    kind: str

    def options(self) -> ntapi.Args:
        return [
            ntapi.url("size", self.size),
            ntapi.url("format", "png"),
            ntapi.header("Accept", self.kind),
            ntapi.option("raw_data"),
        ]

    def make_response(self, response: ntapi.Response) -> bytes:
        return response.data


@dataclass
class Delete(ntapi.Service[None]):
    command = "1/fileops/delete"
    path: str

    def parameters(self) -> ntapi.Args:
        return [ntapi.form("root", "dropbox"), ntapi.form("path", self.path)]
