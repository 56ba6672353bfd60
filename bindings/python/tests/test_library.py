"""Finding the library, the wheel, and the checks of the sources."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import ntapi
import type_checkers
from conftest import REPOSITORY, run_python
from ntapi._bridge import library

PACKAGE = REPOSITORY / "bindings" / "python"


def test_versions() -> None:
    assert ntapi.library_version().startswith(ntapi.__version__.rpartition(".")[0])
    assert ntapi.arg.url is ntapi.url
    versions = ntapi.versions()
    assert versions["ntapi"] == ntapi.library_version()
    assert {"libcurl", "OpenSSL", "zlib", "nghttp2"} <= versions.keys()
    assert all(name and version[0].isdigit() for name, version in versions.items()), versions


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ("0.7.2", True),
        ("0.7.9", True),
        ("0.7.1", False),
        ("0.8.2", False),
        ("1.7.2", False),
        ("what", False),
    ],
)
def test_which_versions_fit(version: str, fits: bool) -> None:
    assert library.fits(version, "0.7.2") is fits


def test_a_library_that_is_not_there_is_explained() -> None:
    environment = {**os.environ, "NTAPI_LIBRARY": "/nowhere/libntapi.so.0"}
    result = run_python("import ntapi", env=environment)
    assert "ImportError: libntapi.so.0 was not found" in result.stderr
    assert "/nowhere/libntapi.so.0" in result.stderr
    assert "cmake --build build" in result.stderr


def test_another_library_is_refused() -> None:
    libc = next(Path("/").glob("lib/*/libm.so.6"), None) or Path("/lib64/libm.so.6")
    result = run_python("import ntapi", env={**os.environ, "NTAPI_LIBRARY": str(libc)})
    assert "is not libntapi" in result.stderr


def test_public_names_exist() -> None:
    assert sorted(ntapi.__all__, key=str) == sorted(set(ntapi.__all__))
    for name in ntapi.__all__:
        assert hasattr(ntapi, name)


def test_all_names_are_listed_and_can_be_imported_at_once() -> None:
    code = """
import ntapi
assert set(ntapi.__all__) <= set(dir(ntapi))
from ntapi import *
assert Client is ntapi.Client and url is ntapi.arg.url and MAIN is ntapi.Thread.MAIN
assert not hasattr(ntapi, "no_such_name")
"""
    result = run_python(code)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", ["testing.Stub", "transports.__all__", "arg.url", "codes.TIMEOUT"])
def test_modules_for_programs_are_imported_on_first_use(name: str) -> None:
    module = f"ntapi.{name.partition('.')[0]}"
    code = f"""
import sys, ntapi
imports = {module!r} in sys.modules
from ntapi import *
assert ({module!r} in sys.modules) is (imports or {module!r} in ("ntapi.arg", "ntapi.codes"))
assert ntapi.{name} is sys.modules[{module!r}].{name.rpartition(".")[2]}
assert {module.rpartition(".")[2]!r} in dir(ntapi)
"""
    result = run_python(code)
    assert result.returncode == 0, result.stderr


def test_a_module_that_needs_other_libraries_is_imported_by_the_program() -> None:
    for name in ("opentelemetry", "fleet"):
        says = f"module 'ntapi' has no attribute '{name}': write `import ntapi.{name}`"
        assert says in run_python(f"import ntapi; ntapi.{name}").stderr


def test_a_request_needs_little_of_python(servers: dict[str, str]) -> None:
    code = """
import sys
before = set(sys.modules)
import ntapi
client = ntapi.Client(sys.argv[1])
assert client.send("echo", ntapi.url("q", "London")).json()["method"] == "GET"
client.close()
print(*(set(sys.modules) - before))
"""
    result = run_python(code, servers["fault"])
    imported = set(result.stdout.split())
    assert "ntapi._client" in imported, result.stderr
    slow = [
        "asyncio",
        "contextlib",
        "enum",
        "inspect",
        "json",
        "logging",
        "pickle",
        "re",
        "weakref",
    ]
    assert not imported.intersection(slow)


def test_another_thread_may_be_the_first_to_use_it(servers: dict[str, str]) -> None:
    """Neither this package nor Python's threading takes it for the main thread."""
    code = """
import _thread, sys
import ntapi
done = _thread.allocate_lock()
done.acquire()
def use():
    assert ntapi.Client(sys.argv[1]).send("ok").status == 200
    done.release()
_thread.start_new_thread(use, ())
assert done.acquire(timeout=120)
import threading
assert threading.main_thread() is threading.current_thread()
assert ntapi.mailbox() is ntapi._runtime.threads.main_mailbox()
"""
    result = run_python(code, servers["fault"])
    assert result.returncode == 0, result.stderr


