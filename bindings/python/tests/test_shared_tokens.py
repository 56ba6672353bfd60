"""Tokens that authenticators share by a store, also those of other processes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Optional
from urllib.parse import parse_qs

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import codes
from ntapi.fleet import FileStore, Redis
from ntapi.testing import MemoryStore
from redis_servers import eventually, redis_server

LEASE = 3


class Tokens(ThreadingHTTPServer):
    """A server that accepts a used refresh token again until the new token was used. Some servers
    do this, so that a client that ends during a refresh keeps its log-in.
    """

    daemon_threads = True
    request_queue_size = 100

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.number = 0
        self.is_expired = False
        self.is_used = True
        self.used: list[str] = []
        """The refresh tokens, in order."""
        self.refused = 0
        self.accepted = 0
        self.kills: list[str] = []
        """At which moments the next processes that refresh the token are killed."""
        self.killed: list[int] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """Says nothing of clients that were killed."""

    def kill_at(self, moment: str, process: Optional[str]) -> None:
        if process and self.kills and self.kills[0] == moment:
            self.kills.pop(0)
            os.kill(int(process), signal.SIGKILL)
            self.killed.append(int(process))

    def refresh(self, refresh_token: str) -> Optional[str]:
        """The new refresh token. Runs under the lock."""
        self.used.append(refresh_token)
        last = f"r{self.number - 1}"
        if refresh_token != f"r{self.number}" and (self.is_used or refresh_token != last):
            self.refused += 1
            return None
        self.number += 1
        self.is_expired = self.is_used = False
        return f"r{self.number}"

    def is_right(self, token: Optional[str]) -> bool:
        """Whether a request has the token. Runs under the lock."""
        if self.is_expired or token != f"Bearer t{self.number}":
            return False
        self.is_used = True
        self.accepted += 1
        return True

    def expire(self) -> None:
        with self.lock:
            self.is_expired = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Tokens

    def do_GET(self) -> None:
        with self.server.lock:
            is_right = self.server.is_right(self.headers["Authorization"])
        self.answer(200 if is_right else 401, b"{}")

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        process = self.headers["Process"]
        with self.server.lock:
            self.server.kill_at("before", process)
            token = self.server.refresh(form["refresh_token"][0])
            if token is None:
                self.answer(400, b'{"error": "invalid_grant"}')
                return
            self.server.kill_at("after", process)
            number = self.server.number
            body = (
                f'{{"access_token": "t{number}", "expires_in": 3600, "refresh_token": "{token}"}}'
            )
            self.answer(200, body.encode())
            self.server.kill_at("answered", process)

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def running() -> Iterator[Tokens]:
    with Tokens() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def refresh(refresh: ntapi.Refresh) -> ntapi.Token:
    process = ntapi.header("Process", str(os.getpid()))
    data = {"refresh_token": refresh.refresh_token or "r0"}
    answer: Any = refresh.client.post("token", process, data=data).json()
    return ntapi.Token(answer["access_token"], answer["expires_in"], answer["refresh_token"])


def shop(url: str, store: ntapi.Store, key: str, **options: Any) -> ntapi.Client:
    authenticator = ntapi.Authenticator(refresh)
    authenticator.share(store, key, **{"store_timeout": PATIENCE, **options})
    return ntapi.Client(url, authenticator=authenticator)


def test_one_refresh_for_all() -> None:
    store = MemoryStore()
    with running() as server:
        clients = [shop(server.url, store, "a") for _ in range(3)]
        for number in range(1, 5):
            # All at once: one refreshes, and the others wait for its token.
            threads = [threading.Thread(target=client.get, args=("use",)) for client in clients]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert server.used == [f"r{each}" for each in range(number)]
            assert server.accepted == 3 * number
            server.expire()
        # The program has a token of its own, for all.
        with server.lock:
            token = server.refresh("r4")
        assert clients[0].authenticator is not None
        clients[0].authenticator.set_token(ntapi.Token("t5", 3600, token))
        assert [client.get("use").status for client in clients] == [200] * 3
        assert len(server.used) == 5
        for client in clients:
            client.close()


def test_a_refresh_token_needs_no_store() -> None:
    with running() as server, ntapi.Client(server.url) as client:
        client.authenticator = ntapi.Authenticator(refresh)
        for _ in range(3):
            assert client.get("use").status == 200
            server.expire()
        assert server.used == ["r0", "r1", "r2"]
    token = ntapi.Token("a", refresh_token="s3cret")
    assert token.refresh_token == "s3cret"
    assert "s3cret" not in repr(token)
    assert token != ntapi.Token("a")
    assert hash(token) == hash(ntapi.Token("a", None, "s3cret"))
    with pytest.raises(TypeError, match="a refresh token"):
        ntapi.Token("a", refresh_token=5)  # type: ignore[arg-type]


def test_a_failed_refresh_fails_all() -> None:
    store = MemoryStore()
    with running() as server, shop(server.url, store, "a") as one:
        assert one.get("use").status == 200
        with server.lock:
            server.number, server.is_used = 7, True
        with pytest.raises(ntapi.ApiError, match="HTTP 400") as first:
            one.get("use")
        with (
            shop(server.url, store, "a") as other,
            pytest.raises(
                ntapi.ApiError, match="another process could not refresh the token"
            ) as second,
        ):
            other.get("use")
        for caught in (first, second):
            assert caught.value.code is codes.AUTHENTICATION
        assert first.value.http_status == 400
        assert server.refused == 1


class Broken(ntapi.Store):
    def run(self, script: ntapi.StoreScript, keys: list[str], arguments: list[str]) -> list[str]:
        assert script.name == "ntapi.token.1"
        assert keys == ["ntapi:1:{a}:token"]
        raise OSError("no route")


@pytest.mark.parametrize("on_failure", ["closed", "local"])
def test_while_the_store_fails(on_failure: str) -> None:
    with running() as server, shop(server.url, Broken(), "a", on_failure=on_failure) as client:
        if on_failure == "local":
            assert client.get("use").status == 200
            return
        with pytest.raises(ntapi.ApiError, match="OSError: no route") as caught:
            client.get("use")
        assert caught.value.code is codes.STORE_FAILED
        assert caught.value.retryable
        assert server.used == []


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "below" / "tokens.json"
    store = FileStore(path)
    assert repr(store) == f"<ntapi.fleet.FileStore {path}>"
    with running() as server, shop(server.url, store, "a") as client:
        assert client.get("use").status == 200
        assert path.stat().st_mode & 0o777 == 0o600
        server.expire()
        path.write_text("[]")
        with pytest.raises(ntapi.ApiError, match="is damaged: it is not a JSON object") as caught:
            client.get("use")
        assert caught.value.code is codes.STORE_FAILED
    with pytest.raises(NotImplementedError, match="only the library uses"):
        store.run(ntapi.StoreScript("", ""), [], [])
    with pytest.raises(ntapi.ApiError, match="NUL"):
        FileStore("a\0b")


def test_what_is_wrong_is_said() -> None:
    authenticator, store = ntapi.Authenticator(refresh), MemoryStore()
    for options, problem in (
        ({"key": "a{"}, "no braces"),
        ({"key": ""}, "1 to 200 bytes"),
        ({"on_failure": "open"}, "local or closed, not open"),
        ({"on_failure": "never"}, "local or closed, not 'never'"),
        ({"store_timeout": 0}, "store_timeout has to be above 0"),
        ({"lease": 0.01}, "lease is 0.01"),
    ):
        given: dict[str, Any] = {"key": "a", **options}
        with pytest.raises(ValueError, match=problem):
            authenticator.share(store, **given)
    with pytest.raises(TypeError, match=r"has to be an ntapi\.Store"):
        authenticator.share(5, "a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="key"):
        authenticator.share(store, 5)  # type: ignore[arg-type]


KILLS = int(os.environ.get("NTAPI_KILLS", "3"))
SEED = int(os.environ.get("NTAPI_SEED") or random.randrange(1 << 32))

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from ntapi.fleet import FileStore, Redis
from test_shared_tokens import LEASE, shop
store = (FileStore if sys.argv[3].startswith("/") else Redis)(sys.argv[3])
with shop(sys.argv[2], store, sys.argv[4], lease=LEASE) as client:
    while True:
        client.perform("use")
"""


