"""Builds the programs of the kit; what is up to date is left alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kit.places import BUILD, HERE, ROOT

FLAGS = ["-O2", "-g", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"]
OURS = ["ntapi_callback", "ntapi_pull", "ntapi_perform", "ntapi_hold", "ntapi_files"]
SWIFT = {"ours": ["ntapi-swift", "decode"], "peers": ["async-http-client", "url-session"]}
LIBCURL = ["multi", "easy", "socket_action", "hold", "files"]


def newer(target: Path, sources: list[Path]) -> bool:
    """Whether the target is there and no source has changed since."""
    if not target.exists():
        return False
    return all(source.stat().st_mtime <= target.stat().st_mtime for source in sources)


def compile_c(program: str, sources: list[str], libraries: list[str]) -> None:
    """One program in C."""
    folder = HERE / "c"
    target = BUILD / program
    files = [folder / f"{source}.c" for source in (program, *sources)]
    if newer(target, [*files, *folder.glob("*.h"), ROOT / "include/ntapi.h"]):
        return
    print(f"building {program}", flush=True)
    command = ["cc", *FLAGS, f"-I{ROOT / 'include'}", *map(str, files), "-o", str(target)]
    subprocess.run([*command, *libraries], check=True)


def build_c(library: Path) -> None:
    """The programs in C. Ours find the library by LD_LIBRARY_PATH, so that another can be measured."""
    if not (library / "libntapi.so.0").exists():
        raise SystemExit(f"no libntapi.so.0 in {library}: `make lib` builds it")
    BUILD.mkdir(exist_ok=True)
    for program in OURS:
        compile_c(program, ["ntapi_common", "bench"], ["-L", str(library), "-lntapi"])
    for program in LIBCURL:
        sources = ["libcurl_common", "bench"]
        compile_c(f"libcurl_{program}", sources, ["-lcurl", "-ljansson"])
    compile_c("raw_socket", ["bench"], [])
    compile_c("bench_server", [], [])


def build_swift(package: str) -> None:
    """A package of Benchmarks/swift; its programs are linked into build-bench/bin."""
    scratch = BUILD / f"swift-{package}"
    command = ["swift", "build", "-c", "release", "--package-path", str(HERE / "swift" / package)]
    command += ["--scratch-path", str(scratch)]
    subprocess.run(command, check=True)
    shown = subprocess.run(
        [*command, "--show-bin-path"], check=True, capture_output=True, text=True
    )
    links = BUILD / "bin"
    links.mkdir(exist_ok=True)
    for program in SWIFT[package]:
        link = links / program
        link.unlink(missing_ok=True)
        link.symlink_to(Path(shown.stdout.strip()) / program)
