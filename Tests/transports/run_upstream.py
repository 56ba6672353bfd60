"""Runs the test suites of httpx and requests with NTApi's transports under them. `make
test-transports` calls it, with a Python that has the packages of requirements.txt.

    python Tests/transports/run_upstream.py                   all three
    python Tests/transports/run_upstream.py httpx2 -- -k get  one; what follows is for pytest

The suites come from the libraries' source archives. httpx's runs under both names, httpx and
httpx2: the archive of httpx2 has no tests. Each suite runs twice, with the library's own transports
and with ours. A test that fails only with ours must be in skipped_httpx.txt or
skipped_requests.txt, with the reason. An entry for a test that does not fail is an error, too.
build/transports has the logs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
BUILD = ROOT / "build" / "transports"
SUITES = {"httpx": "httpx", "httpx2": "httpx", "requests": "requests"}
"""The names that are tested, and whose suite each runs."""
NOT_RUN = "not run: "
"""Begins a line for a test that runs with neither transport."""


class Skip(NamedTuple):
    """A line of a list: `pattern: reason`. `*` in a pattern stands for any text."""

    pattern: str
    reason: str
    is_run: bool

    def holds(self, test: str) -> bool:
        """Whether the line is about this test."""
        return re.fullmatch(re.escape(self.pattern).replace(r"\*", ".*"), test) is not None


def skips(suite: str) -> list[Skip]:
    """The list of a suite."""
    found = []
    for line in (HERE / f"skipped_{suite}.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, separator, reason = line.removeprefix(NOT_RUN).partition(": ")
            if not separator:
                sys.exit(f"skipped_{suite}.txt: a line is `pattern: reason`, not {line!r}")
            found.append(Skip(pattern, reason, not line.startswith(NOT_RUN)))
    return found


def unpacked(suite: str) -> Path:
    """The folder of a source archive, of the version that is installed."""
    name = f"{suite}-{version(suite)}"
    archive = BUILD / f"{name}.tar.gz"
    if not archive.exists():
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"]
        options = ["--no-deps", "--no-binary", ":all:", "-d", str(BUILD)]
        subprocess.run([*pip, *options, name.replace("-", "==")], check=True)
    folder = BUILD / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.unpack_archive(archive, BUILD)
    return folder


def folder_of(library: str) -> Path:
    """The folder in which the suite of a library runs."""
    source = unpacked(SUITES[library])
    if library == SUITES[library]:
        return source
    folder = BUILD / f"tests-of-{library}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copytree(source / "tests", folder / "tests")
    shutil.copy(source / "pyproject.toml", folder)
    for path in folder.rglob("*.py"):
        path.write_text(re.sub(r"\b(httpx|httpcore)\b", r"\g<1>2", path.read_text()))
    return folder


def run(library: str, folder: Path, ours: bool, more: list[str]) -> dict[str, Any]:
    """Runs a suite, and returns its results."""
    side = "ours" if ours else "stock"
    results = BUILD / f"{library}-{side}.json"
    results.unlink(missing_ok=True)
    log = BUILD / f"{library}-{side}.log"
    deselected = [skip for skip in skips(SUITES[library]) if not skip.is_run]
    options = ["-p", "upstream_plugin", f"--library={library}", f"--results={results}"]
    options += [f"--deselect={skip.pattern}" for skip in deselected]
    options += ["--ours"] if ours else []
    library_file = os.environ.get("NTAPI_LIBRARY", str(ROOT / "build/libntapi.so.0"))
    paths = [str(HERE), str(ROOT / "bindings/python/src")]
    environment = {
        **os.environ,
        "NTAPI_LIBRARY": library_file,
        "PYTHONPATH": os.pathsep.join(paths),
    }
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=60", "-p", "no:cacheprovider"]
    with log.open("w") as file:
        subprocess.run(
            [*command, *options, *more, "tests"],
            cwd=folder,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if not results.exists():
        sys.exit(f"{library}: pytest did not come to its end; see {log}\n{log.read_text()[-3000:]}")
    found: dict[str, Any] = json.loads(results.read_text())
    return found


def failed(results: dict[str, Any]) -> set[str]:
    """The tests that failed."""
    return {test for test, outcome in results["outcomes"].items() if outcome == "failed"}


def compare(library: str, more: list[str]) -> int:
    """Runs the suite of a library with both transports, and returns the number of problems."""
    folder = folder_of(library)
    stock = run(library, folder, False, more)
    ours = run(library, folder, True, more)
    listed = [skip for skip in skips(SUITES[library]) if skip.is_run]
    own = failed(ours) - failed(stock)
    problems = [
        f"{test} fails with NTApi's transport, and is not listed; see {BUILD}/{library}-ours.log"
        for test in sorted(own)
        if not any(skip.holds(test) for skip in listed)
    ]
    # If a test fails with every transport, it says nothing about the transport.
    comparable = set(ours["outcomes"]) - failed(stock)
    problems += [
        f"{test} is listed, and does not fail"
        for test in sorted(comparable - own)
        for skip in listed
        if skip.holds(test)
    ]
    problems += [
        f"{test} is skipped with the stock transport, and with NTApi's {ours['outcomes'].get(test)}"
        for test, outcome in sorted(stock["outcomes"].items())
        if outcome == "skipped" and ours["outcomes"].get(test) != "skipped"
    ]
    if not more:
        problems += [
            f"{skip.pattern} is listed, and there is no such test"
            for skip in listed
            if not any(skip.holds(test) for test in ours["outcomes"])
        ]
    passed = sum(outcome == "passed" for outcome in ours["outcomes"].values())
    sent = sum(ours["outcomes"].get(test) == "passed" for test in ours["sent"])
    if not sent:
        problems.append("no test sent a request through NTApi")
    print(
        f"{library} {version(library)}: {passed} passed, {sent} of them sent requests through "
        f"NTApi; {len(own)} fail only with NTApi, {len(failed(stock))} with the stock transport"
    )
    for problem in problems:
        print(f"  PROBLEM: {problem}")
    return len(problems)


def main() -> int:
    """Runs what was asked for, and returns the exit status."""
    given = sys.argv[1:]
    middle = given.index("--") if "--" in given else len(given)
    names, more = given[:middle], given[middle + 1 :]
    BUILD.mkdir(parents=True, exist_ok=True)
    unknown = set(names) - set(SUITES)
    if unknown:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    chosen = names or list(SUITES)
    return min(sum(compare(library, more) for library in chosen), 1)


if __name__ == "__main__":
    sys.exit(main())