@pytest.mark.parametrize("kind", ["server", "file"])
def test_refreshers_that_are_killed(kind: str, servers: dict[str, str], tmp_path: Path) -> None:
    """Four processes, of which those that refresh the token are killed: before the server knows it,
    before they know the new token, or before the store has it.
    """
    print(f"NTAPI_SEED={SEED} NTAPI_KILLS={KILLS}")
    chance = random.Random(SEED)
    with running() as server:
        command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent)]
        place = servers["redis_url"] if kind == "server" else str(tmp_path / "tokens.json")
        command += [server.url, place, f"killed {SEED}"]
        processes = {p.pid: p for p in (subprocess.Popen(command) for _ in range(4))}

        def accepts(count: int) -> bool:
            return server.accepted >= count

        try:
            for number in range(1, KILLS + 1):
                with server.lock:
                    server.kills = [chance.choice(["before", "after", "answered"])]
                    server.is_expired = True
                eventually(lambda number=number: len(server.killed) >= number)  # type: ignore[misc]
                process = processes.pop(server.killed[-1])
                assert process.wait(PATIENCE) == -signal.SIGKILL
                new = subprocess.Popen(command)
                processes[new.pid] = new
                # The others have the token soon.
                reached = server.accepted + 20
                eventually(lambda reached=reached: accepts(reached))  # type: ignore[misc]
            assert all(process.poll() is None for process in processes.values())
        finally:
            for process in processes.values():
                process.kill()
                process.wait()
        # Each refresh token was used once, and again only in place of a process that was killed.
        assert server.refused == 0
        assert len(server.used) - len(set(server.used)) <= KILLS


def test_after_a_fork(servers: dict[str, str]) -> None:
    """Parent and child are two processes with one token."""
    with (
        running() as server,
        shop(server.url, Redis(servers["redis_url"]), f"fork {SEED}") as client,
    ):
        assert client.get("use").status == 200
        server.expire()
        child = os.fork()
        if child == 0:
            status = client.perform("use").status
            os._exit(0 if status == 200 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert client.get("use").status == 200
        assert server.used == ["r0", "r1"]


def test_a_store_that_loses_its_data(tmp_path: Path) -> None:
    """The processes know the newest refresh token, and bring it back."""
    with redis_server(tmp_path) as store, running() as server:
        clients = [shop(server.url, Redis(store.url), "a") for _ in range(2)]
        for client in clients:
            assert client.get("use").status == 200
        for disturb in (lambda: store.ask("FLUSHALL"), lambda: (store.kill(), store.start())):
            disturb()
            server.expire()
            for client in clients:
                assert client.get("use").status == 200
        assert server.used == ["r0", "r1", "r2"]
        for client in clients:
            client.close()
