"""Builds an example, or finds how to run it: C by cc, all Swift examples by one SwiftPM package,
Lua by LuaJIT, and Python, whose programs have to pass mypy --strict.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from examples import Example

STRICT_C = ("-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-pthread")

# The manifest of a program that depends on the repository; not more lenient than a user's.
MANIFEST = """\
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "examples",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "ntapi", path: "{root}", traits: [{traits}]),{packages}
    ],
    targets: [
{targets}
    ],
    swiftLanguageModes: [.v6]
)
"""
TARGET = """\
        .executableTarget(
            name: "{name}", dependencies: [{products}],
            swiftSettings: [.treatAllWarnings(as: .error)]),"""
PRODUCTS = (
    "NTApi",
    "NTApiFoundation",
    "NTApiLogging",
    "NTApiHTTPTypes",
    "NTApiTracing",
    "NTApiRedis",
)
PACKAGE = """
        .package(url: "https://github.com/apple/{name}.git", from: "{version}"),"""


@dataclass
class Adapter:
    """A package that one of our products needs, with its trait."""

    trait: str
    name: str
    version: str
    modules: tuple[str, ...]

    def imported(self, example: Example) -> list[str]:
        """Its modules that an example needs."""
        return [module for module in self.modules if f"import {module}\n" in example.code]


ADAPTERS = (
    Adapter("SwiftLog", "swift-log", "1.6.0", ("Logging",)),
    Adapter("HTTPTypes", "swift-http-types", "1.3.0", ("HTTPTypes",)),
    Adapter("Tracing", "swift-distributed-tracing", "1.3.0", ("Tracing", "InMemoryTracing")),
)


class CannotFetchError(Exception):
    """An example needs a package that cannot be fetched."""


class CannotBuildError(Exception):
    """An example does not build; the message is the compiler's."""


