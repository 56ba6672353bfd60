"""A clone that was moved or copied builds again. A clone that was not moved keeps its builds."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import moved
import pytest

PACKAGE = """// swift-tools-version: 6.2
import PackageDescription
let package = Package(name: "small", targets: [.executableTarget(name: "small", path: "code")])
"""
BUILT = {".build", "build", "build/swift", "build-packages", ".venv", ".venv-pythons/python3"}


def run(folder: Path, *commands: str) -> None:
    """Runs commands in a folder."""
    for command in commands:
        subprocess.run(command.split(), cwd=folder, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small clone with a build of each tool."""
    clone = tmp_path_factory.mktemp("clones") / "first"
    (clone / "code").mkdir(parents=True)
    (clone / "code" / "main.swift").write_text('print("hello")\n')
    (clone / "Package.swift").write_text(PACKAGE)
    (clone / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(small NONE)\n"
    )
    venv = f"{sys.executable} -m venv --without-pip"
    run(
        clone,
        "cmake -B build -G Ninja",
        "cmake -B build-packages -G Ninja",
        "swift build",
        "swift build --scratch-path build/swift -c release",
        f"{venv} .venv",
        f"{venv} .venv-pythons/python3",
    )
    return clone


@pytest.fixture
def clone(built: Path, tmp_path: Path) -> Iterator[Path]:
    """The small clone at its place. It is restored afterwards."""
    shutil.copytree(built, tmp_path / "kept", symlinks=True)
    yield built
    shutil.rmtree(built, ignore_errors=True)
    shutil.move(tmp_path / "kept", built)


def left(root: Path) -> set[str]:
    """The builds that are still there."""
    return {name for name in BUILT if (root / name).exists()}


def test_what_lies_where_it_was_built_is_kept(clone: Path) -> None:
    moved.main([], clone)
    assert left(clone) == BUILT


def test_a_link_to_the_clone_is_the_clone(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(clone)
    moved.main([], tmp_path / "link")
    run(tmp_path / "link", "swift build")
    moved.main([], clone)
    assert left(clone) == BUILT


@pytest.mark.parametrize("command", ["mv", "cp -a"])
def test_a_clone_elsewhere_starts_anew(
    clone: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "second"
    run(tmp_path, f"{command} {clone} {other}")
    moved.main([], other)
    assert left(other) == set()
    assert ".build" in capsys.readouterr().out
    run(other, "cmake -B build -G Ninja", "swift build")
    moved.main([], other)
    assert left(other) == {"build", ".build"}


def test_only_the_named_folder_is_removed(clone: Path, tmp_path: Path) -> None:
    run(tmp_path, f"cp -a {clone} second")
    moved.main(["build"], tmp_path / "second")
    assert left(tmp_path / "second") == BUILT - {"build", "build/swift"}
