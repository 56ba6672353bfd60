"""Checks that each folder of Sources/NTApi names only types of its own layer and of lower ones.

python3 Tests/layers/check_layers.py

It prints each reference to a type of a higher layer: file and line, the type, both folders. It also
checks that only the folders that wrap a C library import it, and that nothing needs a table of
Unicode that the library lacks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from swift_source import Source, Types, read

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "Sources" / "NTApi"
ABI = ROOT / "Sources" / "NTApiABI"

# From the top to the bottom. Client and Request refer to each other: they cannot be separated.
# Vocabulary has the values that programs and all layers above it use.
LAYERS: list[set[str]] = [
    {"Client", "Request"},
    {"Flow"},
    {"Pipeline"},
    {"Transport"},
    {"Delivery"},
    {"Vocabulary"},
    {"Support"},
]

# Lower layers may use these types, too. The library has one error type, and the lowest layer throws
# it as well.
FOR_ALL = {"Vocabulary/APIError.swift"}

# The only folders that may import each library.
IMPORTED_BY = {
    "CCurl": ("Transport/Curl", "Support/URL"),
    "CZlib": ("Transport/Curl", "Transport/Cache"),
    "CJansson": ("Support/JSON",),
    "CScan": ("Support/JSON",),
}

# Members that only the folder of their type may use.
PRIVATE = {"Flow": re.compile(r"\bflow\.(gate|history|chain|body|kind|again)\b")}

# These functions read tables of Unicode that cmake/sections.ld leaves out of the library.
# Support/ASCII.swift has functions for ASCII.
UNICODE = re.compile(
    r"\.(?:lower|upper)cased\(\)|\.is(?:Letter|Uppercase|Lowercase|Cased|Whitespace|MathSymbol)\b|\.properties\."
)

# File, type, and why the reference is allowed.
EXCEPTIONS: dict[tuple[str, str], str] = {}

# References that still have to be removed. Remove an entry when its reference is gone, so that the
# list only gets shorter.
KNOWN: set[tuple[str, str]] = set()


@dataclass(frozen=True)
class Upward:
    """A reference from a layer to one above it."""

    file: str
    line: int
    type: str
    declared: str

    def __str__(self) -> str:
        below, above = folder(self.file), folder(self.declared)
        return f"{self.file}:{self.line}: {self.type} is declared in {above} ({self.declared}), above {below}"


def folder(file: str) -> str:
    """The folder of a file of the core; "" if it is in none."""
    return file.rpartition("/")[0]


def layer(file: str) -> int | None:
    """The number of a file's layer, counted from the top; None if it is in no folder."""
    top = file.split("/")[0]
    return next((number for number, folders in enumerate(LAYERS) if top in folders), None)


def upward(sources: dict[str, Source]) -> Iterator[Upward]:
    """All references to a layer above, by file and line."""
    declared: dict[tuple[str, ...], list[str]] = {}
    for file, source in sources.items():
        for declaration in source.declarations:
            declared.setdefault(declaration.path, []).append(file)
    types = Types(sources.values())
    for file, source in sorted(sources.items()):
        here = layer(file)
        for mention in source.mentions:
            for path in types.named(mention):
                above = [
                    other
                    for other in declared[path]
                    if other not in FOR_ALL and is_above(layer(other), here)
                ]
                if len(above) == len(declared[path]):
                    yield Upward(file, mention.line, ".".join(path), above[0])
                    break


def is_above(other: int | None, here: int | None) -> bool:
    """Files in no folder are below all layers."""
    if other is None:
        return False
    return here is None or other < here


def wrong_imports(sources: dict[str, Source]) -> Iterator[str]:
    """Imports of a C library outside the folders that wrap it."""
    for file, source in sorted(sources.items()):
        for module, line in source.imports:
            only = IMPORTED_BY.get(module)
            if only and not file.startswith(tuple(f"{folder}/" for folder in only)):
                yield f"{file}:{line}: {module} is imported by {' and '.join(only)} only"


def intrusions(root: Path) -> Iterator[str]:
    """Uses of private members of another folder."""
    for path in sorted(root.rglob("*.swift")):
        file = path.relative_to(root).as_posix()
        for owner, members in PRIVATE.items():
            if file.startswith(owner + "/"):
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if found := members.search(line):
                    yield f"{file}:{number}: {found.group(0)} is used in {owner} only"


def unicode(root: Path) -> Iterator[str]:
    """Uses of functions whose tables are left out of the library."""
    for path in sorted(root.rglob("*.swift")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if found := UNICODE.search(line):
                file = path.relative_to(root).as_posix()
                yield f"{file}:{number}: {found.group(0)} needs a table that is not in the library"


def strangers(sources: dict[str, Source]) -> Iterator[str]:
    """Files in a folder that has no layer."""
    for file in sorted(sources):
        if layer(file) is None:
            yield f"{file}: this folder has no layer; add it to LAYERS"


def problems(
    sources: dict[str, Source], exceptions: dict[tuple[str, str], str], known: set[tuple[str, str]]
) -> Iterator[str]:
    """One line for each problem."""
    yield from strangers(sources)
    yield from wrong_imports(sources)
    met: set[tuple[str, str]] = set()
    for reference in upward(sources):
        key = (reference.file, reference.type)
        met.add(key)
        if key not in exceptions and key not in known:
            yield str(reference)
    for file, name in sorted((set(exceptions) | known) - met):
        yield f"{file}: no longer names {name}; take it out of the list"


def core(root: Path) -> dict[str, Source]:
    """The files of the core by their path in it."""
    return {
        path.relative_to(root).as_posix(): read(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.swift"))
    }


def main() -> int:
    found = [
        *problems(core(CORE), EXCEPTIONS, KNOWN),
        *intrusions(CORE),
        *unicode(CORE),
        *unicode(ABI),
    ]
    for problem in found:
        print(f"Sources/NTApi/{problem}")
    if KNOWN:
        print(f"{len(KNOWN)} references to a layer above are still to go.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
