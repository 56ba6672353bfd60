"""Runs the test suites and ends with one summary. `make test` calls it with the servers started.

Independent suites run side by side. The output of a suite is shown in one piece when it has ended.

At the end, the failed tests are run once more, with no other test at the same time. A test that
passes then is unstable: a bug to be found. With at most two of them the run stays green, because a
shared machine is sometimes slow.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Suite:
    """One command whose exit status says whether its tests passed."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    """The suites that have to pass first, because they build what this one tests."""
    failed: re.Pattern[str] | None = None
    """How its output names a failed test; None if it does not."""
    again: Callable[[list[str]], list[str]] = lambda tests: []
    """The options that make the command run only these tests, which have just failed."""

    def failed_tests(self, output: str) -> list[str]:
        """The names of the tests that failed. If a crash has ended the suite, it is one test."""
        named = self.failed.finditer(output) if self.failed and not CRASH.search(output) else ()
        return list(dict.fromkeys(match[1] for match in named)) or [self.name]

    def repeated(self, tests: list[str]) -> Suite:
        """The suite with only the tests that have failed."""
        options = [] if tests == [self.name] else self.again(tests)
        return replace(self, name=f"{self.name}, again", command=self.command + options, needs=())


# What `swift test` says when a test has crashed it. pytest names no test then.
CRASH = re.compile(r"^error: Exited with unexpected signal", re.MULTILINE)


# Lines by which Swift Testing, ctest, pytest and the scripts of Tests/docs report failures.
FAILURE = re.compile(
    r"✘|\*\*\*(Failed|Timeout|Exception)|^(FAILED|ERROR) |(^|: )error: |^failed |WARNING: \w+Sanitizer"
)

# After this many seconds, a suite counts as hanging, and is stopped with all its processes. 100,000
# requests under a sanitizer take a fifth of this.
LONGEST = 3000

# The number of failures to show for each suite. Of a remote run, one often sees only the end of the
# output.
MOST_FAILURES = 12

# The number of slowest tests to show at the end.
MOST_SLOW = 20

# How many unstable tests leave a run green.
MOST_UNSTABLE = 2

# If more tests of a suite fail, the suite is broken, and its tests are not run again.
MOST_REPEATED = 10

# What the first, failed run of an unstable test has printed.
UNSTABLE = ROOT / "build/unstable"


def build_folder(sanitizer: str) -> Path:
    """Each kind of build has a folder of its own."""
    return ROOT / (f"build-{sanitizer}" if sanitizer else "build")


def cmake(sanitizer: str) -> list[Suite]:
    """Configures and builds the library, the C tests and the examples.

    With a sanitizer, the library is made of what is compiled for the Swift tests.
    """
    folder = str(build_folder(sanitizer))
    options = [f"-DNTAPI_SANITIZE={sanitizer}", "-DNTAPI_TESTS=ON", "-DNTAPI_REDIS=ON"]
    needs = ["configure"]
    if sanitizer:
        options += ["-DCMAKE_BUILD_TYPE=Debug", f"-DNTAPI_SWIFT_SCRATCH={swift_builds(sanitizer)}"]
        needs.append("Swift build")
    else:
        options.append("-DCMAKE_BUILD_TYPE=Release")
    configure = ["cmake", "-S", str(ROOT), "-B", folder, "-G", "Ninja", "--log-level=WARNING"]
    return [
        Suite("configure", configure + options),
        Suite("build", ["cmake", "--build", folder], SWIFT_ENVIRONMENT, needs=tuple(needs)),
    ]


# One folder for all debug builds of this package: the tests, the products beside NTApi and the
# programs in the documentation. So the core is compiled only once. `swift test` by hand uses
# another folder.
SWIFT_BUILDS = ROOT / ".build/tests"
SWIFT_OPTIONS = ["--scratch-path", str(SWIFT_BUILDS)]
# SwiftPM passes the traits to the compiler in the order of a set. If the order changes, everything
# is compiled again.
SWIFT_ENVIRONMENT = {"SWIFT_DETERMINISTIC_HASHING": "1"}


def swift_builds(sanitizer: str) -> Path:
    """A sanitizer has builds of its own."""
    return ROOT / ".build" / sanitizer if sanitizer else SWIFT_BUILDS


SWIFT_FAILURE = re.compile(r"^✘ Test (\w+)\(.*\) .*failed after", re.MULTILINE)


def swift_again(tests: list[str]) -> list[str]:
    """The options for Swift tests, which are called "Module.Suite/test(parameter:)"."""
    return [word for test in tests for word in ("--filter", rf"[./]{test}\(")]


# Tests that compute for seconds under ThreadSanitizer, on one thread.
ON_ONE_THREAD = (
    "HostileURLTests",
    "JSONDepthTests",
    "JSONDocumentTests/huge",
    "ManyArgsTests",
    "PlainURLTests",
    "PrintableTextTests",
    "SecretsTests",
    "URLPartsTests",
)


def swift(sanitizer: str, filters: list[str]) -> list[Suite]:
    """The Swift core's own tests."""
    package = ["--package-path", str(ROOT)]
    if sanitizer:
        package += ["--scratch-path", str(swift_builds(sanitizer)), f"--sanitize={sanitizer}"]
    else:
        package += [*SWIFT_OPTIONS, "--traits", ",".join(TRAITS)]
    if sanitizer == "thread":
        package += ["-Xswiftc", "-DTHREAD_SANITIZER"]
    build = ["swift", "build", *package, "--build-tests"]
    test = ["swift", "test", *package, "--skip-build"]
    for pattern in filters:
        test += ["--filter", pattern]
    if sanitizer == "thread":
        test += [word for name in ON_ONE_THREAD for word in ("--skip", rf"\.{name}")]
    return [
        Suite("Swift build", build, SWIFT_ENVIRONMENT),
        Suite(
            "Swift tests",
            test,
            SWIFT_ENVIRONMENT,
            # `swift test` keeps other builds out of its folder.
            needs=("Swift build", "build") if sanitizer else ("Swift build",),
            failed=SWIFT_FAILURE,
            again=swift_again,
        ),
    ]


