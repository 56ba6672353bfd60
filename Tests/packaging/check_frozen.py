"""Checks that programs built against older and newer interfaces run with the current library.

    check_frozen.py LIBRARY    compiles frozen/VERSION/program.c against the headers beside it, and runs it

An old binary would show the same, but only for one processor. Everything that a binary contains of
the headers, such as layouts, numbers of enums and macros, comes from the old ones. The headers are
copies without comments. `check_abi.py --update` writes those of a version again until it is
released. After that its folder never changes, and the next version gets a new one. 0.1.99 is a state
on the way to 0.2.0, whose structs have fewer members.

A newer interface has three members more at the end of each struct. The last program runs with it,
and the library says in `size` how much of a struct it knows. newer.c checks what is refused.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from header import HEADER, ROOT, STRUCT, version

FROZEN = Path(__file__).resolve().parent / "frozen"
NEWER = Path(__file__).resolve().parent / "newer.c"
STORE = ROOT / "include" / "ntapi_store.h"
TESTING = ROOT / "include" / "ntapi_testing.h"
COPIED = (HEADER, STORE, TESTING)
STRUCT_END = r"(^typedef struct (ntapi_\w+) \{\n(?:(?!^\}).)*)(?=^\} \2;$)"
LATER = "    void *later_1, *later_2, *later_3;\n"


def bare(header: Path) -> str:
    """A header without its comments."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [re.sub(r" +\\$", " \\\\", line) for line in lines if line]
    return "\n".join(["/* Written by check_frozen.py. */", *kept, ""])


def last_program() -> Path:
    """The program of the last version that has one."""
    programs = FROZEN.glob("*/program.c")
    return max(programs, key=lambda path: [int(part) for part in path.parent.name.split(".")])


def is_released() -> bool:
    """Whether the version that the header names has its day in the changelog."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return bool(re.search(rf"^## {re.escape(version())}, \d{{4}}-\d\d-\d\d$", text, re.MULTILINE))


def update() -> None:
    """Writes the headers of this version, and takes the program of the version before."""
    folder = FROZEN / version()
    if is_released() and (folder / HEADER.name).exists():
        print(f"check_frozen: {folder.name} is released, so its headers stay")
        return
    folder.mkdir(parents=True, exist_ok=True)
    for header in COPIED:
        (folder / header.name).write_text(bare(header), encoding="utf-8")
    if not (folder / "program.c").exists():
        shutil.copy(last_program(), folder)
    print(f"check_frozen: {folder.name} has the headers of today")


def runs(source: Path, headers: Path, library: Path, *options: str) -> bool:
    """Whether a program that was compiled against these headers passes."""
    with tempfile.TemporaryDirectory() as work:
        program = Path(work, "program")
        strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-D_POSIX_C_SOURCE=200809L", *options]
        sources = [f"-I{headers}", str(source), str(library), "-o", str(program)]
        subprocess.run(["cc", *strict, *sources], check=True)
        paths = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
        done = subprocess.run([program], check=False, env=paths, timeout=300)
    return done.returncode == 0


def sizes(folder: Path) -> dict[str, tuple[int, int]]:
    """How many members each struct of those headers has, and its size in bytes."""
    headers = [folder / header.name for header in COPIED if (folder / header.name).exists()]
    counts = {
        name: body.count(";") for header in headers for name, body in STRUCT.findall(bare(header))
    }
    text = "#include <stdio.h>\n" + "".join(f'#include "{header.name}"\n' for header in headers)
    prints = "".join(f'printf("{name} %zu\\n", sizeof({name}));' for name in counts)
    with tempfile.TemporaryDirectory() as work:
        source, program = Path(work, "sizes.c"), Path(work, "sizes")
        source.write_text(f"{text}int main(void) {{ {prints} return 0; }}\n", encoding="utf-8")
        subprocess.run(["cc", f"-I{folder}", str(source), "-o", str(program)], check=True)
        printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {name: (counts[name], int(size)) for name, size in map(str.split, printed.splitlines())}


def in_padding(older: dict[str, tuple[int, int]], newer: dict[str, tuple[int, int]]) -> list[str]:
    """Structs with a new member where older programs have padding: they would pass garbage in it."""
    return [
        name
        for name, (members, size) in older.items()
        if name in newer and newer[name][0] > members and newer[name][1] == size
    ]


def write_newer(folder: Path) -> int:
    """Writes headers with more members, and a program that compares the sizes of the library's
    structs with those of today. Returns how many structs got members.
    """
    count = 0
    for header in COPIED:
        text = header.read_text(encoding="utf-8")
        text, here = re.subn(STRUCT_END, rf"\1{LATER}", text, flags=re.MULTILINE | re.DOTALL)
        count += here
        (folder / header.name).write_text(text, encoding="utf-8")
    program, compared = re.subn(
        r"size >= sizeof \*(\w+)",
        r"size == sizeof *\1 - 3 * sizeof(void *)",
        last_program().read_text(encoding="utf-8"),
    )
    (folder / "program.c").write_text(program, encoding="utf-8")
    return count if compared else 0


def newer(library: Path) -> list[str]:
    """Which programs of a newer interface fail."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        if write_newer(folder) == 0:
            return ["no struct that could get members was found"]
        # The macros of the headers do not know the members that were added.
        return [
            source.name
            for source in (folder / "program.c", NEWER)
            if not runs(source, folder, library, "-Wno-missing-field-initializers")
        ]


def main() -> int:
    """Prints which programs fail, and a summary line."""
    library = Path(sys.argv[1]).resolve()
    folders = sorted(path for path in FROZEN.iterdir() if path.is_dir())
    older = [folder.name for folder in folders if not runs(folder / "program.c", folder, library)]
    later = newer(library)
    today = sizes(HEADER.parent)
    padded = {name for folder in folders for name in in_padding(sizes(folder), today)}
    for name in older:
        print(f"check_frozen: the program of version {name} fails with this library")
    for name in later:
        print(f"check_frozen: {name}, compiled with newer headers, fails with this library")
    for name in sorted(padded):
        print(f"check_frozen: {name} has a new member in its padding: make it larger")
    failed = len(older) + len(later) + len(padded)
    print(f"check_frozen: {len(folders)} programs of older headers, 2 of newer, {failed} fail")
    return 1 if failed or not folders else 0


if __name__ == "__main__":
    sys.exit(main())
