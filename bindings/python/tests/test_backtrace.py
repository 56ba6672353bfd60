"""A handler that runs while the program waits is on the program's own stack."""

from __future__ import annotations

import faulthandler
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ntapi
from conftest import PATIENCE


@pytest.mark.parametrize("place", ["main", "current"])
@pytest.mark.parametrize("waits_by", ["wait", "drain"])
def test_faulthandler_names_the_caller(
    fault: ntapi.Client, tmp_path: Path, place: str, waits_by: str
) -> None:
    """It reads the frames as it does after a crash."""
    path = tmp_path / "trace"

    def handler(_: ntapi.Response) -> None:
        with path.open("w", encoding="utf-8") as file:
            faulthandler.dump_traceback(file, all_threads=False)

    def this_waits() -> None:
        thread = ntapi.MAIN if place == "main" else ntapi.CURRENT
        request = fault.begin("echo", ntapi.response_thread(thread), handler)
        if waits_by == "wait":
            assert request.wait(PATIENCE)
        else:
            assert fault.drain(PATIENCE) == 0

    if place == "main":
        this_waits()
    else:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(this_waits).result(3 * PATIENCE)
    trace = path.read_text(encoding="utf-8")
    functions = [line.rpartition(" in ")[2] for line in trace.splitlines()]
    assert functions.index("handler") < functions.index(waits_by) < functions.index("this_waits")