# For the products that need other packages.
PACKAGED = ["SwiftLog", "HTTPTypes", "Tracing"]
TRAITS = [*PACKAGED, "Redis"]


def fetch_packages() -> None:
    """Leaves these products out if their packages cannot be fetched."""
    resolve = ["swift", "package", "--package-path", str(ROOT / "Tests/products")]
    resolve += ["--scratch-path", str(SWIFT_BUILDS), "resolve"]
    if subprocess.run(resolve, capture_output=True, check=False).returncode != 0:
        print(
            "the packages of the traits cannot be fetched: NTApiLogging, NTApiHTTPTypes and NTApiTracing"
            " are not tested"
        )
        TRAITS[:] = ["Redis"]


def products_in_swift() -> list[Suite]:
    """The products beside NTApi."""
    package = ["--package-path", str(ROOT / "Tests/products"), *SWIFT_OPTIONS]
    environment = SWIFT_ENVIRONMENT | {"NTAPI_ADAPTERS": str(int(set(PACKAGED) <= set(TRAITS)))}
    # The mock server is a process of Python.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    tested = environment | python_library() | {"PATH": path}
    build, test = ["swift", "build", *package, "--build-tests"], ["swift", "test", *package]
    return [
        Suite("build of products", build, environment, needs=("Swift build",)),
        Suite(
            "products in Swift",
            [*test, "--skip-build"],
            tested,
            needs=("build", "build of products"),
            failed=SWIFT_FAILURE,
            again=swift_again,
        ),
    ]


def ctest(sanitizer: str, only: str) -> Suite:
    """The C suite, the examples and, without a sanitizer, the packaging tests."""
    folder = str(build_folder(sanitizer))
    command = ["ctest", "--test-dir", folder, "--output-on-failure", "--timeout", "1500"]
    # Most of these tests wait most of the time.
    command += ["--parallel", str(os.cpu_count() or 1)]
    if sanitizer:
        command += ["-LE", "packaging"]
    if only == "stress":
        command += ["-C", "stress", "-L", "stress"]
    # A list of tests that are disabled looks the same.
    failed = re.compile(r"^\t *\d+ - (\S+) \((?!Disabled)", re.MULTILINE)
    return Suite(
        "C tests", command, {}, ("build",), failed, lambda _: ["--rerun-failed", "--parallel", "1"]
    )


def pytest(name: str, *paths: str | Path, needs: tuple[str, ...] = ()) -> Suite:
    """Tests written in Python. Each folder with its own conftest.py is a separate run."""
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=600"]
    command += [f"--durations={MOST_SLOW}", "--durations-min=1"]
    # For --last-failed. Suites that run at the same time need separate folders.
    command += ["-o", f"cache_dir={ROOT / 'build/pytest' / name}"]
    command += [str(ROOT / path) for path in paths]
    failed = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
    return Suite(name, command, python_library(), needs, failed, lambda _: ["--last-failed"])


