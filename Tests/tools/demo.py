"""Runs the demo program of each language against the bundled weather server, or one GET of a URL given."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"


def programs() -> dict[str, list[str]]:
    """Builds the Swift and C programs and returns the command line of each language's."""
    print(
        "Building the programs in Swift and C. The first time, this takes about two minutes.",
        flush=True,
    )
    subprocess.run(["swift", "build", "-c", "release", "--product", "tour"], cwd=ROOT, check=True)
    swift = subprocess.run(
        ["swift", "build", "-c", "release", "--show-bin-path"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    c_program = BUILD / "demo-c"
    sources = map(str, sorted((ROOT / "bindings/c/examples").glob("tour*.c")))
    library = ["-L", str(BUILD), "-l:libntapi.so.0", f"-Wl,-rpath,{BUILD}", "-lpthread", "-lm"]
    subprocess.run(
        ["cc", "-O2", f"-I{ROOT / 'include'}", *sources, "-o", str(c_program), *library],
        check=True,
    )
    python = ROOT / "bindings/python/examples/tour.py"
    return {
        "Swift": [f"{swift}/tour"],
        "C": [str(c_program)],
        "Python": [sys.executable, str(python)],
    }


def run(commands: dict[str, list[str]], arguments: list[str]) -> int:
    """Runs each program with these arguments; the exit status is the first that is not 0."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "bindings/python/src"),
        "NTAPI_LIBRARY": str(BUILD / "libntapi.so.0"),
    }
    status = 0
    for language, command in commands.items():
        print(f"\n=== {language} " + "=" * (72 - len(language)), flush=True)
        ended = subprocess.run(command + arguments, env=environment, check=False)
        if ended.returncode != 0:
            print(f"{language}: the program ended with status {ended.returncode}", flush=True)
            status = status or ended.returncode
    return status


def main() -> int:
    """The demo."""
    commands = programs()
    if len(sys.argv) > 1:
        return run(commands, ["--get", sys.argv[1]])
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
        return run(commands, [url])
    finally:
        server.stdin.close()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
