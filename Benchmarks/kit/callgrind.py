"""Runs a program under callgrind and reads what it counted: instructions, and calls of some functions."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ALLOCATORS = {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign"}
LOCK = "pthread_mutex_lock"
CALLED = re.compile(r"cfn=\((\d+)\)(?: (.*))?$")
DEFINED = re.compile(r"c?fn=\((\d+)\)(?: (.*))?$")


@dataclass(frozen=True)
class Cost:
    """What a run, or a request, costs."""

    instructions: float
    allocations: float
    locks: float = 0
    """Mutexes that were locked."""


def read_profile(lines: Iterable[str]) -> Cost:
    """Sums up a profile in callgrind's format, in which a name is written once and then stands for its number."""
    names: dict[str, str] = {}
    called = ""
    instructions = allocations = locks = 0
    for line in lines:
        if found := DEFINED.match(line):
            number, name = found.groups()
            if name:
                # A name may carry the recursion level of its function behind an apostrophe.
                names[number] = name.split("'")[0]
            if CALLED.match(line):
                called = names.get(number, "")
        elif line.startswith("calls="):
            calls = int(line[6:].split()[0])
            if called in ALLOCATORS:
                allocations += calls
            elif called.partition("@@")[0] == LOCK:
                locks += calls
        elif line.startswith(("summary:", "totals:")):
            instructions = int(line.split()[1])
    return Cost(instructions, allocations, locks)


def run(command: list[str], profile: Path, environment: dict[str, str]) -> Cost:
    """Runs the command under callgrind."""
    tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    # Threads take turns fairly, as they do on a free core; the default lets one of them starve the rest.
    ended = subprocess.run(
        [*tool, "--fair-sched=yes", *command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {ended.stderr}")
    with profile.open(encoding="utf-8", errors="replace") as lines:
        return read_profile(lines)


def per_request(few: Cost, many: Cost, requests: int) -> Cost:
    """The cost of each request beyond those of the shorter run: start, set-up and end cancel out."""
    return Cost(
        (many.instructions - few.instructions) / requests,
        (many.allocations - few.allocations) / requests,
        (many.locks - few.locks) / requests,
    )