def python_tests() -> list[Suite]:
    """The tests of the Python package in two halves, which mostly wait, and its examples, which start often."""
    folder = ROOT / "bindings/python/tests"
    examples = folder / "test_examples.py"
    files = sorted(set(folder.glob("test_*.py")) - {examples})
    return [
        pytest("Python tests, 1 of 2", *files[0::2], needs=("build",)),
        pytest("Python tests, 2 of 2", *files[1::2], needs=("build",)),
        pytest("examples in Python", examples, needs=("build",)),
    ]


def plain_python() -> Suite:
    """The Python tests of what each request calls, with ctypes and the module json in place of CPython's own functions."""
    tests = [
        "python_calls",
        "json",
        "json_texts",
        "arg_list",
        "request",
        "response",
        "async",
        "stream",
    ]
    suite = pytest(
        "Python, plain calls",
        *(f"bindings/python/tests/test_{name}.py" for name in tests),
        needs=("build",),
    )
    path = [str(ROOT / "Tests/tools/plain"), suite.environment["PYTHONPATH"]]
    suite.environment["PYTHONPATH"] = os.pathsep.join(path)
    return suite


def python_library() -> dict[str, str]:
    """The package and the library of this build."""
    return {
        "NTAPI_LIBRARY": str(ROOT / "build/libntapi.so.0"),
        "PYTHONPATH": str(ROOT / "bindings/python/src"),
    }


def documentation() -> Suite:
    """The examples in the documentation, compiled and run."""
    command = [sys.executable, str(ROOT / "Tests/docs/check_examples.py")]
    command += ["--swift-scratch", str(SWIFT_BUILDS)]
    # SwiftPM allows one build at a time in a folder.
    needs = ("build", "build of products")
    return Suite("examples in docs", command, SWIFT_ENVIRONMENT, needs)


def documented() -> Suite:
    """The doc comments of what the Swift tests have built."""
    command = [sys.executable, str(ROOT / "Tests/docs/check_documented.py"), str(SWIFT_BUILDS)]
    return Suite("doc comments", command, needs=("build of products",))


def first_lines_in_swift() -> Suite:
    """Checks what the compiler says about lines that users of another library would type."""
    command = ["swiftc", "-frontend", "-typecheck", "-verify", "-swift-version", "6"]
    # The declarations that the compiler points to.
    command += ["-verify-ignore-unrelated"]
    for name in ("CCurl", "CJansson", "CNTApiSystem", "CScan", "CZlib"):
        command += ["-I", str(ROOT / "Sources" / name)]
    command += [
        "-I",
        str(SWIFT_BUILDS / "debug/Modules"),
        str(ROOT / "Tests/docs/first_lines.swift"),
    ]
    return Suite("first lines in Swift", command, needs=("Swift build",))


def transfer_in_swift() -> Suite:
    """The Swift example, built by the Swift tests, and the other examples, which continue its
    downloads.
    """
    command = [sys.executable, str(ROOT / "Tests/docs/check_transfer.py")]
    command += [str(SWIFT_BUILDS / "debug/transfer"), "--"]
    command += [str(ROOT / "build/bindings/c/transfer"), "--"]
    command += [sys.executable, str(ROOT / "bindings/python/examples/transfer.py")]
    return Suite("transfer in Swift", command, python_library(), ("build", "Swift build"))


def fleet() -> Suite:
    """The example that shares a limit, once in each language at the same time."""
    command = [sys.executable, str(ROOT / "Tests/docs/check_fleet.py")]
    command += [str(SWIFT_BUILDS / "debug/fleet"), "--", str(ROOT / "build/bindings/c/fleet"), "--"]
    command += [sys.executable, str(ROOT / "bindings/python/examples/fleet.py")]
    return Suite("one limit, three languages", command, python_library(), ("build", "Swift build"))


def example_in_swift(name: str) -> Suite:
    """A Swift example, which the Swift tests have built."""
    command = [sys.executable, str(ROOT / f"Tests/docs/check_{name}.py")]
    program = str(SWIFT_BUILDS / f"debug/{name}")
    return Suite(f"{name} in Swift", [*command, program], needs=("Swift build",))


