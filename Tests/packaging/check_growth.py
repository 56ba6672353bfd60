"""Checks the rules by which the C interface can grow for years.

    check_growth.py            the installed headers, and the files in Sources/NTApiABI
    check_growth.py HEADER     that header alone

- Each struct with members begins with `size_t size`, and has no other struct inside: that could not grow.
- Each callback gets `void *user_data` first.
- Each constant of an enum begins with the name of its type: NTAPI_CLOCK_IDLE of ntapi_clock.
- An int that holds values of an enum with | has a type that says which: ntapi_handlers.
- The 0 of an enum that a function returns, or that a struct has, means none.
- A result that is new has NTAPI_NEW, and every other pointer is const, or its comment says borrowed.
- A file of Sources/NTApiABI has functions of one section of a header, and a section has one file.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from header import ENUM, HEADERS, INSTALLED, REDIS, ROOT, STRUCT, functions

ABI = ROOT / "Sources" / "NTApiABI"
CALLBACK = re.compile(r"\(\*(\w+)\)\(([^)]*)\)")
CONSTANT = re.compile(r"\b(NTAPI_\w+) = (-?\d+)")
SECTION = re.compile(r"^/\* ={5} (\d+)\. (\S.*\S) =+ \*/$", re.MULTILINE)
NONE = ("NONE", "ABSENT", "UNKNOWN")
FLAGS = {"ntapi_handler", "ntapi_field_kind", "ntapi_challenge_kind", "ntapi_authentication"}
"""Enums without a 0. No function returns them for a wrong handle; they are only in structs, always
set.
"""
SUCCESS = {"ntapi_status", "ntapi_stub_fault"}
"""Enums whose 0 is a success: a wrong handle gives another constant, or the enum is only a
parameter.
"""
IN_SEVERAL = {("ntapi.h", "5"): {"Args.swift", "ArgKinds.swift"}}
"""Sections that are too long for one file."""

BAD = """
typedef enum ntapi_fruit {
    NTAPI_APPLE = 0,
} ntapi_fruit;
typedef struct ntapi_basket {
    ntapi_fruit fruit;
    ntapi_field field;
} ntapi_basket;
typedef void (*ntapi_pick_fn)(ntapi_fruit fruit);
typedef struct ntapi_bowl {
    size_t size;
    int fruits; /* ntapi_fruit values with | */
} ntapi_bowl;

