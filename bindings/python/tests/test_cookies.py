"""Cookies: the storage of a session, in memory and on disk, in several processes."""

from __future__ import annotations

import ctypes
import os
import random
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Optional

import pytest

import ntapi
from conftest import PATIENCE, run_python
from ntapi import Cookie, SessionConfiguration, codes
from ntapi._bridge import library


def session(servers: dict[str, str], **settings: Any) -> ntapi.Client:
    configuration = SessionConfiguration.ephemeral(proxy="", **settings)
    return ntapi.Client(servers["fault"], configuration=configuration)


def sent(client: ntapi.Client) -> Any:
    return client.send("echo").json()["header"].get("cookie")


def set_cookie(client: ntapi.Client, *lines: str) -> None:
    client.send("set-cookie", [ntapi.url("set", line) for line in lines])


def test_are_taken_and_sent(servers: dict[str, str]) -> None:
    with session(servers) as client:
        assert client.cookies is not None
        set_cookie(client, "a=1; Path=/", "b=2; Path=/; Max-Age=100; HttpOnly")
        assert sent(client) == "b=2; a=1" or sent(client) == "a=1; b=2"
        assert len(client.cookies) == 2
        first, second = sorted(client.cookies)
        assert first == Cookie("a", "1", "127.0.0.1")
        assert second.http_only
        assert second.expires is not None
        assert abs(second.expires - time.time() - 100) < 30
        set_cookie(client, "a=; Path=/; Max-Age=0")
        assert sent(client) == "b=2"
    with ntapi.Client(servers["fault"]) as client:
        assert client.cookies is None
        assert sent(client) is None


def test_are_set_listed_and_deleted(servers: dict[str, str]) -> None:
    with session(servers) as client:
        cookies = client.cookies
        assert cookies is not None
        cookies.set(Cookie("a", "1", "127.0.0.1"))
        cookies.set(Cookie("b", "2", ".example.test", "/x", secure=True))
        assert cookies.all("https://www.example.test/x/y") == [
            Cookie("b", "2", "example.test", "/x", None, True, False, True)
        ]
        assert cookies.all("http://www.example.test/x/y") == []
        with pytest.raises(ValueError, match="nonsense"):
            cookies.all("nonsense")
        assert sent(client) == "a=1"
        cookies.delete("a", "elsewhere")
        cookies.delete("b")
        assert [cookie.name for cookie in cookies] == ["a"]
        assert "1" not in repr(next(iter(cookies))).replace("127.0.0.1", "")
        cookies.clear()
        assert list(cookies) == []
        with pytest.raises(ntapi.ApiError, match="semicolon") as caught:
            cookies.set(Cookie("a", "x;y", "h"))
        assert caught.value.code is codes.INVALID_REQUEST
        cookies.save()


def test_policies(servers: dict[str, str]) -> None:
    with session(servers, cookie_accept_policy="never") as client:
        assert client.cookies is not None
        client.cookies.set(Cookie("a", "1", "127.0.0.1"))
        set_cookie(client, "b=2; Path=/")
        assert sent(client) == "a=1"
    with session(servers, sends_cookies=False) as client:
        set_cookie(client, "b=2; Path=/")
        assert sent(client) is None
        assert client.cookies is not None
        assert len(client.cookies) == 1
    with session(servers, cookie_accept_policy="sometimes") as client:
        error = client.perform("ok").error
        assert error is not None
        assert "cookieAcceptPolicy" in error.message


@pytest.mark.parametrize(("count", "size"), [(50, 4090), (5, 2000)])
def test_all_are_sent_however_long(servers: dict[str, str], count: int, size: int) -> None:
    """More than libcurl sends. Longer paths come first, then the oldest."""
    value = "v" * size
    with session(servers) as client:
        assert client.cookies is not None
        for number in range(count):
            client.cookies.set(Cookie(f"n{number}", value, "127.0.0.1"))
        client.cookies.set(Cookie("last", "1", "127.0.0.1", "/echo"))
        expected = ["last=1", *(f"n{number}={value}" for number in range(count))]
        assert sent(client) == "; ".join(expected)
        client.cookies.clear()
        for number in range(5):
            set_cookie(client, f"n{number}={value}; Path=/")
        set_cookie(client, "last=1; Path=/echo")
        assert sent(client) == "; ".join(expected[:6])


@pytest.mark.parametrize(
    ("policy", "places"),
    [
        ("always", ["127.0.0.1", "localhost"]),
        ("only_from_main_document", ["127.0.0.1"]),
        (None, ["127.0.0.1"]),
        ("never", []),
    ],
)
def test_which_places_may_set_one(
    servers: dict[str, str], policy: Optional[str], places: list[str]
) -> None:
    """A redirect to another site, which sets a cookie there."""
    with session(servers, cookie_accept_policy=policy) as client:
        other = servers["fault"].replace("127.0.0.1", "localhost")
        target = f"{other}/set-cookie?set=b%3D2%3B%20Path%3D/"
        client.send("set-cookie", ntapi.url("set", "a=1; Path=/"), ntapi.url("to", target))
        assert client.cookies is not None
        assert sorted(cookie.domain for cookie in client.cookies) == places


