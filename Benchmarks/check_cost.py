"""Counts instructions and allocations of each request with callgrind and compares them with the budget."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from kit import building, callgrind
from kit.documents import SMALL, TOTAL
from kit.places import BUILD, ROOT
from kit.servers import Addresses, Servers

FEW, MANY = 1000, 3000
CASES = [
    ("libcurl_multi", "parsed", 64),
    ("libcurl_multi", "raw", 64),
    ("libcurl_easy", "parsed", 1),
    ("libcurl_easy", "raw", 1),
    ("ntapi_callback", "parsed", 64),
    ("ntapi_callback", "raw", 64),
    ("ntapi_perform", "parsed", 1),
    ("ntapi_perform", "raw", 1),
]


def cost(
    program: str, mode: str, at_once: int, where: Addresses, options: argparse.Namespace
) -> callgrind.Cost:
    found = []
    environment = os.environ | {"LD_LIBRARY_PATH": str(options.library.resolve())}
    for count in (FEW, MANY):
        command = [str(BUILD / program), mode, where.plain, str(count), str(at_once)]
        command += ["path=small.json", f"bytes={SMALL}", f"expect={TOTAL}"]
        name = f"{program}-{mode}-{at_once}-{count}.callgrind"
        folder = options.keep or Path(where.ca).parent
        found.append(callgrind.run(command, folder / name, environment))
    return callgrind.per_request(*found, MANY - FEW)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, default=ROOT / "build")
    parser.add_argument(
        "--keep", type=Path, help="folder for the profiles, to look at with callgrind_annotate"
    )
    parser.add_argument("--only", default="", help="programs that begin with this")
    options = parser.parse_args()
    building.build_c(options.library.resolve())
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ntapi-bench-") as home:
        servers = Servers(Path(home))
        try:
            where = servers.start()
            for program, mode, at_once in CASES:
                if program.startswith(options.only):
                    found = cost(program, mode, at_once, where, options)
                    print(
                        f"{program:16} {mode:8} {at_once:4} {found.instructions:10.0f} instructions "
                        f"{found.allocations:7.1f} allocations per request",
                        flush=True,
                    )
        finally:
            servers.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
