"""Runs an example against the demo server and checks that it succeeds and prints a text.

The server is the one of NTAPI_TEST_SERVERS, or one started here, which ends when its stdin does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SERVER = Path(__file__).resolve().parents[2] / "Tests" / "servers" / "weather.py"


def run(example: str, expected: str, url: str) -> int:
    """Runs the example with the server's URL; 0 when all is well."""
    done = subprocess.run([example, url], check=False, stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    if done.returncode != 0 or expected not in done.stdout:
        print(f"{example}: exit code {done.returncode}, expected 0 and {expected!r}")
        return 1
    return 0


def main() -> int:
    """Finds or starts the server."""
    example, expected = sys.argv[1:]
    table = json.loads(os.environ.get("NTAPI_TEST_SERVERS", "{}"))
    if "weather" in table:
        return run(example, expected, table["weather"])
    command = [sys.executable, str(SERVER)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdin and server.stdout
        try:
            return run(example, expected, server.stdout.readline().strip())
        finally:
            server.stdin.close()


if __name__ == "__main__":
    sys.exit(main())
