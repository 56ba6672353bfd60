"""Checks that an example `qanda` prints the same in each language.

python3 Tests/docs/check_qanda.py COMMAND...

The server is the one of NTAPI_TEST_SERVERS, or one started here, which ends when its stdin does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from dataclasses import dataclass, field

from terminal import PATIENCE
from weather_server import server

FOUND = """\
        20     4  Why does `await` in a loop wait for each one? (20) (Zoë)
        12     3  Why does `await` in a loop wait for each one? (12) (Zoë)
        40     3  Why does `await` in a loop wait for each one? (40) (user404)
         4     2  Why does `await` in a loop wait for each one? (4) (Zoë)
        32     2  Why does `await` in a loop wait for each one? (32) (user404)
        24     1  Why does `await` in a loop wait for each one? (24) (user404)
        16     0  Why does `await` in a loop wait for each one? (16) (user404)
        44     0  Why does `await` in a loop wait for each one? (44) (Zoë)
         8    -1  Why does `await` in a loop wait for each one? (8) (user404)
        36    -1  Why does `await` in a loop wait for each one? (36) (Zoë)
        28    -2  Why does `await` in a loop wait for each one? (28) (Zoë)
"""
QUESTION = """\
Is `a < b && b < c` the same as "a < b < c"? (5) [c, operators]
Zoë, 2023-11-15T03:13:20Z
    I have read the manual & tried 5 < 5.
    Why?
       501    19  accepted answer (Zoë)
    Because of reason 1: x -> y
       502    18  answer (Linus)
    Because of reason 2: x -> y
"""
THROTTLED = "too many requests from this IP, more requests available in 60 seconds"
TROUBLE = "error: the service has trouble: try again later\n"
NO_SITE = "error: No site found for name `nosite`\n"
NUMBER = "must be a whole number from 1 to"
USAGE = "usage: qanda URL search WORDS COUNT | question NUMBER | user NUMBER\n"


def left(used: int) -> str:
    """The last line of a run that sent this many requests."""
    return f"{10_000 - used} requests left today\n"


@dataclass
class Run:
    """A command line and its expected result."""

    words: list[str]
    output: str
    code: int = 0
    path: str = ""
    environment: dict[str, str] = field(default_factory=dict)


RUNS = [
    # A page has ten questions. The second page is fetched for the eleventh question, not for the
    # tenth.
    Run(["search", "AWAIT loop", "10"], FOUND[: FOUND.index("        28 ")] + left(1)),
    Run(["search", "AWAIT loop", "99"], FOUND + left(2)),
    # The server punishes a client that calls again too early.
    Run(["search", "await", "99"], FOUND + left(2), path="/with/backoff/1"),
    Run(["search", "nothing has this", "5"], "nothing found\n" + left(1)),
    Run(["question", "5"], QUESTION + left(2)),
    Run(["question", "999"], "error: no such question: 999\n", 1),
    Run(["user", "2"], "Zoë of Zürich & Basel: 2401, since 2023-11-12\n" + left(1)),
    Run(["user", "1"], "Ann & Bob: 1201, since 2023-11-13\n" + left(1), path="/with/slow/1"),
    Run(["user", "9"], "error: no such user: 9\n", 1),
    Run(["user", "1"], f"error: too many requests: {THROTTLED}\n", 1, "/with/throttle/60"),
    Run(["user", "1"], TROUBLE, 1, "/with/error/500"),
    Run(["user", "1"], TROUBLE, 1, "/with/error/503"),
    Run(["user", "1"], NO_SITE, 1, environment={"STACKEXCHANGE_SITE": "nosite"}),
    Run(["search", "await"], USAGE, 2),
    Run(["search", "await", "-2"], f"error: COUNT {NUMBER} 1000: -2\n", 2),
    Run(["search", "await", "1001"], f"error: COUNT {NUMBER} 1000: 1001\n", 2),
    Run(["user", "x"], f"error: NUMBER {NUMBER} 2147483647: x\n", 2),
    Run(["user", "0"], f"error: NUMBER {NUMBER} 2147483647: 0\n", 2),
    Run(["user"], USAGE, 2),
    Run([], USAGE, 2),
]


def run(command: list[str], url: str, one: Run) -> subprocess.CompletedProcess[str]:
    """Runs it with a key of its own, and so a quota of its own."""
    # Ignore proxies of the environment.
    environment = os.environ | {"no_proxy": "127.0.0.1", "STACKEXCHANGE_SITE": "stackoverflow"}
    environment |= {"STACKEXCHANGE_KEY": str(uuid.uuid4()), **one.environment}
    return subprocess.run(
        [*command, url + one.path, *one.words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def main() -> int:
    """Returns 0 if the program passes."""
    command = sys.argv[1:]
    failed = 0
    with server("qanda") as url:
        for one in RUNS:
            done = run(command, url, one)
            said, unsaid = done.stdout, done.stderr
            if one.code != 0:
                said, unsaid = unsaid, said
            if (done.returncode, said, unsaid) != (one.code, one.output, ""):
                failed += 1
                print(f"{one.path} {one.words}: expected {one.code}\n{one.output}")
                print(f"not {done.returncode}:\n{done.stdout}{done.stderr}")
        for base, message in (
            (f"{url}/with/crash", "error: HTTP 500 "),
            ("http://127.0.0.1:1", "error: 127.0.0.1:1: no connection"),
        ):
            done = run(command, base, Run(["user", "1"], ""))
            if done.returncode != 1 or not done.stderr.startswith(message):
                failed += 1
                print(f"{base}: {done.returncode} {done.stdout}{done.stderr}")
    print(f"{failed} failed" if failed else "passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
