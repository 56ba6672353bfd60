"""Checks that an example `byteclub` shows and does the same in each language.

python3 Tests/docs/check_byteclub.py COMMAND...

The server is the one of NTAPI_TEST_STORAGE, or one started here, which ends when its stdin does.
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import stat
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

from checks import run_checks
from terminal import PATIENCE, Terminal
from weather_server import server

NOT_SIGNED_IN = "error: not signed in: byteclub login URL"
PHOTO = r"photo-[0-9a-f]{8}\.jpg"
DATE = r"  20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"
BROWSER = """
import sys, urllib.request
page, _, query = sys.argv[1].partition("?")
urllib.request.urlopen(page, f"{query}&name=browser&consent=allow".encode()).close()
"""
STATUSES = {
    400: "the service does not accept this: Bad input parameter",
    401: "not signed in any more: byteclub login URL",
    403: "not allowed: Forbidden",
    404: "no such file or folder",
    405: "the service does not know this call: is the URL right?",
    429: "too many requests: try again in 3600 s",
    503: "the service is busy: try again in 3600 s",
    507: "no room left: delete something first",
}


class Checks:
    """The checks, each in a folder and with an account of its own."""

    def __init__(self, command: list[str], url: str, folder: Path) -> None:
        self.command = command
        self.url = url
        self.folder = folder
        self.token = secrets.token_hex(8)
        home = folder.with_name(f"home of {folder.name}")
        self.session = home / "byteclub" / "session"
        self.environment = os.environ | {
            "XDG_CONFIG_HOME": str(home),
            "DISPLAY": "",
            "WAYLAND_DISPLAY": "",
            "TERM": "dumb",
            "TERM_PROGRAM": "",
            "COLORTERM": "",
            # Ignore proxies of the environment.
            "no_proxy": "127.0.0.1",
        }
        self.sign_in(url, self.token[::-1])

    def sign_in(self, url: str, secret: str) -> None:
        """Signs in as `login` does."""
        self.session.parent.mkdir(parents=True, exist_ok=True)
        session = {"url": url, "content": url, "token": self.token, "secret": secret}
        self.session.write_text(json.dumps(session))

    def run(self, *words: str) -> tuple[int, str]:
        """Runs the program. Returns the exit code and the output; checks that errors go to standard
        error.
        """
        done = subprocess.run(
            [*self.command, *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.stderr == "") == (done.returncode == 0), done
        return done.returncode, (done.stdout + done.stderr).removesuffix("\n")

    def expect(self, words: list[str], text: str, code: int = 0) -> None:
        found = self.run(*words)
        assert found == (code, text), f"{words}: {found}"

    def expect_like(self, words: list[str], pattern: str) -> None:
        code, text = self.run(*words)
        assert code == 0, (words, text)
        assert re.fullmatch(pattern, text), f"{words}: {text!r}"

    def at_terminal(self, *words: str, **environment: str) -> Terminal:
        return Terminal([*self.command, *words], self.environment | environment)

    def order(self, **fault: object) -> None:
        """Orders a fault for this account."""
        data = json.dumps({"token": self.token, **fault}).encode()
        urllib.request.urlopen(f"{self.url}/faults", data).close()

    def requests(self, path: str) -> list[dict[str, str]]:
        """The requests that the server got."""
        with urllib.request.urlopen(f"{self.url}/log?token={self.token}") as answer:
            return [entry for entry in json.load(answer) if path in entry["path"]]

    def uploaded(self, file: str) -> str:
        """The name that a photo was given."""
        code, text = self.run("upload", file)
        found = re.match(f"uploaded ({PHOTO}): ", text)
        assert code == 0 and found, text
        return found[1]

    def thumbnail(self, name: str, kind: str, size: str) -> bytes:
        """The server's files."""
        signature = f"club%2520secret%26{self.token[::-1]}"
        header = (
            'OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", '
            'oauth_consumer_key="byteclub", '
            f'oauth_token="{self.token}", oauth_signature="{signature}"'
        )
        url = f"{self.url}/1/thumbnails/dropbox/byteclub/photos/{name}?format=png&size={size}"
        request = urllib.request.Request(url, headers={"Authorization": header, "Accept": kind})
        with urllib.request.urlopen(request) as answer:
            return bytes(answer.read())

    def answer_consent(self, page: str, consent: str) -> None:
        """Does what a user does in a browser."""
        with urllib.request.urlopen(page) as answer:
            text = answer.read().decode()
        assert f'<button name="consent" value="{consent}">{consent.capitalize()}</button>' in text
        token = re.search(r'name="oauth_token" value="(.*?)"', text)
        action = re.search(r'action="(.*?)"', text)
        assert token and action, text
        fields = {"oauth_token": token[1], "name": f"zoë {self.token}", "consent": consent}
        data = urllib.parse.urlencode(fields).encode()
        urllib.request.urlopen(urllib.parse.urljoin(page, action[1]), data).close()

    def photo(self, name: str = "a.jpg", size: int = 300_000) -> str:
        """Makes a file with random bytes."""
        path = self.folder / name
        path.write_bytes(os.urandom(size))
        return str(path)

    # The checks

    def users_let_the_club_in(self) -> None:
        self.session.unlink()
        self.expect(["notes"], NOT_SIGNED_IN, 1)
        terminal = self.at_terminal("login", self.url)
        page = terminal.read_until(r"\rPlease let Byte Club in, in your browser: (http\S+?)\x1b")[1]
        self.answer_consent(page, "allow")
        code, text = terminal.end()
        name = f"Zoë {self.token}"
        assert code == 0 and f"signed in as {name} <" in text, text
        assert stat.S_IMODE(self.session.stat().st_mode) == 0o600
        assert stat.S_IMODE(self.session.parent.stat().st_mode) & 0o077 in (0, 0o055)
        assert os.listdir(self.session.parent) == ["session"]
        session = json.loads(self.session.read_text())
        assert session.keys() == {"url", "content", "token", "secret"}, session
        self.expect_like(["account"], f"{name} <.*>: 0 of 50000000 bytes used")
        # After signing in again, the files are there.
        self.expect(["write", "a.txt", "one"], "saved a.txt")
        self.run("logout")
        self.expect(["read", "a.txt"], NOT_SIGNED_IN, 1)
        terminal = self.at_terminal("login", self.url)
        self.answer_consent(terminal.read_until(r"browser: (http\S+?)\x1b")[1], "allow")
        assert terminal.end()[0] == 0
        self.expect(["read", "a.txt"], "one")

    def users_may_say_no(self) -> None:
        self.session.unlink()
        terminal = self.at_terminal("login", self.url)
        self.answer_consent(terminal.read_until(r"browser: (http\S+?)\x1b")[1], "deny")
        code, text = terminal.end()
        said = "error: the service does not let Byte Club in: the user has said no"
        assert code == 1 and said in text, text
        self.expect(["notes"], NOT_SIGNED_IN, 1)

    def the_page_is_opened_where_there_is_a_display(self) -> None:
        browser = self.folder / "xdg-open"
        browser.write_text(f"#!{sys.executable}\n{BROWSER}")
        browser.chmod(0o700)
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        code, text = self.at_terminal("login", self.url, DISPLAY=":0", PATH=path).end()
        assert code == 0 and "signed in as Browser <" in text, text

    def a_log_in_can_be_given_up(self) -> None:
        terminal = self.at_terminal("login", self.url)
        terminal.read_until(r"browser: (http\S+?)\x1b")
        terminal.type("\x03")
        code, text = terminal.end()
        assert code in (130, -2) and "Traceback" not in text, (code, text)

    def the_folder_is_shared_and_can_be_another(self) -> None:
        self.environment["BYTECLUB_FOLDER"] = "other club"
        self.expect(["notes"], "no notes yet")
        self.expect(["write", "a.txt", "one"], "saved a.txt")
        self.uploaded(self.photo())
        self.expect(["read", "a.txt"], "one")
        written = [entry["path"] for entry in self.requests("/files_put/")]
        assert written[0] == "/1/files_put/dropbox/other club/a.txt", written
        assert re.fullmatch(f"/1/files_put/dropbox/other club/photos/{PHOTO}", written[1]), written
        del self.environment["BYTECLUB_FOLDER"]
        self.expect(["notes"], "no notes yet")
        self.expect(["photos"], "no photos yet")

    def the_network_is_seen_at_work(self) -> None:
        code, text = self.at_terminal("notes").end()
        assert code == 0 and text == "\r⇅\x1b[K\r\x1b[Kno notes yet\r\n", text

    def notes_are_written_and_read(self) -> None:
        name = f"{self.token.capitalize()} <{self.token}@example.com>"
        self.expect(["account"], f"{name}: 0 of 50000000 bytes used")
        self.expect(["notes"], "no notes yet")
        self.expect(["write", "tea & cake.txt", "Zoë's, at 5"], "saved tea & cake.txt")
        self.expect(["read", "tea & cake.txt"], "Zoë's, at 5")
        self.expect(["write", "json", '{"error": 1}'], "saved json")
        self.expect(["read", "json"], '{"error": 1}')
        self.expect_like(["notes"], f"json  12 bytes{DATE}\ntea & cake\\.txt  12 bytes{DATE}")
        self.expect(["search", "cake tea"], "tea & cake.txt")
        self.expect(["search", "nothing"], "nothing found")
        self.expect(["delete", "json"], "deleted json")
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
        # Another user edits the file while the editor is open.
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
        line = f"({PHOTO})  293\\.0KB{DATE}"
        code, text = self.run("upload", self.photo())
        first = re.fullmatch(f"uploaded {PHOTO}: 293\\.0KB\n{line}", text)
        assert code == 0 and first, text
        # The next list has the uploaded file and the other one.
        code, text = self.run("upload", self.photo("B.JPEG"))
        both = re.fullmatch(f"uploaded ({PHOTO}): 293\\.0KB\n{line}\n{line}", text)
        assert code == 0 and both and {both[1], first[1]} == {both[2], both[3]}, text
        self.expect(["search", "photo.jpg"], "nothing found")
        self.expect(["search", first[1]], f"photos/{first[1]}")
        self.expect(["delete", f"photos/{first[1]}"], f"deleted photos/{first[1]}")
        self.expect_like(["photos"], f"{both[1]}  293\\.0KB{DATE}")
        self.expect(["notes"], "no notes yet")
        code, text = self.at_terminal("photos").end()
        assert code == 0 and text.count("\x1b") == text.count("\x1b[K"), text

    def thumbnails_are_inline_where_the_terminal_can(self) -> None:
        name = self.uploaded(self.photo())
        code, text = self.at_terminal("photos", TERM_PROGRAM="iTerm.app").end()
        shown = re.search(r"\x1b]1337;File=inline=1;size=(\d+);height=4:(.*)\x07", text)
        assert code == 0 and shown, text
        picture = base64.b64decode(shown[2], validate=True)
        assert len(picture) == int(shown[1])
        assert picture == self.thumbnail(name, "image/png", "s")
        assert re.search(f"{name}  293\\.0KB{DATE}", text), text
        code, text = self.at_terminal("photos", TERM="xterm-kitty").end()
        pieces = re.findall(r"\x1b_G(a=T,f=100,r=4,)?m=([01]);(.*?)\x1b\\", text)
        assert code == 0 and [piece[1] for piece in pieces][-1] == "0", text
        assert base64.b64decode("".join(piece[2] for piece in pieces), validate=True) == picture

    def thumbnails_are_half_blocks_elsewhere(self) -> None:
        name = self.uploaded(self.photo())
        code, text = self.at_terminal("photos", TERM="xterm-256color").end()
        lines = [re.findall(r"38;5;(\d+);48;5;(\d+)m▀", line) for line in text.splitlines()]
        shown = [pair for line in lines if line for pair in line]
        head, _, pixels = self.thumbnail(name, "image/x-portable-pixmap", "xs").partition(b"\n")
        assert head == b"P6 32 32 255"

        def colour(x: int, y: int) -> str:
            red, green, blue = pixels[3 * (32 * y + x) :][:3]
            levels = [(value * 5 + 127) // 255 for value in (red, green, blue)]
            return str(16 + 36 * levels[0] + 6 * levels[1] + levels[2])

        expected = [
            (colour(x, y), colour(x, y + 2)) for y in range(0, 32, 4) for x in range(0, 32, 2)
        ]
        assert code == 0 and shown == expected, text

    def an_upload_shows_its_progress(self) -> None:
        photo = self.photo(size=2_000_000)
        self.order(method="PUT", rate=4_000_000)
        terminal = self.at_terminal("upload", photo)
        shown = terminal.read_until(r"\[(#*) *\] ([1-9]\d?) %")
        assert len(shown[1]) == int(shown[2]) // 5, shown[0]
        code, rest = terminal.end()
        assert code == 0 and "] 100 %" in rest, rest
        assert re.search(rf"\ruploaded {PHOTO}: 1\.9MB", rest), rest

    def an_upload_can_be_cancelled(self) -> None:
        photo = self.photo(size=4_000_000)
        self.order(method="PUT", rate=1_000_000)
        terminal = self.at_terminal("upload", photo)
        terminal.read_until(r"\] [1-9]\d? %")
        terminal.type("\x03")
        code, rest = terminal.end()
        assert code == 130 and "cancelled" in rest, (code, rest)
        # Nothing is drawn after the last word.
        assert rest.rpartition("cancelled")[2].replace("\x1b[K", "").strip() == "", rest
        self.expect(["photos"], "no photos yet")

    def a_download_that_breaks_goes_on_by_itself(self) -> None:
        original, copy = Path(self.photo()), self.folder / "b.jpg"
        name = self.uploaded(str(original))
        self.order(path="/files/", cut=100_000)
        self.expect(["download", name, str(copy)], f"downloaded {copy}")
        assert copy.read_bytes() == original.read_bytes()
        first, second = self.requests("/files/")
        assert first["range"] == "" and re.fullmatch(r"bytes=\d+-", second["range"]), second

    def a_download_that_breaks_for_good_is_gone_on_with(self) -> None:
        original, copy = Path(self.photo()), self.folder / "b.jpg"
        name = self.uploaded(str(original))
        self.order(path="/files/", cut=50_000, times=3)
        code, text = self.run("download", name, str(copy))
        assert code == 1 and text.startswith("stopped; the same command goes on\nerror: "), text
        assert not copy.exists()
        self.expect(["download", name, str(copy)], f"downloaded {copy}")
        assert copy.read_bytes() == original.read_bytes()
        assert re.fullmatch(r"bytes=\d+-", self.requests("/files/")[-1]["range"])
        assert sorted(os.listdir(self.folder)) == ["a.jpg", "b.jpg"]

    def a_download_is_stopped_and_gone_on_with(self) -> None:
        original, copy = Path(self.photo(size=2_000_000)), self.folder / "b.jpg"
        name = self.uploaded(str(original))
        self.order(path="/files/", rate=1_000_000)
        terminal = self.at_terminal("download", name, str(copy))
        terminal.read_until(r"\] [1-9]\d? %")
        terminal.type("\x03")
        code, rest = terminal.end()
        assert code == 130 and "stopped; the same command goes on" in rest, (code, rest)
        self.expect(["download", name, str(copy)], f"downloaded {copy}")
        assert copy.read_bytes() == original.read_bytes()
        assert re.fullmatch(r"bytes=[1-9]\d*-", self.requests("/files/")[-1]["range"])

    def a_download_of_another_photo_starts_over(self) -> None:
        name = self.uploaded(self.photo())
        other, copy = Path(self.photo("other.jpg")), self.folder / "copy.jpg"
        other_name = self.uploaded(str(other))
        self.order(path="/files/", cut=50_000, times=3)
        assert self.run("download", name, str(copy))[0] == 1
        self.expect(["download", other_name, str(copy)], f"downloaded {copy}")
        assert copy.read_bytes() == other.read_bytes()
        assert sorted(os.listdir(self.folder)) == ["a.jpg", "copy.jpg", "other.jpg"]

    def each_status_is_explained(self) -> None:
        for status, text in STATUSES.items():
            # It does not wait for an hour.
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
        # A request that is not idempotent is not sent twice.
        self.order(method="POST", status=503, retry_after="1")
        busy = "error: the service is busy: try again in 1 s"
        self.expect(["delete", "a.txt"], busy, 1)
        assert len(self.requests("/fileops")) == 1

    def the_wrong_credentials_are_told(self) -> None:
        self.sign_in(self.url, "wrong")
        self.expect(["notes"], f"error: {STATUSES[401]}", 1)

    def mistakes_are_told(self) -> None:
        for words in ([], ["read"], ["notes", "x"], ["dance"], ["login"], ["login", *"abcd"]):
            code, text = self.run(*words)
            assert code == 2 and text.startswith("usage: "), text
        code, text = self.run("upload", str(self.folder / "none.jpg"))
        assert code == 1 and text.startswith("error: ") and "none.jpg" in text, text
        code, text = self.run("upload", self.photo("a.png"))
        assert code == 2 and text.startswith("error: a photo is a file that ends in .jpg"), text
        for path in ("", "/", "//"):
            self.expect(
                ["delete", path], "error: PATH must be the name of a note, or photos/NAME", 2
            )
        self.expect(
            ["login", f"{self.url}/nonsense"],
            "error: this is no file storage: is the URL right?",
            1,
        )
        self.sign_in("http://127.0.0.1:1", "secret")
        code, text = self.run("notes")
        assert code == 1 and text.startswith("error: 127.0.0.1:1: no connection"), text
        for broken in ("", "nonsense", "[]", '{"url": 5}'):
            self.session.write_text(broken)
            self.expect(["notes"], NOT_SIGNED_IN, 1)


CHECKS = [
    check
    for name, check in vars(Checks).items()
    if name.startswith(
        ("a_", "an_", "each_", "mistakes_", "notes_", "photos_", "the_", "thumbnails_", "users_")
    )
]


def main() -> int:
    """Prints a line for each check; returns 0 if all pass."""
    with server("storage") as url:
        return run_checks(CHECKS, lambda folder: Checks(sys.argv[1:], url, folder))


if __name__ == "__main__":
    sys.exit(main())
