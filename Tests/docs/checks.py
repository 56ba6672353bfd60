"""Runs the checks of an example, each in a folder of its own."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def run_checks(checks: Iterable[Callable[[T], None]], prepare: Callable[[Path], T]) -> int:
    """Prints a line for each check. Returns the exit code, 0 if all pass."""
    failed = 0
    with tempfile.TemporaryDirectory() as home:
        for check in checks:
            folder = Path(home) / check.__name__
            folder.mkdir()
            try:
                check(prepare(folder))
                print(f"passed  {check.__name__}", flush=True)
            except (AssertionError, OSError, ValueError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"FAILED  {check.__name__}: {error}", flush=True)
    return 1 if failed else 0
