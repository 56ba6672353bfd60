"""Suites run side by side, the output of each is shown in one piece, and an interrupted run leaves
nothing behind.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import run_suites
from run_suites import Outcome, Run, Suite, repeat_failed, serverless_swift, slow_tests, summary

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


def letters(name: str, results: dict[str, str], ran: Path) -> Suite:
    """A suite of tests, each with one letter for each time it runs: p passes, f fails."""
    script = "import sys; sys.path.insert(0, sys.argv[1]); import fake; fake.main(sys.argv[2:])"
    (ran / "fake.py").write_text(FAKE, "utf-8")
    words = [f"{test}={result}" for test, result in results.items()]
    command = [sys.executable, "-c", script, str(ran), str(ran / name), *words]
    return Suite(
        name,
        command,
        failed=re.compile(r"^failed (\w+)$", re.MULTILINE),
        again=lambda names: ["--", *names],
    )


FAKE = """
import pathlib, sys
def main(words):
    folder, words = pathlib.Path(words[0]), words[1:]
    only = words[words.index("--") + 1:] if "--" in words else None
    results = dict(word.split("=") for word in words if "=" in word)
    folder.mkdir(exist_ok=True)
    failed = [name for name in results if (only is None or name in only) and fails(folder / name, results[name])]
    for name in failed:
        print("failed", name)
    sys.exit(bool(failed))
def fails(file, result):
    runs = len(file.read_text()) if file.exists() else 0
    file.write_text("x" * (runs + 1))
    return result[min(runs, len(result) - 1)] == "f"
"""


@pytest.mark.parametrize(
    ("results", "status", "strict", "text"),
    [
        ({"a": "p", "b": "fp"}, 0, 1, "1 unstable tests; 2 are allowed"),
        ({"a": "fp", "b": "fp", "c": "fp"}, 1, 1, "3 unstable tests; 2 are allowed"),
        ({"a": "fp", "b": "ff"}, 1, 1, "1 of 1 suites failed"),
        ({"a": "pf"}, 0, 0, "all suites passed"),
    ],
)
def test_what_fails_once_is_unstable(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    results: dict[str, str],
    status: int,
    strict: int,
    text: str,
) -> None:
    monkeypatch.setattr(run_suites, "ROOT", tmp_path)
    monkeypatch.setattr(run_suites, "UNSTABLE", tmp_path / "unstable")
    suite = letters("letters", results, tmp_path)
    outcomes = Run([suite], 1, dict(os.environ)).all()
    repeat_failed([suite], outcomes, dict(os.environ))
    assert summary(outcomes, 0) == strict
    assert summary(outcomes) == status
    assert text in capsys.readouterr().out
    unstable = [name for name, result in results.items() if result == "fp"]
    assert outcomes[0].unstable == unstable
    # Only what has failed is run again, and what it has printed is kept.
    for name, result in results.items():
        assert len((tmp_path / "letters" / name).read_text()) == 1 + (result[0] == "f")
    kept = [file.read_text("utf-8") for file in tmp_path.glob("unstable/*.log")]
    assert bool(kept) == bool(unstable)
    assert all(f"failed {name}\n" in kept[0] for name in unstable)


def test_a_build_is_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "ran"
    suites = [shell("build", f"echo x >>{file}; exit 1"), shell("tests", "true", "build")]
    outcomes = Run(suites, 1, dict(os.environ)).all()
    repeat_failed(suites, outcomes, dict(os.environ))
    assert file.read_text() == "x\n"
    assert summary(outcomes) == 1


@pytest.mark.parametrize(
    ("name", "output", "failed"),
    [
        (
            "C tests",
            "The following tests FAILED:\n\t  7 - c.fork (Failed)\n\t 81 - c.exit (Timeout)\nErrors",
            ["c.fork", "c.exit"],
        ),
        (
            "Python tests, 1 of 2",
            "FAILED tests/test_a.py::test_a[x y] - assert 1 - 2\nERROR tests/test_b.py::test_b\n",
            ["tests/test_a.py::test_a[x y]", "tests/test_b.py::test_b"],
        ),
        (
            "Swift tests",
            (
                "✘ Test later() failed after 0.1 seconds with 1 issue.\n"
                "✘ Test each(text:) with 3 test cases failed after 2.5 seconds with 2 issues.\n"
            ),
            ["later", "each"],
        ),
        (
            "Swift tests",
            (
                "✘ Test later() failed after 0.1 seconds with 1 issue.\n"
                "error: Exited with unexpected signal code 11\n"
            ),
            ["Swift tests"],
        ),
        ("doc comments", "no name", ["doc comments"]),
    ],
)
def test_failed_tests_are_named(name: str, output: str, failed: list[str]) -> None:
    [suite] = [suite for suite in run_suites.suites("", "") if suite.name == name]
    assert suite.failed_tests(output) == failed
    again = suite.repeated(failed).command
    assert again[: len(suite.command)] == suite.command
    assert (again == suite.command) == (failed == [name])


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
