"""Checks that programs built against older interfaces run with the current library.

    check_frozen.py LIBRARY    compiles frozen/VERSION/program.c against the headers beside it, and runs it

An old binary would show the same, but only for one processor. Everything that a binary contains of
the headers, such as layouts, numbers of enums and macros, comes from the old ones. The headers are
copies without comments. Until the first release with this interface, `check_abi.py --update` writes
them again. After that a folder never changes, and a new interface gets a new folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from header import HEADER, ROOT, version

FROZEN = Path(__file__).resolve().parent / "frozen"
TESTING = ROOT / "include" / "ntapi_testing.h"


def bare(header: Path) -> str:
    """A header without its comments."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [re.sub(r" +\\$", " \\\\", line) for line in lines if line]
    return "\n".join(["/* Written by check_frozen.py. */", *kept, ""])


def update() -> None:
    """Writes the headers of this version, and takes the program of the version before."""
    folder = FROZEN / version()
    folder.mkdir(parents=True, exist_ok=True)
    for header in (HEADER, TESTING):
        (folder / header.name).write_text(bare(header), encoding="utf-8")
    if not (folder / "program.c").exists():
        programs = FROZEN.glob("*/program.c")
        last = max(programs, key=lambda path: [int(part) for part in path.parent.name.split(".")])
        shutil.copy(last, folder)
    print(f"check_frozen: {folder.name} has the headers of today")


def runs(folder: Path, library: Path) -> bool:
    """Whether the program of an old version still passes."""
    with tempfile.TemporaryDirectory() as work:
        program = Path(work, "program")
        strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-D_POSIX_C_SOURCE=200809L"]
        sources = [f"-I{folder}", str(folder / "program.c"), str(library), "-o", str(program)]
        subprocess.run(["cc", *strict, *sources], check=True)
        paths = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
        done = subprocess.run([program], check=False, env=paths, timeout=300)
    return done.returncode == 0


def main() -> int:
    """Prints which programs fail, and a summary line."""
    library = Path(sys.argv[1]).resolve()
    folders = sorted(path for path in FROZEN.iterdir() if path.is_dir())
    failed = [folder.name for folder in folders if not runs(folder, library)]
    for name in failed:
        print(f"check_frozen: the program of version {name} fails with this library")
    print(f"check_frozen: {len(folders)} programs of older headers, {len(failed)} fail")
    return 1 if failed or not folders else 0


if __name__ == "__main__":
    sys.exit(main())