# A program of one session: its kind, its server, what to do, and the name of the application.
PROGRAM = """
import os, sys
import ntapi
kind, url, what, *name = sys.argv[1:]
make = getattr(ntapi.SessionConfiguration, kind)
configuration = make("jobs") if kind == "background" else make()
configuration.proxy = ""
configuration.application_name = name[0] if name else None
with ntapi.Client(url, configuration=configuration) as client:
    lines = [ntapi.url("set", line) for line in what.split("|") if "=" in line]
    if lines:
        client.send("set-cookie", lines)
    print(client.send("echo").json()["header"].get("cookie"))
    if "drain" in what:
        client.drain()
    if "leave" in what:
        sys.stdout.flush()
        os._exit(0)
"""
KEPT = "kept=1; Path=/; Max-Age=1000"


class Home:
    """A user's home directory, in which programs run."""

    def __init__(self, path: Path, servers: dict[str, str]) -> None:
        self.path = path
        self.url = servers["fault"]
        self.environment = {**os.environ, "HOME": str(path), "XDG_DATA_HOME": str(path / "data")}
        for name in ("CONFIG", "CACHE", "STATE"):
            self.environment[f"XDG_{name}_HOME"] = str(path / name.lower())

    def run(self, kind: str, what: str, *name: str) -> str:
        done = run_python(PROGRAM, kind, self.url, what, *name, env=self.environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def files(self) -> list[Path]:
        return sorted(path for path in self.path.rglob("*") if not path.is_dir())


@pytest.fixture
def home(tmp_path: Path, servers: dict[str, str]) -> Home:
    return Home(tmp_path, servers)


@pytest.mark.parametrize("kind", ["default"])
def test_are_kept_for_another_process(home: Home, kind: str) -> None:
    assert home.run(kind, "nothing") == "None"
    assert home.files() == []
    assert home.run(kind, f"{KEPT}|ends=2; Path=/") in ("kept=1; ends=2", "ends=2; kept=1")
    assert home.run("default", "nothing") == "kept=1"
    # With the other way to end a process, and another application name.
    assert home.run(kind, "more=2; Path=/; Max-Age=1000|drain|leave").count("=") == 2
    assert home.run(kind, "nothing").count("=") == 2
    assert home.run(kind, "nothing", "other") == "None"
    files = home.files()
    assert [path.name for path in files] == ["cookies.lock", "cookies.txt"]
    assert files[0].is_relative_to(home.path / "data" / "ntapi")
    assert stat.S_IMODE(files[1].stat().st_mode) == 0o600
    assert stat.S_IMODE(files[1].parent.stat().st_mode) == 0o700
    assert home.run(kind, "kept=; Path=/; Max-Age=0") == "more=2"
    assert home.run(kind, "nothing") == "more=2"


def test_an_ephemeral_session_leaves_no_file(home: Home) -> None:
    assert home.run("ephemeral", f"{KEPT}|drain") == "kept=1"
    assert home.run("ephemeral", "nothing") == "None"
    assert list(home.path.rglob("*")) == []


def test_without_a_data_home(home: Home) -> None:
    home.environment["XDG_DATA_HOME"] = "relative"
    home.run("default", KEPT)
    assert home.files()[0].is_relative_to(home.path / ".local" / "share" / "ntapi")


# Sets cookies and writes them, for ever.
WRITER = """
import sys
import ntapi
name = sys.argv[1]
configuration = ntapi.SessionConfiguration.default(application_name="shared")
client = ntapi.Client("http://127.0.0.1", configuration=configuration)
round = 0
while True:
    for number in range(20):
        text = f"{round}." + "x" * (round * 7 % 400)
        client.cookies.set(ntapi.Cookie(f"{name}{number}", text, "h.test", expires=4e9))
    client.cookies.save()
    print(round, flush=True)
    round += 1
"""


def test_killed_writers_leave_a_whole_file(home: Home) -> None:
    seed = int(os.environ.get("NTAPI_SEED", random.randrange(1, 10**9)))
    generator = random.Random(seed)
    path = home.path / "data" / "ntapi" / "shared" / "cookies.txt"
    for _ in range(12):
        command = [sys.executable, "-c", WRITER]
        writers = [
            subprocess.Popen(
                [*command, name], env=home.environment, stdout=subprocess.PIPE, text=True
            )
            for name in ("one", "two")
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline()
        until = time.monotonic() + generator.uniform(0, 0.05)
        while time.monotonic() < until:
            check_whole(path, seed)
        for writer in writers:
            writer.kill()
            assert writer.stdout is not None
            last = writer.stdout.read().split()
            writer.wait(PATIENCE)
            assert all(line.isdigit() for line in last)
        # The cookies of both processes are there, and every round is complete.
        names = check_whole(path, seed)
        assert sorted({name.rstrip("0123456789") for name in names}) == ["one", "two"], seed


def check_whole(path: Path, seed: int) -> list[str]:
    """The names in the file. Those of each writer are from one round, or from two if the client has
    saved them in the middle of a round.
    """
    rounds: dict[str, set[int]] = {"one": set(), "two": set()}
    names = []
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# Netscape HTTP Cookie File", seed
    for line in filter(None, lines[1:]):
        if line.startswith("# "):
            continue
        fields = line.split("\t")
        assert len(fields) == 7, (seed, line)
        names.append(fields[5])
        number, _, pad = fields[6].partition(".")
        assert len(pad) == int(number) * 7 % 400, (seed, line)
        rounds[fields[5].rstrip("0123456789")].add(int(number))
    for found in rounds.values():
        # A new writer continues with the round after the last one of the previous writer.
        assert len(found) <= 2, (seed, rounds)
        assert len(found) < 2 or min(found) in (0, max(found) - 1), (seed, rounds)
    return names


def test_a_forked_child_goes_on(home: Home) -> None:
    code = """
import os, sys
import ntapi
configuration = ntapi.SessionConfiguration.default(proxy="")
client = ntapi.Client(sys.argv[1], configuration=configuration)
client.send("set-cookie", ntapi.url("set", "a=1; Path=/; Max-Age=1000"))
pid = os.fork()
name = "parent" if pid else "child"
client.send("set-cookie", ntapi.url("set", f"{name}=1; Path=/; Max-Age=1000"))
if pid:
    assert os.waitpid(pid, 0)[1] == 0
client.drain()
"""
    done = run_python(code, home.url, env=home.environment)
    assert done.returncode == 0, done.stderr
    names = sorted(pair.split("=")[0] for pair in home.run("default", "nothing").split("; "))
    assert names == ["a", "child", "parent"]


@pytest.mark.parametrize("domain", ["co.uk", ".co.uk", ".com", "github.io"])
def test_not_for_a_public_suffix(servers: dict[str, str], domain: str) -> None:
    with session(servers) as client:
        assert client.cookies is not None
        with pytest.raises(ntapi.ApiError, match="public suffix"):
            client.cookies.set(Cookie("a", "1", domain))
        client.cookies.set(Cookie("a", "1", ".example.co.uk"))
        client.cookies.set(Cookie("a", "1", "intranet"))


def test_save_says_when_it_failed(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    code = """
import ntapi
client = ntapi.Client("http://h.test", configuration=ntapi.SessionConfiguration.default())
client.cookies.set(ntapi.Cookie("a", "1", "h.test"))
try:
    client.cookies.save()
except ntapi.ApiError as error:
    print(error.message)
"""
    result = run_python(code, env={**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")})
    assert "the cookies were not written" in result.stdout


class Proxy:
    """Answers for any host: to /set with a Set-Cookie line, otherwise with the cookies of the
    request.
    """

    def __init__(self, line: str) -> None:
        self._line = line
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection, connection.makefile("rb") as reader:
                first = reader.readline()
                lines = list(iter(reader.readline, b"\r\n"))
                sent = b"".join(line for line in lines if line.lower().startswith(b"cookie:"))
                set_cookie = f"Set-Cookie: {self._line}\r\n" if b"/set" in first else ""
                head = f"HTTP/1.1 200 OK\r\n{set_cookie}Connection: close\r\n\r\n"
                connection.sendall(head.encode() + sent)


# The libcurl that ntapi uses, which may differ from the system's.
curl_version = library.lib.library.curl_version
curl_version.restype = ctypes.c_char_p
LOWER_CASE_COUNTS = pytest.mark.skipif(
    not curl_version().startswith(b"libcurl/7."), reason="libcurl 8.14 compares the case"
)


@pytest.mark.parametrize(
    ("line", "is_kept"),
    [
        ("__Host-a=1; Path=/; Secure", False),
        pytest.param("__secure-a=1; Path=/", False, marks=LOWER_CASE_COUNTS),
        ("__Host-a=1; Path=/", False),
        ("__Secure-a=1; Path=/; Secure", False),
        ("a=1; Path=/; Secure", False),
        ("a=1; Path=/", True),
    ],
)
def test_secure_ones_over_plain_http(line: str, is_kept: bool) -> None:
    proxy = Proxy(line)
    configuration = SessionConfiguration.ephemeral(proxy=proxy.url)
    with ntapi.Client("http://h.test", configuration=configuration) as client:
        client.perform("set", ntapi.option("raw_data"))
        assert client.cookies is not None
        assert len(client.cookies) == is_kept
        client.cookies.set(Cookie("s", "1", "h.test", secure=True))
        sent = client.perform("other", ntapi.option("raw_data")).data
        assert sent == (b"Cookie: a=1\r\n" if is_kept else b"")


def test_a_secure_one_is_not_replaced_over_plain_http() -> None:
    proxy = Proxy("s=other; Path=/")
    configuration = SessionConfiguration.ephemeral(proxy=proxy.url)
    with ntapi.Client("http://h.test", configuration=configuration) as client:
        assert client.cookies is not None
        client.cookies.set(Cookie("s", "1", "h.test", secure=True))
        client.perform("set", ntapi.option("raw_data"))
        assert [(cookie.value, cookie.secure) for cookie in client.cookies] == [("1", True)]
