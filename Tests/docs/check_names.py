"""Checks the names in the documentation: its links, the C names, the signatures (signatures.py), and
the Swift and Python names in the tables of docs/coming-from.md. Checks that README.md is short, that CONTRIBUTING.md lists the
stages, that docs/systems.md lists each workaround for an old libcurl, and that pip is that of a
virtual environment, because Debian's own refuses to install.

python3 Tests/docs/check_names.py
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from signatures import wrong_signatures

ROOT = Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include").glob("*.h"))
PLUGIN = ROOT / "bindings" / "python" / "src" / "pytest_ntapi.py"
"""Its fixtures and its marker have names like those of C."""
README = ROOT / "README.md"
PAGES = [
    README,
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs").glob("*.ipynb")),
    *sorted((ROOT / "bindings").glob("*/README.md")),
    ROOT / "Tests" / "servers" / "README.md",
]

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
C_NAME = re.compile(r"\b(?:ntapi|NTAPI)_\w+")
OF_NO_HEADER = re.compile(
    r"NTAPI_(?:TEST_\w+|TESTS|SANITIZE|LIBRARY|SOURCE|WARNINGS_AS_ERRORS)|ntapi_jansson|ntapi_x|\w+_"
)
"""Names that are in no header: variables of the tests and of the wheel, a header, an example, and
prefixes.
"""


TABLES = ROOT / "docs" / "coming-from.md"
SWIFT_NAME = re.compile(
    r"\b(?:public|open|package)\b[\w @():.]*?\b(?:func|var|let|class|struct|enum|protocol|actor|typealias)\s+(\w+)"
    r"|\bassociatedtype (\w+)"
    r"|\b(\w+)\s*(?:\w+)?: "
)
"""Matches declared names, and labels of parameters."""
VERSIONS = ROOT / "docs" / "systems.md"
WORKAROUND = re.compile(
    r"static let (\w+) = .*\bversion_num\b.* < 0x([0-9a-f]{2})_([0-9a-f]{2})_00$", re.MULTILINE
)
DEBIANS_PIP = re.compile(r"(?<!/)\bpip3? (?:un)?install (?!--target)[^`\n]+")
OF_THE_EXAMPLES = {"Weather", "City", "client", "super"}


def swift_names() -> set[str]:
    """The declared names of the Swift library."""
    names: set[str] = set()
    for path in (ROOT / "Sources").glob("NTApi*/**/*.swift"):
        for match in SWIFT_NAME.finditer(path.read_text(encoding="utf-8")):
            names.update(name for name in match.groups() if name)
    return names


def python_names() -> set[str]:
    """The names that the Python package declares."""
    names: set[str] = set()
    for path in (ROOT / "bindings" / "python" / "src" / "ntapi").rglob("*.py"):
        names.add(path.parent.name if path.stem == "__init__" else path.stem)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return names


def unknown_in_tables() -> Iterator[str]:
    """Names in the second and fourth column, Swift and Python, that nothing declares."""
    columns = {1: ("Swift", swift_names()), 3: ("Python", python_names())}
    for line in TABLES.read_text(encoding="utf-8").splitlines():
        cells = line.strip("|").split("|")
        if len(cells) != 4:
            continue
        for column, (language, known) in columns.items():
            for code in re.findall(r"`([^`]+)`", cells[column]):
                words = re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"]*"', "", code))
                for word in words:
                    if word not in known | OF_THE_EXAMPLES:
                        yield f"not in {language}: {word}"


def anchor(heading: str) -> str:
    """The anchor of a heading on the web."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def broken_links(page: Path, text: str) -> Iterator[str]:
    """Links to missing files and headings."""
    for link in LINK.findall(text):
        if "://" in link:
            continue
        name, _, fragment = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists():
            yield f"no such file: {link}"
        elif fragment and target.suffix == ".md":
            headings = HEADING.findall(target.read_text(encoding="utf-8"))
            if fragment not in map(anchor, headings):
                yield f"no such heading: {link}"


def unknown_names(text: str, known: set[str]) -> Iterator[str]:
    """C names that are in no header."""
    for name in sorted(set(C_NAME.findall(text)) - known):
        if not OF_NO_HEADER.fullmatch(name):
            yield f"in no header: {name}"


def unlisted_workarounds(text: str) -> Iterator[str]:
    """Workarounds for a libcurl version that the page does not list with this version."""
    for path in sorted((ROOT / "Sources").glob("**/*.swift")):
        source = path.read_text(encoding="utf-8")
        for name, major, minor in WORKAROUND.findall(source):
            if not re.search(
                rf"^\| before {int(major, 16)}\.{int(minor, 16)} \|.*`{name}`", text, re.MULTILINE
            ):
                yield f"not in the table of libcurl's versions: {name} of {path.name}"
        if source.count("version_num") != len(WORKAROUND.findall(source)):
            yield f"{path.name} compares libcurl's version without a named check"


def other_stages(text: str) -> Iterator[str]:
    """The stages that CONTRIBUTING.md lists, if they are not those of the chain in their order."""
    listed = re.findall(r"↓  (\w+Stage)\b", text)
    chain = (ROOT / "Sources/NTApi/Flow/Chain.swift").read_text(encoding="utf-8")
    stages = re.findall(r"\bvar \w+: (\w+Stage)\?", chain)
    if listed != stages:
        yield f"lists the stages {', '.join(listed)}; the chain has {', '.join(stages)}"


def refused(text: str) -> Iterator[str]:
    """Lines with pip that Debian 12 and later refuse: "externally-managed-environment"."""
    for line in DEBIANS_PIP.findall(text):
        yield f"outside a virtual environment: {line}"


def unknown_defaults(text: str) -> Iterator[str]:
    """Built-in defaults of the table that the library does not know, so that it finds no misspelling
    of theirs.
    """
    source = (ROOT / "Sources/NTApi/Client/Defaults.swift").read_text(encoding="utf-8")
    known = re.search(r"static let builtIn = \[(.*?)\]", source, re.DOTALL)
    names = set(re.findall(r'"(\w+)"', known[1] if known else ""))
    table = text.partition("| default | value |")[2].partition("\n\n")[0]
    for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
        for name in re.findall(r"`(\w+)`", row):
            if name not in names:
                yield f"{name} is not among DefaultName.builtIn"


MOST_WORDS = 700
"""Of README.md, with its programs."""


def too_long(text: str) -> Iterator[str]:
    """The number of words, if a newcomer would not read them."""
    if (count := len(text.split())) > MOST_WORDS:
        yield f"{count} words, {MOST_WORDS} at most"


def main() -> int:
    """Returns 0 if there are no problems."""
    known = {
        name
        for file in (*HEADERS, PLUGIN)
        for name in C_NAME.findall(file.read_text(encoding="utf-8"))
    }
    found = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        in_tables = unknown_in_tables() if page == TABLES else ()
        versions = unlisted_workarounds(text) if page == VERSIONS else ()
        length = too_long(text) if page == README else ()
        defaults = unknown_defaults(text) if page.name == "defaults.md" else ()
        stages = other_stages(text) if page.name == "CONTRIBUTING.md" else ()
        names = unknown_names(text, known)
        problems = (
            *broken_links(page, text),
            *names,
            *wrong_signatures(text),
            *in_tables,
            *versions,
            *refused(text),
            *length,
            *stages,
            *defaults,
        )
        for problem in problems:
            found += 1
            print(f"{page.relative_to(ROOT)}: {problem}")
    print(f"{len(PAGES)} pages, {found} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
