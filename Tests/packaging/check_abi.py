"""Compares the C interface with that of the last release, by abidiff. New functions are welcome, changes are not.

    check_abi.py            the headers against cmake/ntapi.abi
    check_abi.py LIBRARY    also the symbols of a built library against it
    check_abi.py --update   for a release: writes cmake/ntapi.abi, and the headers of check_frozen.py

A struct that begins with `size` may grow at its end. abidiff calls that a change, too: look at it, then --update.

The library's debug information describes Swift, so abidiff gets a library of empty C functions with
the header's declarations instead. check_symbols.py compares the header with the library's exports.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import check_frozen
from header import HEADERS, ROOT, Function, functions, version

RELEASED = ROOT / "cmake" / "ntapi.abi"
NOT_SHOWN = ["--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--no-elf-needed"]
NOT_SHOWN += ["--no-parameter-names"]


def definition(function: Function) -> str:
    """An empty function with that declaration."""
    parameters = ", ".join(f"{one.type} {one.name}" for one in function.parameters) or "void"
    return f"{function.result} {function.name}({parameters}) {{ __builtin_unreachable(); }}\n"


def stand_in(folder: Path) -> Path:
    """Compiles the library of empty functions."""
    source, library = folder / "ntapi.c", folder / "libntapi.so.0"
    includes = "".join(f"#include <{header.name}>\n" for header in HEADERS)
    source.write_text(includes + "".join(map(definition, functions())), encoding="utf-8")
    script = f"-Wl,-soname,libntapi.so.0,--version-script,{ROOT / 'cmake' / 'ntapi.map'}"
    options = ["-g", "-shared", "-fPIC", "-w", f"-I{ROOT / 'include'}", script]
    # Runs in the folder, because abidw writes the source's path.
    command = ["cc", *options, "-o", library.name, source.name]
    subprocess.run(command, check=True, cwd=folder)
    return library


def differences(library: Path) -> list[str]:
    """The lines of abidiff's report; none if nothing but new functions has changed."""
    command = ["abidiff", "--no-added-syms"]
    done = subprocess.run(
        [*command, str(RELEASED), str(library)], check=False, capture_output=True, text=True
    )
    return (done.stdout + done.stderr).splitlines() if done.returncode != 0 else []


def main() -> int:
    """Prints what abidiff prints, and a summary line."""
    with tempfile.TemporaryDirectory() as folder:
        library = stand_in(Path(folder))
        if sys.argv[1:] == ["--update"]:
            command = ["abidw", *NOT_SHOWN, "--out-file", str(RELEASED), str(library)]
            subprocess.run(command, check=True)
            print(f"check_abi: {RELEASED.name} has the interface of version {version()}")
            check_frozen.update()
            return 0
        found = differences(library)
    for built in sys.argv[1:]:
        found += differences(Path(built))
    for line in found:
        print(line)
    print(f"check_abi: {'changes' if found else 'no changes'} since the last release")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