def odd_words_in_swift(name: str) -> Suite:
    """Gives the same example odd words as arguments."""
    command = [sys.executable, str(ROOT / "Tests/docs/check_odd_words.py"), name]
    program = str(SWIFT_BUILDS / f"debug/{name}")
    return Suite(f"odd words, {name}", [*command, program], needs=("Swift build",))


def tools() -> Suite:
    """Checks that need no library."""
    return pytest("docs, layers and tools", "Tests/docs", "Tests/layers", "Tests/tools")


def suites(sanitizer: str, only: str) -> list[Suite]:
    """The suites to run. Of those that can begin, the first one begins first."""
    chosen = [*cmake(sanitizer), *swift(sanitizer, ["Stress"] if only else [])]
    if sanitizer:
        return [*chosen, ctest(sanitizer, only)]
    return [
        *cmake(""),
        *swift("", []),
        *python_tests(),
        ctest("", ""),
        *products_in_swift(),
        documentation(),
        documented(),
        first_lines_in_swift(),
        transfer_in_swift(),
        fleet(),
        plain_python(),
        pytest("test servers", "Tests/servers", "Tests/conformance"),
        tools(),
        pytest("benchmark kit", "Benchmarks/tests", needs=("build",)),
        *map(example_in_swift, ("weather", "qanda", "byteclub")),
        *map(odd_words_in_swift, ("weather", "qanda", "byteclub", "transfer", "tour")),
    ]


KIT = ("counting", "documents", "figures", "plot")
"""The tests of the benchmarks that run no client."""


def without_servers() -> list[Suite]:
    """The suites that need neither the servers nor the library."""
    layers = [sys.executable, str(ROOT / "Tests/layers/check_layers.py")]
    names = [sys.executable, str(ROOT / "Tests/docs/check_names.py")]
    return [
        *swift("", serverless_swift()),
        Suite("layers", layers),
        Suite("names in docs", names),
        pytest("conformance table", "Tests/conformance"),
        tools(),
        pytest("benchmark kit", *(f"Benchmarks/tests/test_{part}.py" for part in KIT)),
    ]


# How a Swift test uses a server: by its name in the table, or through a helper.
ASKS_FOR_SERVER = re.compile(
    r"\bTestServers\b|\bChildProcess\b|\"(fault|nginx|weather|qanda|storage|httpbin|proxy|tls|h2|plain|blackhole)[a-z0-9_]*\""
)


def serverless_swift() -> list[str]:
    """Patterns of the Swift tests whose files use no server."""
    found: list[str] = []
    for file in sorted((ROOT / "Tests").glob("*Tests/**/*.swift")):
        text = file.read_text("utf-8")
        if not ASKS_FOR_SERVER.search(text):
            found += re.findall(r"@Suite.*?\b(?:struct|class|enum|actor) (\w+)", text, re.DOTALL)
    return [f"\\.{name}/" for name in found]


def test_options(sanitizer: str) -> dict[str, str]:
    """Limits the tests that run at once, and makes reports of sanitizers failures, except those in
    Tests/tools/*.supp.
    """
    suppressions = ROOT / "Tests/tools"
    # If all Swift tests ran at once, those that wait with a limit would fail.
    options = {"SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH": "8"}
    if sanitizer == "thread":
        # By default each process sleeps for a second at its end, in case a thread still finds a race.
        options["TSAN_OPTIONS"] = (
            f"die_after_fork=0 atexit_sleep_ms=100 suppressions={suppressions}/tsan.supp"
        )
    elif sanitizer == "address":
        # Only the C suite looks for leaks, because the Swift test runner itself leaks at exit.
        options["ASAN_OPTIONS"] = "detect_leaks=0"
    return options


@dataclass
class Outcome:
    """The result of a suite."""

    name: str
    seconds: float
    processor: float
    """Seconds of processor time, including child processes."""
    text: str
    """The result in a few words."""
    is_failure: bool
    failures: list[str]
    """The lines that name a failure."""
    slow: list[tuple[float, str]]
    """The tests whose times are in the output."""
    failed_tests: list[str] = field(default_factory=list)
    """The names of the tests that failed; the suite's name if they are not known."""
    output: str = ""
    """What it has printed, if it failed."""
    unstable: list[str] = field(default_factory=list)
    """The tests that failed, and passed when they were run again."""