def test_names_are_found_whoever_asks_first() -> None:
    code = """
import threading
import ntapi
together = threading.Barrier(8)
found = []
def look(start):
    together.wait()
    names = ntapi.__all__[start:] + ntapi.__all__[:start]
    found.append({name: getattr(ntapi, name) for name in names})
threads = [threading.Thread(target=look, args=(9 * number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 8
assert all(each[name] is found[0][name] for each in found for name in each)
"""
    result = run_python(code)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["mypy"],
        ["mypy", "examples/qanda/__main__.py"],
        ["ruff", "check"],
        ["ruff", "format", "--check"],
    ],
    ids=" ".join,
)
def test_sources_are_clean(command: list[str]) -> None:
    """mypy --strict also reads typed_sample.py, where every public signature is used."""
    tool, *options = command
    paths = [] if tool == "mypy" else ["."]
    subprocess.run(
        [sys.executable, "-m", tool, *options, *paths],
        cwd=PACKAGE,
        check=True,
        env={**os.environ, "MYPYPATH": "src"},
    )


@pytest.mark.parametrize("checker", [type_checkers.mypy, type_checkers.pyright])
def test_type_checkers_find_wrong_lines(checker: type_checkers.Checker) -> None:
    """They find each wrong line of typed_lines.py, and refuse none of the right ones. pyright
    accepts the two other files, too.
    """
    lines = type_checkers.lines_of(PACKAGE / type_checkers.LINES)
    wrong = {number for number, codes in lines.items() if codes}
    assert len(wrong) >= 40
    assert len(lines) - len(wrong) >= 60
    found = checker(PACKAGE)
    own = found.pop(type_checkers.LINES, {})
    assert found == {}, "it refuses lines of other files"
    refused = {number: text for number, text in own.items() if number not in wrong}
    assert refused == {}, "right lines that it refuses"
    # That a type is unknown follows from another error.
    seen = {n for n, text in own.items() if any("reportUnknown" not in code for code in text)}
    assert sorted(wrong - seen) == [], "wrong lines that it does not find"
    if checker is type_checkers.mypy:
        assert {number: set(own[number]) for number in wrong} == {
            number: set(lines[number]) for number in wrong
        }, "errors of other kinds"


@pytest.mark.parametrize(
    ("present", "says"),
    [
        ([], "Swift 6.2 or newer is needed to build libntapi.so.0: install it, or set"),
        (["swift"], "cmake is needed to build libntapi.so.0: install it, or set NTAPI_LIBRARY"),
        (["swift", "cmake"], "ninja is needed to build libntapi.so.0: install it, or set"),
    ],
)
def test_a_missing_tool_is_named(tmp_path: Path, present: list[str], says: str) -> None:
    tools, root = tmp_path / "tools", tmp_path / "clone"
    (root / "include").mkdir(parents=True)
    (root / "include" / "ntapi.h").touch()
    (root / "CMakeLists.txt").touch()
    tools.mkdir()
    for tool in present:
        (tools / tool).write_text("#!/bin/sh\n")
        (tools / tool).chmod(0o755)
    result = run_python(FINDS_LIBRARY, str(PACKAGE / "setup.py"), env=environment_of(root, tools))
    assert result.returncode == 1
    assert says in result.stderr


def test_without_a_clone_it_says_what_is_needed(tmp_path: Path) -> None:
    """Builds from a source distribution, which is not in a clone."""
    shutil.copy(PACKAGE / "setup.py", tmp_path)
    environment = {key: value for key, value in os.environ.items() if key != "NTAPI_LIBRARY"}
    result = run_python(FINDS_LIBRARY, str(tmp_path / "setup.py"), env=environment)
    assert result.returncode == 1
    for word in ("Install the wheel", "NTAPI_LIBRARY", "libntapi0", "NTAPI_SOURCE", "Swift 6.2"):
        assert word in result.stderr


def environment_of(root: Path, tools: Path) -> dict[str, str]:
    """The environment of a build from a clone, with only these tools."""
    environment = {key: value for key, value in os.environ.items() if key != "NTAPI_LIBRARY"}
    return {**environment, "NTAPI_SOURCE": str(root), "PATH": f"{tools}"}


FINDS_LIBRARY = """
import runpy, sys, types
# The build's own setuptools is not in this environment.
for name in ("setuptools", "setuptools.command", "setuptools.command.build_py",
             "setuptools.command.bdist_wheel"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["setuptools"].setup = lambda **_: None
sys.modules["setuptools"].Distribution = object
sys.modules["setuptools.command.build_py"].build_py = object
sys.modules["setuptools.command.bdist_wheel"].bdist_wheel = object
print(open(runpy.run_path(sys.argv[1])["find_library"]()).read())
"""


def test_the_library_in_the_wheel_is_never_older_than_its_sources(tmp_path: Path) -> None:
    tools, root = tmp_path / "tools", tmp_path / "clone"
    for folder in (tools, root / "include", root / "build"):
        folder.mkdir(parents=True)
    (root / "include" / "ntapi.h").touch()
    (root / "CMakeLists.txt").touch()
    (root / "Tests" / "tools").mkdir(parents=True)
    shutil.copy(PACKAGE.parents[1] / "Tests" / "tools" / "moved.py", root / "Tests" / "tools")
    (root / "build" / "libntapi.so.0").write_text("stale")
    builds = '#!/bin/sh\n[ "$1" = --build ] && printf fresh > build/libntapi.so.0\n:'
    for tool in ("swift", "ninja", "cmake"):
        (tools / tool).write_text(builds)
        (tools / tool).chmod(0o755)
    environment = environment_of(root, tools)
    result = run_python(FINDS_LIBRARY, str(PACKAGE / "setup.py"), env=environment)
    assert result.stdout.splitlines()[-1:] == ["fresh"], result.stderr


