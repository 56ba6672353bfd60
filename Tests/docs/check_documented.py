"""Checks that each public member of the Swift API has a doc comment.

    swift build --traits SwiftLog,HTTPTypes,Tracing,Redis && python3 Tests/docs/check_documented.py .build

It reads the compiler's output in SwiftPM's folder. A product that was built without its trait has
nothing to check. The members of a protocol are documented in the protocol.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MODULES = (
    "NTApi",
    "NTApiFoundation",
    "NTApiTesting",
    "NTApiLogging",
    "NTApiHTTPTypes",
    "NTApiTracing",
    "NTApiRedis",
)


def graphs(module: str, build: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """Writes the symbol graphs of a module and of its extensions of other modules to a folder."""
    target = json.loads(subprocess.check_output(["swiftc", "-print-target-info"]))["target"]
    imports = [
        build / "debug/Modules",
        *sorted((ROOT / "Sources").glob("C*")),
        *sorted((ROOT / "Sources").glob("C*/include")),
    ]
    command = ["swift-symbolgraph-extract", "-module-name", module, "-sdk", "/"]
    command += ["-target", target["unversionedTriple"], "-minimum-access-level", "public"]
    command += ["-skip-inherited-docs", "-output-dir", str(folder)]
    subprocess.run([*command, *(f"-I{item}" for item in imports)], check=True)
    for file in sorted(folder.glob(f"{module}*.symbols.json")):
        yield json.loads(file.read_text(encoding="utf-8"))


def undocumented(symbols: dict[str, Any]) -> Iterator[str]:
    """A line with place and name for each member without a doc comment."""
    of_protocols = {
        item["source"]
        for item in symbols["relationships"]
        if item["kind"] == "defaultImplementationOf" or "sourceOrigin" in item
    }
    for symbol in symbols["symbols"]:
        place = symbol.get("location")
        is_asked_for = symbol["identifier"]["precise"] in of_protocols
        if "docComment" in symbol or place is None or is_asked_for:
            continue
        file = Path(place["uri"].removeprefix("file://")).relative_to(ROOT)
        name = ".".join(symbol["pathComponents"])
        yield f"{file}:{place['position']['line'] + 1}: {name} has no doc comment"


def main() -> int:
    """Returns 0 if every member has one."""
    found: list[str] = []
    count = 0
    build = Path(sys.argv[1])
    for module in MODULES:
        if not (build / f"debug/Modules/{module}.swiftmodule").exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            for symbols in graphs(module, build, Path(folder)):
                count += len(symbols["symbols"])
                found += undocumented(symbols)
    for line in sorted(found):
        print(line)
    print(f"check_documented: {count} public names of Swift, {len(found)} without a doc comment")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
