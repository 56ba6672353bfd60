"""Runs an example with odd arguments and odd answers: it must end by itself, print one line about
what is wrong, and exit with a status that is not 0.

python3 Tests/docs/check_odd_words.py PROGRAM COMMAND...

PROGRAM is the name of an example, COMMAND what runs it. The server is the one of NTAPI_TEST_..., or one started here,
which ends when its stdin does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from terminal import Terminal
from weather_server import server

LONGEST = 60.0
Words = list[str | bytes]
NUMBERS: Words = ["-2", "99999999999999999999", "", "inf", "0", "1.5", "1e30", "5x", "٣"]
"""Odd numbers: none is a valid count or number of a city."""
DURATIONS: Words = ["inf", "-2", "", "nan", "1e30", "99999999999999999999", "5x", "٣"]
TEXTS: Words = ["", b"\xff\xfe", "-2", "..", "é 𝄞 \u202e", "%s%n%00", "a\nb", "--help", "x" * 5000]
"""Odd texts, which may be valid or wrong."""
URLS: Words = ["", "-2", "é", "http://", "http://[", "http://127.0.0.1:1", "http://127.0.0.1:99999"]
URLS += ["ftp://127.0.0.1", "http://a b", "/tmp", b"http://\xff"]
FILES: Words = ["folder", "none/a.bin", "", ".", "hello.txt/a.bin", "/", "/dev/full", b"\xff", "é"]
FILES += ["x" * 300]
PHOTOS: Words = ["folder.jpg", "none.jpg", ".jpg", "/dev/full.jpg", "\n.jpg", b"\xff.jpg"]
ODD = {
    "{number}": NUMBERS,
    "{duration}": DURATIONS,
    "{text}": TEXTS,
    "{url}": URLS,
    "{file}": FILES,
    "{photo}": PHOTOS,
}
CITY = """{"cod": "200", "list": [{"id": 1, "name": "x", "sys": {"country": "x"}, "main": {"temp": %s},
"weather": [{"description": "x"}], "dt": %s}]}"""
FILE = """{"path": "/a.jpg", "bytes": %s, "size": "x", "is_dir": false, "thumb_exists": true, "modified": "%s"}"""
ANSWERS = [
    *(
        "",
        "no JSON",
        "[]",
        "5",
        "null",
        "{}",
        '{"cod": [1]}',
        '{"list": 5, "items": 5, "error": 5, "error_name": 5}',
    ),
    *(CITY % ("1e300", "1e300"), CITY % ("-1e-300", "-1e15"), CITY % ("1", "99999999999999999999")),
    *(
        '{"items": [1], "has_more": true}',
        '{"items": [], "has_more": false, "backoff": "x", "quota_remaining": 1e30}',
    ),
    *(FILE % ("1e30", "x"), f"[{FILE % ('-1', 'Sat, 21 Aug 99999 22:31:20 +0000')}]"),
    '{"display_name": "x", "email": "y", "quota_info": {"normal": 1e30, "quota": -1}}',
]
"""Answers of other services, all with the status 200."""
BAD = ["Traceback", "Fatal error", "Exception ignored", "BUG", "Sanitizer"]


@dataclass
class Program:
    """Command lines of a program. {number}, {text}, {url} or {file} is replaced by an odd word,
    {server} by a URL that works.
    """

    lines: list[str]
    server: str = "weather"
    good: str = "{server}"
    """A command line that works."""
    interrupted: tuple[str, str] = ("", "")
    """A command line to end by Ctrl-C, and its output before that."""
    environment: dict[str, str] = field(default_factory=dict)
    odd_answers: str = ""
    """A command line that gets odd answers."""


SIMPLE = Program(["", "{url}", "{server}/nonsense"])
PROGRAMS = {
    "weather": Program(
        [
            *(
                "",
                "{server}",
                "{server} {text}",
                "{url} find Oslo",
                "{server}/nonsense list 2643743",
            ),
            *("{server} find", "{server} find {text}", "{server} find London {number}"),
            *("{server} find London like {number}", "{server} find London like 5 {text}"),
            *("{server} list", "{server} list {number}", "{server} list 2643743 {number}"),
            *("{server} follow", "{server} follow {duration} 1 2643743"),
            *("{server} follow 0 {number} 2643743", "{server} follow 0 1 {number}"),
        ],
        good="{server} find London",
        interrupted=("{server} follow 1000 2 2643743", "London"),
        odd_answers="{server} find Oslo",
    ),
    "byteclub": Program(
        [
            *(
                "",
                "{text}",
                "login",
                "login {url}",
                "login {server}/nonsense",
                "login {server} {url} {url} x",
            ),
            *("account {text}", "read {text}", "write {text}", "write {text} x", "write x {text}"),
            *("edit {text}", "search {text}", "delete {text}", "upload {text}", "upload folder"),
            *(
                "upload {photo}",
                "download none.jpg {file}",
                "download {text} a.jpg",
                "logout {text}",
            ),
        ],
        server="storage",
        good="account",
        interrupted=("login {server}", "browser"),
        odd_answers="photos",
        environment={"EDITOR": "false", "XDG_CONFIG_HOME": "config", "DISPLAY": ""},
    ),
    "qanda": Program(
        [
            *("", "{server}", "{server} {text}", "{url} user 1", "{server}/nonsense user 1"),
            *("{server} search", "{server} search {text} 5", "{server} search await {number}"),
            *("{server} search await 5 {text}", "{server} question {number}"),
            *("{server} question 999", "{server} user {number}", "{server} user 1 {text}"),
        ],
        server="qanda",
        good="{server} user 1",
        interrupted=("{server}/with/backoff/1000 search await 99", "Zoë"),
        # The server remembers for each key until when it may not call again.
        environment={"STACKEXCHANGE_KEY": f"odd-{os.getpid()}"},
        odd_answers="{server} user 1",
    ),
    "transfer": Program(
        [
            *("", "{text}", "get", "get {text}", "get {url} a.bin", "get {server}/nonsense a.bin"),
            *("get {server}/echo {file}", "put {file} {server}/upload", "put hello.txt {url}"),
            *(
                "put hello.txt {server}/nonsense",
                "get {server}/echo a.bin {text}",
                "put folder {server}/upload",
            ),
            "get {server}/echo folder",
        ],
        good="get {server}/download?size=1000 a.bin",
        interrupted=("get {server}/download?size=5000000&rate=100000 a.bin", "kB"),
    ),
    "tour": Program(
        ["", "{url}", "{server}/nonsense", "--get", "--get {url}", "--get {server} {text}"],
        interrupted=("{server}", "download"),
        odd_answers="{server}",
    ),
    "asyncio_weather": SIMPLE,
    "glib": SIMPLE,
    "jansson": SIMPLE,
    "libevent": SIMPLE,
    "libuv": SIMPLE,
    "perform": SIMPLE,
    "poll": SIMPLE,
    "pull": SIMPLE,
    "qt": SIMPLE,
    "tracing": SIMPLE,
}


def command_lines(program: Program, url: str) -> Iterator[tuple[Words, bool]]:
    """The arguments, and whether one of them is certainly wrong."""
    odd_words: dict[str, Words] = {"": [""], **ODD}
    for line in program.lines:
        words = [word.replace("{server}", url) for word in line.split()]
        kind = next((word for word in words if word in ODD), "")
        for odd in odd_words[kind]:
            is_wrong = kind in ("{number}", "{duration}", "{url}", "{photo}", "")
            yield [odd if word == kind else word for word in words], is_wrong
        # The same function reads the other lines of this kind: two words suffice.
        odd_words[kind] = odd_words[kind][:2]


def complaint(words: Words, is_wrong: bool, run: list[str], folder: Path) -> str:
    """What is wrong with the end of the program; "" if nothing is."""
    try:
        done = subprocess.run(
            [*run, *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return f"{str(words)[:200]}: it does not end"
    errors = done.stderr.decode("utf-8", "replace")
    shown = done.stdout.decode("utf-8", "replace") + errors
    lines = [line for line in errors.splitlines() if line.startswith(("error: ", "usage: "))]
    fault = ""
    if done.returncode not in (0, 1, 2):
        fault = "it dies"
    elif any(bad in shown for bad in BAD):
        fault = "it shows what only its author can read"
    elif is_wrong and done.returncode == 0:
        fault = "its status is 0"
    elif done.returncode == 0 and errors:
        fault = "it complains, and its status is 0"
    elif done.returncode != 0 and not lines:
        fault = "it does not say what is wrong"
    elif len(errors.splitlines()) > 6:
        fault = "it says too much"
    return f"{str(words)[:200]}: {fault} ({done.returncode})\n{shown[-600:]}" if fault else ""


class OddServer(ThreadingHTTPServer):
    """Gives the same answer to every request."""

    daemon_threads = True

    def __init__(self, answer: str) -> None:
        super().__init__(("127.0.0.1", 0), OddHandler)
        self.answer = answer.encode()
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Prints nothing about a client that is gone."""


