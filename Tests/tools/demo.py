"""Runs the demo program of each language against the bundled weather server, or one GET of a URL given."""

import argparse
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"


def step(what: str, *command: str) -> None:
    """Prints what is done, does it, and prints how long it took. Shows the output of a command that
    fails.
    """
    print(f"{what} ...", end=" ", flush=True)
    begun = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    print("failed" if done.returncode else f"{time.monotonic() - begun:.0f} s", flush=True)
    if done.returncode:
        sys.exit(done.stdout)


def c_program(folder: Path, library: Path) -> list[str]:
    """Compiles the C program and returns its command line; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        print("There is no C compiler here (cc): the program in C is left out.", flush=True)
        return []
    program = folder / "demo-c"
    sources = map(str, sorted((ROOT / "bindings/c/examples").glob("tour*.c")))
    # The library finds its own dependencies by its own path.
    search = [f"-Wl,-rpath,{library.parent}", "-Wl,--allow-shlib-undefined"]
    words = [compiler, "-O2", f"-I{ROOT / 'include'}", *sources, "-o", str(program)]
    step("Building the program in C", *words, str(library), *search, "-lpthread", "-lm")
    return [str(program)]


def swift_program() -> list[str]:
    """Builds the Swift program from what was compiled for the library, and returns its command
    line.
    """
    scratch = BUILD / "swift"
    # With other options, everything would be compiled again.
    options = (scratch / "options").read_text(encoding="utf-8").split()
    build = ["swift", "build", "-c", "release", "--scratch-path", str(scratch), *options]
    step("Building the program in Swift", *build, "--product", "tour")
    return [str(BUILD / "swift/release/tour")]


def library() -> Path:
    """Builds the library."""
    long = "" if (BUILD / "libntapi.so.0").exists() else ", two to four minutes the first time"
    step(f"Building the library{long}", "make", "--no-print-directory", "lib")
    return BUILD / "libntapi.so.0"


def unpacked(wheel: Path) -> Path:
    """Unpacks the wheel below build, as pip would install it."""
    folder = BUILD / "demo"
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def prepare() -> tuple[dict[str, list[str]], dict[str, str]]:
    """The command line of each language's program, and the variables that Python's needs."""
    wheels = sorted(ROOT.glob("dist/ntapi-*-manylinux_*.whl"))
    python = [sys.executable, str(ROOT / "bindings/python/examples/tour.py")]
    if wheels:
        print(
            f"Using dist/{wheels[-1].name}, so nothing is built. The program in Swift is left out:"
        )
        print(
            "Swift builds the library from its sources. `make lib && rm -r dist && make demo` shows it.",
            flush=True,
        )
        package = unpacked(wheels[-1])
        built = package / "ntapi/libntapi.so.0"
        commands = {"C": c_program(package, built), "Python": python}
    else:
        package, built = ROOT / "bindings/python/src", library()
        commands = {"Swift": swift_program(), "C": c_program(BUILD, built), "Python": python}
    variables = {"PYTHONPATH": str(package), "NTAPI_LIBRARY": str(built)}
    return {name: words for name, words in commands.items() if words}, variables


def run(commands: dict[str, list[str]], variables: dict[str, str], arguments: list[str]) -> int:
    """Runs each program with these arguments; the exit status is the first that is not 0."""
    status = 0
    for language, command in commands.items():
        print(f"\n=== {language} " + "=" * (72 - len(language)), flush=True)
        ended = subprocess.run(command + arguments, env=os.environ | variables, check=False)
        if ended.returncode != 0:
            print(f"{language}: the program ended with status {ended.returncode}", flush=True)
            status = status or ended.returncode
    return status


def main() -> int:
    """The demo."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", metavar="URL", nargs="?", help="of the one GET")
    given = parser.parse_args()
    commands, variables = prepare()
    if given.url:
        return run(commands, variables, ["--get", given.url])
    server = subprocess.Popen(
        [sys.executable, str(ROOT / "Tests/servers/weather.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None and server.stdout is not None
    try:
        url = server.stdout.readline().strip()
        print(f"the bundled weather server listens at {url}")
        return run(commands, variables, [url])
    finally:
        server.stdin.close()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
