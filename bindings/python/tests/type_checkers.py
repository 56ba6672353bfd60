"""mypy and pyright on typed_lines.py, the file with right and wrong lines."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

LINES = "tests/typed_lines.py"

Found = dict[str, dict[int, list[str]]]
"""By file and line: the codes of mypy's errors, or the rules of pyright."""
Checker = Callable[[Path], Found]

_WRONG = re.compile(r"# wrong \[([a-z, -]+)\]$")


def lines_of(path: Path) -> dict[int, list[str]]:
    """The lines of functions and classes that the file is about, and the codes of the comment
    `wrong`; a right line has none. Docstrings, `pass` and heads of functions and classes do not
    count, unless they are wrong.
    """
    text = path.read_text()
    lines: dict[int, list[str]] = {
        node.lineno: []
        for scope in ast.walk(ast.parse(text))
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        for node in _statements(scope.body)
    }
    for number, line in enumerate(text.splitlines(), 1):
        comment = _WRONG.search(line)
        if comment is not None:
            lines[number] = comment[1].split(", ")
        elif "# wrong" in line:
            raise ValueError(f"{path}:{number}: the comment is `wrong` and mypy's codes")
    return lines


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return, ast.Raise)):
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not is_text:
                yield node
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from _statements(handler.body)


def mypy(folder: Path) -> Found:
    """What mypy says. It uses the cache of the checks of all sources."""
    found: Found = {}
    for line in _output(folder, "mypy", "--output=json", LINES).splitlines():
        error = json.loads(line)
        if error["severity"] == "error":
            _add(found, error["file"], error["line"], error["code"])
    return found


def pyright(folder: Path) -> Found:
    """What pyright says, in its strict mode. basedpyright adds no rules of its own to that."""
    python = f"--pythonpath={sys.executable}"
    told = json.loads(_output(folder, "basedpyright", python, "--outputjson"))
    assert told["summary"]["filesAnalyzed"] == 3, told
    found: Found = {}
    for error in told["generalDiagnostics"]:
        name = Path(error["file"]).relative_to(folder).as_posix()
        _add(found, name, error["range"]["start"]["line"] + 1, error["rule"])
    return found


def _output(folder: Path, tool: str, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", tool, *options], cwd=folder, capture_output=True, text=True
    )
    # With 0 there would be no errors, and above 1 the tool has failed.
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def _add(found: Found, file: str, line: int, code: str) -> None:
    found.setdefault(file, {}).setdefault(line, []).append(code)
