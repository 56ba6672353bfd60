"""Notes and photos of a club, kept by a file storage with the API of Dropbox, version 1.

python byteclub URL[,CONTENT_URL] account | notes | photos
python byteclub URL read NOTE | write NOTE TEXT | edit NOTE | search WORDS | delete PATH
python byteclub URL upload FILE | download PHOTO FILE

URL is what `python Tests/servers/storage.py` prints, or of a real service, which may have another
for the files themselves. The credentials of OAuth are BYTECLUB_KEY, BYTECLUB_SECRET, BYTECLUB_TOKEN
and BYTECLUB_TOKEN_SECRET in the environment. `edit` starts $EDITOR. Ctrl-C cancels an upload or a
download; the same command goes on with a download.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Optional

from club import ByteClub, Credentials, explanation
from storage import Entry
from terminal import draw, edited, finish, show, shows_pictures

import ntapi
from ntapi import codes

USAGE = """\
usage: byteclub URL account | notes | photos | read NOTE | write NOTE TEXT | edit NOTE
       | search WORDS | delete PATH | upload FILE | download PHOTO FILE"""


def show_account(club: ByteClub) -> None:
    account = club.account()
    print(f"{account.name} <{account.email}>: {account.used} of {account.quota} bytes used")


def show_notes(club: ByteClub) -> None:
    print_list(club.notes(), "no notes yet")


def print_list(entries: Sequence[Entry], nothing: str) -> None:
    if not entries:
        print(nothing)
    for entry in entries:
        print(line(entry))


def line(entry: Entry) -> str:
    modified = f"{entry.modified:%Y-%m-%dT%H:%M:%SZ}" if entry.modified else ""
    return f"{entry.name}  {entry.size}  {modified}"


def show_photos(club: ByteClub) -> None:
    photos = club.photos()
    if not shows_pictures:
        print_list(photos, "no photos yet")
        return
    for photo in photos:
        show(club.thumbnail(photo))
        print(line(photo))


def read(club: ByteClub, name: str) -> None:
    print(club.read(name).text)


def write(club: ByteClub, name: str, text: str) -> None:
    entry = club.write(name, text)
    is_saved = entry.name == name
    print(f"saved {name}" if is_saved else f"there is a {name}: yours is {entry.name}")


def edit(club: ByteClub, name: str) -> None:
    note = club.read(name)
    text = edited(note.text)
    if text is None:
        print("the editor has failed: nothing is changed")
    elif text == note.text:
        print("not changed")
    else:
        entry = club.write(name, text, replacing=note.entry)
        is_saved = entry.path == note.entry.path
        conflict = f"somebody else has changed it: yours is {entry.name}"
        print(f"saved {name}" if is_saved else conflict)


def search(club: ByteClub, words: str) -> None:
    for entry in (entries := club.search(words)):
        print(entry.path)
    if not entries:
        print("nothing found")


def delete(club: ByteClub, path: str) -> None:
    club.delete(path)
    print(f"deleted {path}")


def upload(club: ByteClub, file: str) -> None:
    entry = club.upload(file, draw)
    finish(f"uploaded {entry.name}: {entry.size}")


def resume_data_of(photo: str, saved: Path) -> Optional[str]:
    """What is needed to go on with this photo, if that is what was stopped."""
    if not saved.exists():
        return None
    name, _, data = saved.read_text().rstrip().partition("\n")
    if name == photo:
        return data
    with contextlib.suppress(ValueError):
        ntapi.discard_resume_data(data)
    return None


def download(club: ByteClub, photo: str, file: str) -> None:
    """FILE.resume keeps the photo's name, and what is needed to go on."""
    saved = Path(f"{file}.resume")
    response = club.download(photo, file, resume_data_of(photo, saved), draw)
    if response.resume_data:
        saved.write_text(f"{photo}\n{response.resume_data}\n")
        finish("stopped; the same command goes on")
    else:
        saved.unlink(missing_ok=True)
    response.raise_for_error()
    finish(f"downloaded {file}")


COMMANDS: dict[tuple[str, int], Callable[..., None]] = {
    ("account", 0): show_account,
    ("notes", 0): show_notes,
    ("photos", 0): show_photos,
    ("read", 1): read,
    ("write", 2): write,
    ("edit", 1): edit,
    ("search", 1): search,
    ("delete", 1): delete,
    ("upload", 1): upload,
    ("download", 2): download,
}
"""By their names and the number of words that follow."""


def main(words: Sequence[str]) -> int:
    command = COMMANDS.get((words[1], len(words) - 2)) if len(words) > 1 else None
    if command is None:
        print(USAGE)
        return 2
    url, _, content_url = words[0].partition(",")
    names = ("KEY", "SECRET", "TOKEN", "TOKEN_SECRET")
    credentials = Credentials(*(os.environ.get(f"BYTECLUB_{name}", "") for name in names))
    try:
        command(ByteClub(url, credentials, content_url), *words[2:])
    except KeyboardInterrupt:
        finish("cancelled")
        return 130
    except ntapi.ApiError as error:
        if error.code is codes.CANCELLED:
            finish("cancelled")
            return 130
        print(f"error: {explanation(error)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
