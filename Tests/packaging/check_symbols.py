"""Checks that the headers' functions, the version script and the exported symbols are the same
list.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from header import HEADERS, REDIS, ROOT, functions


def scripted(name: str, node: str) -> set[str]:
    """The symbols that a version script lists as global."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "cmake" / name).read_text(), flags=re.DOTALL)
    match = re.search(rf"{node}\s*{{\s*global:(.*?)local:\s*\*;\s*}};", text, re.DOTALL)
    if not match:
        raise SystemExit(f"check_symbols: {name} is not {node} {{ global: ...; local: *; }};")
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
    library = Path(sys.argv[1])
    is_redis = library.name.startswith("libntapi-redis")
    node, name = ("NTAPI_REDIS_0", "ntapi-redis.map") if is_redis else ("NTAPI_0", "ntapi.map")
    header = {function.name for function in functions(*((REDIS,) if is_redis else HEADERS))}
    script = scripted(name, node)
    symbols = exported(library)
    failures = (
        difference(f"in the headers, not in {name}", header, script)
        + difference(f"in {name}, not in the headers", script, header)
        + difference("in the headers, not exported", header, set(symbols))
        + difference("exported, not in the headers", set(symbols), header)
        + [f"{each}: version {version!r}" for each, version in symbols.items() if version != node]
    )
    for line in failures:
        print(line)
    counts = f"{len(header)} functions, {len(symbols)} exported"
    print(f"check_symbols: {counts}, {len(failures)} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
