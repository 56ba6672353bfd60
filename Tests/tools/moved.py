"""Removes builds that were made while this clone was in another folder. `make` does this first, and
so does `pip install`.

    Tests/tools/moved.py                 all folders
    Tests/tools/moved.py build           this one

Folders of CMake and SwiftPM, and virtual environments, contain their own path. When a clone has
been moved or copied, they fail with messages such as "missing required module 'SwiftShims'", or use
files that are left at the old place.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDS = [
    # CMake's
    ("build/CMakeCache.txt", r"^CMAKE_CACHEFILE_DIR:INTERNAL=(.+)$"),
    ("build-*/CMakeCache.txt", r"^CMAKE_CACHEFILE_DIR:INTERNAL=(.+)$"),
    # SwiftPM's: by hand, for a sanitizer, for the products, beside the library, for the site and the benchmarks
    (".build/*.yaml", r'"(/[^"]*)/\w+-unknown-linux-gnu/'),
    (".build/*/*.yaml", r'"(/[^"]*)/\w+-unknown-linux-gnu/'),
    ("Tests/products/.build/*.yaml", r'"(/[^"]*)/\w+-unknown-linux-gnu/'),
    ("build*/swift*/*.yaml", r'"(/[^"]*)/\w+-unknown-linux-gnu/'),
    ("build/site/swift/*.yaml", r'"(/[^"]*)/\w+-unknown-linux-gnu/'),
    # Python's
    (".venv*/bin/activate", r"^(?:export )?VIRTUAL_ENV=[\"']?(/[^\"'\n]+)"),
    (".venv-pythons/*/bin/activate", r"^(?:export )?VIRTUAL_ENV=[\"']?(/[^\"'\n]+)"),
]
"""Files, and how each contains the path of its folder."""


def was_moved(folder: Path, recorded: str) -> bool:
    """Whether the folder is not at the recorded path. A link to it counts as the same path."""
    try:
        return not os.path.samefile(folder, recorded)
    except OSError:
        return True


def moved(root: Path) -> Iterator[Path]:
    """The folders below this one that were made at another place."""
    for pattern, text in RECORDS:
        for file in sorted(root.glob(pattern)):
            folder = file.parent.parent if file.parent.name == "bin" else file.parent
            recorded = re.search(text, file.read_text("utf-8", "replace"), re.MULTILINE)
            if recorded and was_moved(folder, recorded[1]):
                yield folder


def main(names: list[str], root: Path = ROOT) -> None:
    """Removes them and prints their names."""
    found = {folder.relative_to(root) for folder in moved(root)}
    found = {folder for folder in found if not names or folder.parts[0] in names}
    if found:
        print(
            "This clone was moved or copied. Removing what was built elsewhere:",
            *sorted(map(str, found)),
            flush=True,
        )
    for folder in sorted(found):
        shutil.rmtree(root / folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
