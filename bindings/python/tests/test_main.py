"""python -m ntapi: one request from a shell."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import ntapi
from ntapi.testing import Server, Stub

PLAIN = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS")}


def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """With pipes, as in a script."""
    command = [sys.executable, "-m", "ntapi", *arguments]
    return subprocess.run(command, capture_output=True, timeout=60, check=False, env=PLAIN)


def on_a_terminal(*arguments: str, **more: str) -> str:
    """Standard output and standard error, as a terminal gets them."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "ntapi", *arguments]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=PLAIN | more) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:
            # On Linux, this means that the program has ended.
            pass
        assert process.wait(60) == 0
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def test_a_script_gets_the_bytes(servers: dict[str, str]) -> None:
    done = run(servers["fault"] + "/ok?size=20")
    assert (done.returncode, done.stdout) == (0, b'{"ok":true,"pad":""}')
    assert done.stderr.startswith(b"HTTP/1.1 200 OK, 20 B: ")
    assert b"total" in done.stderr


def test_a_terminal_gets_colours(servers: dict[str, str]) -> None:
    shown = on_a_terminal(servers["fault"] + "/ok?size=20")
    assert '\n  \033[34m"ok"\033[0m: \033[35mtrue\033[0m,\n' in shown
    assert shown.startswith("\033[32mHTTP/1.1 200 OK\033[0m")
    assert "\033" not in on_a_terminal(servers["fault"] + "/ok", NO_COLOR="1")
    assert "\033" not in on_a_terminal(servers["fault"] + "/ok", "--color", "never")
    assert b"\033" in run(servers["fault"] + "/ok", "--color", "always").stdout


@pytest.mark.parametrize("kind", ["-j", "-d"])
def test_what_is_sent(servers: dict[str, str], tmp_path: Path, kind: str) -> None:
    (tmp_path / "body").write_text("[1]")
    more = ["-q", "q=a b=c", "-H", "X-A: 1", "-H", "X-A:2", "-u", "ann:p:w", "-X", "PUT"]
    seen = json.loads(run(servers["fault"] + "/echo", kind, f"@{tmp_path / 'body'}", *more).stdout)
    assert (seen["method"], seen["args"], seen["body"]) == ("PUT", {"q": "a b=c"}, "[1]")
    assert seen["header"]["x-a"] == "1, 2"
    assert seen["header"]["authorization"] == "Basic YW5uOnA6dw=="
    assert (
        seen["header"]["content-type"]
        == f"application/{'json' if kind == '-j' else 'octet-stream'}"
    )
    assert json.loads(run(servers["fault"] + "/echo", kind, "1").stdout)["method"] == "POST"


def test_digest(servers: dict[str, str]) -> None:
    url = servers["fault"] + "/digest?user=ann&password=pw"
    assert run(url, "-u", "ann:pw", "--digest").returncode == 0
    assert run(url, "-u", "ann:pw").returncode == 1


def test_an_error_is_named(servers: dict[str, str]) -> None:
    done = run(servers["fault"] + "/status/404", "-i")
    assert done.returncode == 1
    assert b"as asked" in done.stdout
    assert b"HTTP 404 Not Found for GET" in done.stderr
    assert b"Content-Type: application/json\n" in done.stderr
    late = run(servers["fault"] + "/hold", "--timeout", "0.05")
    assert (late.returncode, late.stdout) == (1, b"")
    assert b"0.05 s" in late.stderr


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("text/html; charset=utf-8", b"<p>Hi {}</p>"),
        ("application/x-ndjson", b'{"n":1}\n{"n":2}\n'),
        ("application/octet-stream", b"\0\x01"),
    ],
)
def test_a_body_that_is_not_json_is_no_error(media_type: str, body: bytes) -> None:
    stub = Stub()
    stub.on("GET").answer(data=body, content_type=media_type)
    with Server(stub) as url:
        done = run(url)
        shown = on_a_terminal(url)
    assert (done.returncode, done.stdout) == (0, body)
    assert done.stderr.count(b"\n") == 1
    assert shown.startswith("\033[32mHTTP/1.1 200 OK\033[0m")


@pytest.mark.parametrize("media_type", ["application/json", "Application/Problem+JSON; a=b"])
def test_broken_json_is_an_error(media_type: str) -> None:
    stub = Stub()
    stub.on("GET").answer(data=b"{x", content_type=media_type)
    with Server(stub) as url:
        done = run(url)
    assert (done.returncode, done.stdout) == (1, b"{x")
    assert b"is not JSON" in done.stderr


def test_header_lines_are_shown_as_they_came() -> None:
    """A Set-Cookie has a comma in it, so lines must not be joined by one."""
    cookies = ["a=1; Expires=Wed, 20 Nov 2030 10:00:00 GMT", "b=2"]
    stub = Stub()
    stub.on("GET").answer(json=1, headers=[("Set-Cookie", cookie) for cookie in cookies])
    with Server(stub) as url:
        done = run(url, "-i")
    assert [
        line.partition(": ")[2]
        for line in done.stderr.decode().splitlines()
        if line.lower().startswith("set-cookie: ")
    ] == cookies


def test_the_versions() -> None:
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout.startswith(f"ntapi/{ntapi.library_version()} libcurl/".encode())


def test_a_download(servers: dict[str, str], tmp_path: Path) -> None:
    file, url = str(tmp_path / "zeros"), servers["fault"] + "/zeros?size=3000000"
    done = run(url, "-o", file)
    assert (done.returncode, done.stdout) == (0, file.encode() + b"\n")
    assert Path(file).read_bytes() == bytes(3000000)
    shown = on_a_terminal(url, "-o", str(tmp_path / "again"))
    assert "3.0 MB of 3.0 MB\033[K" in shown


def test_the_line_for_curl(servers: dict[str, str]) -> None:
    done = run(servers["fault"] + "/hold", "--curl", "-d", "x", "-u", "a:b")
    assert done.returncode == 0
    assert done.stdout.startswith(b"curl ")
    assert b"/hold" in done.stdout
    wrong = run("http://a b/", "--curl")
    assert (wrong.returncode, wrong.stdout) == (1, b"")
    assert b"a b" in wrong.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], b"URL"),
        (["x", "-H", "a"], b"write 'NAME: VALUE', not 'a'"),
        (["x", "-q", "a"], b"write NAME=VALUE, not 'a'"),
        (["x", "-d", "@/nowhere"], b"/nowhere"),
        (["x", "-d", "1", "-j", "1"], b"not allowed with"),
    ],
)
def test_mistakes(arguments: list[str], words: bytes) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_the_reader_may_end_early(servers: dict[str, str], unbuffered: str) -> None:
    command = [sys.executable, "-m", "ntapi", servers["fault"] + "/zeros?size=3000000"]
    environment = PLAIN | {"PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.read(1) == b"\0"
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
        assert process.wait(60) == 1
