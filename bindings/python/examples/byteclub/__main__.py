"""Notes and photos of a club, kept by a file storage with the API of Dropbox, version 1.

python byteclub login URL [CONTENT_URL [WEB_URL]] | logout | account | notes | photos
python byteclub read NOTE | write NOTE TEXT | edit NOTE | search WORDS | delete PATH
python byteclub upload FILE | download PHOTO FILE

URL is what `python Tests/servers/storage.py` prints, or of a real service, which may have others
for the files themselves and for its web pages. In the environment may be BYTECLUB_KEY and
BYTECLUB_SECRET, which the service gave to the application, and BYTECLUB_FOLDER, which the members
share (byteclub). `login` opens a page in the browser, or names it. `edit` starts $EDITOR. Ctrl-C
cancels an upload or a download; the same command goes on with a download.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Optional

import oauth
import session
from club import FOLDER, ByteClub, StorageClient, explanation
from storage import Entry
from terminal import complain, display, draw, edited, finish

import ntapi
from ntapi import codes

USAGE = """\
usage: byteclub login URL [CONTENT_URL [WEB_URL]] | logout | account | notes | photos
       | read NOTE | write NOTE TEXT | edit NOTE | search WORDS | delete PATH
       | upload FILE | download PHOTO FILE"""


def log_in(url: str, content_url: Optional[str] = None, web_url: Optional[str] = None) -> None:
    """The three steps of OAuth."""
    request_token = StorageClient(url, oauth.Token()).call(oauth.RequestToken())
    page = oauth.consent_page(web_url or url, request_token)
    finish(f"Please let Byte Club in, in your browser: {page}")
    oauth.open_browser(page)
    token = StorageClient(url, request_token).call(oauth.AccessToken())
    kept = session.Session(url, content_url or url, token.token, token.secret)
    kept.save()
    account = ByteClub(kept).account()
    finish(f"signed in as {account.name} <{account.email}>")


def log_out() -> None:
    session.forget()
    print("signed out")


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
    photos, pictures = club.photos(), display()
    if pictures is None or not photos:
        print_list(photos, "no photos yet")
        return
    for photo in photos:
        print(pictures.text(club.thumbnail(photo, pictures.size, pictures.kind)))
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
        print(entry.path.removeprefix(f"/{FOLDER}/"))
    if not entries:
        print("nothing found")


def delete(club: ByteClub, path: str) -> None:
    club.delete(path)
    print(f"deleted {path}")


def upload(club: ByteClub, file: str) -> None:
    if not file.lower().endswith((".jpg", ".jpeg")):
        raise ValueError(f"a photo is a file that ends in .jpg: {file}")
    entry = club.upload(file, draw)
    finish(f"uploaded {entry.name}: {entry.size}")
    show_photos(club)


def resume_data_of(photo: str, saved: Path) -> Optional[str]:
    """What is needed to go on with this photo, if that is what was stopped."""
    if not saved.exists():
        return None
    name, _, data = saved.read_text(errors="replace").rstrip().partition("\n")
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


COMMANDS: dict[str, tuple[Callable[..., None], int]] = {
    "account": (show_account, 0),
    "notes": (show_notes, 0),
    "photos": (show_photos, 0),
    "read": (read, 1),
    "write": (write, 2),
    "edit": (edit, 1),
    "search": (search, 1),
    "delete": (delete, 1),
    "upload": (upload, 1),
    "download": (download, 2),
}
"""What a member does, and the number of words that follow."""


def run(words: Sequence[str]) -> bool:
    """False when the words are no command."""
    name, rest = (words[0], words[1:]) if words else ("", ())
    function, count = COMMANDS.get(name, (None, 0))
    if name == "login" and 1 <= len(rest) <= 3:
        try:
            log_in(*rest)
        except ntapi.ApiError as error:
            text = oauth.explanation(error)
            if text is None:
                raise
            raise LookupError(text) from None
    elif name == "logout" and not rest:
        log_out()
    elif function and len(rest) == count:
        function(ByteClub(session.load()), *rest)
    else:
        return False
    return True


def main(words: Sequence[str]) -> int:
    try:
        if run(words):
            return 0
    except ntapi.ApiError as error:
        if error.code is codes.CANCELLED:
            finish("cancelled")
            return 130
        complain(explanation(error))
        return 1
    except (LookupError, OSError) as error:
        complain(error)
        return 1
    except ValueError as error:
        complain(error)
        return 2
    except KeyboardInterrupt:
        finish("cancelled")
        return 130
    print(USAGE, file=sys.stderr)
    return 2


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # so `| head` ends it, as it does other programs
    sys.exit(main(sys.argv[1:]))
