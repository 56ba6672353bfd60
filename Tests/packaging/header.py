"""Reads the headers in include: functions, their parameters, and the comment of their group; types
of callbacks, structs, enums and handles.

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
CALLBACK = re.compile(
    r"^typedef (?P<result>[\w *]*?)\(\*(?P<name>ntapi_\w+_fn)\)\((?P<parameters>[^;]*)\);$",
    re.MULTILINE,
)
STRUCT = re.compile(r"^typedef struct (ntapi_\w+) \{\n(.*?)^\} \1;", re.MULTILINE | re.DOTALL)
ENUM = re.compile(r"^typedef enum (ntapi_\w+) \{\n(.*?)^\} \1;", re.MULTILINE | re.DOTALL)
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


def parameters_of(text: str) -> list[Parameter]:
    """The parameters between the brackets of a declaration."""
    inner = text.strip()
    return [] if inner in ("", "void") else [parameter(part) for part in inner.split(",")]


def functions(*paths: Path) -> list[Function]:
    """Every function that those headers declare, or all headers, in their order."""
    found = []
    text = read(paths)
    for match in FUNCTION.finditer(text):
        parameters = parameters_of(match["parameters"])
        comment = comment_of(text, match.start())
        found.append(Function(match["name"], normalised(match["result"]), parameters, comment))
    return found


# The types. Like `functions`, each takes headers, or takes all.


def read(paths: tuple[Path, ...]) -> str:
    """The text of those headers, or of all."""
    return "".join(path.read_text(encoding="utf-8") for path in paths or HEADERS)


def without_comments(paths: tuple[Path, ...]) -> str:
    return re.sub(r" */\*.*?\*/", "", read(paths), flags=re.DOTALL)


def handles(*paths: Path) -> list[str]:
    """The types that programs know only by pointer."""
    return re.findall(r"^typedef struct (ntapi_\w+) \1;", read(paths), re.MULTILINE)


def callbacks(*paths: Path) -> list[Function]:
    """The types of the program's functions, without their comments."""
    return [
        Function(match["name"], normalised(match["result"]), parameters_of(match["parameters"]), "")
        for match in CALLBACK.finditer(without_comments(paths))
    ]


def structs(*paths: Path) -> dict[str, list[Parameter]]:
    """The members of each struct. One that is a pointer to a function has the type void *."""
    return {
        name: [member(part) for part in body.split(";") if part.strip()]
        for name, body in STRUCT.findall(without_comments(paths))
    }


def member(text: str) -> Parameter:
    pointer = re.search(r"\(\*(\w+)\)\(", text)
    return Parameter("void *", pointer[1]) if pointer else parameter(text)


def enums(*paths: Path) -> dict[str, dict[str, int]]:
    """The values of each enum."""
    return {
        name: {key: int(value) for key, value in re.findall(r"(NTAPI_\w+) = (\d+)", body)}
        for name, body in ENUM.findall(without_comments(paths))
    }


def flags(*paths: Path) -> list[str]:
    """The types of values of an enum that are joined with |."""
    return re.findall(r"^typedef int (ntapi_\w+);", read(paths), re.MULTILINE)
