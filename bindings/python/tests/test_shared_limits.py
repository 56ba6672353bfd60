"""Rate limits: several at once, and those that processes share by a store."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import ntapi
from conftest import PATIENCE, Unraisable
from ntapi import RateLimit, RateLimiter, codes
from ntapi.testing import ManualClock, MemoryStore, Stub

URL = "https://api.test/"


def begin(client: ntapi.Client, count: int, done: threading.Semaphore) -> list[ntapi.Request]:
    place = ntapi.response_thread(ntapi.BACKGROUND)
    return [client.begin("x", place, handler=lambda _: done.release()) for _ in range(count)]


def client(limiter: RateLimiter, clock: ManualClock | None = None) -> ntapi.Client:
    stub = Stub()
    stub.on("GET", "x").answer(json=1)
    return ntapi.Client(URL, stub=stub, clock=clock, rate_limiter=limiter)


def test_several_limits_at_once() -> None:
    clock, done = ManualClock(), threading.Semaphore(0)
    limiter = RateLimiter.of(RateLimit(10), RateLimit(2, seconds=60, burst=2))
    with client(limiter, clock) as shop:
        begin(shop, 3, done)
        assert done.acquire(timeout=PATIENCE)
        clock.wait_for_sleepers()
        assert clock.next_wake == 0.1
        clock.advance(0.1)
        assert done.acquire(timeout=PATIENCE)
        clock.wait_for_sleepers()
        assert limiter.waiting == 1
        clock.advance(29.9)
        assert done.acquire(timeout=PATIENCE)
    assert repr(limiter) == (
        "<ntapi.RateLimiter 10 requests in 1 s, 2 requests in 60 s, burst 2, 0 waiting>"
    )


def test_limiters_share_a_store() -> None:
    clock, done = ManualClock(), threading.Semaphore(0)
    store = MemoryStore(clock)
    limiters = [RateLimiter.of(RateLimit(10), store=store, key="a") for _ in range(2)]
    with client(limiters[0], clock) as one, client(limiters[1], clock) as other:
        assert one.get("x").status == 200
        begin(other, 1, done)
        clock.wait_for_sleepers()
        limiters[0].pause(7)
        begin(one, 1, done)
        clock.wait_for_sleepers(2)
        clock.advance(0.1)
        clock.wait_for_sleepers(2)
        for seconds in (6.9, 0.1):
            clock.advance(seconds)
            assert done.acquire(timeout=PATIENCE)


class Broken(ntapi.Store):
    """A store that fails in a way of its own."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.asked: list[tuple[str, list[str], list[int]]] = []

    def run(self, script: ntapi.StoreScript, keys: list[str], arguments: list[str]) -> list[int]:
        self.asked.append((script.name, keys, [int(each) for each in arguments]))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (OSError("no route"), "OSError: no route"),
        ("text", "TypeError: run has to return a list, not str"),
        (None, "TypeError: run has to return a list, not NoneType"),
        ([1.5, 0], "TypeError: a value has to be a str, bytes or an int, not float"),
        ([b"\xff", 0], "UnicodeDecodeError: "),
        (["1\0", 0], "ApiError: "),
        ([1], r"its reply is not two numbers: \[1\]"),
    ],
)
def test_a_store_that_fails(answer: object, problem: str, unraisable: Unraisable) -> None:
    store = Broken(answer)
    limiter = RateLimiter.of(RateLimit(10), store=store, key="a", on_failure="closed")
    with client(limiter) as shop, pytest.raises(ntapi.ApiError, match=problem) as caught:
        shop.get("x")
    assert caught.value.code is codes.STORE_FAILED
    assert caught.value.retryable
    name, keys, numbers = store.asked[0]
    assert name == "ntapi.permits.1"
    assert keys == ["ntapi:1:{a}:limit", "ntapi:1:{a}:line", "ntapi:1:{a}:ends"]
    assert numbers[1:] == [1, 0, 0, 0, 100_000, 1]
    # A mistake of the program, which it would not hear of elsewhere.
    is_mistake = problem.startswith("TypeError")
    assert [type(error) for error in unraisable.errors] == [TypeError] * is_mistake


def test_permits_of_a_batch_serve_later_requests() -> None:
    store = Broken([b"3", "0"])
    limiter = RateLimiter.of(RateLimit(10, burst=3), store=store, key="a", batch=3)
    with client(limiter, ManualClock()) as shop:
        assert [shop.get("x").status for _ in range(4)] == [200] * 4
    assert [numbers[1:] for _, _, numbers in store.asked] == [[1, 2, 0, 0, 100_000, 3]] * 2


