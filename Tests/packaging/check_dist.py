"""Checks that what `make packages` has built is complete, and prints the sizes. check_dist.py
FOLDER
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from check_linkage import LARGEST
from header import version

NUMBER = re.escape(version())
EXPECTED = {
    "source archive": rf"ntapi-{NUMBER}-source\.tar\.gz",
    "sdist": rf"ntapi-{NUMBER}\.tar\.gz",
    "plain wheel": rf"ntapi-{NUMBER}-py3-none-linux_\w+\.whl",
    "bundled wheel": rf"ntapi-{NUMBER}-py3-none-manylinux_\w+\.whl",
    "wheel for Redis": rf"ntapi_redis-{NUMBER}-py3-none-manylinux_\w+\.whl",
    "libntapi0": rf"libntapi0_{NUMBER}-1_\w+\.deb",
    "symbols": rf"libntapi0-dbgsym_{NUMBER}-1_\w+\.ddeb",
    "libntapi-dev": rf"libntapi-dev_{NUMBER}-1_\w+\.deb",
    "libntapi-redis0": rf"libntapi-redis0_{NUMBER}-1_\w+\.deb",
    "its symbols": rf"libntapi-redis0-dbgsym_{NUMBER}-1_\w+\.ddeb",
    "libntapi-redis-dev": rf"libntapi-redis-dev_{NUMBER}-1_\w+\.deb",
    "python3-ntapi": rf"python3-ntapi_{NUMBER}-1_all\.deb",
    "bill of materials": rf"ntapi-{NUMBER}\.cdx\.json",
    "checksums": "SHA256SUMS",
}
LARGEST_WHEEL = 16_300_000
"""Bytes of the bundled wheel, once installed, with what pip compiles of it. The aim is 15 MB.

Compiled for size, the library would be 0.7 MB smaller, and a request would take 13 to 45 % more
instructions. Without its unwind tables it would be 1.1 MB smaller, and no backtrace would go
through it.
"""
NEEDED = re.compile(r"\(NEEDED\).*\[(lib(?:curl|jansson)[^]]*)\]")
"""The libraries that a wheel's library needs, from the system or from the wheel's own folder."""


def output(*command: str | Path) -> str:
    """What a tool prints."""
    return subprocess.run(
        [str(part) for part in command], check=True, capture_output=True, text=True
    ).stdout


def megabytes(size: int) -> str:
    """A size as text."""
    return f"{size / 1e6:.2f} MB"


def library_in(package: Path, folder: Path) -> Path | None:
    """Unpacks a package and returns the path of its library."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as archive:
            archive.extractall(folder)
    elif package.suffix == ".deb":
        output("dpkg-deb", "--extract", package, folder)
    found = [each for each in folder.rglob("libntapi.so.*") if not each.is_symlink()]
    return found[0] if found else None


def is_packed(library: Path) -> bool:
    """Whether its relocations are packed. Otherwise it is for an older glibc, and no size is promised."""
    return ".relr.dyn" in output("readelf", "--sections", "--wide", library)


def faults_of_library(library: Path) -> list[str]:
    """Checks the size of a library, unless its relocations are uncompressed for an older glibc."""
    size = library.stat().st_size
    return (
        [f"the library has {size} bytes, {LARGEST} at most"]
        if is_packed(library) and size >= LARGEST
        else []
    )


def faults_of_wheel(tree: Path, library: Path, bundles: bool) -> list[str]:
    """Checks that a bundled library has another name, and that its license is in the wheel."""
    needed = NEEDED.findall(output("readelf", "--dynamic", "--wide", library))
    inside = {each.name for each in tree.glob("ntapi.libs/*")}
    faults = [f"needs {name} of the system" for name in needed if bundles and name not in inside]
    faults += [f"bundles {name}" for name in sorted(inside) if not bundles]
    licenses = {each.name for each in tree.glob("*.dist-info/licenses/**/*")}
    wanted = {"LICENSE"} | (
        {"curl.txt", "openssl.txt", "libjansson4.txt", "swift-runtime.txt"} if bundles else set()
    )
    faults += [f"has no license {name}" for name in sorted(wanted - licenses)]
    if bundles:
        (bill,) = tree.glob("*.dist-info/sboms/*.cdx.json")
        listed = {each["name"] for each in json.loads(bill.read_text("utf-8"))["components"]}
        missing = {"curl", "openssl", "jansson", "nghttp2", "brotli", "swift-runtime"} - listed
        faults += [f"does not list {name} in its bill of materials" for name in sorted(missing)]
    return faults