class Toolchains:
    """Builds below one scratch folder: with the installed NTApi, as users do, or with this
    repository's.
    """

    def __init__(
        self,
        root: Path,
        scratch: Path,
        library: Path,
        python_path: Path,
        examples: Sequence[Example],
        is_installed: bool = False,
        swift_scratch: Path | None = None,
    ) -> None:
        self._root = root
        self._scratch = scratch
        self._library = library.resolve()
        self._python_path = python_path.resolve()
        self._is_installed = is_installed
        self._swift_scratch = (swift_scratch or scratch / "swift/.build").resolve()
        self._swift_output = ""
        self._python_examples = [item for item in examples if item.language == "python"]
        self._swift_examples = [item for item in examples if item.language == "swift"]
        scratch.mkdir(parents=True, exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the programs, besides the server."""
        ours = {"NTAPI_LIBRARY": str(self._library), "PYTHONPATH": str(self._python_path)}
        return {
            **({} if self._is_installed else ours),
            # Programs in C and Swift start python3.
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "LUA_PATH": f"{self._root}/bindings/lua/?.lua",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONWARNINGS": "error",
            # Background sessions of different runs must not meet, nor leave files.
            "XDG_STATE_HOME": str(self._scratch / "state"),
            "XDG_CACHE_HOME": str(self._scratch / "cache"),
        }

    def command(self, example: Example) -> list[str]:
        """Builds an example; returns the command that runs it."""
        if example.language == "swift":
            program = self._swift_folder / example.name
            if example not in self._swift_examples:
                raise CannotFetchError
            if not program.exists():
                # One build for all: show its errors only once.
                output, self._swift_output = self._swift_output, "see above"
                raise CannotBuildError(output)
            return [str(program)]
        if not self._is_installed and not self._library.exists():
            raise CannotBuildError(f"there is no {self._library}: build it with CMake first")
        if example.language == "python":
            source = self._python_folder / f"{example.name}.py"
            if complaints := self._python_complaints.get(source.name):
                raise CannotBuildError(complaints)
            return [sys.executable, str(source)]
        if example.language == "lua":
            luajit = shutil.which("luajit")
            if luajit is None:
                raise CannotFetchError
            source = self._write(self._scratch / "lua" / f"{example.name}.lua", example.code)
            return [luajit, str(source)]
        return self._c_program(example)

    @cached_property
    def _python_folder(self) -> Path:
        """The folder of the programs. All are written on first use."""
        folder = self._scratch / "python"
        for example in self._python_examples:
            self._write(folder / f"{example.name}.py", example.code)
        return folder

    @cached_property
    def _python_complaints(self) -> dict[str, str]:
        """The complaints of mypy --strict, by file. Not with the installed package: a user's
        machine has no mypy.
        """
        if self._is_installed:
            return {}
        names = [f"{example.name}.py" for example in self._python_examples]
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", *names],
            cwd=self._python_folder,
            env={**os.environ, "MYPYPATH": str(self._python_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return {}
        lines = done.stdout.splitlines()
        found = {name: [line for line in lines if line.startswith(f"{name}:")] for name in names}
        if not any(found.values()):
            raise CannotBuildError(f"mypy has failed\n{done.stdout}{done.stderr}")
        return {name: "\n".join(complaints) for name, complaints in found.items()}

    def _c_program(self, example: Example) -> list[str]:
        source = self._write(self._scratch / "c" / f"{example.name}.c", example.code)
        program = source.with_suffix("")
        jansson = ["jansson"] if "ntapi_jansson.h" in example.code else []
        redis = ["ntapi-redis"] if "ntapi_redis.h" in example.code else []
        if self._is_installed:
            pkg_config = ["pkg-config", "--cflags", "--libs", "ntapi", *redis, *jansson]
            flags = subprocess.check_output(pkg_config, text=True).split()
        else:
            flags = [
                f"-I{self._root / 'include'}",
                str(self._library),
                *(str(self._library.with_name(f"lib{name}.so.0")) for name in redis),
                f"-Wl,-rpath,{self._library.parent}",
            ]
            flags += [f"-l{name}" for name in jansson]
        self._run(["cc", *STRICT_C, str(source), *flags, "-o", str(program)])
        return [str(program)]

    @cached_property
    def _swift_folder(self) -> Path:
        """The folder of the built Swift programs. All are built on first use."""
        package = self._scratch / "swift"
        self._write(package / "Package.swift", self._manifest())
        options = ["--package-path", str(package), "--scratch-path", str(self._swift_scratch)]
        resolve = ["swift", "package", *options, "resolve"]
        if subprocess.run(resolve, capture_output=True, check=False).returncode != 0:
            self._swift_examples = [
                example
                for example in self._swift_examples
                if not any(adapter.imported(example) for adapter in ADAPTERS)
            ]
            self._write(package / "Package.swift", self._manifest())
        for example in self._swift_examples:
            self._write(package / "Sources" / example.name / "main.swift", example.code)
        products = self._swift_scratch / "debug"
        for example in self._swift_examples:
            # A program of an earlier run must not stand in for one that no longer builds.
            (products / example.name).unlink(missing_ok=True)
        build = ["swift", "build", *options]
        done = subprocess.run(build, capture_output=True, text=True, check=False)
        self._swift_output = done.stdout + done.stderr
        return products

    def _manifest(self) -> str:
        found = self._swift_examples
        adapters = [item for item in ADAPTERS if any(map(item.imported, found))]
        return MANIFEST.format(
            root=self._root,
            # The same as in the tests, so that the core is compiled once.
            traits=", ".join(
                f'"{trait}"' for trait in [*(item.trait for item in adapters), "Redis"]
            ),
            packages="".join(
                PACKAGE.format(name=item.name, version=item.version) for item in adapters
            ),
            targets="\n".join(
                TARGET.format(name=item.name, products=self._products(item)) for item in found
            ),
        )

    @staticmethod
    def _products(example: Example) -> str:
        """The products that a program with these imports depends on."""
        ours = [("ntapi", name) for name in PRODUCTS if f"import {name}\n" in example.code]
        others = [(item.name, name) for item in ADAPTERS for name in item.imported(example)]
        return ", ".join(
            f'.product(name: "{name}", package: "{package}")' for package, name in ours + others
        )

    @staticmethod
    def _run(words: Sequence[str]) -> None:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotBuildError(done.stdout + done.stderr)

    @staticmethod
    def _write(path: Path, text: str) -> Path:
        # Do not write an unchanged file, so that SwiftPM builds only what is new.
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        return path
