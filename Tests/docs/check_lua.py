"""Checks the binding for LuaJIT: its declarations equal the header's, and its tests pass.

python3 Tests/docs/check_lua.py build/libntapi.so.0
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from weather_server import table_of_servers

ROOT = Path(__file__).resolve().parents[2]
BINDING = ROOT / "bindings" / "lua"
SKIPPED = 77
NOT_OURS = {"struct pollfd", "int poll"}
"""The beginnings of declarations that do not come from the header."""


def declarations(text: str) -> set[str]:
    """The declarations of a header, without comments, each with single blanks."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"^\s*#(.*\\\n)*.*$", "", text, flags=re.MULTILINE).replace('extern "C" {', "")
    text = re.sub(r"\bNTAPI_(NEW|CHECKED)\b", "", text)
    # A semicolon in braces does not end a declaration.
    found = re.findall(r"[^;{}]+(?:\{[^}]*\}[^;{}]*)?;", text)
    return {re.sub(r"\s+", " ", declaration).strip() for declaration in found}


def wrong_declarations() -> list[str]:
    """The binding's declarations that are not in the header."""
    header = declarations((ROOT / "include" / "ntapi.h").read_text(encoding="utf-8"))
    module = (BINDING / "ntapi.lua").read_text(encoding="utf-8")
    block = re.search(r"ffi\.cdef \[\[(.*?)\]\]", module, re.DOTALL)
    assert block is not None
    declared = declarations(block[1])
    assert len(declared) > 40, "the parser does not find the declarations"
    return sorted(
        text for text in declared - header if not any(text.startswith(own) for own in NOT_OURS)
    )


def unquoted() -> bool:
    """Whether the program in docs/bindings.md differs from example.lua."""
    page = (ROOT / "docs" / "bindings.md").read_text(encoding="utf-8")
    return (BINDING / "example.lua").read_text(encoding="utf-8") not in page


def main() -> int:
    """Returns 0 if all is well."""
    problems = [f"not in ntapi.h: {text}" for text in wrong_declarations()]
    if unquoted():
        problems.append("docs/bindings.md does not show example.lua as it is")
    if problems:
        print("\n".join(problems))
        return 1
    luajit = shutil.which("luajit")
    if luajit is None:
        print("skipped: LuaJIT is not installed. On Debian: apt-get install luajit")
        return SKIPPED
    environment = {
        **os.environ,
        "NTAPI_LIBRARY": str(Path(sys.argv[1]).resolve()),
        "LUA_PATH": f"{BINDING}/?.lua",
    }
    with table_of_servers("fault") as table:
        command = [luajit, str(BINDING / "test.lua"), table["fault"]]
        return subprocess.run(command, env=environment, check=False, timeout=120).returncode


if __name__ == "__main__":
    sys.exit(main())
