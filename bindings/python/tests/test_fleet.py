"""Limits on a Redis server: ntapi.fleet."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import ntapi
import test_shared_caches
import test_shared_tokens
from conftest import PATIENCE, REPOSITORY
from ntapi import RateLimit, RateLimiter, codes
from ntapi.fleet import Redis
from redis_servers import RedisServer, eventually, free_port, redis_server
from test_shared_limits import client


def limited(store: Redis, store_timeout: float = PATIENCE) -> ntapi.Client:
    """A client whose requests fail when the store does. The limit is too high to delay them."""
    limit = RateLimit(1e6, burst=1000)
    options = {"store_timeout": store_timeout, "key": f"fleet {time.time()}"}
    return client(RateLimiter.of(limit, store=store, on_failure="closed", **options))  # type: ignore[arg-type]


def problem(store: Redis) -> str:
    """Why a request with a limit in that store fails."""
    with limited(store) as shop, pytest.raises(ntapi.ApiError) as caught:
        shop.get("x")
    assert caught.value.code is codes.STORE_FAILED
    return caught.value.message


def works(store: Redis) -> None:
    with limited(store) as shop:
        assert shop.get("x").status == 200


def add_user(server: RedisServer) -> None:
    """The user ann, with the rights that docs/operating-a-store.md names."""
    page = (REPOSITORY / "docs" / "operating-a-store.md").read_text()
    command = re.search("^ACL SETUSER.*$", page, re.MULTILINE)
    assert command
    words = command[0].replace("ntapi on", "ann on").replace("PASSWORD", "pw").split()
    version = re.search(rb"redis_version:(\d+)\.(\d+)", server.ask("INFO", "server"))
    assert version
    if (int(version[1]), int(version[2])) >= (7, 2):
        words.append("+client|setinfo")
    assert server.ask(*words) == b"+OK\r\n"


def test_the_rights_of_a_user_are_enough(tmp_path: Path) -> None:
    with redis_server(tmp_path) as server:
        add_user(server)
        store = Redis(server.url, username="ann", password="pw")
        limiter = RateLimiter.of(RateLimit(20), store=store, key="a", store_timeout=PATIENCE)
        with client(limiter) as shop:
            for request in [shop.begin("x") for _ in range(3)]:
                assert request.wait(PATIENCE)
            limiter.pause(0.1)
            assert shop.get("x").status == 200
        with (
            test_shared_tokens.running() as tokens,
            test_shared_tokens.shop(tokens.url, store, "a") as shop,
        ):
            assert shop.get("x").status == 200
            tokens.expire()
            assert shop.get("x").status == 200
        with test_shared_caches.running() as pages:
            for _ in range(2):
                with test_shared_caches.shop(pages.url, store, "a") as shop:
                    assert shop.get("/x").json() == "/x 1"
            with test_shared_caches.shop(pages.url, store, "a") as shop:
                assert shop.delete("/x").status == 204
        # This log would have a command that the user may not run.
        assert server.ask("ACL", "LOG") == b"*0\r\n"


def test_users_and_passwords(tmp_path: Path) -> None:
    with redis_server(tmp_path) as server:
        add_user(server)
        server.ask("CONFIG", "SET", "requirepass", "s3cret")
        works(Redis(server.url, password="s3cret"))
        works(Redis(server.url, username="ann", password="pw"))
        assert "NOAUTH" in problem(Redis(server.url))
        assert "WRONGPASS" in problem(Redis(server.url, password="pw"))
        assert "WRONGPASS" in problem(Redis(server.url, username="ann", password="s3cret"))


def test_databases(tmp_path: Path) -> None:
    with redis_server(tmp_path) as server:
        works(Redis(f"{server.url}?db=3"))
        assert b"db3:keys=1," in server.ask("INFO", "keyspace")
        assert "DB index is out of range" in problem(Redis(f"{server.url}?db=16"))


def test_tls(tmp_path: Path, servers: dict[str, str]) -> None:
    certificates, port = Path(servers["ca"]).parent, free_port()
    settings = {
        "tls_port": port,
        "tls_cert_file": certificates / "server.pem",
        "tls_key_file": certificates / "server.key",
        "tls_ca_cert_file": certificates / "ca.pem",
        "requirepass": "s3cret",
    }
    url, ca = f"rediss://:s3cret@localhost:{port}", servers["ca"]
    own = {"client_certificate": servers["client_cert"], "client_key": servers["client_key"]}
    with redis_server(tmp_path, **settings):
        works(Redis(url, ca_file=ca, **own))
        works(Redis(f"{url}/5", ca_file=ca, **own))
        works(Redis(url.replace("localhost", "127.0.0.1"), ca_file=ca, **own))
        assert "TLS: self-signed certificate in certificate chain" in problem(Redis(url, **own))
        # The server asks for a certificate.
        assert re.search("TLS: |reset by peer|Broken pipe", problem(Redis(url, ca_file=ca)))
        # It speaks TLS, and the client does not.
        assert f"localhost:{port}: " in problem(Redis(url.replace("rediss", "redis"), timeout=1))
    settings["tls_cert_file"] = certificates / "wrong-host.pem"
    settings["tls_key_file"] = certificates / "wrong-host.key"
    with redis_server(tmp_path, **settings):
        assert "TLS: hostname mismatch" in problem(Redis(url, ca_file=ca, **own))


def killed_and_started(server: RedisServer) -> None:
    server.kill()
    server.start()


DISTURBANCES: dict[str, Callable[[RedisServer], object]] = {
    "restarted": killed_and_started,
    "scripts flushed": lambda server: server.ask("SCRIPT", "FLUSH"),
    "flushed": lambda server: server.ask("FLUSHALL"),
    "clients killed": lambda server: server.ask("CLIENT", "KILL", "TYPE", "normal"),
}


@pytest.mark.parametrize("name", DISTURBANCES)
def test_an_idle_store_does_not_notice(name: str, tmp_path: Path) -> None:
    """The first request afterwards succeeds."""
    with redis_server(tmp_path) as server, limited(Redis(server.url)) as shop:
        for _ in range(3):
            assert shop.get("x").status == 200
            DISTURBANCES[name](server)
            assert shop.get("x").status == 200


def recovers(shop: ntapi.Client) -> None:
    """A store that has failed is asked once a second."""

    def is_back() -> bool:
        error = shop.perform("x").error
        assert error is None or error.code is codes.STORE_FAILED
        return error is None

    eventually(is_back)


def test_a_server_that_is_down(tmp_path: Path) -> None:
    with redis_server(tmp_path) as server, limited(Redis(server.url)) as shop:
        assert shop.get("x").status == 200
        server.kill()
        with pytest.raises(ntapi.ApiError, match=r"Connection refused|No such file|closed"):
            shop.get("x")
        server.start()
        recovers(shop)


@pytest.mark.parametrize("timeout", [0.1, 5.0], ids=["connects anew", "same connection"])
def test_a_frozen_server(timeout: float, tmp_path: Path) -> None:
    with redis_server(tmp_path) as server:
        store = Redis(server.url, timeout=timeout)
        with limited(store, store_timeout=0.3) as shop:
            assert shop.get("x").status == 200
            server.freeze()
            with pytest.raises(ntapi.ApiError, match=r"no reply in 0\.1|has not replied in 0\.3"):
                shop.get("x")
            server.thaw()
            recovers(shop)


def test_a_full_server(tmp_path: Path) -> None:
    with redis_server(tmp_path) as server, limited(Redis(server.url)) as shop:
        assert shop.get("x").status == 200
        server.ask("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(ntapi.ApiError, match="OOM command not allowed"):
            shop.get("x")
        server.ask("CONFIG", "SET", "maxmemory", "0")
        recovers(shop)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="has to begin with redis://"):
        Redis("http://a")
    with pytest.raises(ValueError, match="cannot be read"):
        Redis("rediss://a", ca_file="/nowhere")
    with pytest.raises(ValueError, match="timeout"):
        Redis("redis://a", timeout=-1)
    with pytest.raises(TypeError, match="url"):
        Redis(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="password"):
        Redis("redis://a", password=5)  # type: ignore[arg-type]
    store = Redis("rediss://ann:s3cret@redis.example:7000/2")
    assert repr(store) == "<ntapi.fleet.Redis rediss://redis.example:7000/2>"
    with pytest.raises(NotImplementedError, match="only the library uses"):
        store.run(ntapi.StoreScript("", ""), [], [])


KILLS = int(os.environ.get("NTAPI_KILLS", "10"))
SEED = int(os.environ.get("NTAPI_SEED") or random.randrange(1 << 32))
PER_SECOND, BURST = 200, 5

PROGRAM = """
import sys
import ntapi
from ntapi.fleet import Redis
url, store, key, per_second, burst, batch = sys.argv[1:]
limit = ntapi.RateLimit(int(per_second), burst=int(burst))
options = {"batch": int(batch), "store_timeout": 60, "on_failure": "closed"}
limiter = ntapi.RateLimiter.of(limit, store=Redis(store), key=key, **options)
with ntapi.Client(url, rate_limiter=limiter) as client:
    print("ready", flush=True)
    background = ntapi.response_thread(ntapi.BACKGROUND)
    while True:
        requests = [client.begin("x", background) for _ in range(4)]
        for request in requests:
            request.wait()