PROGRAM = """
import sys
import ntapi
from ntapi.fleet import Redis
print(Redis("rediss://127.0.0.1:1"))
configuration = ntapi.SessionConfiguration.ephemeral(unix_socket="/none", proxy="")
with ntapi.Client("http://none.test", configuration=configuration) as client:
    problem = str(client.perform("").error)
assert "no connection" in problem, problem
loaded = [line.split()[-1] for line in open("/proc/self/maps") if "ntapi-redis" in line]
assert loaded and all(path.startswith(sys.argv[1]) for path in loaded), loaded
"""


def faults_of_redis_wheel(wheel: Path, folder: Path) -> list[str]:
    """Checks that it works beside the bundled wheel, and needs nothing of the system but the C library."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps"]
    (bundled,) = wheel.parent.glob("ntapi-*-manylinux_*.whl")
    subprocess.run([*pip, "--target", folder / "both", wheel, bundled], check=True)
    (library,) = (folder / "both").rglob("libntapi-redis.so.0")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "--dynamic", library)))
    faults = [f"needs {name}" for name in sorted(needed - {"libntapi.so.0", "libc.so.6"})]
    names = {path.name for path in (folder / "both").rglob("ntapi_redis-*/**/*")}
    wanted = {"LICENSE", "openssl.txt", "hiredis.txt", "ntapi-redis.cdx.json"}
    faults += [f"has no {name}" for name in sorted(wanted - names)]
    command = [sys.executable, "-c", PROGRAM, str(folder / "both")]
    environment = {"PYTHONPATH": str(folder / "both"), "PATH": os.environ["PATH"]}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return faults if done.returncode == 0 else [*faults, f"does not work: {done.stderr}"]


def installed_size(wheel: Path) -> int:
    """The size of everything that pip writes, including compiled modules."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--compile"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*pip, "--target", folder, wheel], check=True)
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def faults_of_deb(name: str, package: Path, tree: Path) -> list[str]:
    """Checks that a Debian package names each dependency once, and its installed size."""
    needs = {
        "libntapi0": ["libcurl4 (>= 7.88)", "libjansson4", "zlib1g", "libc6"],
        "libntapi-dev": [f"libntapi0 (= {version()}-1)"],
        "libntapi-redis0": [f"libntapi0 (= {version()}-1)", "libssl3", "libc6"],
        "libntapi-redis-dev": [f"libntapi-redis0 (= {version()}-1)", "libntapi-dev"],
        "python3-ntapi": ["python3", "libntapi0"],
    }[name]
    depends = output("dpkg-deb", "--field", package, "Depends")
    faults = [f"does not depend on {each}" for each in needs if each not in depends]
    # A package may have a lower and an upper limit for one dependency, as python3-ntapi for
    # libntapi0.
    lower = [each.split()[0] for each in depends.split(", ") if "<<" not in each]
    faults += [f"depends twice on {each}" for each in sorted(set(lower)) if lower.count(each) > 1]
    said = int(output("dpkg-deb", "--field", package, "Installed-Size"))
    taken = sum(path.lstat().st_size for path in tree.rglob("*") if not path.is_dir()) / 1024
    # Sizes of files are rounded up, and folders count.
    most = taken + 2 * len(list(tree.rglob("*")))
    if not taken <= said <= most:
        faults.append(f"says that it takes {said} KiB, not {taken:.0f}")
    return faults


def main() -> int:
    """Prints a line for each file, each fault, and a summary line."""
    folder = Path(sys.argv[1])
    failures = []
    names = {path.name for path in folder.iterdir()}
    for what, pattern in EXPECTED.items():
        found = [name for name in sorted(names) if re.fullmatch(pattern, name)]
        if len(found) != 1:
            failures.append(f"{len(found)} files are a {what}: {pattern}")
            continue
        names.remove(found[0])
        package = folder / found[0]
        line = f"{megabytes(package.stat().st_size):>9}  {package.name}"
        with tempfile.TemporaryDirectory() as scratch:
            library = library_in(package, Path(scratch))
            faults = []
            if library is not None:
                line += f", the library stripped {megabytes(library.stat().st_size)}"
                faults += faults_of_library(library)
            if library is not None and package.suffix == ".whl":
                bundles = what == "bundled wheel"
                faults += faults_of_wheel(Path(scratch), library, bundles)
                size = installed_size(package)
                line += f", installed {megabytes(size)}"
                if bundles and is_packed(library) and size > LARGEST_WHEEL:
                    faults.append(f"takes {size} bytes when installed, {LARGEST_WHEEL} at most")
            elif what == "wheel for Redis":
                faults += faults_of_redis_wheel(package, Path(scratch))
            elif package.suffix == ".deb":
                faults += faults_of_deb(what, package, Path(scratch))
            failures += [f"{package.name}: {fault}" for fault in faults]
        print(line)
    failures += [f"{name}: unexpected" for name in sorted(names)]
    for failure in failures:
        print(failure)
    print(f"check_dist: {len(EXPECTED)} packages, {len(failures)} faults")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
