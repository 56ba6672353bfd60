"""Bundles libcurl and jansson into a wheel: auditwheel adds the libraries, this their licenses and
the bill of materials.

python bundle.py WHEEL FOLDER LIBCURL

LIBCURL is a folder that libcurl.py has filled. The other libraries are those of this machine, a
Debian: their packages have the licenses.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from libcurl import LINKED, pinned
from sbom import bill, of_package, of_source, swift_runtime

HASH = re.compile(r"-[0-9a-f]{8}(?=\.)")
"""What auditwheel adds to the name of a library."""
COMMON = re.compile(r"/usr/share/common-licenses/([\w.-]*\w)")
"""How the copyright file of a Debian package refers to the text of a license."""


def run(*command: str | Path, **variables: str) -> str:
    """Runs a command to its success, with the tools of this Python; what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(part) for part in command],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path, **variables},
    )
    if done.returncode != 0:
        raise SystemExit(f"bundle: failed: {done.args}\n{done.stdout}{done.stderr}")
    return done.stdout


def only(folder: Path, pattern: str) -> Path:
    """The one file or folder of that name."""
    (found,) = folder.glob(pattern)
    return found


def package_of(library: str) -> str:
    """The Debian package that has a library of that name."""
    lines = run("dpkg", "--search", f"*/{library}").splitlines()
    packages = {line.split(":")[0] for line in lines}
    if len(packages) != 1:
        raise SystemExit(f"bundle: {library} is in {sorted(packages)}, not in one package")
    return packages.pop()


def runtime_license() -> Path:
    """Of Swift's runtime, which is linked into the library."""
    swift = shutil.which("swiftc")
    if swift is None:
        raise SystemExit("bundle: swiftc is not in PATH; its license belongs into the wheel")
    return Path(swift).resolve().parents[1] / "share" / "swift" / "LICENSE.txt"


def add_licenses(tree: Path, libcurl: Path) -> list[str]:
    """Copies the licenses of what is bundled, and lists them in the metadata; what that is."""
    metadata = only(tree, "*.dist-info/METADATA")
    folder = metadata.parent / "licenses"
    libraries = {HASH.sub("", library.name) for library in only(tree, "*.libs").iterdir()}
    if "libcurl.so.4" not in libraries:
        raise SystemExit(f"bundle: the wheel has {sorted(libraries)}, and no libcurl")
    sources = {file.stem: file for file in (libcurl / "licenses").iterdir()}
    for library in libraries - {"libcurl.so.4"}:
        name = package_of(library)
        sources[name] = Path("/usr/share/doc") / name / "copyright"
    texts = {f"bundled/{name}.txt": source for name, source in sources.items()}
    for copyright_file in list(texts.values()):
        for name in COMMON.findall(copyright_file.read_text(encoding="utf-8")):
            texts[f"bundled/common-licenses/{name}.txt"] = Path("/usr/share/common-licenses") / name
    texts["bundled/swift-runtime.txt"] = runtime_license()
    for name, source in texts.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    lines = "".join(f"License-File: {name}\n" for name in sorted(texts))
    ours = "License-File: LICENSE\n"
    head, found, rest = metadata.read_text(encoding="utf-8").partition(ours)
    if not found:
        raise SystemExit("bundle: the wheel's metadata has no license of its own")
    metadata.write_text(head + ours + lines + rest, encoding="utf-8")
    return sorted(sources)


def add_bill(tree: Path) -> None:
    """Lists what is bundled, and what is linked into that, in place of auditwheel's list."""
    folder = only(tree, "*.dist-info") / "sboms"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    libraries = {HASH.sub("", library.name) for library in only(tree, "*.libs").iterdir()}
    packages = {package_of(library) for library in libraries - {"libcurl.so.4"}} | set(LINKED)
    components = [swift_runtime(), *(of_source(name, pin) for name, pin in pinned().items())]
    components += [of_package(package) for package in packages]
    (folder / "ntapi.cdx.json").write_text(bill(components), encoding="utf-8")


def main() -> None:
    """Does it all and says what is in the wheel."""
    wheel, target, libcurl = (Path(word).resolve() for word in sys.argv[1:4])
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        repair = [sys.executable, "-m", "auditwheel", "repair", "-w", str(scratch), str(wheel)]
        run(*repair, LD_LIBRARY_PATH=str(libcurl / "lib"))
        (repaired,) = scratch.glob("*.whl")
        run(sys.executable, "-m", "wheel", "unpack", "-d", scratch / "tree", repaired)
        tree = only(scratch / "tree", "*")
        bundled = add_licenses(tree, libcurl)
        add_bill(tree)
        run(sys.executable, "-m", "wheel", "pack", "-d", target, tree)
    print(f"{repaired.name} bundles {', '.join(bundled)}")


if __name__ == "__main__":
    main()