def test_the_wheel_carries_the_library(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", ".*_cache")
    shutil.copytree(PACKAGE, source, ignore=ignored)
    # The library of an earlier build.
    stale = source / "build" / "lib" / "ntapi" / "removed.py"
    stale.parent.mkdir(parents=True)
    stale.touch()
    built = str(Path(library.lib._name).resolve())
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(source)],
        check=True,
        env={**os.environ, "NTAPI_LIBRARY": built},
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"ntapi-{ntapi.__version__}-py3-none-linux_")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (license_name,) = (name for name in names if name.endswith("/LICENSE"))
        assert archive.read(license_name) == (REPOSITORY / "LICENSE").read_bytes()
        metadata = license_name.partition("/")[0]
        points = configparser.ConfigParser()
        points.read_string(archive.read(f"{metadata}/entry_points.txt").decode())
        assert dict(points["pytest11"]) == {"pytest_ntapi": "pytest_ntapi"}
    assert license_name.startswith(f"ntapi-{ntapi.__version__}.dist-info/")
    assert "ntapi/libntapi.so.0" in names
    assert not [name for name in names if name.endswith("removed.py")]
    modules = {name for name in names if name.endswith(".py")}
    folder = PACKAGE / "src"
    assert modules == {str(path.relative_to(folder)) for path in folder.rglob("*.py")}
    # It rejects a wheel whose library is in a wrong folder.
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert 'platform tag: "linux_' in shown.stdout.replace("\n", " ")
    target = tmp_path / "site"
    subprocess.run([*pip, "install", "--target", str(target), str(wheel)], check=True)
    assert (target / "ntapi" / "libntapi.so.0").is_file()
    environment = {key: value for key, value in os.environ.items() if key != "NTAPI_LIBRARY"}
    code = "import ntapi; print(ntapi._lib._name)"
    result = run_python(code, env={**environment, "PYTHONPATH": str(target)}, cwd=tmp_path)
    assert result.stdout.strip() == str(target / "ntapi" / "libntapi.so.0"), result.stderr


INTERPRETERS = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

kind, code = sys.argv[1:]
try:
    made = interpreters.create(kind)
except TypeError:
    made = interpreters.create(isolated=kind == "isolated")
if hasattr(interpreters, "exec"):
    print(interpreters.exec(made, code))
else:
    interpreters.run_string(made, code)
"""


@pytest.mark.parametrize("kind", ["isolated", "legacy"])
@pytest.mark.parametrize("first", ["", "import ntapi"])
def test_a_sub_interpreter_is_refused(kind: str, first: str) -> None:
    """C would call functions of the main interpreter for those of a sub-interpreter, and abort."""
    source = str(Path(ntapi.__file__).parent.parent)
    code = f"import sys; sys.path.insert(0, {source!r})\nimport ntapi"
    result = run_python(first + INTERPRETERS, kind, code)
    shown = result.stdout + result.stderr
    assert "ImportError" in shown
    assert "ntapi works in the main interpreter of a process only" in shown
    assert "WSGIApplicationGroup %{GLOBAL}" in shown
    assert result.returncode in (0, 1)


@pytest.mark.parametrize(
    ("name", "package"),
    [("libcurl.so.4", "libcurl4"), ("libjansson.so.4", "libjansson4"), ("libz.so.1", "zlib1g")],
)
def test_a_missing_dependency_is_named(tmp_path: Path, name: str, package: str) -> None:
    """This copy of the library needs a library that no machine has."""
    content = Path(library.lib._name).read_bytes()
    missing = f"{name[:-1]}0"
    copy = tmp_path / "libntapi.so.0"
    copy.write_bytes(content.replace(name.encode() + b"\0", missing.encode() + b"\0"))
    result = run_python("import ntapi", env={**os.environ, "NTAPI_LIBRARY": str(copy)})
    lines = result.stderr.splitlines()
    assert any(line.startswith(f"ImportError: {missing} is not installed") for line in lines)
    assert f"sudo apt install {package}" in result.stderr
    assert str(copy) in result.stderr
    assert "was not found" not in result.stderr


def test_a_library_of_another_build_is_named() -> None:
    """If libcurl has other symbol versions, the linker's message says so."""
    text = "/lib64/libcurl.so.4: version `CURL_OPENSSL_4' not found (required by /x/libntapi.so.0)"
    advice = library._missing("/x/libntapi.so.0", text)
    assert advice is not None
    assert advice.startswith("libcurl.so.4 is there, but")
