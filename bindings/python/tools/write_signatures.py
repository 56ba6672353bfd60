"""Writes the C signatures of the Python package, from the headers in include:

python3 bindings/python/tools/write_signatures.py

`_bridge/signatures.py` has what most programs need, `_bridge/callbacks.py` the rest. They declare
what the package uses: each function that it names, and each type that it imports from one of the
two. So a new use, or a change in a header, needs only this command.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "Tests" / "packaging"))

from header import ALL, ROOT, Function, Parameter, callbacks, enums, flags, functions, read, structs

SOURCES = ROOT / "bindings" / "python" / "src"
BRIDGE = SOURCES / "ntapi" / "_bridge"
COMMAND = "python3 bindings/python/tools/write_signatures.py"
WIDTH = 100

# What the headers do not say.

ADDRESSES = {
    "ntapi_http_request_body": "the bytes may contain NUL",
    "ntapi_request_received_message": "the module cpython calls it without these signatures",
    "ntapi_response_data": "the bytes may contain NUL",
}
"""Functions whose const char * stays an address, and why."""
BYTES = {"bytes", "body", "data"}
"""Parameters and members whose const char * stays an address: the bytes may contain NUL."""
FOR_TESTS = {"ntapi_live_handles"}
"""Functions that only tests call."""
TYPES = {
    "void": "None",
    "int": "c_int",
    "bool": "c_bool",
    "double": "c_double",
    "size_t": "c_size_t",
    "ptrdiff_t": "c_ssize_t",
    "int64_t": "c_int64",
    "uint64_t": "c_uint64",
    "const char *": "c_char_p",
    "const char *const *": "POINTER(c_char_p)",
    "size_t *": "POINTER(c_size_t)",
}
"""An enum is c_int. All other pointers are c_void_p: a plain address is the cheapest to pass."""

TITLE = f'''"""Written by `{COMMAND}`.

