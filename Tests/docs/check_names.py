"""Checks that what the documentation names is there: its links, and the functions of the C headers.

python3 Tests/docs/check_names.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include").glob("*.h"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
C_NAME = re.compile(r"\b(?:ntapi|NTAPI)_\w+")
OF_NO_HEADER = re.compile(r"NTAPI_(?:TEST_\w+|TESTS|SANITIZE|LIBRARY)|ntapi_jansson|ntapi_x|\w+_")
"""Variables of the tests, the name of a header, that of an example, and prefixes."""


def anchor(heading: str) -> str:
    """The anchor that a heading gets on the web."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def broken_links(page: Path, text: str) -> Iterator[str]:
    """Links to files and headings that are not there."""
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
    """Names of C that no header has."""
    for name in sorted(set(C_NAME.findall(text)) - known):
        if not OF_NO_HEADER.fullmatch(name):
            yield f"in no header: {name}"


def main() -> int:
    """0 when all is there."""
    known = {
        name for header in HEADERS for name in C_NAME.findall(header.read_text(encoding="utf-8"))
    }
    found = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for problem in (*broken_links(page, text), *unknown_names(text, known)):
            found += 1
            print(f"{page.relative_to(ROOT)}: {problem}")
    print(f"{len(PAGES)} pages, {found} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
