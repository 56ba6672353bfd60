"""A program with a background session, for `test_background.py`, which kills it.

It begins the requests of its arguments, and writes their events into a journal.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

import ntapi


class Journal:
    """A file of lines. Each is in the file when `write` returns, even if the process is killed
    then.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.entries = [json.loads(line) for line in path.read_text().splitlines()]

    def write(self, **entry: object) -> None:
        os.write(self._file, json.dumps(entry).encode() + b"\n")

    def names(self, *kinds: str) -> set[str]:
        return {entry["name"] for entry in self.entries if entry["what"] in kinds}


def main() -> None:
    """Arguments: identifier, journal, folder for the files, URLs."""
    identifier, journal_path, folder, *urls = sys.argv[1:]
    journal = Journal(Path(journal_path))
    configuration = ntapi.SessionConfiguration.background(identifier)
    configuration.proxy = ""
    configuration.maximum_connections_per_host = 3
    client = ntapi.Client(configuration=configuration)
    if client.background_error is not None:
        print(client.background_error.message, flush=True)
        sys.exit(3)

    def ended(response: ntapi.Response) -> None:
        error = response.error
        if error is not None and error.code is ntapi.codes.DETACHED:
            return
        content = response.file.read_bytes() if response.file else b""
        journal.write(
            what="ended",
            name=response.request.description,
            status=response.status,
            error=None if error is None else str(error),
            again=response.was_delivered_before,
            sum=hashlib.sha256(content).hexdigest(),
        )

    restored = client.restored_requests(handler=ended)
    known = journal.names("begun", "ended") | {str(request.description) for request in restored}
    print("ready", flush=True)
    for request in restored:
        request.resume()
    for number, url in enumerate(urls):
        name = str(number)
        if name not in known:
            args = [ntapi.base_url(url), ntapi.download(Path(folder) / name)]
            request = client.create_request(args, handler=ended)
            request.description = name
            request.priority = number % 4 / 4
            request.resume()
            journal.write(what="begun", name=name)
    client.drain()
    client.close()
    print("done", flush=True)


if __name__ == "__main__":
    main()
