"""Finds the runnable examples of a Markdown page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = ("c", "swift", "python", "lua")
RUN = re.compile(r"<!-- run: (\w+)((?: \w+)*) -->")
OUTPUT = "<!-- output -->"
FENCE = "```"


class MalformedError(Exception):
    """A marker without a code block after it."""


@dataclass(frozen=True)
class Example:
    """A complete program of the documentation, and its output if the page shows it."""

    page: str
    line: int
    language: str
    code: str
    output: str | None
    servers: tuple[str, ...] = ()
    """Keys of the servers' table, whose values it gets in place of the demo server's URL."""

    @property
    def name(self) -> str:
        """A unique name, usable for a file and for a Swift target."""
        stem = re.sub(r"\W", "_", Path(self.page).stem.lower())
        return f"{stem}_{self.line}"

    def accepts(self, printed: str) -> bool:
        """Whether the output matches the page, in which `...` stands for anything."""
        if self.output is None:
            return True
        pieces = [re.escape(piece) for piece in self.output.strip().split("...")]
        return re.fullmatch(".*?".join(pieces), printed.strip(), re.DOTALL) is not None


def _block(lines: list[str], start: int, language: str, where: str) -> tuple[str, int]:
    """The fenced block of that language after line `start`, and the number of the line after it."""
    while start < len(lines) and not lines[start].strip():
        start += 1
    if start >= len(lines) or lines[start].strip() != FENCE + language:
        raise MalformedError(f"{where}: no {FENCE}{language} block follows")
    try:
        end = lines.index(FENCE, start + 1)
    except ValueError:
        raise MalformedError(f"{where}: the code block does not end") from None
    return "\n".join(lines[start + 1 : end]) + "\n", end + 1


def examples(page: Path, root: Path) -> Iterator[Example]:
    """The examples of a page, in order."""
    lines = page.read_text(encoding="utf-8").splitlines()
    shown = str(page.relative_to(root))
    position = 0
    while position < len(lines):
        marker = RUN.fullmatch(lines[position].strip())
        position += 1
        if marker is None:
            continue
        number, language = position, marker[1]
        if language not in LANGUAGES:
            raise MalformedError(f"{shown}:{number}: {language} is none of {', '.join(LANGUAGES)}")
        code, position = _block(lines, position, language, f"{shown}:{number}")
        output = None
        following = position
        while following < len(lines) and not lines[following].strip():
            following += 1
        if following < len(lines) and lines[following].strip() == OUTPUT:
            where = f"{shown}:{following + 1}"
            output, position = _block(lines, following + 1, "text", where)
        yield Example(shown, number, language, code, output, tuple(marker[2].split()))
