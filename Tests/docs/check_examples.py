"""Compiles and runs the examples of README.md and docs/*.md against the demo server.

    python3 Tests/docs/check_examples.py            # all, with build/libntapi.so.0
    python3 Tests/docs/check_examples.py --only c,python

An example is a fenced block after `<!-- run: c -->`, or swift, python or lua: a complete program
that takes the base URL as its first argument and exits with 0. Programs in Python pass mypy
--strict. A ```text block after `<!-- output -->` is the program's output; `...` in it stands for
anything, and the server's address is shown as http://127.0.0.1:8000, also in programs. Words after
the language are keys of the servers' table (Tests/servers/README.md): such a program gets their
values as its arguments.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from examples import LANGUAGES, Example, MalformedError, examples
from toolchains import CannotBuildError, CannotFetchError, Toolchains
from weather_server import table_of_servers, weather_server

ROOT = Path(__file__).resolve().parents[2]
SHOWN_URL = "http://127.0.0.1:8000"
PATIENCE = 120
"""Seconds that one example may run."""


def complaint(
    example: Example, command: Sequence[str], tools: Toolchains, url: str, table: dict[str, str]
) -> str:
    """Runs one example. Returns what is wrong with it, or ""."""
    environment = {**os.environ, **tools.environment, "NTAPI_TEST_WEATHER": url}
    # An example runs, and writes files, in a folder of its own.
    folder = tempfile.TemporaryDirectory()
    try:
        done = subprocess.run(
            [*command, *([table[name] for name in example.servers] or [url])],
            cwd=folder.name,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"still running after {PATIENCE} seconds"
    finally:
        folder.cleanup()
    printed = done.stdout.replace(url, SHOWN_URL)
    if done.returncode != 0:
        return f"exit code {done.returncode}\n{printed}{done.stderr}"
    if not example.accepts(printed):
        return f"expected:\n{example.output}printed:\n{printed}{done.stderr}"
    return ""


def check(found: Sequence[Example], tools: Toolchains, url: str, table: dict[str, str]) -> int:
    """Builds and runs the examples, with a line for each. Returns how many failed, not counting
    those whose packages cannot be fetched.
    """
    failed = 0
    for example in found:
        where = f"{example.page}:{example.line} {example.language}"
        try:
            problem = complaint(example, tools.command(example), tools, url, table)
        except CannotBuildError as error:
            problem = f"does not build\n{error}"
        except CannotFetchError:
            print(f"skipped {where}: it needs a package that is not here")
            continue
        print(f"{'FAILED' if problem else 'passed'}  {where}", flush=True)
        if problem:
            failed += 1
            print("    " + problem.rstrip().replace("\n", "\n    "), flush=True)
    return failed


def main() -> int:
    """Returns 0 if every example does what its page says."""
    parser = argparse.ArgumentParser(description="Runs the examples of the documentation.")
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "libntapi.so.0")
    parser.add_argument(
        "--python-path", type=Path, default=ROOT / "bindings" / "python" / "src", metavar="FOLDER"
    )
    parser.add_argument(
        "--scratch", type=Path, help="keep the builds here, which makes the next run quick"
    )
    parser.add_argument(
        "--swift-scratch",
        type=Path,
        help="SwiftPM's folder, in which the core may be built already",
    )
    parser.add_argument(
        "--installed",
        action="store_true",
        help="with the installed NTApi, as its users do; no mypy",
    )
    parser.add_argument("--only", default=",".join(LANGUAGES), help="c,swift,python,lua")
    parser.add_argument("pages", nargs="*", type=Path, help="README.md and docs/*.md if none")
    options = parser.parse_args()

    wanted = options.only.split(",")
    if unknown := set(wanted) - set(LANGUAGES):
        parser.error(f"--only {', '.join(sorted(unknown))}: none of {', '.join(LANGUAGES)}")
    pages = options.pages or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    try:
        found = [example for page in pages for example in examples(page.resolve(), ROOT)]
    except MalformedError as error:
        print(error)
        return 1
    chosen = [example for example in found if example.language in wanted]
    if not chosen:
        print("there are no examples to run")
        return 1

    with contextlib.ExitStack() as stack:
        url = stack.enter_context(weather_server())
        chosen = [replace(item, code=item.code.replace(SHOWN_URL, url)) for item in chosen]
        table = {}
        if any(example.servers for example in chosen):
            table = stack.enter_context(table_of_servers("fault,weather,redis"))
        scratch = options.scratch or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tools = Toolchains(
            ROOT,
            scratch.resolve(),
            options.library,
            options.python_path,
            chosen,
            options.installed,
            options.swift_scratch,
        )
        failed = check(chosen, tools, url, table)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
