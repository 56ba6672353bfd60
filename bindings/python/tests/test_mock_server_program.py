"""The mock server and the program that has it: its defaults, its files, the server's thread."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("h2")
pytest.importorskip("trustme")

import ntapi
from conftest import PATIENCE, run_python
from ntapi.testing import Server, Stub

DEFAULTS = {
    "circuitBreaker": {"failure_rate": 0.01, "minimum_calls": 1, "open_seconds": 3600},
    "maximumResponseSize": 3,
    "rateLimit": {"requests": 1, "seconds": 3600},
}


@pytest.fixture(params=[ntapi.defaults, ntapi.AsyncClient], ids=["all", "class"])
def scope(request: pytest.FixtureRequest) -> Iterator[Any]:
    """What the server's own client would inherit from."""
    set_default = getattr(request.param, "set", None) or request.param.set_default
    yield set_default
    for name in DEFAULTS:
        set_default(name, None)


def ask(url: str) -> tuple[int, bytes]:
    """Status and body of an answer."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_program_s_defaults_are_not_the_server_s(stub: Stub, scope: Any, name: str) -> None:
    stub.on("GET").answer(503).answer(429, headers={"Retry-After": "3600"}).answer(text="hello")
    scope(name, DEFAULTS[name])
    server = Server(stub)
    with server as url:
        answers = [ask(f"{url}/x") for _ in range(4)]
    assert answers == [(503, b""), (429, b""), (200, b"hello"), (200, b"hello")]


def test_what_the_thread_raises_is_raised_by_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("ntapi.testing.server._serving.Source", fail)
    server = Server(tls=True)
    with pytest.raises(ZeroDivisionError):
        server.start()
    server.close()


MANY_FILES = """
import os, resource, socket
from ntapi.testing import Answer, Server

server = Server()
url = server.start().url
server.enqueue(Answer(text="hello"))
with socket.socket() as sock:
    # From now on the process has all the files that it may have.
    free = os.dup(0)
    os.close(free)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
    sock.connect(("127.0.0.1", server.port))
    server._log.wait(lambda: server._log.problems, 60, "a problem")
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    sock.sendall(b"GET / HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n")
    received = b""
    while piece := sock.recv(65536):
        received += piece
print(received.decode().splitlines()[0])
server.close()
try:
    server.verify()
except AssertionError as error:
    print(error)
"""


def test_too_many_files_are_open() -> None:
    done = run_python(MANY_FILES)
    assert done.stdout.splitlines() == [
        "HTTP/1.1 200 OK",
        "a connection cannot be accepted yet: [Errno 24] Too many open files",
    ], done.stderr
