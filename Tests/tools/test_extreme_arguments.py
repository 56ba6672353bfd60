"""Each public function of Swift that takes a number is tried with extreme ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "Tests/NTApiTests/Client/ExtremeArgumentTests.swift"
REDIS_TESTS = ROOT / "Tests/products/Tests/RedisTests.swift"

TYPE = re.compile(
    r"^(?P<indent> *)(?:@\w+ )*(?:(?:public|open|final|indirect|package) )*(?:struct|class|enum|extension|protocol|actor) (?P<name>[\w.]+)"
)
FUNCTION = re.compile(
    r"^(?P<indent> *)(?:@\w+(?:\(.*\))? )*public (?:(?:static|convenience|mutating|class) )*"
    r"(?:func (?P<name>\w+)|(?P<init>init))[^(]*\("
)
NUMBER = re.compile(r":\s*(?:Set<)?(?:U?Int(?:8|16|32|64)?|Double|Float)\b")

# Sets of flags and collections behave as those of the standard library. The library itself calls an
# observer's function. A deprecated function turns its number into an arg.
OTHERS = re.compile(
    r"rawValue: Int|integerLiteral|func waitEnds|func begunWait|timeout seconds: Double\b",
    re.MULTILINE,
)


def parameters(text: str) -> str:
    """What is between the first parenthesis of the text and its partner, without functions."""
    depth, taken = 0, ""
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return taken
        if depth == 1:
            taken += character
    return taken


def functions() -> Iterator[str]:
    """The names of those that take a number, each with its type."""
    for file in sorted((ROOT / "Sources").glob("NTApi*/**/*.swift")):
        if "NTApiABI" in file.parts:
            continue
        lines = file.read_text(encoding="utf-8").splitlines()
        kinds = {-1: file.stem}
        for number, line in enumerate(lines):
            if found := TYPE.match(line):
                kinds[len(found["indent"])] = found["name"].rpartition(".")[2]
            if found := FUNCTION.match(line):
                kind = kinds[max(indent for indent in kinds if indent < len(found["indent"]))]
                text = "\n".join([line[found.end() - 1 :], *lines[number + 1 : number + 20]])
                given = parameters(text)
                if NUMBER.search(given) and not OTHERS.search(line + given):
                    yield f"{kind}.{found['name'] or 'init'}"


def test_each_one_is_tried() -> None:
    """A new function needs a line in the tests."""
    text = "".join(path.read_text(encoding="utf-8") for path in (TESTS, REDIS_TESTS))
    tried = set(re.findall(r'^ {8,16}"([\w.]+)": ', text, re.MULTILINE))
    assert {name for name in functions() if name not in tried} == set()
    assert {"RateLimiter.init", "APIClient.drain", "StubAnswer.inPieces"} <= set(functions())
