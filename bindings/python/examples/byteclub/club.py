"""The client of Byte Club: its notes and photos, and what to say about errors."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
from collections.abc import Iterator
from typing import Any, Callable, Optional

from oauth import Token
from session import Session
from storage import (
    STORAGE,
    Account,
    AccountInfo,
    Delete,
    Entry,
    Metadata,
    Note,
    ReadNote,
    Search,
    Thumbnail,
    WriteFile,
)
from terminal import Activity

import ntapi

Progress = Callable[[int, Optional[int]], object]

FOLDER = (os.environ.get("BYTECLUB_FOLDER") or "byteclub").strip("/")
"""The folder that the club's members share: notes, and below it photos."""


class StorageClient(ntapi.Client):
    """A session with one of the servers of the storage."""

    activity = Activity()

    def __init__(self, url: str, token: Token, **settings: Any) -> None:
        configuration = ntapi.SessionConfiguration.ephemeral(
            additional_headers={"Authorization": token.header},
            request_timeout=30,
            retry=STORAGE,
            **settings,
        )
        # Errors are printed by the program.
        super().__init__(url, configuration=configuration, log_flags=ntapi.LogFlags.NONE)

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        """`{"error": "…"}` says more than the status does."""
        error, body = response.error, response.json()
        message = body.get("error") if isinstance(body, dict) else None
        if error and isinstance(message, str):
            error.message = message
        return error

    def request_started(self, request: ntapi.Request) -> None:
        self.activity.begin()

    def request_completed(self, request: ntapi.Request, response: ntapi.Response) -> None:
        self.activity.end()


@contextlib.contextmanager
def absent_is_empty() -> Iterator[None]:
    """A folder that is not there is an empty one: it is made when something is written."""
    try:
        yield
    except ntapi.ApiError as error:
        if error.http_status != 404:
            raise


class ByteClub:
    """The notes and photos of a club, in a folder that its members share."""

    def __init__(self, session: Session) -> None:
        token = session.credentials
        self.api = StorageClient(session.url, token)
        self.content = StorageClient(session.content, token)
        # Uploads keep to one connection, whatever else goes on.
        self.uploads = StorageClient(session.content, token, maximum_connections_per_host=1)

    def account(self) -> Account:
        return self.api.call(AccountInfo())

    def notes(self) -> list[Entry]:
        with absent_is_empty():
            folder = self.api.call(Metadata(f"/{FOLDER}"))
            return [entry for entry in folder.contents if not entry.is_dir]
        return []

    def photos(self) -> list[Entry]:
        with absent_is_empty():
            return self.api.call(Search(f"/{FOLDER}/photos", ".jpg"))
        return []

    def read(self, note: str) -> Note:
        return self.content.call(ReadNote(f"/{FOLDER}/{note}"))

    def write(self, note: str, text: str, replacing: Optional[Entry] = None) -> Entry:
        """Writes over `replacing`, which the writer has read; without it the note is a new one.

        Returns what was written: by another name, when another note was in its place.
        """
        body = ntapi.data(text.encode(), "text/plain; charset=utf-8")
        rev = replacing.rev if replacing else None
        return self.content.call(WriteFile(f"/{FOLDER}/{note}", body, parent_rev=rev))

    def search(self, words: str) -> list[Entry]:
        with absent_is_empty():
            return self.api.call(Search(f"/{FOLDER}", words))
        return []

    def delete(self, path: str) -> None:
        if not path.strip("/"):
            raise ValueError("PATH must be the name of a note, or photos/NAME")
        self.api.call(Delete(f"/{FOLDER}/{path}"))

    def thumbnail(self, photo: Entry, size: str, kind: str) -> bytes:
        return self.content.call(Thumbnail(photo.path, size, kind))

    def upload(self, file: str, progress: Progress) -> Entry:
        """Puts a photo among the others, under a name that none of them has."""
        path = f"/{FOLDER}/photos/photo-{secrets.token_hex(4)}.jpg"
        return self.uploads.call(WriteFile(path, ntapi.file(file)), upload_progress=progress)

    def download(
        self, photo: str, file: str, resume_data: Optional[str], progress: Progress
    ) -> ntapi.Response:
        """The response, which has resume data when the download was stopped, by Ctrl-C say."""
        args: ntapi.Args = ntapi.resume(resume_data)
        if resume_data is None:
            path = f"{FOLDER}/photos/{photo}"
            args = [ntapi.path("path", path), ntapi.download(file)]
        request = self.content.begin(
            "1/files/dropbox/{path*}",
            args,
            handler=lambda _: None,
            download_progress=progress,
        )
        try:
            request.wait()
        except KeyboardInterrupt:
            request.cancel()
            request.wait()
        assert request.response is not None
        return request.response


def explanation(error: ntapi.ApiError) -> str:
    """What is said to people about an error."""
    wait = "try again later"
    if error.retry_after is not None:
        wait = f"try again in {math.ceil(error.retry_after)} s"
    texts = {
        400: f"the service does not accept this: {error.message}",
        401: "not signed in any more: byteclub login URL",
        403: f"not allowed: {error.message}",
        404: "no such file or folder",
        405: "the service does not know this call: is the URL right?",
        429: f"too many requests: {wait}",
        503: f"the service is busy: {wait}",
        507: "no room left: delete something first",
    }
    return texts.get(error.http_status or 0, error.message)
