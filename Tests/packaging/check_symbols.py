"""Checks that the headers' functions, the version script and the exported symbols are the same
list.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from header import ROOT, functions

NODE = "NTAPI_0"


def scripted() -> set[str]:
    """The symbols that the version script lists as global."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "cmake" / "ntapi.map").read_text(), flags=re.DOTALL)
    match = re.search(rf"{NODE}\s*{{\s*global:(.*?)local:\s*\*;\s*}};", text, re.DOTALL)
    if not match:
        raise SystemExit("check_symbols: ntapi.map is not NTAPI_0 { global: ...; local: *; };")
    return {name for name in re.split(r"[;\s]+", match[1]) if name}


def exported(library: Path) -> dict[str, str]:
    """The defined dynamic symbols, each with its version; the version node itself is left out."""
    output = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True
    ).stdout
    symbols = {}
    for line in output.splitlines():
        kind, name = line.split()[-2:]
        name, _, version = name.partition("@@")
        if kind != "A" or version:
            symbols[name] = version
    return symbols


def difference(what: str, left: set[str], right: set[str]) -> list[str]:
    """A line for each name that is only in the left list."""
    return [f"{name}: {what}" for name in sorted(left - right)]


def main() -> int:
    """Prints each difference and a summary line."""
    header = {function.name for function in functions()}
    script = scripted()
    symbols = exported(Path(sys.argv[1]))
    failures = (
        difference("in the headers, not in ntapi.map", header, script)
        + difference("in ntapi.map, not in the headers", script, header)
        + difference("in the headers, not exported", header, set(symbols))
        + difference("exported, not in the headers", set(symbols), header)
        + [f"{name}: version {version!r}" for name, version in symbols.items() if version != NODE]
    )
    for line in failures:
        print(line)
    counts = f"{len(header)} functions, {len(symbols)} exported"
    print(f"check_symbols: {counts}, {len(failures)} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
