"""Runs the central Python tests on each interpreter of this machine. `make test-pythons` calls it
with the servers started.

    Tests/servers/run.py -- Tests/tools/pythons.py                      all that are found
    Tests/servers/run.py -- Tests/tools/pythons.py python3.9 pypy3      these: names or paths

Interpreters are looked for in PATH and among pyenv's versions. Each gets a virtual environment in .venv-pythons.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".venv-pythons"
REQUIREMENTS = Path(__file__).with_name("requirements-pythons.txt")

INTERPRETERS = [
    *(f"python3.{minor}" for minor in range(9, 15)),
    "python3.13t",
    "python3.14t",
    "python3.11-dbg",
    "python3.14-dbg",
    "pypy3",
]
"""The supported interpreters: `t` has no global lock, `-dbg` is a debug build."""

# What depends on the interpreter: calls through ctypes or past it, threads and loops, objects that are collected, processes
# that end or fork, and the syntax of the whole package.
ON_ALL = [
    "arg_list",
    "args",
    "bodies",
    "conformance",
    "decoding",
    "encoding",
    "json",
    "json_texts",
    "python_calls",
    "request",
    "services",
    "signatures",
]
# These do not hold on PyPy, which finalises objects only when it collects garbage. Only then is a
# thread's mailbox adopted, a closed loop noticed, and the exception of a handler reported.
ON_CPYTHON = [
    "async",
    "async_interceptors",
    "decisions",
    "finalisers",
    "hooks",
    "interceptor_ends",
    "interceptor_scopes",
    "interceptors",
    "lifecycle",
    "response",
    "stream",
    "stream_asyncio",
    "stub",
    "threads",
    "transfer",
    "transports",
    "transports_requests",
]


def find(name: str) -> str:
    """The path of an interpreter that works; empty when there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [*sorted(map(str, pyenv.glob(f"versions/*/bin/{name}"))), shutil.which(name)]
    for path in found:
        # pyenv puts a program for each version into PATH. The program fails unless its version is
        # chosen.
        if (
            path
            and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0
        ):
            return path
    return ""


def environment(name: str, interpreter: str) -> Path:
    """The Python of a virtual environment with the packages that the tests need. The first run
    makes it.
    """
    folder = ENVIRONMENTS / Path(name).name
    python = folder / "bin" / "python"
    done = folder / "ready"
    wanted = REQUIREMENTS.read_text()
    if not done.exists() or done.read_text() != wanted:
        subprocess.run([interpreter, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
        done.write_text(wanted)
    return python


def test(python: Path) -> int:
    """Runs the tests."""
    ask = [str(python), "-c", "import sys; print(sys.implementation.name)"]
    is_pypy = subprocess.check_output(ask, text=True).strip() == "pypy"
    variables = {
        "NTAPI_LIBRARY": str(ROOT / "build/libntapi.so.0"),
        "PYTHONPATH": str(ROOT / "bindings/python/src"),
    }
    names = ON_ALL if is_pypy else ON_ALL + ON_CPYTHON
    files = [f"bindings/python/tests/test_{name}.py" for name in names]
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=600"]
    done = subprocess.run(
        [*command, *files],
        cwd=ROOT,
        env=os.environ | variables,
        check=False,
    )
    return done.returncode


def main() -> int:
    lines = []
    failures = 0
    for name in sys.argv[1:] or INTERPRETERS:
        interpreter = find(name)
        if not interpreter:
            lines.append(f"  {name:<16} skipped: it is not on this machine")
            print(lines[-1].strip(), flush=True)
            continue
        begun = time.monotonic()
        python = environment(name, interpreter)
        version = "import sys; print(sys.version.replace(chr(10), ' '))"
        print(f"\n--- {name}:", flush=True)
        subprocess.run([str(python), "-c", version], check=True)
        status = test(python)
        failures += status != 0
        outcome = f"FAILED (status {status})" if status else "passed"
        lines.append(f"  {name:<16} {time.monotonic() - begun:5.0f} s  {outcome}")
    print("\n=== interpreters", *lines, sep="\n")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
