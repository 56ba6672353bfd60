"""Builds the Python wheel, installs it into a clean venv and uses it with no Swift in PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from header import ROOT

USE = """
import ntapi
assert ntapi.__file__.startswith({venv!r}), ntapi.__file__
with ntapi.Client("http://localhost") as client:
    pass
print(ntapi.__version__)
"""


def run(*command: str | Path, **variables: str) -> str:
    """Runs a command that must succeed in a neutral folder, and returns its output."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LD_"))}
    done = subprocess.run(
        [str(part) for part in command],
        check=False,
        env={**environment, **variables},
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        print(done.stdout)
        raise SystemExit(f"check_wheel: failed with {done.returncode}: {command}")
    return done.stdout.strip()


def without_swift(folders: str) -> str:
    """PATH without folders that contain swift."""
    parts = [part for part in folders.split(os.pathsep) if shutil.which("swift", path=part) is None]
    return os.pathsep.join(parts)


def main() -> None:
    """Does it all and prints one line."""
    package = ROOT / "bindings" / "python"
    with tempfile.TemporaryDirectory() as folder:
        wheels, venv = Path(folder) / "wheels", Path(folder) / "venv"
        command = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "-w",
            str(wheels),
            str(package),
        ]
        run(*command, NTAPI_LIBRARY=str(Path(sys.argv[1]).resolve()))
        (wheel,) = wheels.glob("ntapi-*.whl")
        if wheel.name.endswith("-any.whl"):
            raise SystemExit(f"check_wheel: {wheel.name} is for any platform, but has a library")
        run(sys.executable, "-m", "venv", venv)
        run(venv / "bin" / "python", "-m", "pip", "install", "-q", wheel)
        use = USE.format(venv=str(venv))
        path = without_swift(os.environ["PATH"])
        version = run(venv / "bin" / "python", "-c", use, PATH=path)
        size = wheel.stat().st_size / 1e6
        print(f"check_wheel: {wheel.name}, {size:.2f} MB, says {version} with no swift in PATH")


if __name__ == "__main__":
    main()