# The formats of pytest and ctest. Swift Testing also counts the time in which a test waits for its
# turn.
DURATIONS = (
    re.compile(r"^(?P<seconds>[\d.]+)s (?:call|setup|teardown) +(?P<name>.*)"),
    re.compile(r"^ *\d+/\d+ Test +#\d+: (?P<name>\S+) .* (?P<seconds>[\d.]+) sec"),
)


def slow_tests(output: str) -> list[tuple[float, str]]:
    """The seconds and names of the tests that took a second or longer."""
    found = (pattern.search(line) for line in output.splitlines() for pattern in DURATIONS)
    tests = ((float(match["seconds"]), match["name"]) for match in found if match)
    return [test for test in tests if test[0] >= 1]


@dataclass
class Running:
    """A running suite."""

    suite: Suite
    process: subprocess.Popen[bytes]
    output: Path
    begun: float

    def stop(self) -> None:
        """Kills it and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def printed(self) -> str:
        """Its output so far."""
        return self.output.read_text("utf-8", "replace")

    def seconds(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.begun

    def outcome(self) -> Outcome | None:
        """Its result, after its end."""
        ended, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if not ended:
            return None
        self.process.returncode = os.waitstatus_to_exitcode(status)
        # Processes that it has left would keep ports and processors busy.
        self.stop()
        text = f"FAILED (status {self.process.returncode})" if status else "passed"
        if self.seconds() >= LONGEST:
            text += f", stopped after {LONGEST} s"
        printed = self.printed()
        return Outcome(
            name=self.suite.name,
            seconds=self.seconds(),
            processor=usage.ru_utime + usage.ru_stime,
            text=text,
            is_failure=status != 0,
            failures=[line.rstrip()[:300] for line in printed.splitlines() if FAILURE.search(line)],
            slow=slow_tests(printed),
            failed_tests=self.suite.failed_tests(printed) if status else [],
            output=printed if status else "",
        )


SIGNALS = {signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class Interrupted(Exception):
    """The user interrupts the run."""


class Run:
    """Runs suites side by side. One thread waits for their ends and for signals, which are blocked
    on other threads.
    """

    def __init__(self, suites: list[Suite], at_once: int, environment: dict[str, str]) -> None:
        self.waiting = list(suites)
        self.running: list[Running] = []
        self.outcomes: dict[str, Outcome] = {}
        self.at_once = at_once
        self.environment = environment

    def all(self) -> list[Outcome]:
        """Runs the suites, and shows each when it has ended."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        with tempfile.TemporaryDirectory(prefix="ntapi-run-", ignore_cleanup_errors=True) as folder:
            # Removing this folder also removes what a killed suite has left.
            temporary = Path(folder) / "tmp"
            temporary.mkdir()
            self.environment["TMPDIR"] = str(temporary)
            try:
                while self.waiting or self.running:
                    self.begin(Path(folder), before)
                    self.wait()
                    self.collect()
            finally:
                for running in self.running:
                    running.stop()
                    running.process.wait()
                    print(f"\n--- {running.suite.name}: interrupted\n{running.printed()}")
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return list(self.outcomes.values())

    def begin(self, folder: Path, mask: set[signal.Signals | int]) -> None:
        """Begins suites that have what they need, while there is room."""
        for suite in list(self.waiting):
            ended = [self.outcomes.get(name) for name in suite.needs]
            if len(self.running) == self.at_once or None in ended:
                continue
            self.waiting.remove(suite)
            if any(outcome and outcome.is_failure for outcome in ended):
                text = f"not run: {' and '.join(suite.needs)} must pass first"
                self.outcomes[suite.name] = Outcome(suite.name, 0, 0, text, True, [], [])
                continue
            output = folder / suite.name
            with output.open("wb") as file:
                process = subprocess.Popen(
                    suite.command,
                    cwd=ROOT,
                    env=self.environment | suite.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, mask),  # noqa: PLW1509 (one thread)
                )
            self.running.append(Running(suite, process, output, time.monotonic()))
            print(f"... {suite.name} begins", flush=True)

    def wait(self) -> None:
        """Waits until a suite ends or has run for too long, or the user interrupts."""
        if not self.running:
            return
        left = min(LONGEST - running.seconds() for running in self.running)
        arrived = signal.sigtimedwait(SIGNALS, max(left, 0))
        if arrived is None:
            for running in self.running:
                if running.seconds() >= LONGEST:
                    running.stop()
            signal.sigtimedwait({signal.SIGCHLD}, 1)
        elif arrived.si_signo != signal.SIGCHLD:
            raise Interrupted(signal.Signals(arrived.si_signo).name)

    def collect(self) -> None:
        """Shows those that have ended."""
        for running in list(self.running):
            outcome = running.outcome()
            if outcome is None:
                continue
            self.running.remove(running)
            self.outcomes[outcome.name] = outcome
            print(f"\n--- {outcome.name}\n{running.printed()}", end="", flush=True)
            print(f"--- {outcome.name} {outcome.text} after {outcome.seconds:.0f} s", flush=True)
            running.output.unlink()


