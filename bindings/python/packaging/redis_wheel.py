"""Builds the wheel ntapi-redis: redis_wheel.py LIBRARY FOLDER LIBCURL HIREDIS

LIBRARY is libntapi-redis with OpenSSL in it, of the CMake target ntapi_redis_wheel. LIBCURL and
HIREDIS are the folders of libcurl.py and hiredis.py, which have the licenses.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from bundle import only, run
from libcurl import pinned
from sbom import bill, hiredis, of_source

HERE = Path(__file__).resolve()
PACKAGE = HERE.parents[1] / "ntapi-redis"
OURS = HERE.parents[3] / "LICENSE"
SONAME = "libntapi-redis.so.0"


def add_bill(tree: Path) -> None:
    """Lists what is linked into the library (PEP 770)."""
    folder = only(tree, "*.dist-info") / "sboms"
    folder.mkdir(exist_ok=True)
    text = bill([hiredis(), of_source("openssl", pinned()["openssl"])])
    (folder / "ntapi-redis.cdx.json").write_text(text, encoding="utf-8")


def main() -> None:
    """Copies the package, fills it, builds it, and tags the wheel with the oldest glibc."""
    library, target, libcurl, hiredis_folder = (Path(word).resolve() for word in sys.argv[1:5])
    licenses = {
        "LICENSE": OURS,
        "openssl.txt": libcurl / "licenses/openssl.txt",
        "hiredis.txt": hiredis_folder / "COPYING",
    }
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        package = scratch / "package"
        shutil.copytree(PACKAGE, package)
        inside = package / "src/ntapi_redis" / SONAME
        run("strip", "--strip-unneeded", "-o", inside, library)
        inside.chmod(0o755)
        (package / "licenses").mkdir()
        for file, source in licenses.items():
            shutil.copyfile(source, package / "licenses" / file)
        python = [sys.executable, "-m"]
        run(*python, "build", "--wheel", "--outdir", scratch, package)
        repair = [*python, "auditwheel", "repair", "--exclude", "libntapi.so.0"]
        run(*repair, "-w", scratch / "repaired", only(scratch, "*.whl"))
        run(*python, "wheel", "unpack", "-d", scratch / "tree", only(scratch / "repaired", "*.whl"))
        tree = only(scratch / "tree", "*")
        add_bill(tree)
        run(*python, "wheel", "pack", "-d", target, tree)


if __name__ == "__main__":
    main()
