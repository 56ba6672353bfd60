"""The content of an account: files and folders, each with a revision, in memory."""

from __future__ import annotations

import hashlib
import mimetypes
import threading
import time
from dataclasses import dataclass, field
from email.utils import formatdate

QUOTA = 50_000_000
"""Bytes that an account may keep."""


class Refused(Exception):
    """The service refuses, with this status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass
class Entry:
    """A file, or a folder, which has no data."""

    path: str
    data: bytes | None
    rev: str
    modified: float = field(default_factory=time.time)

    @property
    def is_photo(self) -> bool:
        return (self.mime_type or "").startswith("image/")

    @property
    def mime_type(self) -> str | None:
        if self.data is None:
            return None
        return mimetypes.guess_type(self.path)[0] or "application/octet-stream"


def human(count: int) -> str:
    """A size as the service writes it: `225.4KB`."""
    if count < 1024:
        return f"{count} bytes"
    return f"{count / 1024:.1f}KB" if count < 1 << 20 else f"{count / (1 << 20):.1f}MB"


class Account:
    """The files and folders of an account. Two names must differ by more than case."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.RLock()
        self.entries: dict[str, Entry] = {}
        self.changes = 0
        self.put("/", None)

    def find(self, path: str) -> Entry:
        entry = self.entries.get(path.lower())
        if entry is None:
            raise Refused(404, f"Path '{path}' not found")
        return entry

    def children(self, path: str) -> list[Entry]:
        above = path.lower().rstrip("/") + "/"
        inside = [key for key in list(self.entries) if key.startswith(above) and key != above]
        return [self.entries[key] for key in sorted(inside) if "/" not in key[len(above) :]]

    def below(self, path: str) -> list[Entry]:
        """The entry itself, and all that is in it."""
        above = path.lower().rstrip("/") + "/"
        found = [entry for key, entry in list(self.entries.items()) if key.startswith(above)]
        return [self.find(path), *found] if path != "/" else found

    def put(self, path: str, data: bytes | None) -> Entry:
        """Writes an entry, and its parent folders."""
        used = sum(len(entry.data or b"") for entry in list(self.entries.values()))
        if used + len(data or b"") > QUOTA:
            raise Refused(507, "User is over quota")
        above = path.rpartition("/")[0]
        if above and above.lower() not in self.entries:
            self.put(above, None)
        self.changes += 1
        entry = Entry(path, data, f"{self.changes:x}{hashlib.sha256(data or b'').hexdigest()[:8]}")
        self.entries[path.lower()] = entry
        return entry

    def upload(self, path: str, data: bytes, overwrite: bool, parent_rev: str | None) -> Entry:
        """Writes a file. A file with the same name that the writer had not seen is kept beside
        it.
        """
        old = self.entries.get(path.lower())
        if old and old.data is None:
            raise Refused(403, f"A folder already exists at '{path}'")
        if old and (old.rev != parent_rev if parent_rev else not overwrite):
            stem, dot, extension = path.rpartition(".")
            if not dot or "/" in extension:
                stem, extension = path, ""
            number = 0
            while path.lower() in self.entries:
                number += 1
                words = f"{self.name}'s conflicted copy" if parent_rev else str(number)
                if parent_rev and number > 1:
                    words += f" {number}"
                path = f"{stem} ({words}){dot}{extension}"
        return self.put(path, data)

    def delete(self, path: str) -> None:
        for entry in self.below(path):
            del self.entries[entry.path.lower()]

    def copy(self, source: str, destination: str) -> Entry:
        if destination.lower() in self.entries:
            raise Refused(403, f"A file with the name '{destination}' already exists")
        for entry in self.below(source):
            self.put(destination + entry.path[len(source) :], entry.data)
        return self.find(destination)

    def metadata(self, entry: Entry, *, with_contents: bool = False) -> dict[str, object]:
        """An entry as the service describes it."""
        count = len(entry.data or b"")
        found: dict[str, object] = {
            "size": human(count),
            "bytes": count,
            "path": entry.path,
            "is_dir": entry.data is None,
            "rev": entry.rev,
            "modified": formatdate(entry.modified).replace("-0000", "+0000"),
            "thumb_exists": entry.is_photo,
            "icon": "folder" if entry.data is None else "page_white",
            "root": "dropbox",
        }
        if entry.data is not None:
            found["mime_type"] = entry.mime_type
        if with_contents and entry.data is None:
            inside = self.children(entry.path)
            revs = "".join(child.rev for child in inside)
            found["hash"] = hashlib.sha256(revs.encode()).hexdigest()[:32]
            found["contents"] = [self.metadata(child) for child in inside]
        return found
