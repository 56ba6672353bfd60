"""Builds the clients and knows the command line of each."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kit.servers import ROOT

HERE = ROOT / "Benchmarks"
BUILD = ROOT / "build-bench"
FLAGS = "-O2 -g -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror".split()
OURS = ["ntapi_callback", "ntapi_perform"]
LIBCURL = ["libcurl_multi", "libcurl_easy"]


def newer(target: Path, sources: list[Path]) -> bool:
    """Whether the target is there and no source has changed since."""
    if not target.exists():
        return False
    return all(source.stat().st_mtime <= target.stat().st_mtime for source in sources)


def compile_c(program: str, sources: list[str], libraries: list[str]) -> None:
    """One client in C, unless it is up to date."""
    folder = HERE / "c"
    target = BUILD / program
    files = [folder / f"{source}.c" for source in (program, *sources, "bench")]
    headers = [*folder.glob("*.h"), ROOT / "include/ntapi.h"]
    if newer(target, [*files, *headers]):
        return
    command = ["cc", *FLAGS, f"-I{ROOT / 'include'}", *map(str, files), "-o", str(target)]
    subprocess.run([*command, *libraries], check=True)


def build_c(library: Path) -> None:
    """The clients in C. Ours find the library by LD_LIBRARY_PATH, so that another can be measured."""
    BUILD.mkdir(exist_ok=True)
    for program in OURS:
        compile_c(program, ["ntapi_common"], ["-L", str(library), "-lntapi"])
    for program in LIBCURL:
        compile_c(program, ["libcurl_common"], ["-lcurl", "-ljansson"])
