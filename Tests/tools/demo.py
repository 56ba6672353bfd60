"""Runs the demo program of each language against the bundled weather server, or one GET of a URL given."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"


def c_program(folder: Path, library: Path) -> list[str]:
    """Compiles the program in C; its command line. Nothing without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        print("There is no C compiler here (cc): the program in C is left out.", flush=True)
        return []
    program = folder / "demo-c"
    sources = map(str, sorted((ROOT / "bindings/c/examples").glob("tour*.c")))
    # What the library needs itself is found by its own path.
    search = [f"-Wl,-rpath,{library.parent}", "-Wl,--allow-shlib-undefined"]
    words = [compiler, "-O2", f"-I{ROOT / 'include'}", *sources, "-o", str(program)]
    subprocess.run([*words, str(library), *search, "-lpthread", "-lm"], check=True)
    return [str(program)]


def swift_program() -> list[str]:
    """Builds the program in Swift; its command line."""
    print(
        "Building the program in Swift. The first time, this takes about two minutes.", flush=True
    )
    build = ["swift", "build", "-c", "release"]
    subprocess.run([*build, "--product", "tour"], cwd=ROOT, check=True)
    show = [*build, "--show-bin-path"]
    return [f"{subprocess.check_output(show, cwd=ROOT, text=True).strip()}/tour"]


def unpacked(wheel: Path) -> Path:
    """The wheel as pip would install it, below build."""
    folder = BUILD / "demo"
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def prepare() -> tuple[dict[str, list[str]], dict[str, str]]:
    """The command line of each language's program, and the variables that Python's needs."""
    wheels = sorted(ROOT.glob("dist/*-manylinux_*.whl"))
    python = [sys.executable, str(ROOT / "bindings/python/examples/tour.py")]
    if wheels:
        print(
            f"Using dist/{wheels[-1].name}, so nothing is built. The program in Swift is left out:"
        )
        print(
            "Swift builds the library from its sources. `make lib && rm -r dist && make demo` shows it.",
            flush=True,
        )
        folder = unpacked(wheels[-1])
        library, package = folder / "ntapi/libntapi.so.0", folder
        commands = {"C": c_program(folder, library), "Python": python}
    else:
        library, package = BUILD / "libntapi.so.0", ROOT / "bindings/python/src"
        commands = {"Swift": swift_program(), "C": c_program(BUILD, library), "Python": python}
    variables = {"PYTHONPATH": str(package), "NTAPI_LIBRARY": str(library)}
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
    commands, variables = prepare()
    if len(sys.argv) > 1:
        return run(commands, variables, ["--get", sys.argv[1]])
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
