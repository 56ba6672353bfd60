"""Bodies that go into a file, and downloads that go on."""

from __future__ import annotations

import asyncio
import os
import pathlib
import threading
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import codes
from transfers import DRIP, PATTERN


class InSomeFolder:
    """Not a Path, but what the standard library takes in place of one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return str(self._path)


def begun() -> tuple[threading.Event, Callable[[int, Optional[int]], None]]:
    """An event, and a progress handler that sets it when the first bytes have come."""
    moved = threading.Event()

    def progress(count: int, _: Optional[int]) -> None:
        if count > 0:
            moved.set()

    return moved, progress


@pytest.mark.parametrize("kind", [str, Path, InSomeFolder])
def test_a_download_is_the_file_and_nothing_else(
    nginx: ntapi.Client, pattern: bytes, tmp_path: Path, kind: Callable[[Any], Any]
) -> None:
    path = tmp_path / "ü b.bin"
    seen: list[tuple[int, Any]] = []
    response = nginx.send(
        PATTERN, ntapi.download(kind(path)), download_progress=lambda *now: seen.append(now)
    )
    assert response.file == path
    assert isinstance(response.file, pathlib.PurePath)
    assert response.data == b""
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == pattern
    assert (seen[0], seen[-1]) == ((0, len(pattern)), (len(pattern), len(pattern)))
    assert nginx.send(PATTERN, ntapi.download(path)).file == path


def test_a_file_is_replaced_only_when_the_new_one_is_whole(
    nginx: ntapi.Client, fault: ntapi.Client, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    broken = fault.perform("close/in-body", ntapi.download(path))
    assert broken.error is not None
    assert broken.error.code is codes.NETWORK
    missing = nginx.perform("404", ntapi.download(path))
    assert missing.error is not None
    assert missing.json == {"error": "none"}
    assert broken.file is missing.file is None
    moved, progress = begun()
    request = fault.begin("drip", [*DRIP, ntapi.download(path)], download_progress=progress)
    assert moved.wait(PATIENCE)
    assert request.received_status == 200
    assert len(os.listdir(tmp_path)) == 2
    assert path.read_text() == "old"
    request.cancel()
    assert request.wait(PATIENCE)
    assert os.listdir(tmp_path) == ["a"]
    assert path.read_text() == "old"
    assert nginx.send("ping", ntapi.download(path)).json is None
    assert path.read_text() == '{"ok":true}'


def test_bad_destinations_are_named(nginx: ntapi.Client, tmp_path: Path) -> None:
    for path, reason in (
        (tmp_path / "no" / "such", "no such folder"),
        (tmp_path, "no regular file"),
        ("", "names no file"),
        ("a\0b", "NUL"),
    ):
        error = nginx.perform("ping", ntapi.download(path)).error
        assert error is not None
        assert error.code is codes.INVALID_REQUEST
        assert reason in str(error)
    assert nginx.send("ping", ntapi.download(None)).json == {"ok": True}
    with pytest.raises(TypeError, match=r"path|PathLike"):
        ntapi.download(5)  # type: ignore[arg-type]
    assert repr(ntapi.download("a b")) == '<ntapi.Arg download(to: "a b")>'


def test_a_download_goes_on_where_it_was_broken_off(fault: ntapi.Client, tmp_path: Path) -> None:
    path = tmp_path / "f"
    broken = fault.perform("range", ntapi.url("cut", 40_000), ntapi.download(path))
    data = broken.resume_data
    assert data is not None
    assert "\n" not in data
    assert broken.request.resume_data is None or isinstance(broken.request.resume_data, str)
    (part,) = tmp_path.iterdir()
    assert part.stat().st_size == 40_000
    seen: list[tuple[int, Any]] = []
    with ntapi.Client() as other:
        whole = other.send(
            "",
            ntapi.resume(data),
            ntapi.header("X-Again", 1),
            download_progress=lambda *now: seen.append(now),
        )
    assert (whole.status, whole.file, whole.resume_data) == (206, path, None)
    assert os.listdir(tmp_path) == ["f"]
    words = (place * 16 + 1 for place in range(25_000))
    assert path.read_bytes() == b"".join(word.to_bytes(4, "big") for word in words)
    assert seen[-1] == (100_000, 100_000)


def test_resume_data_of_a_running_download(nginx: ntapi.Client, tmp_path: Path) -> None:
    moved, progress = begun()
    request = nginx.create_request(
        f"slow/{PATTERN}", ntapi.download(tmp_path / "f"), download_progress=progress
    )
    assert request.resume_data is None
    request.resume()
    assert moved.wait(PATIENCE)
    assert request.suspend()
    assert request.resume_data is not None
    request.cancel()
    assert request.wait(PATIENCE)
    assert request.response is not None
    data = request.response.resume_data
    assert data is not None
    ntapi.discard_resume_data(data)
    assert os.listdir(tmp_path) == []
    ntapi.discard_resume_data(data)


@pytest.mark.parametrize("wrong", ["", "{}", "nonsense", '{"ntapiResumeData": 99}', "a\0b"])
def test_what_is_no_resume_data(fault: ntapi.Client, wrong: str) -> None:
    error = fault.perform("", ntapi.resume(wrong)).error
    assert error is not None
    assert error.code is codes.INVALID_REQUEST
    with pytest.raises(ValueError, match="is no resume data"):
        ntapi.discard_resume_data(wrong)


def test_no_resume_data(fault: ntapi.Client) -> None:
    assert fault.send("echo", ntapi.resume(None)).resume_data is None
    with pytest.raises(TypeError, match="resume data has to be a string, not bytes"):
        ntapi.resume(b"{}")  # type: ignore[arg-type]


def test_ctrl_c_leaves_what_to_go_on_with(nginx: ntapi.Client, tmp_path: Path) -> None:
    def interrupt(count: int, _: Any) -> None:
        if count > 0:
            raise KeyboardInterrupt

    path = tmp_path / "f"
    for perform in (nginx.perform, nginx.send):
        with pytest.raises(KeyboardInterrupt) as caught:
            perform(f"slow/{PATTERN}", ntapi.download(path), download_progress=interrupt)
        assert nginx.drain(PATIENCE) == 0
        data = caught.value.resume_data  # type: ignore[attr-defined]
        (part,) = tmp_path.iterdir()
        ntapi.discard_resume_data(data)
        assert not part.exists()
    with pytest.raises(KeyboardInterrupt) as caught:
        nginx.perform(PATTERN, download_progress=interrupt)
    assert not hasattr(caught.value, "resume_data")


def test_a_cancelled_task_leaves_what_to_go_on_with(
    servers: dict[str, str], pattern: bytes, tmp_path: Path
) -> None:
    async def main() -> None:
        async with ntapi.AsyncClient(servers["nginx"]) as client:
            moved = asyncio.Event()

            async def download() -> str:
                try:
                    await client.send(
                        f"slow/{PATTERN}",
                        ntapi.download(tmp_path / "f"),
                        download_progress=lambda count, _: count and moved.set(),
                    )
                except asyncio.CancelledError as stop:
                    data: str = stop.resume_data  # type: ignore[attr-defined]
                    return data
                raise AssertionError("it was to be cancelled")

            task = asyncio.create_task(download())
            await moved.wait()
            task.cancel()
            data = await task
            response = await client.send("", ntapi.resume(data))
            assert response.status == 206
            assert response.file is not None
            assert response.file.read_bytes() == pattern

    asyncio.run(main())
