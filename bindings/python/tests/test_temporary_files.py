"""Downloads without a path: the file exists as long as the response and its request."""

from __future__ import annotations

import asyncio
import gc
import os
import stat
import threading
import time
from pathlib import Path
from typing import Optional

import pytest

import ntapi
from conftest import PATIENCE, run_python

BROKEN = (ntapi.url("cut", 40_000), ntapi.download())


def is_gone(path: Path) -> bool:
    """Waits, because the library frees a request shortly after its end."""
    gc.collect()
    deadline = time.monotonic() + PATIENCE
    while path.exists() and time.monotonic() < deadline:
        time.sleep(0)
    return not path.exists()


def test_it_is_there_as_long_as_the_response(nginx: ntapi.Client) -> None:
    expected = nginx.send("small.json").data
    response = nginx.send("small.json", ntapi.download())
    path = response.temporary_file
    assert path is not None
    assert path.read_bytes() == expected
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert response.file is None
    assert response.data == b""
    del response
    assert is_gone(path)


def test_it_is_there_in_the_handler(nginx: ntapi.Client, tmp_path: Path) -> None:
    seen: list[tuple[Path, bool]] = []
    returned = threading.Event()

    def handle(response: ntapi.Response) -> None:
        path = response.temporary_file
        assert path is not None
        seen.append((path, path.exists()))
        if len(seen) == 2:
            path.rename(tmp_path / "kept")
        returned.set()

    for _ in range(2):
        returned.clear()
        args = [ntapi.download(), ntapi.response_thread(ntapi.BACKGROUND)]
        nginx.begin("small.json", args, handle)
        assert returned.wait(PATIENCE)
    assert [was_there for _, was_there in seen] == [True, True]
    assert all(is_gone(path) for path, _ in seen)
    assert (tmp_path / "kept").exists()


def test_awaited(servers: dict[str, str]) -> None:
    async def fetch() -> tuple[Path, bool]:
        async with ntapi.AsyncClient(servers["nginx"]) as client:
            response = await client.send("small.json", ntapi.download())
            path = response.temporary_file
            assert path is not None
            return path, path.exists()

    path, was_there = asyncio.run(fetch())
    assert was_there
    assert is_gone(path)


def test_it_can_be_gone_on_with(fault: ntapi.Client, tmp_path: Path) -> None:
    for place in (None, ntapi.download(tmp_path / "f")):
        broken = fault.perform("range", BROKEN)
        assert broken.temporary_file is None
        again = [ntapi.resume(broken.resume_data), ntapi.header("X-Again", "1")]
        whole = fault.send("", again, place)
        path = whole.temporary_file if place is None else whole.file
        assert path is not None
        assert path.stat().st_size == 100_000
        del whole
        assert path.exists() if place is not None else is_gone(path)


def test_nothing_is_left_of_what_nobody_goes_on_with(
    servers: dict[str, str], tmp_path: Path
) -> None:
    program = """
import sys, threading, ntapi
weather, fault, nginx = (ntapi.Client(url) for url in sys.argv[1:])
fault.perform("range", ntapi.url("cut", 40_000), ntapi.download())
fault.perform("no-such-path", ntapi.download())
kept = nginx.perform("small.json", ntapi.download())
assert kept.temporary_file.exists()
begun = threading.Event()
args = [ntapi.url("size", 40_000_000), ntapi.url("rate", 1_000_000), ntapi.download()]
request = weather.create_request(
    "download",
    [*args, ntapi.download_progress_thread(ntapi.BACKGROUND)],
    download_progress=lambda count, total: begun.set(),
)
request.resume()
begun.wait()
print("left")
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    urls = [servers[name] for name in ("weather", "fault", "nginx")]
    done = run_python(program, *urls, env=environment)
    assert done.stdout.strip() == "left", done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_decision_may_ask_for_one(nginx: ntapi.Client) -> None:
    def decide(decision: ntapi.Decision) -> None:
        assert decision.download()

    responses: list[ntapi.Response] = []
    request = nginx.create_request(
        "small.json",
        ntapi.response_thread(ntapi.BACKGROUND),
        responses.append,
        decision_handler=decide,
    )
    request.resume()
    request.wait()
    assert nginx.drain(PATIENCE) == 0
    path: Optional[Path] = responses[0].temporary_file
    assert path is not None
    assert path.exists()


def test_the_arg() -> None:
    assert ntapi.download() == ntapi.download()
    assert not ntapi.download().is_suppressed
    assert ntapi.download(None).is_suppressed
    assert repr(ntapi.download()) == "<ntapi.Arg download()>"
    assert repr(ntapi.download("f")) == '<ntapi.Arg download(to: "f")>'


@pytest.mark.parametrize("count", [6])
def test_uploads_over_one_connection(servers: dict[str, str], tmp_path: Path, count: int) -> None:
    """In a session with one connection, uploads go one after the other."""
    photo = tmp_path / "photo"
    photo.write_bytes(b"x" * 200_000)
    configuration = ntapi.SessionConfiguration.ephemeral(maximum_connections_per_host=1, proxy="")
    responses: list[ntapi.Response] = []
    with ntapi.Client(servers["fault"], configuration=configuration) as uploads:
        args = [ntapi.file(photo), ntapi.response_thread(ntapi.BACKGROUND)]
        for _ in range(count):
            uploads.begin("echo", args, responses.append)
        assert uploads.drain(PATIENCE) == 0
    assert all(len(response.json()["body"]) == 200_000 for response in responses)
    assert len(responses) == count
    assert len({response.json()["connection"] for response in responses}) == 1
