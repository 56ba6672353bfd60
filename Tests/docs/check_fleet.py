"""Starts the example `fleet` in each language at the same time, which share one limit.

python3 Tests/docs/check_fleet.py COMMAND [-- COMMAND]...

The servers are those of NTAPI_TEST_SERVERS.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from itertools import groupby

from terminal import PATIENCE

REQUESTS = 12
PER_SECOND = 10


def main() -> int:
    """Returns 0 if each program has done its requests, and all of them together kept the limit."""
    words = groupby(sys.argv[1:], lambda word: word == "--")
    commands = [list(group) for is_rule, group in words if not is_rule]
    table = json.loads(os.environ["NTAPI_TEST_SERVERS"])
    arguments = [table["weather"], f"unix://{table['redis']}?db=7", str(REQUESTS)]
    failures = []
    # Ignore proxies of the environment.
    environment = os.environ | {"no_proxy": "127.0.0.1"}
    begin = time.monotonic()
    running = [
        subprocess.Popen(
            [*command, *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for command in commands
    ]
    expected = {f"request {number}: done" for number in range(1, REQUESTS + 1)}
    for process in running:
        output, _ = process.communicate(timeout=PATIENCE)
        if process.returncode != 0 or set(output.splitlines()) != expected:
            failures.append(f"{process.args!r}: {process.returncode}\n{output}")
    seconds = time.monotonic() - begin
    # The first request starts at once, and each of the others a tenth of a second later.
    if seconds < (REQUESTS * len(commands) - 1) / PER_SECOND:
        failures.append(f"{len(commands)} programs took only {seconds:.2f} s")
    for command in commands:
        for wrong, status, text in (
            ([], 2, "usage: "),
            (["http://a", "redis://a", "x"], 2, "usage: "),
            (["http://a", "http://a"], 1, "error: the url has to begin with redis://"),
        ):
            done = subprocess.run(
                [*command, *wrong], capture_output=True, text=True, check=False, timeout=PATIENCE
            )
            if done.returncode != status or not done.stderr.startswith(text):
                failures.append(f"{command} {wrong}: {done.returncode} {done.stderr}")
    print(*failures, f"{len(failures)} failed" if failures else "passed", sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
