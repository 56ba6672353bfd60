"""No byte of one request gets into another, however a request ends.

Each body consists of its own mark. Requests end in the middle, in all ways and at random, on hosts
with HTTP/2 and HTTP/1.1, while others use the same connections. Later requests get the handles that
they have left, and pause. The seed is printed; NTAPI_SEED sets it, and NTAPI_SECONDS the duration.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable
from uuid import uuid4

import pytest

import ntapi
from conftest import PATIENCE
from transfers import PATTERN

HTTP_2 = ["nginx_tls", "nginx_narrow"]
HOSTS = [*HTTP_2, "nginx_tls1", "nginx"]
SIZES = [1_000, 300_000, 1_000_000, 2_000_000]
RAW = ntapi.option("raw_data")
STEPS = 20
AHEAD = 256 << 10
"""The bytes that the library keeps for a slow reader, before the network waits."""
Marks = dict[str, bytes]


@pytest.fixture
def marked(servers: dict[str, str]) -> Iterator[Marks]:
    """Bodies by their paths on every host."""
    name = f"marked-{uuid4().hex}"
    folder = Path(servers["nginx_root"]) / name
    folder.mkdir()
    bodies = {}
    for number in range(4 * len(SIZES)):
        body = b"%07d\n" % number * (SIZES[number % len(SIZES)] // 8)
        (folder / str(number)).write_bytes(body)
        bodies[f"{name}/{number}"] = body
    yield bodies
    shutil.rmtree(folder)


def until_it_pauses(request: ntapi.Request) -> None:
    """Waits until no more is received, because the reader is behind or everything has come."""
    begun = time.monotonic()
    while request.bytes_received < min(AHEAD, request.bytes_expected_to_receive or AHEAD):
        assert time.monotonic() - begun < PATIENCE
        time.sleep(0)


class Ended:
    """Requests that end in the middle. Each method makes one, and returns at its end."""

    def __init__(self, client: ntapi.Client, path: str) -> None:
        self.client = client
        self.path = path

    def left_by_break(self) -> None:
        with contextlib.closing(self.client.stream(self.path)) as chunks:
            for _ in chunks:
                until_it_pauses(chunks.request)
                break

    def left_before_reading(self) -> None:
        with self.client.stream(self.path) as chunks:
            until_it_pauses(chunks.request)

    def cancelled_in_a_handler(self) -> None:
        def end(request: ntapi.Request) -> None:
            until_it_pauses(request)
            request.cancel()

        self._begin(end)

    def timed_out_in_a_handler(self) -> None:
        # A timeout ends it; on a busy machine possibly before or after the handler.
        self._begin(lambda _: time.sleep(0.08), ntapi.timeout(0.05, "total"))

    def suspended_and_cancelled(self) -> None:
        def end(request: ntapi.Request) -> None:
            until_it_pauses(request)
            request.suspend()
            request.cancel()

        self._begin(end)

    def cancelled_in_a_decision(self) -> None:
        self._decide(lambda request: request.cancel())

    def timed_out_in_a_decision(self) -> None:
        self._decide(lambda _: None, ntapi.timeout(0.05, "total"))

    def _begin(self, end: Callable[[ntapi.Request], object], *args: ntapi.Arg) -> None:
        requests: list[ntapi.Request] = []
        begun = threading.Event()

        def take(_: bytes) -> None:
            assert begun.wait(PATIENCE)
            end(requests[0])

        place = ntapi.response_thread(ntapi.BACKGROUND)
        requests.append(self.client.begin(self.path, [RAW, place, *args], data_handler=take))
        begun.set()
        assert requests[0].wait(PATIENCE)

    def _decide(self, end: Callable[[ntapi.Request], object], *args: ntapi.Arg) -> None:
        asked = threading.Event()
        kept: list[ntapi.Decision] = []

        def keep(decision: ntapi.Decision) -> None:
            kept.append(decision)
            asked.set()

        place = ntapi.response_thread(ntapi.BACKGROUND)
        request = self.client.begin(self.path, [RAW, place, *args], decision_handler=keep)
        # Its time may be over before the decision.
        while request.is_running and not asked.wait(0.01):
            pass
        end(request)
        assert request.wait(PATIENCE)


ENDS = [name for name in vars(Ended) if name[0] != "_"]


def streamed(client: ntapi.Client, path: str) -> bytes:
    with client.stream(path) as chunks:
        return b"".join(chunks)


def paused_once(client: ntapi.Client, path: str) -> bytes:
    with client.stream(path) as chunks:
        first = next(chunks)
        until_it_pauses(chunks.request)
        return first + b"".join(chunks)


def decided(client: ntapi.Client, path: str) -> bytes:
    place = ntapi.response_thread(ntapi.BACKGROUND)
    request = client.begin(path, [RAW, place], decision_handler=lambda it: it.proceed())
    assert request.wait(PATIENCE)
    assert request.response is not None
    return request.response.data


def plain(client: ntapi.Client, path: str) -> bytes:
    return client.send(path, RAW).data


WHOLE: list[Callable[[ntapi.Client, str], bytes]] = [streamed, paused_once, decided, plain]


def difference(found: bytes, expected: bytes) -> str:
    """What is wrong with a body; "" if it is right."""
    if found == expected:
        return ""
    marks = sorted(set(found.split(b"\n")))[:5]
    return f"{len(found)} bytes instead of {len(expected)} of {expected[:7]!r}, marks {marks}"


@pytest.mark.parametrize("end", [*ENDS, "any"])
def test_no_byte_of_another_request(servers: dict[str, str], marked: Marks, end: str) -> None:
    seed = int(os.environ.get("NTAPI_SEED", random.randrange(1 << 31)))
    print(f"NTAPI_SEED={seed}")
    dice = random.Random(seed)
    deadline = time.monotonic() + float(os.environ.get("NTAPI_SECONDS", 0))
    problems: list[str] = []
    with contextlib.ExitStack() as stack:
        clients: dict[str, Any] = {}
        for host in HOSTS:
            client = stack.enter_context(ntapi.Client(servers[host], log_flags=ntapi.LogFlags.NONE))
            client.set_default("caFile", servers["ca"])
            if host in HTTP_2:
                # Requests whose bodies are read piece by piece use HTTP/1.1 by default.
                client.args = ntapi.option("http_version", "2")
            # Another request uses the connection all the time.
            next(stack.enter_context(client.stream(f"slow/{PATTERN}")))
            clients[host] = client
        large = [path for path, body in marked.items() if len(body) > 100_000]
        step = 0
        while step < STEPS or time.monotonic() < deadline:
            step += 1
            for _ in range(dice.randrange(1, 4)):
                how = dice.choice(ENDS) if end == "any" else end
                getattr(Ended(clients[dice.choice(HOSTS)], dice.choice(large)), how)()
            for _ in range(dice.randrange(1, 4)):
                host, path, way = dice.choice(HOSTS), dice.choice([*marked]), dice.choice(WHOLE)
                wrong = difference(way(clients[host], path), marked[path])
                if wrong:
                    problems.append(f"step {step}: {way.__name__} from {host}: {wrong}")
    assert problems == []
