"""Compares the signatures in a page of the documentation with those in the sources.

A page has the line `<!-- signatures -->` before a block of C, Swift or Python that declares and
does not run. C is as in the headers, without the macros of a result. Swift and Python are in their
types. Swift's attributes and `public` are left out. In Python a default `...` is any default.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^<!-- signatures -->\n```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def wrong_signatures(text: str) -> Iterator[str]:
    """Signatures of a page that no source has."""
    if text.splitlines().count("<!-- signatures -->") != len(BLOCK.findall(text)):
        yield "no block of code follows <!-- signatures -->"
    for language, block in BLOCK.findall(text):
        if language not in CHECKS:
            yield f"signatures in {language}, not in {', '.join(CHECKS)}"
            continue
        count = 0
        for name, is_right in CHECKS[language](block):
            count += 1
            if not is_right:
                yield f"no such signature in {language}: {name}"
        if not count:
            yield f"a block of {language} without a signature"


# C


@cache
def headers() -> str:
    """All headers, without comments, macros of a result and directives, in one line."""
    files = sorted((ROOT / "include").glob("*.h"))
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return plain_c(re.sub(r"(?m)^ *#(?:.*\\\n)*.*$", ";", text))


def plain_c(text: str) -> str:
    text = re.sub(r"/\*.*?\*/|\bNTAPI_(?:NEW|CHECKED)\b", " ", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", text)


def in_c(block: str) -> Iterator[tuple[str, bool]]:
    # A struct or an enum is one declaration with its members.
    for each in re.findall(r"(?:[^;{]|\{[^}]*\})+;", plain_c(block)):
        declaration = each.strip()
        # It follows another one.
        yield declaration, re.search(r"[;{}] " + re.escape(declaration), headers()) is not None


# Swift

_TYPE = re.compile(r"\b(class|struct|protocol|extension|actor|enum) (\w+)[^{}]*\{")
_BEFORE = re.compile(r"@\w+(?:\([^()]*\))? |\b(?:public|final|convenience|internal\(set\)) ")
_AFTER = re.compile(
    r" ?(?:[{}=@#]|$|(?:public|package|private|fileprivate|internal|static|var|let|func|init|case"
    r"|associatedtype|typealias|mutating|subscript|struct|enum|final|deinit|indirect|class)\b)"
)
"""What follows a declaration."""


def plain_swift(text: str) -> str:
    """Without comments, in one line."""
    text = re.sub(r"(?m)(?:^|\s)//.*$", "", text)
    return re.sub(r"(?<=\() | (?=\))", "", re.sub(r"\s+", " ", text))


def body(text: str, start: int) -> str:
    """What is between the brace that ends before `start` and the one that closes it."""
    depth, end = 1, start
    while depth and end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[start : end - 1]


@cache
def swift_types() -> dict[str, list[tuple[str, str]]]:
    """What each type is, `class` or `extension`, and its bodies."""
    found: dict[str, list[tuple[str, str]]] = {}
    for file in sorted((ROOT / "Sources").glob("NTApi*/**/*.swift")):
        text = plain_swift(file.read_text(encoding="utf-8"))
        for head in _TYPE.finditer(text):
            found.setdefault(head[2], []).append((head[1], body(text, head.end())))
    return found


def is_in_swift(kind: str, declaration: str, text: str) -> bool:
    """Whether a type has this public member."""
    place = text.find(declaration)
    while place >= 0:
        before, after = text[:place], text[place + len(declaration) :]
        is_public = kind == "protocol" or re.search(r"\bpublic (?:[\w()]+ )*$", before)
        if is_public and re.search(r"(?:^|\W)$", before) and _AFTER.match(after):
            return True
        place = text.find(declaration, place + 1)
    return False


def in_swift(block: str) -> Iterator[tuple[str, bool]]:
    text = plain_swift(block)
    for head in _TYPE.finditer(text):
        known = swift_types().get(head[2], [])
        if head[1] not in [kind for kind, _ in known]:
            yield head[0], False
        # A line of the block ends where the next declaration begins.
        members = re.split(
            r" (?=(?:static |mutating )*(?:func|init|var|let|associatedtype|typealias)\b)",
            " " + body(text, head.end()).strip(),
        )
        for member in members[1:]:
            declaration = re.sub(r" \{ get(?: set)? \}$", "", member.strip())
            is_right = any(is_in_swift(head[1], declaration, each) for _, each in known)
            yield f"{head[2]}: {declaration}", is_right


# Python


@dataclass
class Names:
    """Functions and attributes by class and name; the class is "" for those of a module."""

    found: dict[tuple[str, str], list[ast.stmt]] = field(default_factory=dict)
    bases: dict[str, list[str]] = field(default_factory=dict)

    def collect(self, statements: list[ast.stmt], scope: str = "") -> None:
        for node in statements:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.found.setdefault((scope, node.name), []).append(node)
            elif isinstance(node, ast.ClassDef):
                self.bases.setdefault(node.name, []).extend(map(written, node.bases))
                self.collect(node.body, node.name)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self.found.setdefault((scope, node.target.id), []).append(node)
            elif isinstance(node, ast.If):
                self.collect([*node.body, *node.orelse], scope)

    def look_up(self, scope: str, name: str) -> list[ast.stmt]:
        """Also in the bases of a class."""
        known = list(self.found.get((scope, name), []))
        for base in self.bases.get(scope, []):
            known += self.look_up(base, name)
        return known


@cache
def python_names() -> Names:
    names = Names()
    for file in sorted((ROOT / "bindings/python/src/ntapi").rglob("*.py")):
        names.collect(ast.parse(file.read_text(encoding="utf-8")).body)
    return names


def shape(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[object, ...]:
    """What a signature says. Parameters of the type NoReturn are for messages only."""
    args = function.args
    refused = [each for each in (args.vararg, args.kwarg) if each and is_refused(each)]
    spread = [None if each in refused else each for each in (args.vararg, args.kwarg)]
    groups = (args.posonlyargs, args.args, args.kwonlyargs, [each for each in spread if each])
    names = [[(each.arg, written(each.annotation)) for each in group] for group in groups]
    kinds = (isinstance(function, ast.AsyncFunctionDef), [each is not None for each in spread])
    return (names, kinds, written(function.returns), decorators(function))


def is_refused(parameter: ast.arg) -> bool:
    return written(parameter.annotation) == "NoReturn"


def written(node: ast.expr | None) -> str:
    return "" if node is None else ast.unparse(node)


def decorators(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    known = ("property", "classmethod", "staticmethod")
    return [name for name in map(written, function.decorator_list) if name in known]


def defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    given = [*function.args.defaults, *function.args.kw_defaults]
    return ["required" if each is None else written(each) for each in given]


def is_same(shown: ast.stmt, real: ast.stmt) -> bool:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    if isinstance(shown, ast.AnnAssign):
        if isinstance(real, ast.AnnAssign):
            return written(shown.annotation) == written(real.annotation)
        if not isinstance(real, ast.FunctionDef) or decorators(real) != ["property"]:
            return False
        return written(shown.annotation) == written(real.returns)
    if not isinstance(shown, functions) or not isinstance(real, functions):
        return False
    theirs, ours = defaults(shown), defaults(real)
    return (
        shape(shown) == shape(real)
        and len(theirs) == len(ours)
        and all(each in ("...", other) for each, other in zip(theirs, ours, strict=True))
    )


def in_python(block: str) -> Iterator[tuple[str, bool]]:
    shown = Names()
    shown.collect(ast.parse(block).body)
    for (scope, name), nodes in shown.found.items():
        known = python_names().look_up(scope, name)
        for node in nodes:
            is_right = any(is_same(node, each) for each in known)
            yield f"{scope}.{name}" if scope else name, is_right


CHECKS = {"c": in_c, "swift": in_swift, "python": in_python}
