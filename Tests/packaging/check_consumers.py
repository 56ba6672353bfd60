"""Installs into a temporary prefix and builds programs against it, by CMake and by make: one with
ntapi.h alone, one with ntapi_jansson.h, and one with ntapi_redis.h if it is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from header import version

PROGRAMS = ("consumer", "jansson")
CONSUMERS = Path(__file__).resolve().parent / "consumers"


def run(*command: str | Path, **variables: str) -> str:
    """Runs a command that must succeed, and returns its output. Prints the output on failure."""
    done = subprocess.run(
        [str(part) for part in command],
        check=False,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        print(done.stdout)
        raise SystemExit(f"check_consumers: failed with {done.returncode}: {command}")
    return done.stdout.strip()


def only(folder: Path, name: str) -> Path:
    """The only file of that name below a folder."""
    found = list(folder.rglob(name))
    if len(found) != 1:
        raise SystemExit(f"check_consumers: {len(found)} files named {name} were installed, not 1")
    return found[0]


def main() -> None:
    """Does it all and prints one line."""
    with tempfile.TemporaryDirectory() as folder:
        prefix, work = Path(folder) / "a prefix", Path(folder) / "work"
        run("cmake", "--install", sys.argv[1], "--strip", "--prefix", prefix)
        with_redis = any(prefix.rglob("ntapi-redis.pc"))
        programs = (*PROGRAMS, "redis") if with_redis else PROGRAMS

        options = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DWANTED={version()}"]
        options += [f"-DWITH_REDIS={int(with_redis)}"]
        run("cmake", "-S", CONSUMERS / "cmake", "-B", work / "cmake", *options)
        run("cmake", "--build", work / "cmake")
        by_cmake = [run(work / "cmake" / program) for program in programs]

        # make and pkg-config cannot handle spaces, so the tree is moved, as a packager would do.
        moved = Path(folder) / "moved"
        prefix.rename(moved)
        libraries = str(only(moved, f"libntapi.so.{version()}").parent)
        found = str(only(moved, "ntapi.pc").parent)
        (work / "make").mkdir()
        words = [f"OUT={work / 'make'}", f"WITH_REDIS={'1' if with_redis else ''}"]
        run("make", "-C", CONSUMERS / "make", *words, PKG_CONFIG_PATH=found)
        by_make = [run(work / "make" / program, LD_LIBRARY_PATH=libraries) for program in programs]
        if by_cmake != by_make:
            raise SystemExit(f"check_consumers: they differ: {by_cmake!r} and {by_make!r}")
        print(f"check_consumers: CMake and pkg-config programs run ({'; '.join(by_make)})")


if __name__ == "__main__":
    main()
