"""Suites run side by side, the output of each is shown in one piece, and an interrupted run leaves
nothing behind.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from run_suites import Outcome, Run, Suite, serverless_swift, slow_tests, summary

INTERRUPTED = """
import os, sys
from run_suites import Run, Suite
script = 'sleep 1000 & mktemp; echo $! > "$1"; wait'
Run([Suite("long", ["bash", "-c", script, "bash", sys.argv[1]])], 1, dict(os.environ)).all()
"""


def run(*suites: Suite, at_once: int = 2) -> dict[str, Outcome]:
    """Runs suites and returns their results."""
    return {item.name: item for item in Run(list(suites), at_once, dict(os.environ)).all()}


def shell(name: str, script: str, *needs: str) -> Suite:
    """A suite that is a script."""
    return Suite(name, ["bash", "-c", script], needs=needs)


def test_two_run_at_once_and_each_prints_in_one_piece(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left, right = tmp_path / "left", tmp_path / "right"
    for pipe in (left, right):
        os.mkfifo(pipe)
    # Each suite waits in the middle for the other. Opening a pipe for reading and writing does not
    # block.
    pipes = f"exec 3<>{left} 4<>{right};"
    outcomes = run(
        shell("one", f"{pipes} echo 1a; echo >&3; read -u 4; echo 1b"),
        shell("two", f"{pipes} echo 2a; echo >&4; read -u 3; echo 2b"),
    )
    assert not any(item.is_failure for item in outcomes.values())
    printed = capsys.readouterr().out
    assert "1a\n1b\n" in printed
    assert "2a\n2b\n" in printed


def test_what_needs_a_failed_suite_is_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ran"
    outcomes = run(
        shell("build", "echo 'x.c:1: error: no'; echo 'log line: HTTP error: 302'; exit 3"),
        shell("tests", f"touch {file}", "build"),
        shell("more tests", f"touch {file}", "tests"),
        shell("others", "true"),
    )
    assert not file.exists()
    assert outcomes["build"].failures == ["x.c:1: error: no"]
    assert [name for name, item in outcomes.items() if not item.is_failure] == ["others"]
    assert summary(list(outcomes.values())) == 1
    printed = capsys.readouterr().out
    assert "what failed in build:\n  x.c:1: error: no\n" in printed
    assert "not run: build must pass first" in printed
    assert "3 of 4 suites failed" in printed


def test_the_slowest_tests_are_found() -> None:
    output = """
1.25s call     tests/test_a.py::test_a
0.50s call     tests/test_a.py::test_quick
 3/81 Test  #3: c.transfer .......................   Passed   23.71 sec
"""
    assert slow_tests(output) == [
        (1.25, "tests/test_a.py::test_a"),
        (23.71, "c.transfer"),
    ]


def test_what_a_suite_leaves_running_ends_with_it(tmp_path: Path) -> None:
    file = tmp_path / "child"
    run(shell("leaves", f"sleep 1000 & echo $! > {file}"))
    wait_for_end(int(file.read_text()))


def wait_for_end(process: int) -> None:
    """Waits for the end of a process that is not a child of this one."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return
    assert select.select([descriptor], [], [], 60)[0], f"{process} still runs"
    os.close(descriptor)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    pipe = tmp_path / "child"
    os.mkfifo(pipe)
    (tmp_path / "tmp").mkdir()
    path = str(Path(__file__).parent)
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(pipe)],
        env=os.environ | {"PYTHONPATH": path, "TMPDIR": str(tmp_path / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        # The script writes a line when its child runs.
        child = int(pipe.read_text())
        process.send_signal(number)
        printed, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "--- long: interrupted" in printed
    wait_for_end(child)
    assert not list((tmp_path / "tmp").iterdir())


def test_swift_tests_without_servers_are_found() -> None:
    found = "\n".join(serverless_swift())
    assert "JSONTextTests" in found
    assert "ConformanceTests" not in found
