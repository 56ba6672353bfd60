"""Runs the test suites one after the other and ends with one summary. Called by `make test`, with the servers started."""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Suite:
    """One command whose exit status says whether its tests passed."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)


# How Swift Testing, ctest, pytest and the scripts of Tests/docs mark what went wrong.
FAILURE = re.compile(
    r"✘|\*\*\*(Failed|Timeout|Exception)|^(FAILED|ERROR) |\berror: |^failed |WARNING: \w+Sanitizer"
)

# After so many seconds a suite is stopped, with all that it has started: something in it hangs. 100,000 requests under a
# sanitizer take a fifth of it.
LONGEST = 3000

# Of each suite; the end of the output is what one sees of a run elsewhere.
MOST_FAILURES = 12


def build_folder(sanitizer: str) -> Path:
    """Each kind of build has a folder of its own."""
    return ROOT / (f"build-{sanitizer}" if sanitizer else "build")


def cmake(sanitizer: str) -> list[Suite]:
    """Configures and builds the library, the C tests and the examples."""
    folder = str(build_folder(sanitizer))
    options = [f"-DNTAPI_SANITIZE={sanitizer}", "-DNTAPI_TESTS=ON", "-DCMAKE_BUILD_TYPE=Release"]
    configure = ["cmake", "-S", str(ROOT), "-B", folder, "-G", "Ninja", "--log-level=WARNING"]
    return [
        Suite("configure", configure + options),
        Suite("build", ["cmake", "--build", folder]),
    ]


def swift(sanitizer: str, only: str) -> Suite:
    """The Swift core's own tests."""
    command = ["swift", "test", "--package-path", str(ROOT)]
    if sanitizer:
        scratch = str(ROOT / ".build" / sanitizer)
        command += [f"--sanitize={sanitizer}", "--scratch-path", scratch]
    if sanitizer == "thread":
        command += ["-Xswiftc", "-DTHREAD_SANITIZER"]
    if only:
        command += ["--filter", "Stress"]
    return Suite("Swift tests", command)


def products_in_swift() -> Suite:
    """The products beside NTApi; those that need other packages where these can be fetched."""
    package = ["--package-path", str(ROOT / "Tests/products")]
    traits = ["--traits", "SwiftLog,HTTPTypes"]
    resolve = ["swift", "package", *package, *traits, "resolve"]
    if subprocess.run(resolve, capture_output=True, check=False).returncode != 0:
        print(
            "swift-log and swift-http-types cannot be fetched: NTApiLogging and NTApiHTTPTypes are not tested"
        )
        traits = []
    return Suite("products in Swift", ["swift", "test", *package, *traits])


def ctest(sanitizer: str, only: str) -> Suite:
    """The C suite, the examples and, without a sanitizer, the packaging tests."""
    folder = str(build_folder(sanitizer))
    command = ["ctest", "--test-dir", folder, "--output-on-failure", "--timeout", "1500"]
    if sanitizer:
        command += ["-LE", "packaging"]
    if only == "stress":
        command += ["-C", "stress", "-L", "stress"]
    return Suite("C tests", command)


def pytest(name: str, *folders: str) -> Suite:
    """Tests written in Python; each folder with a conftest.py of its own runs by itself."""
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=600"]
    return Suite(name, command + [str(ROOT / folder) for folder in folders], python_library())


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
        "Python, plain calls", *(f"bindings/python/tests/test_{name}.py" for name in tests)
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
    return Suite("examples in docs", [sys.executable, str(ROOT / "Tests/docs/check_examples.py")])


def documented() -> Suite:
    """The doc comments of what the Swift tests have built."""
    return Suite("doc comments", [sys.executable, str(ROOT / "Tests/docs/check_documented.py")])


def transfer_in_swift() -> Suite:
    """The Swift example, which the Swift tests have built, and the others that go on with its downloads."""
    command = [sys.executable, str(ROOT / "Tests/docs/check_transfer.py")]
    command += [str(ROOT / ".build/debug/transfer"), "--", str(ROOT / "build/bindings/c/transfer")]
    command += ["--", sys.executable, str(ROOT / "bindings/python/examples/transfer.py")]
    return Suite("transfer in Swift", command, python_library())


