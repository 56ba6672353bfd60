"""Reads the headers in include: functions, their parameters, and the comment of their group.

A comment documents all declarations up to the next empty line: functions that belong together share
one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "ntapi.h"
INSTALLED = (
    HEADER,
    ROOT / "include" / "ntapi_store.h",
    ROOT / "include" / "ntapi_testing.h",
    ROOT / "include" / "ntapi_jansson.h",
)
HEADERS = (*INSTALLED, ROOT / "include" / "ntapi_python.h")
"""What libntapi exports."""
REDIS = ROOT / "include" / "ntapi_redis.h"
"""What libntapi-redis exports."""
ALL = (*HEADERS, REDIS)


def version() -> str:
    """The version number, as the header's macros give it."""
    parts = re.findall(r"^#define NTAPI_VERSION_[A-Z]+ (\d+)$", HEADER.read_text(), re.MULTILINE)
    return ".".join(parts)


FUNCTION = re.compile(
    r"^(?:NTAPI_(?:NEW|CHECKED) )?(?P<result>[a-z][a-z0-9_ ]*[ *]+)(?P<name>ntapi_[a-z0-9_]+)\((?P<parameters>[^;{}]*)\);$",
    re.MULTILINE,
)
COMMENT = re.compile(r"\A/\*\*(?P<text>(?:[^*]|\*(?!/))*)\*/")


@dataclass(frozen=True)
class Parameter:
    """One parameter: its C type without spaces before a star, and its name."""

    type: str
    name: str


@dataclass(frozen=True)
class Function:
    """One function of the header with the comment of its group; "" when it has none."""

    name: str
    result: str
    parameters: list[Parameter]
    comment: str

    def tags(self, tag: str) -> list[str]:
        """The texts of the tags of that name, each joined to one line."""
        parts = re.split(r"\s@(?=[a-z])", " " + self.comment)[1:]
        return [" ".join(part.split()[1:]) for part in parts if part.split()[:1] == [tag]]


def normalised(type_text: str) -> str:
    """A C type in one spelling: "const char *"."""
    return re.sub(r"\s*\*", " *", " ".join(type_text.split())).replace("* *", "**")


def parameter(text: str) -> Parameter:
    """`const char *name` as a type and a name."""
    match = re.fullmatch(r"\s*(.*?[\s*])([a-z_][a-z0-9_]*)\s*", text, re.DOTALL)
    if not match:
        raise ValueError(f"a parameter without a name: {text!r}")
    return Parameter(normalised(match[1]), match[2])


def comment_of(text: str, position: int) -> str:
    """The documentation comment of the group that a declaration is in, without its stars."""
    start = text.rfind("\n\n", 0, position) + 2
    # An empty line inside a comment does not end a group.
    opened = text.rfind("/**", 0, position)
    if (
        text.find("*/", opened, position) > 0
        and "\n\n" not in text[opened:position].partition("*/")[2]
    ):
        start = opened
    match = COMMENT.search(text[start:position])
    return re.sub(r"(?m)^\s*\*\s?", "", match["text"]) if match else ""


def functions(*paths: Path) -> list[Function]:
    """Every function that those headers declare, or all headers, in their order."""
    found = []
    text = "".join(path.read_text(encoding="utf-8") for path in paths or HEADERS)
    for match in FUNCTION.finditer(text):
        inner = match["parameters"].strip()
        parameters = [] if inner in ("", "void") else [parameter(part) for part in inner.split(",")]
        comment = comment_of(text, match.start())
        found.append(Function(match["name"], normalised(match["result"]), parameters, comment))
    return found
