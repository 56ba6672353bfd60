"""The servers' table, a client for each, and a guard against tests that leave requests behind."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

import ntapi
from ntapi._bridge import interceptions
from ntapi.testing import ManualClock, Stub

REPOSITORY = Path(__file__).resolve().parents[3]
PATIENCE = 120.0
"""Seconds that a test waits for an event, on a busy machine too; only a failing test takes them."""
IDLE_TIMEOUT = 6.0
"""Seconds of an idle timeout that a busy machine keeps to."""
LONGER_THAN_IDLE = 7.0
"""Seconds that do not fit into it."""
API_URL = "https://api.test/v1"
"""A base URL that only a stub answers."""
Perform = Callable[..., ntapi.Response]


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, str]]:
    """The table of NTAPI_TEST_SERVERS; without it, that of servers started for this run."""
    given = os.environ.get("NTAPI_TEST_SERVERS")
    if given:
        yield json.loads(given)
        return
    runner = REPOSITORY / "Tests" / "servers" / "run.py"
    command = [sys.executable, str(runner)]
    # They end when their standard input does, which is when this process ends, however it does.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"{runner} could not start the servers"
        yield json.loads(line)
        process.stdin.close()


@pytest.fixture
def fault(servers: dict[str, str]) -> Iterator[ntapi.Client]:
    """A client of the fault server, whose /echo says what it was sent."""
    with ntapi.Client(servers["fault"]) as client:
        yield client


@pytest.fixture
def weather(servers: dict[str, str]) -> Iterator[ntapi.Client]:
    """A client of the demo API."""
    with ntapi.Client(servers["weather"], args=ntapi.url("appid", "test")) as client:
        yield client


@pytest.fixture
def nginx(servers: dict[str, str]) -> Iterator[ntapi.Client]:
    """A client of nginx."""
    with ntapi.Client(servers["nginx"]) as client:
        yield client


@pytest.fixture
def pattern(servers: dict[str, str]) -> bytes:
    """What nginx has as pattern-8M.bin."""
    return (Path(servers["nginx_root"]) / "pattern-8M.bin").read_bytes()


@pytest.fixture
def stub() -> Stub:
    """Answers from memory."""
    return Stub()


@pytest.fixture
def clock() -> ManualClock:
    """Time that stands still."""
    return ManualClock()


@pytest.fixture(params=["Client", "AsyncClient"])
def perform(request: pytest.FixtureRequest, stub: Stub) -> Perform:
    """Performs a request of a new client of this kind, answered by the stub."""

    def with_threads(interceptors: Any, *args: Any, **options: Any) -> ntapi.Response:
        with ntapi.Client(API_URL, stub=stub, interceptors=interceptors, **options) as client:
            return client.perform(*args)

    async def with_loop(interceptors: Any, *args: Any, **options: Any) -> ntapi.Response:
        async with ntapi.AsyncClient(
            API_URL, stub=stub, interceptors=interceptors, **options
        ) as client:
            return await client.perform(*args)

    if request.param == "Client":
        return with_threads
    return lambda *args, **options: asyncio.run(with_loop(*args, **options))


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Every handler of a test has been called when the test ends, and its interceptors are done."""
    yield
    assert ntapi.drain(PATIENCE) == 0
    assert not interceptions._passages


class Unraisable:
    """What was reported through sys.unraisablehook."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self.objects: list[str] = []
        self.arrived = threading.Event()

    def __call__(self, unraisable: Any) -> None:
        self.errors.append(unraisable.exc_value)
        # From Python 3.14 on the message has the text of the object, in its place.
        self.objects.append(f"{unraisable.err_msg} {unraisable.object!r}")
        self.arrived.set()


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> Unraisable:
    """Collects reported exceptions instead of printing them."""
    hook = Unraisable()
    monkeypatch.setattr(sys, "unraisablehook", hook)
    return hook


def wait_for(is_there: Callable[[], object]) -> None:
    """Waits for something that no event tells of."""
    deadline = time.monotonic() + PATIENCE
    while not is_there():
        assert time.monotonic() < deadline
        gc.collect()


def run_python(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program in an interpreter of its own."""
    quiet = ["-X", "faulthandler", "-W", "ignore:This process:DeprecationWarning"]
    command = [sys.executable, *quiet, "-c", code, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=3 * PATIENCE, check=False, **options
    )
