"""Checks an example `transfer`, with and without a terminal.

python3 Tests/docs/check_transfer.py COMMAND... [-- OTHER...]...

The other programs, in other languages, continue the downloads of the first.

The server is the one of NTAPI_TEST_SERVERS, or one started here, which ends when its stdin does.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from checks import run_checks
from terminal import PATIENCE, Terminal
from weather_server import weather_server

ROOT = Path(__file__).resolve().parents[2]
SIZE = 3_000_000
RATE = 500_000
"""Bytes per second, so slow that a busy machine can interrupt the transfer before its end."""
BAR = re.compile(r"\[(#*) *\] +(\d+) %  ([\d.]+ \w?B) of 3\.0 MB")


class Checks:
    """The checks, each in a folder of its own."""

    def __init__(self, command: list[str], others: list[list[str]], url: str, folder: Path) -> None:
        self.command = command
        self.others = others
        self.url = url
        self.folder = folder
        self.file = folder / "a.bin"

    def download(self, size: int = SIZE, rate: int = RATE) -> str:
        # A resumed transfer need not be slow.
        return f"{self.url}/download?size={size}&rate={rate}&part_rate=0"

    def run(
        self, *arguments: str, command: list[str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*(command or self.command), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def settled(self, terminal: Terminal) -> str:
        """Waits until the program shows that it is paused, and returns what it shows."""
        shown = ""
        while True:
            before = shown
            urllib.request.urlopen(f"{self.url}/slow?seconds=0.3").close()
            terminal.text = ""
            shown = terminal.read_until(BAR.pattern + "  paused")[3]
            if shown == before:
                return shown

    def check_file(self, url: str) -> None:
        """Checks that the file equals the server's and that no other file is there."""
        with urllib.request.urlopen(url) as answer:
            expected = answer.headers["X-SHA256"]
        found = hashlib.sha256(self.file.read_bytes()).hexdigest()
        assert found == expected, "the file is not what the server has"
        assert os.listdir(self.folder) == ["a.bin"], os.listdir(self.folder)

    def downloads_without_a_terminal(self) -> None:
        done = self.run("get", self.download(), str(self.file))
        *lines, last = done.stdout.splitlines()
        assert (done.returncode, done.stderr) == (0, ""), done
        took = re.fullmatch(rf"{self.file}: 3\.0 MB in 0:(\d\d)", last)
        assert took, last
        assert 1 <= len(lines) <= int(took[1]) + 2, lines
        assert re.fullmatch(r" *\d+ %  [\d.]+ \w?B of 3\.0 MB  .+/s  0:\d\d left", lines[-1]), lines
        assert "\r" not in done.stdout
        self.check_file(self.download(rate=0))

    def uploads_without_a_terminal(self) -> None:
        self.file.write_bytes(os.urandom(SIZE))
        done = self.run("put", str(self.file), f"{self.url}/upload?rate={RATE}")
        *lines, last = done.stdout.splitlines()
        assert (done.returncode, done.stderr) == (0, ""), done
        assert re.fullmatch(rf"{self.file}: 3\.0 MB in 0:\d\d", last), last
        assert any("of 3.0 MB" in line for line in lines), lines

    def says_what_is_wrong(self) -> None:
        missing = self.run("get", f"{self.url}/no-such-page", str(self.file))
        assert missing.returncode == 1, missing
        assert re.fullmatch(r"error: .*404.*\n", missing.stderr), missing
        assert "stopped at" in missing.stdout
        folder = self.run("get", self.download(), str(self.folder / "no" / "a.bin"))
        assert folder.returncode == 1, folder
        assert "no such folder" in folder.stderr, folder
        unreadable = self.run("put", str(self.folder / "none"), self.url)
        assert unreadable.returncode == 1, unreadable
        assert re.fullmatch(r"error: .*none.*\n", unreadable.stderr), unreadable
        assert os.listdir(self.folder) == []
        for arguments in ([], ["get"], ["give", "a", "b"], ["get", "a", "b", "c"]):
            usage = self.run(*arguments)
            assert (usage.returncode, usage.stdout) == (2, ""), usage
            assert usage.stderr.startswith("usage: "), usage

    def draws_a_bar_at_a_terminal(self) -> None:
        for direction in ("get", "put"):
            arguments = ["get", self.download(), str(self.file)]
            if direction == "put":
                self.file.write_bytes(bytes(SIZE))
                arguments = ["put", str(self.file), f"{self.url}/upload?rate={RATE}"]
            terminal = Terminal([*self.command, *arguments])
            shown = terminal.read_until(BAR.pattern + r"  [\d.]+ \w?B/s  0:\d\d left")
            assert len(shown[1]) == int(shown[2]) // 5, shown[0]
            terminal.read_until(r"\r\[")
            code, rest = terminal.end()
            assert code == 0
            assert re.search(rf"\r(\x1b\[K)?{self.file}: 3\.0 MB in 0:\d\d", rest), rest

    def pauses_and_goes_on(self) -> None:
        url = self.download()
        terminal = Terminal([*self.command, "get", url, str(self.file)])
        terminal.read_until(r"B/s")
        terminal.type("\n")
        terminal.read_until("paused, Enter goes on")
        before = self.settled(terminal)
        urllib.request.urlopen(f"{self.url}/slow?seconds=1").close()
        terminal.text = ""
        assert terminal.read_until(BAR.pattern + "  paused")[3] == before
        terminal.type("\n")
        terminal.read_until(r"B/s")
        assert terminal.end()[0] == 0
        self.check_file(self.download(rate=0))

    def _stopped(self, url: str) -> None:
        """Pauses a download and ends it by Ctrl-C."""
        terminal = Terminal([*self.command, "get", url, str(self.file)])
        terminal.read_until(r"B/s")
        terminal.type("\n")
        terminal.read_until("paused, Enter goes on")
        terminal.type("\x03")
        code, rest = terminal.end()
        assert code == 130, rest
        assert re.search(r"stopped at [\d.]+ \w?B; the same command goes on", rest), rest
        assert not self.file.exists()

    def _goes_on(self, command: list[str], url: str) -> None:
        """Changes the part that is there: the result shows that the same command continues from
        it.
        """
        (part,) = self.folder.glob(".*.part")
        with part.open("r+b") as bytes_there:
            bytes_there.write(b"MARK")
        done = self.run("get", url, str(self.file), command=command)
        assert (done.returncode, done.stderr) == (0, ""), done
        found = self.file.read_bytes()
        assert found[:4] == b"MARK", "it has started over"
        with urllib.request.urlopen(self.download(rate=0)) as answer:
            assert found[4:] == answer.read()[4:]
        assert os.listdir(self.folder) == ["a.bin"], os.listdir(self.folder)

    def goes_on_after_ctrl_c(self) -> None:
        self._stopped(self.download())
        self._goes_on(self.command, self.download())

    def another_language_goes_on(self) -> None:
        for other in self.others:
            self._stopped(self.download())
            self._goes_on(other, self.download())
            self.file.unlink()

    def goes_on_after_kill(self) -> None:
        terminal = Terminal([*self.command, "get", self.download(), str(self.file)])
        terminal.read_until(r"B/s")
        deadline = time.monotonic() + PATIENCE
        while not (self.folder / "a.bin.resume").exists():
            assert time.monotonic() < deadline, "nothing was saved"
            terminal.read()
        os.kill(terminal.process, signal.SIGKILL)
        assert terminal.end()[0] == -signal.SIGKILL
        self._goes_on(self.command, self.download())

    def starts_over_with_another_url(self) -> None:
        self._stopped(self.download())
        done = self.run("get", self.download(rate=0), str(self.file))
        assert done.returncode == 0, done
        self.check_file(self.download(rate=0))


CHECKS = [
    Checks.downloads_without_a_terminal,
    Checks.uploads_without_a_terminal,
    Checks.says_what_is_wrong,
    Checks.draws_a_bar_at_a_terminal,
    Checks.pauses_and_goes_on,
    Checks.goes_on_after_ctrl_c,
    Checks.another_language_goes_on,
    Checks.goes_on_after_kill,
    Checks.starts_over_with_another_url,
]


def commands(words: list[str]) -> list[list[str]]:
    """Command lines that are separated by --."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == "--":
            found.append([])
        else:
            found[-1].append(word)
    return found


def main() -> int:
    """Prints a line for each check; returns 0 if all pass."""
    command, *others = commands(sys.argv[1:])
    with weather_server() as url:
        return run_checks(CHECKS, lambda folder: Checks(command, others, url, folder))


if __name__ == "__main__":
    sys.exit(main())