"""


class Counter(ThreadingHTTPServer):
    """A server that keeps when each request has come."""

    daemon_threads = True
    request_queue_size = 100

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.times: list[float] = []

    def handle_error(self, *_: object) -> None:
        """Says nothing of clients that were killed."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        assert isinstance(self.server, Counter)
        self.server.times.append(time.monotonic())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.mark.parametrize("batch", [1, 4])
def test_processes_that_are_killed(batch: int, servers: dict[str, str]) -> None:
    """Four processes want more than the limit. One after the other is killed and replaced."""
    print(f"NTAPI_SEED={SEED} NTAPI_KILLS={KILLS}")
    chance = random.Random(SEED)
    with Counter() as counter:
        threading.Thread(target=counter.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{counter.server_port}"
        limit = [f"killed {SEED} {batch}", PER_SECOND, BURST, batch]
        command = [sys.executable, "-c", PROGRAM, url, servers["redis_url"], *map(str, limit)]
        begin = time.monotonic()

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(command, stdout=subprocess.PIPE)

        running = [start() for _ in range(4)]
        try:
            for _ in range(KILLS):
                index = chance.randrange(4)
                killed, running[index] = running[index], start()
                assert killed.stdout is not None
                assert killed.stdout.readline() == b"ready\n"
                # At any moment: while it asks, waits, or sends.
                reached = len(counter.times) + chance.randrange(30)
                eventually(lambda reached=reached: len(counter.times) >= reached)  # type: ignore[misc]
                killed.kill()
                killed.communicate()
        finally:
            for process in running:
                process.kill()
                process.communicate()
        times = list(counter.times)
        counter.shutdown()
    # A request comes after its permit. So at no time have more come than were allowed until then.
    for number, moment in enumerate(times, 1):
        assert number <= BURST + PER_SECOND * (moment - begin)