@pytest.mark.parametrize("on_failure", ["local", "open"])
def test_requests_go_on_while_a_store_fails(
    on_failure: str, caplog: pytest.LogCaptureFixture
) -> None:
    ntapi.use_python_logging()
    store = Broken(OSError("no route"))
    options = {"on_failure": on_failure}
    limiter = RateLimiter.of(RateLimit(10, burst=9), store=store, key="a", **options)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING, "ntapi"), client(limiter) as shop:
        assert [shop.get("x").status for _ in range(3)] == [200] * 3
    assert len(store.asked) == 1
    ntapi.drain()


def test_a_store_that_is_gone_fails() -> None:
    limiter = RateLimiter.of(RateLimit(10), store=Broken([1, 0]), key="a", on_failure="closed")
    limiter._store = None
    with client(limiter) as shop, pytest.raises(ntapi.ApiError, match="no longer there"):
        shop.get("x")


def test_what_is_wrong_is_said() -> None:
    store = MemoryStore()
    for limits, options, text in (
        ((), {}, "there is none"),
        ((RateLimit(0),), {}, "0.0 requests in 1.0 s"),
        ((RateLimit(10), RateLimit(1, burst=0)), {}, "burst is 0"),
        ((RateLimit(10),), {"key": "a"}, "there is a key, but no store"),
        ((RateLimit(10),), {"store": store}, "key is NULL"),
        ((RateLimit(10),), {"store": store, "key": "a}"}, "must have 1 to 200 bytes"),
        ((RateLimit(10),), {"store": store, "key": "a", "store_timeout": -1}, "timeout is -1"),
        ((RateLimit(10),), {"store": store, "key": "a", "on_failure": "x"}, "on_failure is one of"),
        ((RateLimit(10),), {"store": store, "key": "a", "batch": 0}, "batch has to be from 1"),
        ((RateLimit(10),), {"store": store, "key": "a", "batch": 2}, "batch is 2: it must be"),
    ):
        with pytest.raises(ValueError, match=text):
            RateLimiter.of(*limits, **options)  # type: ignore[arg-type]
    for limit, options, text in (
        (5, {}, "a RateLimit"),
        (RateLimit(1), {"store": 5}, "ntapi.Store"),
    ):
        with pytest.raises(TypeError, match=text):
            RateLimiter.of(limit, **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a ManualClock"):
        MemoryStore(5)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="Broken2 has to override run"):
        type("Broken2", (ntapi.Store,), {})().run(ntapi.StoreScript("", ""), [], [])


class Redis(ntapi.Store):
    """A Redis server, with a connection for each script."""

    def __init__(self, path: str) -> None:
        self.path = path

    def run(self, script: ntapi.StoreScript, keys: list[str], arguments: list[str]) -> list[int]:
        words = ["EVAL", script.lua, str(len(keys)), *keys, *arguments]
        sent = b"".join(b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()) for word in words)
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(self.path)
            link.sendall(b"*%d\r\n%s" % (len(words), sent))
            with link.makefile("rb") as lines:
                count = lines.readline()
                if not count.startswith(b"*"):
                    raise OSError(count.decode())
                return [int(lines.readline()[1:]) for _ in range(int(count[1:]))]


PROGRAM = """
import sys, time
sys.path.insert(0, sys.argv[1])
import ntapi
from test_shared_limits import Redis, client
limit, store = ntapi.RateLimit(50, burst=3), Redis(sys.argv[2])
limiter = ntapi.RateLimiter.of(limit, store=store, key=sys.argv[3])
with client(limiter) as shop:
    for _ in range(int(sys.argv[4])):
        shop.get("x")
        print(time.time(), flush=True)
"""


def test_processes_keep_one_limit(servers: dict[str, str]) -> None:
    """Three processes, of which one is killed while it waits."""
    key = f"processes {time.time()}"
    command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), servers["redis"], key]
    running = [
        subprocess.Popen([*command, count], stdout=subprocess.PIPE, text=True)
        for count in ("20", "20", "1000")
    ]
    assert running[2].stdout is not None
    for _ in range(3):
        running[2].stdout.readline()
    running[2].kill()
    times = []
    for process in running:
        output, _ = process.communicate(timeout=PATIENCE)
        times += [float(line) for line in output.splitlines()]
    # The killed one has written some more lines that nobody read, and may have had one permit more.
    times.sort()
    assert len(times) >= 40
    assert times[-1] - times[0] >= (len(times) - 3) / 50 * 0.9
    assert [process.returncode for process in running] == [0, 0, -9]