def repeat_failed(
    suites: list[Suite], outcomes: list[Outcome], environment: dict[str, str]
) -> None:
    """Runs the tests that failed once more, with nothing beside them. Builds are not repeated."""
    builds = {name for suite in suites for name in suite.needs}
    for suite, first in (
        (suite, item) for item in outcomes for suite in suites if suite.name == item.name
    ):
        tests = first.failed_tests
        if not tests or suite.name in builds or len(tests) > MOST_REPEATED:
            continue
        [second] = Run([suite.repeated(tests)], 1, environment).all()
        if second.failed_tests == [f"{suite.name}, again"]:
            continue
        first.unstable = [test for test in tests if test not in second.failed_tests]
        first.failed_tests = second.failed_tests
        first.is_failure = second.is_failure
        if first.unstable:
            UNSTABLE.mkdir(parents=True, exist_ok=True)
            file = UNSTABLE / f"{time.strftime('%Y-%m-%d %H.%M.%S')} {suite.name}.log"
            file.write_text(first.output, "utf-8")
            first.text = f"unstable: {', '.join(first.unstable)} ({file.relative_to(ROOT)})"


def summary(outcomes: list[Outcome], most_unstable: int = MOST_UNSTABLE) -> int:
    """Prints the result of each suite. Returns 1 if one has failed, or too many tests are unstable."""
    failed = [outcome for outcome in outcomes if outcome.is_failure]
    unstable = [outcome for outcome in outcomes if outcome.unstable]
    slow = [(seconds, item.name, name) for item in outcomes for seconds, name in item.slow]
    print("\n=== the slowest tests")
    for seconds, suite, name in heapq.nlargest(MOST_SLOW, slow):
        print(f"  {seconds:6.1f} s  {suite}: {name[:120]}")
    print("\n=== summary                   elapsed  processor")
    for item in outcomes:
        print(f"  {item.name:<22} {item.seconds:8.0f} s {item.processor:8.0f} s  {item.text}")
    for item in [*failed, *(item for item in unstable if item not in failed)]:
        print(f"what failed in {item.name}:", *item.failures[-MOST_FAILURES:], sep="\n  ")
    count = sum(len(item.unstable) for item in unstable)
    if count:
        print(f"{count} unstable tests; {most_unstable} are allowed")
    print(f"{len(failed)} of {len(outcomes)} suites failed" if failed else "all suites passed")
    return int(bool(failed) or count > most_unstable)


def main() -> int:
    """Runs the suites and prints their results."""
    parser = argparse.ArgumentParser(description="Runs the test suites.")
    parser.add_argument("--sanitize", choices=["thread", "address"], default="")
    parser.add_argument("--only", choices=["stress"], default="", help="the long tests alone")
    parser.add_argument("--requests", type=int, default=0, help="of each stress test")
    parser.add_argument("--quick", action="store_true", help="only what needs no server")
    parser.add_argument("--strict", action="store_true", help="an unstable test is a failure")
    options = parser.parse_args()
    environment = os.environ | test_options(options.sanitize)
    if options.requests:
        environment["NTAPI_STRESS"] = str(options.requests)
    if options.quick:
        # A test that uses a server nevertheless fails immediately.
        environment["NTAPI_TEST_SERVERS"] = "{}"
    if not options.sanitize:
        fetch_packages()
    chosen = without_servers() if options.quick else suites(options.sanitize, options.only)
    # Most tests wait most of the time, but less under a sanitizer.
    at_once = (os.cpu_count() or 1) + (not options.sanitize)
    try:
        outcomes = Run(chosen, at_once, environment).all()
        repeat_failed(chosen, outcomes, environment)
        return summary(outcomes, 0 if options.strict else MOST_UNSTABLE)
    except Interrupted as error:
        print(f"interrupted by {error}")
        return 130


if __name__ == "__main__":
    sys.exit(main())
