"""Bodies that go into a file."""

from __future__ import annotations

import os
import pathlib
from pathlib import Path
from typing import Any, Callable

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import codes
from transfers import ENDLESS, PATTERN, begun


class InSomeFolder:
    """Not a Path, but an os.PathLike, which the standard library also accepts."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return str(self._path)


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
    assert missing.json() == {"error": "none"}
    assert broken.file is missing.file is None
    moved, progress = begun()
    request = fault.begin("drip", [*ENDLESS, ntapi.download(path)], download_progress=progress)
    assert moved.wait(PATIENCE)
    assert request.received_status == 200
    assert len(os.listdir(tmp_path)) == 2
    assert path.read_text() == "old"
    request.cancel()
    assert request.wait(PATIENCE)
    assert os.listdir(tmp_path) == ["a"]
    assert path.read_text() == "old"
    assert nginx.send("ping", ntapi.download(path)).json() is None
    assert path.read_text() == '{"ok":true}'


def test_bad_destinations_are_named(nginx: ntapi.Client, tmp_path: Path) -> None:
    for path, reason in (
        (tmp_path / "no" / "such", "no such folder"),
        (tmp_path, "not a regular file"),
        ("", "does not name a file"),
        ("a\0b", "NUL"),
    ):
        error = nginx.perform("ping", ntapi.download(path)).error
        assert error is not None
        assert error.code is codes.INVALID_REQUEST
        assert reason in str(error)
    assert nginx.send("ping", ntapi.download(None)).json() == {"ok": True}
    with pytest.raises(TypeError, match=r"path|PathLike"):
        ntapi.download(5)  # type: ignore[arg-type]
    assert repr(ntapi.download("a b")) == '<ntapi.Arg download(to: "a b")>'
