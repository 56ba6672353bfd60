"""The servers' table, a client for each, and a guard against tests that leave requests behind."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

import ntapi
from ntapi import _interceptions as interceptions
from ntapi.testing import ManualClock, Stub

REPOSITORY = Path(__file__).resolve().parents[3]
PATIENCE = 120.0
"""Seconds that a test waits for an event, enough for a busy machine. Only a failing test waits so
long.
"""
IDLE_TIMEOUT = 6.0
"""Seconds of an idle timeout that also holds on a busy machine."""
LONGER_THAN_IDLE = 7.0
"""Seconds that exceed it."""
API_URL = "https://api.test/v1"
"""A base URL that only a stub answers."""
Perform = Callable[..., ntapi.Response]


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, str]]:
    """The table of servers from NTAPI_TEST_SERVERS, or of servers that are started for this run."""
    given = os.environ.get("NTAPI_TEST_SERVERS")
    if given:
        yield json.loads(given)
        return
    runner = REPOSITORY / "Tests" / "servers" / "run.py"
    command = [sys.executable, str(runner)]
    # The servers end with their standard input, so they end with this process in any case.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, f"{runner} could not start the servers"
        yield json.loads(line)
        process.stdin.close()


@pytest.fixture
def fault(servers: dict[str, str]) -> Iterator[ntapi.Client]:
    """A client of the fault server. Its /echo answers with the request."""
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
    """The content of nginx's pattern-8M.bin."""
    return (Path(servers["nginx_root"]) / "pattern-8M.bin").read_bytes()


MOTO = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(*server.get_host_and_port(), flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture(scope="session")
def moto() -> Iterator[tuple[str, str, str]]:
    """A server of Amazon's APIs, which checks signatures: its URL, and a key with all permissions
    in us-east-1.
    """
    boto3 = pytest.importorskip("boto3")
    pytest.importorskip("moto")
    command = [sys.executable, "-c", MOTO]
    quiet: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **quiet) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        host, port = process.stdout.readline().split()
        url = f"http://{host}:{port}"
        options = {"endpoint_url": url, "region_name": "us-east-1"}
        iam = boto3.client("iam", aws_access_key_id="x", aws_secret_access_key="x", **options)
        iam.create_user(UserName="u")
        policy = {
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}],
        }
        iam.put_user_policy(UserName="u", PolicyName="all", PolicyDocument=json.dumps(policy))
        key = iam.create_access_key(UserName="u")["AccessKey"]
        with ntapi.Client(url) as client:
            assert client.send("moto-api/reset-auth", ntapi.data(b"0")).status == 200
        yield url, key["AccessKeyId"], key["SecretAccessKey"]
        process.stdin.close()


@pytest.fixture
def stub() -> Stub:
    """A stub, which answers from memory."""
    return Stub()


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still."""
    return ManualClock()


@pytest.fixture(params=["Client", "AsyncClient"])
def perform(request: pytest.FixtureRequest, stub: Stub) -> Perform:
    """Performs a request of a new client of this kind; the stub answers."""

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


@pytest.fixture(autouse=True, scope="module")
def small_collections() -> None:
    """Excludes existing objects from later garbage collections. After the SDKs were imported, a
    collection would take up to a second, during which it holds the interpreter's lock, and some
    tests make hundreds of collections.
    """
    if hasattr(gc, "freeze"):  # PyPy has none
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Checks at the end of each test that all handlers were called and all interceptors are
    done.
    """
    yield
    assert ntapi.drain(PATIENCE) == 0
    assert not interceptions._passages


class Unraisable:
    """A report to sys.unraisablehook."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self.objects: list[str] = []
        self.arrived = threading.Event()

    def __call__(self, unraisable: Any) -> None:
        self.errors.append(unraisable.exc_value)
        # From Python 3.14 on, the message contains the text of the object.
        self.objects.append(f"{unraisable.err_msg} {unraisable.object!r}")
        self.arrived.set()


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> Unraisable:
    """Collects reported exceptions instead of printing them."""
    hook = Unraisable()
    monkeypatch.setattr(sys, "unraisablehook", hook)
    return hook


def wait_for(is_there: Callable[[], object]) -> None:
    """Polls for a condition that has no event."""
    deadline = time.monotonic() + PATIENCE
    while not is_there():
        assert time.monotonic() < deadline
        gc.collect()


def run_python(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program in a new interpreter.

    One that does not end is stopped, with its children, and its stderr says where their threads
    are.
    """
    quiet = ["-X", "faulthandler", "-W", "ignore:This process:DeprecationWarning"]
    command = [sys.executable, *quiet, "-c", code, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, start_new_session=True, **options
    ) as program:
        try:
            output, errors = program.communicate(timeout=3 * PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGABRT)
            output, errors = program.communicate()
    return subprocess.CompletedProcess(command, program.returncode, output, errors)
