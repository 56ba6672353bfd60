"""Checks that the headers are readable: numbered sections, a comment for each group of functions,
no broken lines.

The top of ntapi.h lists the sections in their order, and states the rules once. A comment says what
a function does and how it differs from the rules. A getter or setter with a clear name needs none.
"""

from __future__ import annotations

import re
import sys
from itertools import zip_longest
from pathlib import Path

from header import ALL, HEADER, Function, functions

LONGEST = {HEADER.name: 2200}
WIDEST = 120
RULE = re.compile(r"^/\* ={5} (\d+)\. (\S.*\S) (=+) \*/$")
CONTENTS = " * CONTENTS"
"""The line before the list of the sections of ntapi.h, which ends at an empty line."""
REPEATED = re.compile(r"@(threads|since)\b|from callbacks")
"""Sentences that belong only at the top of ntapi.h."""


def complaints(function: Function) -> list[str]:
    """What is wrong with the comment of one function."""
    found = []
    words = function.comment.split()
    if words and words[0][0].islower():
        found.append(f"the comment begins with a small letter: {words[0]!r}")
    if words and not re.search(r"[.:;]$", function.comment.strip()):
        found.append("the comment does not end with a period")
    found += [
        f"@param {text.split()[0]}: no text"
        for text in function.tags("param")
        if len(text.split()) < 2
    ]
    return found


def parameter_complaints(table: list[Function]) -> list[str]:
    """Tags for parameters that no function of their group has."""
    names: dict[str, set[str]] = {}
    for function in table:
        names.setdefault(function.comment, set()).update(one.name for one in function.parameters)
    return [
        f"@param {text.split()[0]}: no such parameter"
        for function in {each.comment: each for each in table}.values()
        for text in function.tags("param")
        if text.split()[0] not in names[function.comment]
    ]


def layout(path: Path) -> list[str]:
    """What is wrong with the lines of a header."""
    found = []
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > LONGEST.get(path.name, len(lines)):
        found.append(f"{len(lines)} lines, {LONGEST[path.name]} at most")
    number = 0
    for place, line in enumerate(lines, 1):
        if len(line) > WIDEST:
            found.append(f"line {place} has {len(line)} characters")
        if REPEATED.search(line):
            found.append(f"line {place} repeats a rule: {line.strip()}")
        if re.match(r"/\* [-=]{3}", line):
            rule = RULE.match(line)
            number += 1
            if not rule or int(rule[1]) != number or len(line) != WIDEST:
                found.append(f"line {place} is not the rule of section {number}: {line}")
        elif line.lstrip().startswith("* --"):
            found.append(f"line {place} is torn: {line}")
    return [*found, *contents(path, lines)] if number else [*found, "it has no sections"]


def contents(path: Path, lines: list[str]) -> list[str]:
    """What is wrong with the list of contents; only ntapi.h has one."""
    if path.name != HEADER.name:
        return []
    start = lines.index(CONTENTS) + 1 if CONTENTS in lines else len(lines)
    listed = lines[start : lines.index(" *", start) if start < len(lines) else start]
    sections = [match for line in lines if (match := RULE.match(line))]
    expected = [f" *   {match[1]}. {match[2]}" for match in sections]
    return [
        f"the contents have {one!r} where the sections have {other!r}"
        for one, other in zip_longest(listed, expected)
        if one != other
    ][:1]


def main() -> int:
    """Prints each complaint and a summary line."""
    paths = [Path(argument) for argument in sys.argv[1:]] or list(ALL)
    table = functions(*paths)
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    declared = set(re.findall(r"\b(ntapi_[a-z0-9_]+)\(", code))
    missed = declared - {function.name for function in table}
    failures = [f"{name}: this check could not read its declaration" for name in sorted(missed)]
    failures += [f"{path.name}: {complaint}" for path in paths for complaint in layout(path)]
    failures += parameter_complaints(table)
    for function in table:
        failures += [f"{function.name}: {complaint}" for complaint in complaints(function)]
    for line in failures:
        print(line)
    print(f"check_header: {len(table)} functions, {len(failures)} complaints")
    return 1 if failures or not table else 0


if __name__ == "__main__":
    sys.exit(main())
