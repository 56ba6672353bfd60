"""Stores that encrypt tokens and responses."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

import ntapi
from conftest import Unraisable
from ntapi.fleet import Redis
from redis_servers import RedisServer, eventually, redis_server
from test_shared_caches import Pages, Table, running, shop

KEYS = [base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2)]
SECRETS = (b"ann's own", b"her refresh token", b"/x 1", b"max-age")
ANN = ntapi.bearer("ann's own")


def text(server: Pages, store: ntapi.Store, *args: ntapi.Arg) -> str:
    """What a new process gets. It leaves when the store has its response."""
    with shop(server.url, store, "a") as client:
        return str(client.send("/x", *args).json())


def content(redis: RedisServer) -> bytes:
    """All keys and values."""
    keys = redis.ask("KEYS", "*").split()
    asks = {b"string": "GET", b"hash": "HGETALL"}
    kinds = {key.decode(): redis.ask("TYPE", key.decode()).strip().lstrip(b"+") for key in keys}
    return b"".join(
        redis.ask(asks[kind], key) for key, kind in kinds.items() if kind in asks
    ) + b"".join(keys)


def test_the_server_reads_nothing(tmp_path: Path) -> None:
    with running() as server, redis_server(tmp_path) as redis:

        def store(keys: str = KEYS[0]) -> Redis:
            return Redis(redis.url, encryption_keys=keys)

        for _ in range(3):
            assert text(server, store(), ANN) == "/x 1"
        assert server.loads["/x"] == 1
        for number in range(2):
            authenticator = ntapi.Authenticator(
                lambda _: ntapi.Token("ann's own", 3600, "her refresh token")
            )
            authenticator.share(store(), "a", store_timeout=60)
            with ntapi.Client(server.url, authenticator=authenticator) as client:
                assert client.get(f"/{number}").status == 200
        found = content(redis)
        assert b":body:" in found
        assert b":token" in found
        assert not any(secret in found for secret in SECRETS)
        # New keys: at first beside the old one, which others still use.
        assert text(server, store(f"{KEYS[1]} {KEYS[0]}"), ANN) == "/x 1"
        assert text(server, store(KEYS[1]), ANN) == "/x 2"
        assert text(server, store(f"{KEYS[1]} {KEYS[0]}"), ANN) == "/x 2"


def test_without_keys_the_server_could_read_it(tmp_path: Path) -> None:
    """What the test above looks for is there without keys."""
    with running() as server, redis_server(tmp_path) as redis:
        assert text(server, Redis(redis.url)) == "/x 1"
        assert text(server, Redis(redis.url), ANN) == "/x 2"
        assert b"/x 1" in content(redis)
        assert b"/x 2" not in content(redis)


@pytest.mark.parametrize("keys", ["", "abc", f"{KEYS[0]} abc", KEYS[0][:-1], " ".join(KEYS * 9)])
def test_wrong_keys_are_refused(keys: str) -> None:
    with pytest.raises(ValueError, match="encryption_keys"):
        Redis("redis://127.0.0.1", encryption_keys=keys)
    with pytest.raises(TypeError, match="encryption_keys"):
        Redis("redis://127.0.0.1", encryption_keys=keys.encode())  # type: ignore[arg-type]


class Encrypted(Table):
    """No real cipher."""

    def encrypt(self, value: bytes, context: str) -> bytes:
        return self.tag(value, context) + bytes(byte ^ 1 for byte in value)

    def decrypt(self, value: bytes, context: str) -> bytes:
        plain = bytes(byte ^ 1 for byte in value[32:])
        if value[:32] != self.tag(plain, context):
            raise ValueError("this value is not mine")
        return plain

    def tag(self, value: bytes, context: str) -> bytes:
        return hashlib.sha256(context.encode() + b"\n" + value).digest()


def test_a_store_of_the_program() -> None:
    with running() as server:
        store = Encrypted()
        for _ in range(2):
            assert text(server, store, ANN) == "/x 1"
        eventually(lambda: any(":responses" in key for key in store.values))
        assert not any(b"/x 1" in value or b"max-age" in value for value in store.values.values())
        for key in store.values:
            store.values[key] = os.urandom(50)
        assert text(server, store, ANN) == "/x 2"


class Wrong(Encrypted):
    def encrypt(self, value: bytes, context: str) -> Any:
        return "text"


class Half(Table):
    def encrypt(self, value: bytes, context: str) -> bytes:
        return value


def test_a_store_that_is_wrong(unraisable: Unraisable) -> None:
    with running() as server:
        for number in (1, 2):
            assert text(server, Wrong(), ANN) == f"/x {number}"
    assert {type(error) for error in unraisable.errors} == {TypeError}
    with pytest.raises(TypeError, match="both encrypt and decrypt"):
        ntapi.Cache().share(Half(), "a")
    with pytest.raises(NotImplementedError, match="only the library uses"):
        Redis("redis://127.0.0.1").encrypt(b"", "")
    for name in ("encrypt", "decrypt"):
        with pytest.raises(NotImplementedError, match=f"override {name}"):
            getattr(ntapi.Store(), name)(b"", "")
