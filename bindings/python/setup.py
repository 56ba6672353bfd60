"""Puts the shared library into the wheel and tags the wheel with the machine's platform."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
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
    """NTAPI_LIBRARY, or the repository's build of it, which is brought up to date: what lies there
    may be older than the sources.
    """
    named = os.environ.get("NTAPI_LIBRARY")
    if named:
        return Path(named).resolve(strict=True)
    root = repository()
    if root is None:
        raise SystemExit(
            f"{LIBRARY} is needed to build this package, and the source distribution has none. "
            "Install the wheel instead, which needs nothing. Or set NTAPI_LIBRARY to the file, for "
            "example that of Debian's package libntapi0. Or set NTAPI_SOURCE to a clone of the "
            "repository; building it needs Swift 6.2, cmake, ninja, libcurl, jansson and zlib."
        )
    check_tools()
    # The build of a clone that was moved or copied would fail.
    moved = str(root / "Tests" / "tools" / "moved.py")
    subprocess.run([sys.executable, moved, "build"], cwd=root, check=True)
    # Whatever was built there before, a sanitizer's library say: this is what is shipped.
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DNTAPI_SANITIZE="]
    subprocess.run(["cmake", "-B", "build", "-G", "Ninja", *options], cwd=root, check=True)
    subprocess.run(["cmake", "--build", "build", "--target", "ntapi_library"], cwd=root, check=True)
    return (root / "build" / LIBRARY).resolve(strict=True)


class BuildWithLibrary(build_py):
    """Copies the library beside the modules; an editable install finds it in the source tree
    instead.
    """

    def run(self) -> None:
        is_editable = getattr(self, "editable_mode", False)
        if not is_editable:
            # What an earlier build left there would go into the wheel, removed modules included.
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        if is_editable:
            return
        target = Path(self.build_lib) / "ntapi" / LIBRARY
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(find_library(), target)
        target.chmod(0o755)
        strip = shutil.which("strip")
        if strip:
            subprocess.run([strip, "--strip-unneeded", str(target)], check=True)


class WithLibrary(Distribution):
    """One that is installed where libraries belong: tools refuse a wheel that has one elsewhere."""

    def has_ext_modules(self) -> bool:
        return True


class PlatformWheel(bdist_wheel):
    """A wheel for one platform and any Python 3: ctypes needs no extension ABI."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


setup(
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel},
    distclass=WithLibrary,
)
