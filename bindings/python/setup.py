"""Puts the shared library into the wheel and tags the wheel with the machine's platform."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
LIBRARY = "libntapi.so.0"


def repository() -> Path | None:
    """The clone that this package lies in, or the one that NTAPI_SOURCE names (pip may have copied
    us away).
    """
    named = os.environ.get("NTAPI_SOURCE")
    for root in [Path(named)] if named else [HERE.parent.parent]:
        if (root / "include" / "ntapi.h").is_file() and (root / "CMakeLists.txt").is_file():
            return root
    return None


def check_tools() -> None:
    """Names the tool that is missing, before cmake says it in its own way."""
    for tool, name in (("swift", "Swift 6.2 or newer"), ("cmake", "cmake"), ("ninja", "ninja")):
        if shutil.which(tool) is None:
            raise SystemExit(
                f"{name} is needed to build {LIBRARY}: "
                "install it, or set NTAPI_LIBRARY to a built library"
            )


def find_library() -> Path:
    """NTAPI_LIBRARY, or the repository's build of it, which is made when it is missing."""
    named = os.environ.get("NTAPI_LIBRARY")
    if named:
        return Path(named).resolve(strict=True)
    root = repository()
    if root is None:
        raise SystemExit(
            f"{LIBRARY} is needed to build this package. Build from a clone of the repository, "
            "set NTAPI_SOURCE to one, or set NTAPI_LIBRARY to the file."
        )
    library = root / "build" / LIBRARY
    if not library.exists():
        check_tools()
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DNTAPI_TESTS=OFF"]
        subprocess.run(["cmake", "-B", "build", "-G", "Ninja", *options], cwd=root, check=True)
        subprocess.run(["cmake", "--build", "build"], cwd=root, check=True)
    return library.resolve(strict=True)


class BuildWithLibrary(build_py):
    """Copies the library beside the modules; an editable install finds it in the source tree
    instead.
    """

    def run(self) -> None:
        super().run()
        if getattr(self, "editable_mode", False):
            return
        target = Path(self.build_lib) / "ntapi" / LIBRARY
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(find_library(), target)
        target.chmod(0o755)
        strip = shutil.which("strip")
        if strip:
            subprocess.run([strip, "--strip-unneeded", str(target)], check=True)


class PlatformWheel(bdist_wheel):
    """A wheel for one platform and any Python 3: ctypes needs no extension ABI."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
