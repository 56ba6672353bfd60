"""Builds hiredis as static libraries, with TLS, for libntapi-redis.

    python hiredis.py FOLDER   FOLDER/lib, FOLDER/include, FOLDER/COPYING

The sources are in the source archive of the Python package hiredis. hiredis.txt pins it, and pip
compares its hash. libntapi-redis needs hiredis 1.2 or later; Debian 12 has 0.14.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PIN = Path(__file__).with_name("hiredis.txt")
SOURCES = ["alloc.c", "async.c", "hiredis.c", "net.c", "read.c", "sds.c"]
HEADERS = ["alloc.h", "async.h", "hiredis.h", "hiredis_ssl.h", "net.h", "read.h", "sds.h"]
# A program must not be stopped by an assertion about what a server sends.
OPTIONS = ["-O2", "-g", "-fPIC", "-fvisibility=hidden", "-DNDEBUG", "-fstack-protector-strong"]
OPTIONS += ["-D_FORTIFY_SOURCE=2"]
PACKAGE = """\
prefix=${{pcfiledir}}/../..
libdir=${{prefix}}/lib
includedir=${{prefix}}/include

Name: {name}
Description: {name}, built for libntapi-redis
Version: {version}
{requires}Libs: -L${{libdir}} -l{name}
Cflags: -I${{includedir}}
"""


def run(*command: str) -> None:
    """Runs a command. What it prints is shown if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stdout.decode(errors='replace')}")


def version_of(header: Path) -> str:
    """The version in hiredis.h, such as 1.5.0."""
    lines = [line.split() for line in header.read_text().splitlines() if line.startswith("#define")]
    numbers = {line[1]: line[2] for line in lines if len(line) == 3}
    return ".".join(numbers[f"HIREDIS_{part}"] for part in ("MAJOR", "MINOR", "PATCH"))


def build(sources: Path, folder: Path) -> None:
    """Compiles, and copies what a program needs."""
    compiler, archiver = os.environ.get("CC", "cc"), os.environ.get("AR", "ar")
    for part in ("lib/pkgconfig", "include/hiredis"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for header in HEADERS:
        shutil.copy(sources / header, folder / "include/hiredis")
    shutil.copy(sources / "COPYING", folder)
    version = version_of(sources / "hiredis.h")
    for name, files, requires in (
        ("hiredis", SOURCES, ""),
        ("hiredis_ssl", ["ssl.c"], "Requires: hiredis\nRequires.private: libssl, libcrypto\n"),
    ):
        objects = []
        for file in files:
            objects.append(str(sources / f"{file}.o"))
            run(compiler, *OPTIONS, "-c", str(sources / file), "-o", objects[-1])
        archive = folder / "lib" / f"lib{name}.a"
        archive.unlink(missing_ok=True)
        run(archiver, "rcs", str(archive), *objects)
        text = PACKAGE.format(name=name, version=version, requires=requires)
        (folder / "lib/pkgconfig" / f"{name}.pc").write_text(text)


def main() -> None:
    """Downloads, compares, unpacks, builds."""
    folder = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as place:
        options = ["--quiet", "--no-deps", "--no-binary=:all:", "--require-hashes"]
        run(sys.executable, "-m", "pip", "download", *options, "-d", place, "-r", str(PIN))
        (archive,) = Path(place).glob("hiredis-*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(place, filter="data")
        (sources,) = Path(place).glob("hiredis-*/vendor/hiredis")
        build(sources, folder)


if __name__ == "__main__":
    main()
