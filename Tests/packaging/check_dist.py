"""What `make packages` has built is complete; prints the sizes. check_dist.py FOLDER"""

from __future__ import annotations

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
    "libntapi0": rf"libntapi0_{NUMBER}-1_\w+\.deb",
    "symbols": rf"libntapi0-dbgsym_{NUMBER}-1_\w+\.ddeb",
    "libntapi-dev": rf"libntapi-dev_{NUMBER}-1_\w+\.deb",
    "python3-ntapi": rf"python3-ntapi_{NUMBER}-1_all\.deb",
}
NEEDED = re.compile(r"\(NEEDED\).*\[(lib(?:curl|jansson)[^]]*)\]")
"""What a wheel's library takes from the system, or from its own folder of libraries."""


def output(*command: str | Path) -> str:
    """What a tool prints."""
    return subprocess.run(
        [str(part) for part in command], check=True, capture_output=True, text=True
    ).stdout


def megabytes(size: int) -> str:
    """For people."""
    return f"{size / 1e6:.2f} MB"


def library_in(package: Path, folder: Path) -> Path | None:
    """Unpacks a package; the library in it."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as archive:
            archive.extractall(folder)
    elif package.suffix == ".deb":
        output("dpkg-deb", "--extract", package, folder)
    found = [each for each in folder.rglob("libntapi.so.*") if not each.is_symlink()]
    return found[0] if found else None


def faults_of_library(library: Path) -> list[str]:
    """It is as small as promised, unless its relocations are written out for an older glibc."""
    size = library.stat().st_size
    is_packed = ".relr.dyn" in output("readelf", "--sections", "--wide", library)
    return (
        [f"the library has {size} bytes, {LARGEST} at most"]
        if is_packed and size >= LARGEST
        else []
    )


def faults_of_wheel(tree: Path, library: Path, bundles: bool) -> list[str]:
    """A bundled library has another name, and its license is in the wheel."""
    needed = NEEDED.findall(output("readelf", "--dynamic", "--wide", library))
    inside = {each.name for each in tree.glob("ntapi.libs/*")}
    faults = [f"needs {name} of the system" for name in needed if bundles and name not in inside]
    faults += [f"bundles {name}" for name in sorted(inside) if not bundles]
    licenses = {each.name for each in tree.glob("*.dist-info/licenses/**/*")}
    wanted = {"LICENSE"} | (
        {"libcurl4.txt", "libjansson4.txt", "swift-runtime.txt"} if bundles else set()
    )
    return faults + [f"has no license {name}" for name in sorted(wanted - licenses)]


def faults_of_deb(name: str, package: Path, tree: Path) -> list[str]:
    """A Debian package names what it needs, once, and how much space it takes."""
    needs = {
        "libntapi0": ["libcurl4 (>= 7.88)", "libjansson4", "zlib1g", "libc6"],
        "libntapi-dev": [f"libntapi0 (= {version()}-1)"],
        "python3-ntapi": ["python3", "libntapi0"],
    }[name]
    depends = output("dpkg-deb", "--field", package, "Depends")
    faults = [f"does not depend on {each}" for each in needs if each not in depends]
    # An upper limit, such as python3-ntapi has for libntapi0, is another thing than a second lower one.
    lower = [each.split()[0] for each in depends.split(", ") if "<<" not in each]
    faults += [f"depends twice on {each}" for each in sorted(set(lower)) if lower.count(each) > 1]
    said = int(output("dpkg-deb", "--field", package, "Installed-Size"))
    taken = sum(path.lstat().st_size for path in tree.rglob("*") if not path.is_dir()) / 1024
    # Files are rounded up, and folders count.
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
                faults += faults_of_wheel(Path(scratch), library, what == "bundled wheel")
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