class OddHandler(BaseHTTPRequestHandler):
    server: OddServer

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    do_POST = do_PUT = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""


def unread(line: str, run: list[str], url: str, folder: Path) -> str:
    """What is wrong when the reader of the output is gone, as with `head`."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [*run, *line.replace("{server}", url).split()]
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        timeout=LONGEST,
    )
    os.close(writer)
    errors = done.stderr.decode("utf-8", "replace")
    is_bad = done.returncode not in (-signal.SIGPIPE, 0, 1) or any(bad in errors for bad in BAD)
    return f"nobody reads: {done.returncode}\n{errors}" if is_bad else ""


def interruption(line: str, shown: str, run: list[str], url: str, folder: Path) -> str:
    """What is wrong after Ctrl-C."""
    os.chdir(folder)
    terminal = Terminal([*run, *line.replace("{server}", url).split()])
    terminal.read_until(shown)
    terminal.type("\x03")
    status, text = terminal.end()
    is_bad = status not in (130, -2) or any(bad in text for bad in BAD)
    return f"Ctrl-C: {status}\n{text}" if is_bad else ""


def main() -> int:
    """Returns 0 if nothing is wrong."""
    name, *run = sys.argv[1:]
    program = PROGRAMS[name]
    # The program runs in folders of its own.
    run = [os.path.abspath(word) if os.path.exists(word) else word for word in run]
    for variable in ("PYTHONPATH", "NTAPI_LIBRARY"):
        if os.environ.get(variable):
            os.environ[variable] = os.path.abspath(os.environ[variable])
    os.environ.update(program.environment, no_proxy="127.0.0.1")
    with server(program.server) as url, tempfile.TemporaryDirectory() as home:
        folders = iter(range(10_000))

        def new_folder(url: str = url) -> Path:
            folder = Path(home) / str(next(folders))
            (folder / "folder").mkdir(parents=True)
            (folder / "folder.jpg").mkdir()
            (folder / "hello.txt").write_text("hello")
            # Saved credentials of Byte Club.
            session = folder / "config" / "byteclub" / "session"
            session.parent.mkdir(parents=True)
            token = f"odd{folder.name}"
            account = {"url": url, "content": url, "token": token, "secret": token[::-1]}
            session.write_text(json.dumps(account))
            return folder

        def one(words: Words, is_wrong: bool) -> str:
            return complaint(words, is_wrong, run, new_folder())

        def with_odd_answer(answer: str) -> str:
            odd = OddServer(answer)
            line = program.odd_answers.replace("{server}", odd.url)
            text = complaint([*line.split()], False, run, new_folder(odd.url))
            odd.shutdown()
            return f"{answer}\n{text}" if text else ""

        answers = ANSWERS if program.odd_answers else []
        with ThreadPoolExecutor(4) as threads:
            lines = list(command_lines(program, url))
            complaints = [text for text in threads.map(lambda line: one(*line), lines) if text]
            complaints += filter(None, threads.map(with_odd_answer, answers))
        complaints += filter(None, [unread(program.good, run, url, new_folder())])
        if program.interrupted[0]:
            complaints += filter(None, [interruption(*program.interrupted, run, url, new_folder())])
    print("\n".join(complaints))
    print(f"{len(lines)} command lines, {len(answers)} odd answers, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