{{}}
"""
'''
SIGNATURES = TITLE.format("The C signatures of libntapi that most programs need.")
CALLBACKS = TITLE.format(
    "The C signatures of callbacks, of the functions that take one, and of libntapi-redis."
)


class Uses:
    """The names that the package uses."""

    def __init__(self) -> None:
        self.functions = set(FOR_TESTS)
        """Names of attributes and texts; some of them are functions of C."""
        self.imported: dict[str, set[str]] = {"signatures": set(), "callbacks": set()}
        """The types that are used of each of the two modules."""
        for path in sorted(SOURCES.rglob("*.py")):
            if path not in (BRIDGE / "signatures.py", BRIDGE / "callbacks.py"):
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                    self._add(node)

    def _add(self, node: ast.AST) -> None:
        if isinstance(node, ast.ImportFrom):
            module = (node.module or "").rpartition(".")[2]
            self.imported.get(module, set()).update(alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute):
            self.functions.add(node.attr)
            if isinstance(node.value, ast.Name):
                self.imported.get(node.value.id, set()).add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.functions.add(node.value)


def python_name(name: str) -> str:
    """`DestroyFunction` for `ntapi_destroy_fn`, `ErrorDetails` for `ntapi_error_details`."""
    words = re.sub("_fn$", "_function", name.removeprefix("ntapi_")).split("_")
    return "".join(map(str.capitalize, words))


class Header:
    """The declarations of the headers, and how each is written in Python."""

    def __init__(self, *paths: Path) -> None:
        self.functions = functions(*paths)
        self.callbacks = {python_name(each.name): each for each in callbacks(*paths)}
        self.structs = {python_name(name): (name, each) for name, each in structs(*paths).items()}
        self.enums = {python_name(name): (name, each) for name, each in enums(*paths).items()}
        self.constants = dict(re.findall(r"(?m)^#define NTAPI_(\w+) (\d+)$", read(paths)))
        self._numbers = {name for name, _ in self.enums.values()} | set(flags(*paths))

    def type_of(self, parameter: Parameter) -> str:
        """The type of a parameter or a member."""
        kind = parameter.type
        if kind == "const char *" and parameter.name in BYTES:
            return "c_void_p"
        if kind in TYPES:
            return TYPES[kind]
        if kind in self._numbers:
            return "c_int"
        if kind.endswith("_fn"):
            return python_name(kind)
        if not kind.endswith("*"):
            raise ValueError(f"{parameter.name} has an unknown type: {kind}")
        return "POINTER(c_void_p)" if kind.endswith("**") else "c_void_p"

    def signature(self, function: Function) -> tuple[str, list[str]]:
        """The types of the result and of the parameters."""
        result = "c_void_p"
        if function.name not in ADDRESSES:
            result = self.type_of(Parameter(function.result, "result"))
        return result, [self.type_of(each) for each in function.parameters]

    def callbacks_of(self, parameters: Iterable[Parameter]) -> set[str]:
        """The types of callbacks among those of parameters or members."""
        return {self.type_of(each) for each in parameters} & set(self.callbacks)

    # As ruff formats them.

    def callback(self, name: str) -> str:
        result, types = self.signature(self.callbacks[name])
        inner = ", ".join([result, *types])
        line = f"{name} = CFUNCTYPE({inner})\n"
        if len(line) > WIDTH + 1:
            line = f"{name} = CFUNCTYPE(\n    {inner}\n)\n"
        if max(map(len, line.splitlines())) > WIDTH:
            line = f"{name} = CFUNCTYPE(\n{rows([result, *types], 4)})\n"
        return line

    def struct(self, name: str) -> str:
        c_name, members = self.structs[name]
        fields = [f'("{each.name}", {self.type_of(each)})' for each in members]
        lines = f"    _fields_ = (\n{rows(fields, 8)}    )\n"
        return f'class {name}(Structure):\n    """{c_name}."""\n\n{lines}'

    def numbers(self, name: str) -> str:
        """An enum as a class of plain numbers. The operators of Python's enums are calls, and the
        module enum takes longer to import than most of the package.
        """
        c_name, values = self.enums[name]
        prefix = f"{c_name.upper()}_"
        lines = [f"    {key.removeprefix(prefix)} = {value}\n" for key, value in values.items()]
        return f'class {name}:\n    """{c_name}."""\n\n{"".join(lines)}'

    def row(self, function: Function) -> str:
        """The row of a function in a table."""
        result, types = self.signature(function)
        arguments = f"({', '.join(types)}{',' * (len(types) == 1)})"
        line = f'    "{function.name}": ({result}, {arguments}),\n'
        if len(line) <= WIDTH + 1:
            return line
        if len(arguments) > WIDTH - 9:
            arguments = f"(\n{rows(types, 12)}        )"
        return f'    "{function.name}": (\n{rows([result, arguments], 8)}    ),\n'


def rows(items: Iterable[str], indent: int) -> str:
    return "".join(f"{' ' * indent}{item},\n" for item in items)


def imported(module: str, names: Iterable[str]) -> str:
    """An import statement."""
    line = f"from {module} import {', '.join(sorted(names))}\n"
    if len(line) > WIDTH + 1:
        line = f"from {module} import (\n{rows(sorted(names), 4)})\n"
    return line


def module(
    title: str,
    header: Header,
    names: set[str],
    shared: set[str],
    table: str,
    called: list[Function],
) -> str:
    """The text of a module: its types, and its table of functions. It imports the shared names from
    `signatures`.
    """
    parts = ["".join(header.callback(name) for name in header.callbacks if name in names)]
    parts += [header.struct(name) for name in header.structs if name in names]
    parts += [header.numbers(name) for name in header.enums if name in names]
    parts += [f"{name} = {value}\n" for name, value in header.constants.items() if name in names]
    lines = "".join(map(header.row, called))
    parts.append(
        "# name -> (result, arguments)\n"
        f"{table}: dict[str, tuple[Any, tuple[Any, ...]]] = {{\n{lines}}}\n"
    )
    body = "\n\n".join(parts)
    of_ctypes = set(re.findall(r"\b(?:CFUNCTYPE|POINTER|Structure|c_\w+)\b", body))
    head = [
        title,
        "from __future__ import annotations\n",
        imported("ctypes", of_ctypes),
        *([imported(".signatures", shared)] if shared else []),
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from typing import Any\n",
    ]
    return "\n".join([*head, body])


def made() -> dict[str, str]:
    """The text of each of the two files."""
    header, uses = Header(*ALL), Uses()
    plain, others = uses.imported["signatures"], uses.imported["callbacks"]
    called = [each for each in header.functions if each.name in uses.functions]
    needed = {each.name: header.callbacks_of(each.parameters) for each in called}
    rest = [
        each
        for each in called
        if not needed[each.name] <= plain or each.name.startswith("ntapi_redis_")
    ]
    # Functions and structs name further types of callbacks.
    others = others.union(*(needed[each.name] for each in rest))
    for name in others & set(header.structs):
        others = others | header.callbacks_of(header.structs[name][1])
    first = [each for each in called if each not in rest]
    shared = others & plain
    return {
        "signatures.py": module(SIGNATURES, header, plain, set(), "FUNCTIONS", first),
        "callbacks.py": module(
            CALLBACKS, header, others - plain, shared, "CALLBACK_FUNCTIONS", rest
        ),
    }


def main() -> None:
    """Writes the files."""
    for name, text in made().items():
        (BRIDGE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