def example_in_swift(name: str) -> Suite:
    """A Swift example, which the Swift tests have built."""
    command = [sys.executable, str(ROOT / f"Tests/docs/check_{name}.py")]
    return Suite(f"{name} in Swift", [*command, str(ROOT / f".build/debug/{name}")])


def odd_words_in_swift(name: str) -> Suite:
    """The same example, given odd words."""
    command = [sys.executable, str(ROOT / "Tests/docs/check_odd_words.py"), name]
    return Suite(f"odd words, {name}", [*command, str(ROOT / f".build/debug/{name}")])


def suites(sanitizer: str, only: str) -> list[Suite]:
    """What is to be run, in order."""
    chosen = [*cmake(sanitizer), swift(sanitizer, only), ctest(sanitizer, only)]
    if sanitizer:
        return chosen
    return [
        *chosen,
        products_in_swift(),
        documented(),
        pytest("Python tests", "bindings/python/tests"),
        plain_python(),
        pytest("test servers", "Tests/servers", "Tests/conformance"),
        pytest("layers and tools", "Tests/layers", "Tests/tools"),
        pytest("benchmark kit", "Benchmarks/tests"),
        documentation(),
        transfer_in_swift(),
        example_in_swift("weather"),
        example_in_swift("qanda"),
        example_in_swift("byteclub"),
        *map(odd_words_in_swift, ("weather", "qanda", "byteclub", "transfer", "tour")),
    ]


def test_options(sanitizer: str) -> dict[str, str]:
    """Lets few tests run at once, and makes a report of a sanitizer a failure, save what Tests/tools/*.supp explain."""
    suppressions = ROOT / "Tests/tools"
    # All Swift tests at once would starve those that wait for something with a limit.
    options = {"SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH": "8"}
    if sanitizer == "thread":
        options["TSAN_OPTIONS"] = f"die_after_fork=0 suppressions={suppressions}/tsan.supp"
    elif sanitizer == "address":
        # Leaks are looked for in the C suite: the Swift test runner itself leaks at exit.
        options["ASAN_OPTIONS"] = "detect_leaks=0"
    return options


def stop(process: subprocess.Popen[str]) -> None:
    """Kills a suite and what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def run(suite: Suite, environment: dict[str, str]) -> tuple[int, list[str]]:
    """Runs a suite: what it prints goes on to the terminal, and the lines that name a failure are kept for the end."""
    failures = []
    with subprocess.Popen(
        suite.command,
        cwd=ROOT,
        env=environment | suite.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        watch = threading.Timer(LONGEST, stop, (process,))
        watch.start()
        try:
            for line in process.stdout or []:
                print(line, end="", flush=True)
                if FAILURE.search(line):
                    failures.append(line.rstrip()[:300])
        except KeyboardInterrupt:
            stop(process)
            raise
        finally:
            watch.cancel()
    return process.returncode, failures


def main() -> int:
    """Runs the suites and prints what became of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sanitize", choices=["thread", "address"], default="")
    parser.add_argument("--only", choices=["stress"], default="", help="the long tests alone")
    parser.add_argument("--requests", type=int, default=0, help="of each stress test")
    options = parser.parse_args()
    environment = os.environ | test_options(options.sanitize)
    if options.requests:
        environment["NTAPI_STRESS"] = str(options.requests)
    lines = []
    failed: dict[str, list[str]] = {}
    for suite in suites(options.sanitize, options.only):
        print(f"\n--- {suite.name}", flush=True)
        begun = time.monotonic()
        status, failures = run(suite, environment)
        if status:
            failed[suite.name] = failures[-MOST_FAILURES:]
        outcome = f"FAILED (status {status})" if status else "passed"
        if time.monotonic() - begun >= LONGEST:
            outcome += f", stopped after {LONGEST} s"
        lines.append(f"  {suite.name:<20} {time.monotonic() - begun:6.0f} s  {outcome}")
        if status and suite.name in ("configure", "build"):
            break
    print("\n=== summary", *lines, sep="\n")
    for name, failures in failed.items():
        print(f"what failed in {name}:", *failures, sep="\n  ")
    print(f"{len(failed)} of {len(lines)} suites failed" if failed else "all suites passed")
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main())