/** The basket. */
ntapi_basket *ntapi_basket_create(void);
"""
WRONG_IN_BAD = 7
"""The number of mistakes in the header above, by which this check checks itself."""


def without_comments(path: Path) -> str:
    """A header without comments, but with the lines that begin its sections."""
    return re.sub(r"/\*(?! =====).*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def structs(text: str) -> list[str]:
    """Structs that cannot grow."""
    found = []
    names = {name for name, _ in STRUCT.findall(text)}
    for name, body in STRUCT.findall(text):
        members = [line.strip() for line in body.split(";") if line.strip()]
        if members[0] != "size_t size":
            found.append(f"{name} does not begin with size_t size")
        inside = [member for member in members if re.match(r"(?:const )?(ntapi_\w+) \w+$", member)]
        for member in inside:
            kind = re.sub("^const ", "", member).split()[0]
            if kind in names or kind == "ntapi_field":
                found.append(f"{name} has a struct inside: {member}")
    return found


def callbacks(text: str) -> list[str]:
    """Callbacks without the user_data that they were registered with."""
    return [
        f"{name} does not get user_data first"
        for name, parameters in CALLBACK.findall(text)
        if not parameters.startswith("void *user_data")
    ]


def enums(text: str) -> list[str]:
    """Constants without the name of their type, and zeros with a meaning."""
    found = []
    in_structs = " ".join(body for _, body in STRUCT.findall(text))
    for name, body in ENUM.findall(text):
        noun = name.upper() + "_"
        constants = CONSTANT.findall(body)
        found += [
            f"{constant} of {name}" for constant, _ in constants if not constant.startswith(noun)
        ]
        is_told = re.search(rf"^{name} ntapi_\w+\(", text, re.MULTILINE) or f"{name} " in in_structs
        zero = [constant for constant, value in constants if value == "0"]
        if is_told and name not in FLAGS | SUCCESS and not any(one.endswith(NONE) for one in zero):
            found.append(f"the 0 of {name} is not none, and a function or a struct tells it")
    return found


def flags(*paths: Path) -> list[str]:
    """Comments that say what the type of an int could say."""
    lines = "".join(path.read_text(encoding="utf-8") for path in paths).splitlines()
    return [
        f"this is not said by a type: {line.strip()}"
        for line in lines
        if re.search(r"ntapi_\w+ values? with \||combined with \|", line)
        and not re.match(r"typedef int ntapi_\w+;", line)
    ]


def results(*paths: Path) -> list[str]:
    """Functions that do not say who owns their result."""
    found = []
    new = set(
        re.findall(
            r"^NTAPI_NEW .*?(ntapi_\w+)\(", "".join(map(without_comments, paths)), re.MULTILINE
        )
    )
    for function in functions(*paths):
        is_owned = function.result.endswith("*") and not function.result.startswith("const")
        is_borrowed = "borrowed" in function.comment.lower() or function.result == "void *"
        if is_owned and function.name not in new and not is_borrowed:
            found.append(f"{function.name} is neither NTAPI_NEW nor borrowed")
        if function.name in new and not is_owned:
            found.append(f"{function.name} is NTAPI_NEW, and returns no pointer that can be freed")
    return found


def sections() -> dict[str, tuple[str, str]]:
    """The header and the number of the section of each function."""
    found = {}
    for path in HEADERS:
        parts = SECTION.split(without_comments(path))
        for number, text in zip(parts[1::3], parts[3::3], strict=True):
            for name in re.findall(r"^\w[^\n(]*?\b(ntapi_\w+)\(", text, re.MULTILINE):
                found[name] = (path.name, number)
    return found


IN_NO_HEADER = {"ntapi_prepare_forks"}
"""What cmake/fork_gate.c calls, inside the library."""


def files() -> list[str]:
    """Functions that are not in the file of their section."""
    section = sections()
    holding: dict[str, set[tuple[str, str]]] = {}
    for path in ABI.glob("*.swift"):
        for name in re.findall(r'@_cdecl\("(\w+)"\)', path.read_text(encoding="utf-8")):
            if name in IN_NO_HEADER:
                continue
            holding.setdefault(path.name, set()).add(section[name])
    found = [
        f"{name} has functions of the sections {sorted(places)}"
        for name, places in sorted(holding.items())
        if len(places) > 1
    ]
    for place in sorted(set(section.values())):
        names = {name for name, places in holding.items() if place in places}
        if len(names) != 1 and names != IN_SEVERAL.get(place):
            found.append(f"section {place[1]} of {place[0]} is in {sorted(names)}")
    return found


def complaints(*paths: Path) -> list[str]:
    """What is wrong with headers."""
    text = "".join(map(without_comments, paths))
    return [*structs(text), *callbacks(text), *enums(text), *flags(*paths), *results(*paths)]


def main() -> int:
    """Prints each complaint and a summary line."""
    with tempfile.TemporaryDirectory() as folder:
        bad = Path(folder, "bad.h")
        bad.write_text(BAD, encoding="utf-8")
        found = complaints(bad)
    if len(found) != WRONG_IN_BAD:
        print(f"check_growth: of {WRONG_IN_BAD} mistakes it finds", *found, sep="\n")
        return 1
    given = [Path(argument) for argument in sys.argv[1:]]
    failures = complaints(*given) if given else complaints(*INSTALLED, REDIS) + files()
    for line in failures:
        print(line)
    count = len(STRUCT.findall("".join(map(without_comments, given or (*INSTALLED, REDIS)))))
    print(f"check_growth: {count} structs, {len(failures)} complaints")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
