"""Checks what an example `byteclub` shows and does: the same in each language.

python3 Tests/docs/check_byteclub.py COMMAND...

The server is the one of NTAPI_TEST_STORAGE, or one started here, which ends when its stdin does.
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import subprocess
import sys
import urllib.request
from pathlib import Path

from checks import run_checks
from terminal import PATIENCE, Terminal
from weather_server import server

DATE = r"  20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"
STATUSES = {
    400: "the service does not accept this: Bad input parameter",
    401: "not signed in: renew BYTECLUB_TOKEN and BYTECLUB_TOKEN_SECRET",
    403: "not allowed: Forbidden",
    404: "no such file or folder",
    405: "the service does not know this call: is the URL right?",
    429: "too many requests: try again in 3600 s",
    503: "the service is busy: try again in 3600 s",
    507: "no room left: delete something first",
}


class Checks:
    """Everything that is asked of the program, each in a folder and with an account of its own."""

    def __init__(self, command: list[str], url: str, folder: Path) -> None:
        self.command = [*command, url]
        self.url = url
        self.folder = folder
        self.token = secrets.token_hex(8)
        self.environment = os.environ | {
            "BYTECLUB_KEY": "byteclub",
            "BYTECLUB_SECRET": "club secret",
            "BYTECLUB_TOKEN": self.token,
            "BYTECLUB_TOKEN_SECRET": self.token[::-1],
            "TERM_PROGRAM": "",
            # Proxies of the environment have no business here.
            "no_proxy": "127.0.0.1",
        }

    def run(self, *words: str) -> tuple[int, str]:
        """The exit code, and what was printed."""
        done = subprocess.run(
            [*self.command, *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.stderr == "", done.stderr
        return done.returncode, done.stdout.removesuffix("\n")

    def expect(self, words: list[str], text: str, code: int = 0) -> None:
        found = self.run(*words)
        assert found == (code, text), f"{words}: {found}"

    def expect_like(self, words: list[str], pattern: str) -> None:
        code, text = self.run(*words)
        assert code == 0, (words, text)
        assert re.fullmatch(pattern, text), f"{words}: {text!r}"

    def at_terminal(self, *words: str, program: str = "") -> Terminal:
        return Terminal([*self.command, *words], self.environment | {"TERM_PROGRAM": program})

    def order(self, **fault: object) -> None:
        """Orders a trouble for this account."""
        data = json.dumps({"token": self.token, **fault}).encode()
        urllib.request.urlopen(f"{self.url}/faults", data).close()

    def requests(self, path: str) -> list[dict[str, str]]:
        """What the server was asked for."""
        with urllib.request.urlopen(f"{self.url}/log?token={self.token}") as answer:
            return [entry for entry in json.load(answer) if path in entry["path"]]

    def photo(self, name: str = "a.png", size: int = 300_000) -> str:
        """A file with bytes that nobody can guess."""
        path = self.folder / name
        path.write_bytes(os.urandom(size))
        return str(path)

    # What is asked

    def notes_are_written_and_read(self) -> None:
        name = f"{self.token.capitalize()} <{self.token}@example.com>"
        self.expect(["account"], f"{name}: 0 of 50000000 bytes used")
        self.expect(["notes"], "no notes yet")
        self.expect(["write", "tea & cake.txt", "Zoë's, at 5"], "saved tea & cake.txt")
        self.expect(["read", "tea & cake.txt"], "Zoë's, at 5")
        self.expect(["write", "json", '{"error": 1}'], "saved json")
        self.expect(["read", "json"], '{"error": 1}')
        self.expect_like(["notes"], f"json  12 bytes{DATE}\ntea & cake\\.txt  12 bytes{DATE}")
        self.expect(["search", "cake tea"], "/notes/tea & cake.txt")
        self.expect(["search", "nothing"], "nothing found")
        self.expect(["delete", "/notes/json"], "deleted /notes/json")
        self.expect(["read", "json"], "error: no such file or folder", 1)
        again = "there is a tea & cake.txt: yours is tea & cake (1).txt"
        self.expect(["write", "tea & cake.txt", "at 6"], again)
        self.expect(["read", "tea & cake.txt"], "Zoë's, at 5")

    def notes_are_edited(self) -> None:
        self.expect(["write", "a.txt", "one"], "saved a.txt")
        self.environment["EDITOR"] = "true"
        self.expect(["edit", "a.txt"], "not changed")
        self.environment["EDITOR"] = "false"
        self.expect(["edit", "a.txt"], "the editor has failed: nothing is changed")
        self.environment["EDITOR"] = "sed -i s/one/two/"
        self.expect(["edit", "a.txt"], "saved a.txt")
        self.expect(["read", "a.txt"], "two")

    def a_conflict_keeps_both(self) -> None:
        self.expect(["write", "a.txt", "one"], "saved a.txt")
        # Somebody else edits it, too, while the editor is open.
        editor = self.folder / "editor"
        words = " ".join(f"'{word}'" for word in self.command)
        editor.write_text(
            f"EDITOR='sed -i s/one/theirs/' {words} edit a.txt\nsed -i s/one/ours/ $1\n"
        )
        self.environment["EDITOR"] = f"sh {editor}"
        code, text = self.run("edit", "a.txt")
        copy = f"a ({self.token}'s conflicted copy).txt"
        assert code == 0, text
        assert text.endswith(f"somebody else has changed it: yours is {copy}"), text
        self.expect(["read", "a.txt"], "theirs")
        self.expect(["read", copy], "ours")

    def photos_are_uploaded_and_listed(self) -> None:
        self.expect(["photos"], "no photos yet")
        self.expect(["upload", self.photo()], "uploaded a.png: 293.0KB")
        self.expect_like(["photos"], f"a\\.png  293\\.0KB{DATE}")
        code, text = self.at_terminal("photos").end()
        assert code == 0 and "\x1b" not in text, text

    def thumbnails_are_shown(self) -> None:
        self.expect(["upload", self.photo()], "uploaded a.png: 293.0KB")
        code, text = self.at_terminal("photos", program="iTerm.app").end()
        shown = re.search(r"\x1b]1337;File=inline=1;size=(\d+);height=4:(.*)\x07", text)
        assert code == 0 and shown, text
        picture = base64.b64decode(shown[2], validate=True)
        assert len(picture) == int(shown[1]) and picture.startswith(b"\x89PNG\r\n\x1a\n")
        assert re.search(f"a\\.png  293\\.0KB{DATE}", text), text

    def an_upload_shows_its_progress(self) -> None:
        photo = self.photo(size=2_000_000)
        self.order(method="PUT", rate=4_000_000)
        terminal = self.at_terminal("upload", photo)
        shown = terminal.read_until(r"\[(#*) *\] ([1-9]\d?) %")
        assert len(shown[1]) == int(shown[2]) // 5, shown[0]
        code, rest = terminal.end()
        assert code == 0 and "] 100 %" in rest, rest
        assert re.search(r"\ruploaded a\.png: 1\.9MB", rest), rest

    def an_upload_can_be_cancelled(self) -> None:
        photo = self.photo(size=4_000_000)
        self.order(method="PUT", rate=1_000_000)
        terminal = self.at_terminal("upload", photo)
        terminal.read_until(r"\] [1-9]\d? %")
        terminal.type("\x03")
        code, rest = terminal.end()
        assert code == 130 and "cancelled" in rest, (code, rest)
        self.expect(["photos"], "no photos yet")

    def a_download_that_breaks_goes_on_by_itself(self) -> None:
        original, copy = Path(self.photo()), self.folder / "b.png"
        self.run("upload", str(original))
        self.order(path="/files/", cut=100_000)
        self.expect(["download", "a.png", str(copy)], f"downloaded {copy}")
        assert copy.read_bytes() == original.read_bytes()
        first, second = self.requests("/files/")
        assert first["range"] == "" and re.fullmatch(r"bytes=\d+-", second["range"]), second

    def a_download_that_breaks_for_good_is_gone_on_with(self) -> None:
        original, copy = Path(self.photo()), self.folder / "b.png"
        self.run("upload", str(original))
        self.order(path="/files/", cut=50_000, times=3)
        code, text = self.run("download", "a.png", str(copy))
        assert code == 1 and text.startswith("stopped; the same command goes on\nerror: "), text
        assert not copy.exists()
        self.expect(["download", "a.png", str(copy)], f"downloaded {copy}")
        assert copy.read_bytes() == original.read_bytes()
        assert re.fullmatch(r"bytes=\d+-", self.requests("/files/")[-1]["range"])
        assert sorted(os.listdir(self.folder)) == ["a.png", "b.png"]

    def a_download_is_stopped_and_gone_on_with(self) -> None:
        original, copy = Path(self.photo(size=2_000_000)), self.folder / "b.png"
        self.run("upload", str(original))
        self.order(path="/files/", rate=1_000_000)
        terminal = self.at_terminal("download", "a.png", str(copy))
        terminal.read_until(r"\] [1-9]\d? %")
        terminal.type("\x03")
        code, rest = terminal.end()
        assert code == 130 and "stopped; the same command goes on" in rest, (code, rest)
        self.expect(["download", "a.png", str(copy)], f"downloaded {copy}")
        assert copy.read_bytes() == original.read_bytes()
        assert re.fullmatch(r"bytes=[1-9]\d*-", self.requests("/files/")[-1]["range"])

    def a_download_of_another_photo_starts_over(self) -> None:
        self.run("upload", self.photo())
        other, copy = Path(self.photo("other.png")), self.folder / "copy.png"
        self.run("upload", str(other))
        self.order(path="/files/", cut=50_000, times=3)
        assert self.run("download", "a.png", str(copy))[0] == 1
        self.expect(["download", "other.png", str(copy)], f"downloaded {copy}")
        assert copy.read_bytes() == other.read_bytes()
        assert sorted(os.listdir(self.folder)) == ["a.png", "copy.png", "other.png"]

    def each_status_is_explained(self) -> None:
        for status, text in STATUSES.items():
            # An hour is too long to wait for.
            after = "3600" if status in (429, 503) else ""
            self.order(path="/account", status=status, retry_after=after)
            self.expect(["account"], f"error: {text}", 1)
        assert len(self.requests("/account")) == len(STATUSES), "something was sent again"

    def a_busy_service_is_asked_again(self) -> None:
        self.order(path="/files_put", status=503, retry_after="1")
        self.expect(["write", "a.txt", "one"], "saved a.txt")
        assert len(self.requests("/files_put")) == 2
        self.order(path="/account", status=503, retry_after="0", times=3)
        self.expect(["account"], "error: the service is busy: try again in 0 s", 1)
        # What is not idempotent is not sent twice.
        self.order(method="POST", status=503, retry_after="1")
        busy = "error: the service is busy: try again in 1 s"
        self.expect(["delete", "/notes/a.txt"], busy, 1)
        assert len(self.requests("/fileops")) == 1

    def the_wrong_credentials_are_told(self) -> None:
        self.environment["BYTECLUB_TOKEN_SECRET"] = "wrong"
        self.expect(["notes"], f"error: {STATUSES[401]}", 1)

    def mistakes_are_told(self) -> None:
        for words in ([], ["read"], ["notes", "x"], ["dance"]):
            code, text = self.run(*words)
            assert code == 2 and text.startswith("usage: "), text
        code, text = self.run("upload", str(self.folder / "none.png"))
        assert code == 1 and text.startswith("error: ") and "none.png" in text, text
        self.command[-1] = "http://127.0.0.1:1"
        code, text = self.run("notes")
        assert code == 1 and text.startswith("error: "), text


CHECKS = [
    check
    for name, check in vars(Checks).items()
    if name.startswith(("a_", "an_", "each_", "mistakes_", "notes_", "photos_", "the_", "thumb"))
]


def main() -> int:
    """A line for each check; 0 when all is well."""
    with server("storage") as url:
        return run_checks(CHECKS, lambda folder: Checks(sys.argv[1:], url, folder))


if __name__ == "__main__":
    sys.exit(main())
