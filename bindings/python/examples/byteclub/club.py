"""The client of Byte Club: its notes and photos, and what to say about errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional
from urllib.parse import quote

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

import ntapi

Progress = Callable[[int, Optional[int]], object]


@dataclass
class Credentials:
    """What OAuth 1.0 makes a signature of, in its simplest form, PLAINTEXT (RFC 5849, 3.4.4)."""

    key: str
    secret: str
    token: str
    token_secret: str

    @property
    def header(self) -> str:
        fields = {
            "oauth_version": "1.0",
            "oauth_signature_method": "PLAINTEXT",
            "oauth_consumer_key": self.key,
            "oauth_token": self.token,
            "oauth_signature": f"{quote(self.secret, '')}&{quote(self.token_secret, '')}",
        }
        return "OAuth " + ", ".join(f'{name}="{quote(text, "")}"' for name, text in fields.items())


class StorageClient(ntapi.Client):
    """A session with one of the servers of the storage."""

    def __init__(self, url: str, credentials: Credentials) -> None:
        configuration = ntapi.SessionConfiguration.ephemeral(
            additional_headers={"Authorization": credentials.header},
            request_timeout=30,
            retry=STORAGE,
        )
        # Errors are printed by the program.
        super().__init__(url, configuration=configuration, log_flags=ntapi.LogFlags.NONE)

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        """`{"error": "…"}` says more than the status does."""
        error = response.error
        if (
            error
            and isinstance(response.json, dict)
            and isinstance(response.json.get("error"), str)
        ):
            error.message = response.json["error"]
        return error


class ByteClub:
    """The notes and photos of a club, in folders that its members share."""

    def __init__(
        self, url: str, credentials: Credentials, content_url: Optional[str] = None
    ) -> None:
        self.api = StorageClient(url, credentials)
        # What has the files themselves; the same, where a service has one address for all.
        self.content = StorageClient(content_url, credentials) if content_url else self.api

    def account(self) -> Account:
        return self.api.call(AccountInfo())

    def notes(self) -> list[Entry]:
        return self._files("/notes")

    def photos(self) -> list[Entry]:
        return [photo for photo in self._files("/photos") if photo.thumb_exists]

    def read(self, note: str) -> Note:
        return self.content.call(ReadNote(f"/notes/{note}"))

    def write(self, note: str, text: str, replacing: Optional[Entry] = None) -> Entry:
        """Writes over `replacing`, which the writer has read; without it the note is a new one.

        Returns what was written: by another name, when another note was in its place.
        """
        body = ntapi.data(text.encode(), "text/plain; charset=utf-8")
        rev = replacing.rev if replacing else None
        return self.content.call(WriteFile(f"/notes/{note}", body, parent_rev=rev))

    def search(self, words: str) -> list[Entry]:
        return self.api.call(Search("/", words))

    def delete(self, path: str) -> None:
        self.api.call(Delete(path))

    def thumbnail(self, photo: Entry) -> bytes:
        return self.content.call(Thumbnail(photo.path))

    def upload(self, file: str, progress: Progress) -> Entry:
        service = WriteFile(f"/photos/{Path(file).name}", ntapi.file(file))
        return self.content.call(service, upload_progress=progress)

    def download(
        self, photo: str, file: str, resume_data: Optional[str], progress: Progress
    ) -> ntapi.Response:
        """The response, which has resume data when the download was stopped, by Ctrl-C say."""
        args: ntapi.Args = ntapi.resume(resume_data)
        if resume_data is None:
            args = [ntapi.path("name", photo), ntapi.download(file)]
        request = self.content.begin(
            "1/files/dropbox/photos/{name}", args, lambda _: None, download_progress=progress
        )
        try:
            request.wait()
        except KeyboardInterrupt:
            request.cancel()
            request.wait()
        assert request.response is not None
        return request.response

    def _files(self, folder: str) -> list[Entry]:
        try:
            entries = self.api.call(Metadata(folder)).contents
        except ntapi.ApiError as error:
            # A folder that is not there is an empty one: it is made when something is written.
            if error.http_status == 404:
                return []
            raise
        return [entry for entry in entries if not entry.is_dir]


def explanation(error: ntapi.ApiError) -> str:
    """What is said to people about an error."""
    wait = "try again later"
    if error.retry_after is not None:
        wait = f"try again in {math.ceil(error.retry_after)} s"
    texts = {
        400: f"the service does not accept this: {error.message}",
        401: "not signed in: renew BYTECLUB_TOKEN and BYTECLUB_TOKEN_SECRET",
        403: f"not allowed: {error.message}",
        404: "no such file or folder",
        405: "the service does not know this call: is the URL right?",
        429: f"too many requests: {wait}",
        503: f"the service is busy: {wait}",
        507: "no room left: delete something first",
    }
    return texts.get(error.http_status or 0, error.message)
