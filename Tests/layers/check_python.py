"""Checks that each module of the Python package imports only from its own floor and lower ones, and
without circles.

python3 Tests/layers/check_python.py

An import inside a function counts like one at the top of the module. An import for type checkers
must keep to the floors, too, but may close a circle, because it never runs: two classes of one
floor may name each other in their signatures.

It prints each import from a higher floor, each circle, and the counts.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bindings" / "python" / "src" / "ntapi"

# From the top to the bottom: what programs see, what runs, the bridge to C. Modules without a
# folder here are on the top floor.
FLOORS = ["", "_runtime", "_bridge"]


@dataclass(frozen=True)
class Import:
    """An import of one module of the package by another."""

    importer: str
    line: int
    imported: str
    runs: bool
    """False for an import that is only for type checkers."""


def floor(module: str) -> int:
    """The number of a module's floor, counted from the top."""
    top = module.split(".")[0]
    return FLOORS.index(top) if top in FLOORS else 0


def read(package: Path) -> dict[str, str]:
    """The text of each module by its name in the package; "" is the package itself."""
    texts = {}
    for path in sorted(package.rglob("*.py")):
        name = ".".join(path.relative_to(package).with_suffix("").parts)
        texts[name.removesuffix("__init__").rstrip(".")] = path.read_text(encoding="utf-8")
    return texts


def imports(texts: dict[str, str]) -> Iterator[Import]:
    """All imports of modules of the package, by importer and line."""
    packages = {name.rpartition(".")[0] for name in texts if name} | {""}
    for name, text in texts.items():
        folder = name if name in packages else name.rpartition(".")[0]
        for node, runs in statements(ast.parse(text), True):
            for target in targets(node, folder, texts):
                if target != name:
                    yield Import(name, node.lineno, target, runs)


def statements(node: ast.AST, runs: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The import statements in a node, and whether they run."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield node, runs
    for field, value in ast.iter_fields(node):
        is_typing = isinstance(node, ast.If) and field == "body" and is_for_types(node.test)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from statements(child, runs and not is_typing)


def is_for_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def targets(node: ast.Import | ast.ImportFrom, folder: str, texts: dict[str, str]) -> Iterator[str]:
    """The modules of the package that a statement in a folder imports."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.split(".")[0] == "ntapi":
                yield alias.name.partition(".")[2]
        return
    if node.level:
        parts = folder.split(".") if folder else []
        parts = parts[: len(parts) - (node.level - 1)] + (node.module or "").split(".")
    elif (node.module or "").split(".")[0] == "ntapi":
        parts = (node.module or "").split(".")[1:]
    else:
        return
    base = ".".join(part for part in parts if part)
    for alias in node.names:
        inner = f"{base}.{alias.name}".lstrip(".")
        yield inner if inner in texts else base


def upward(found: list[Import]) -> list[Import]:
    """The imports of modules on a higher floor, and of the package itself, which is above all
    floors. Only the program in `__main__` is above the package.
    """
    return [
        each
        for each in found
        if floor(each.imported) < floor(each.importer)
        or (not each.imported and each.importer != "__main__")
    ]


def circles(found: list[Import]) -> list[list[str]]:
    """The modules that import each other when they run, largest circle first (Tarjan's components)."""
    following: dict[str, list[str]] = {}
    for each in found:
        if each.runs:
            following.setdefault(each.importer, []).append(each.imported)
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    components: list[list[str]] = []

    def visit(module: str) -> None:
        numbers[module] = lowest[module] = len(numbers)
        path.append(module)
        for other in following.get(module, ()):
            if other not in numbers:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in path:
                lowest[module] = min(lowest[module], numbers[other])
        if lowest[module] == numbers[module]:
            start = path.index(module)
            if len(path) - start > 1:
                components.append(sorted(path[start:]))
            del path[start:]

    for module in following:
        if module not in numbers:
            visit(module)
    return sorted(components, key=len, reverse=True)


def shown(module: str) -> str:
    return f"ntapi.{module}".rstrip(".")


def main() -> int:
    found = list(imports(read(PACKAGE)))
    above, loops = upward(found), circles(found)
    for each in above:
        print(
            f"{shown(each.importer)}, line {each.line}: imports {shown(each.imported)}, which is above it"
        )
    for loop in loops:
        print(f"modules that import each other: {', '.join(map(shown, loop))}")
    largest = len(loops[0]) if loops else 0
    print(
        f"check_python: {len(above)} imports of a floor above; largest circle of imports: {largest} modules"
    )
    return 1 if above or loops else 0


if __name__ == "__main__":
    sys.exit(main())
