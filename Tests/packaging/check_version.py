"""Checks that the version number is the same everywhere. CMake reads it from the header.

check_version.py            compares the places
check_version.py --print    the number alone, for the Makefile
check_version.py 0.3.0      for a release: it is that number, and CHANGELOG.md has a date for it
"""

from __future__ import annotations

import re
import sys

from header import ROOT, version

PLACES = {
    "Sources/NTApi/Support/Version.swift": r'ntapiVersion = "([^"]*)"',
    "bindings/python/src/ntapi/__init__.py": r'__version__ = "([^"]*)"',
    "bindings/python/ntapi-redis/src/ntapi_redis/__init__.py": r'__version__ = "([^"]*)"',
    "CHANGELOG.md": r"^## ([0-9.]+)",
    # The number that the recorder writes into a recording.
    "Tests/conformance/recording.json": r'"ntapi/([0-9.]+)"',
}
# These have the number without its last part.
SERIES = {
    "docs/comparison.md": r"\| maturity \| ([0-9.]+):",
    "bindings/c/README.md": r"find_package\(ntapi ([0-9.]+) ",
}


def found(path: str, pattern: str) -> list[str]:
    """The numbers in a file: in CHANGELOG.md the first heading, elsewhere every match."""
    matches = re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    return (matches[:1] if path == "CHANGELOG.md" else sorted(set(matches))) or ["nothing"]


def main() -> int:
    """Prints each difference and a summary line."""
    wanted = version()
    if sys.argv[1:] == ["--print"]:
        print(wanted)
        return 0
    failures = []
    if sys.argv[1:]:
        wanted = sys.argv[1]
        if version() != wanted:
            failures.append(f"include/ntapi.h: {version()}, not {wanted}")
        heading = rf"^## {re.escape(wanted)}, \d{{4}}-\d\d-\d\d$"
        if not re.search(
            heading, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
        ):
            failures.append(
                f"CHANGELOG.md: no heading '## {wanted}, YYYY-MM-DD' with the day of the release"
            )
    for places, right in ((PLACES, wanted), (SERIES, wanted.rpartition(".")[0])):
        failures += [
            f"{path}: {each}, not {right}"
            for path, pattern in places.items()
            for each in found(path, pattern)
            if each != right
        ]
    for line in failures:
        print(line)
    print(f"check_version: {wanted}, {len(failures)} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
