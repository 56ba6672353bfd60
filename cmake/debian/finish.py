"""Corrects the packages that cpack has built: finish.py FILE.deb...

CPack counts a symbolic link as large as its file, so that the library's Installed-Size was twice its size. And it puts
what dpkg-shlibdeps finds beside what Packages.cmake names, so that Depends had libc6 and libcurl4 twice. And it adds
scripts that call ldconfig to a package with a library, although the package's trigger does so.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*command: str | Path) -> None:
    """Runs a command to its success."""
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def installed_size(tree: Path) -> int:
    """In units of 1,024 bytes, as dpkg-gencontrol counts: files rounded up, and one for everything else."""
    paths = [path for path in tree.rglob("*") if "DEBIAN" not in path.relative_to(tree).parts]
    return sum(
        -(-path.stat().st_size // 1024) if path.is_file() and not path.is_symlink() else 1
        for path in paths
    )


def is_newer(one: str, other: str) -> bool:
    """Whether a version of Debian is later than another."""
    command = ["dpkg", "--compare-versions", one, "gt", other]
    return subprocess.run(command, check=False).returncode == 0


def without_repeats(depends: str) -> str:
    """The dependencies in their order. Of several lower limits for one package only the highest stays."""
    found: dict[str, str] = {}
    for item in depends.split(", "):
        limit = re.fullmatch(r"(\S+) \(>= (.+)\)", item)
        name = f"{limit[1]} >=" if limit else item
        if name not in found or limit and is_newer(limit[2], found[name]):
            found[name] = limit[2] if limit else ""
    return ", ".join(
        f"{name[:-3]} (>= {limit})" if limit else name for name, limit in found.items()
    )


def finish(package: Path) -> None:
    """Writes the package again."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "package"
        run("dpkg-deb", "--raw-extract", package, tree)
        control = tree / "DEBIAN" / "control"
        text = control.read_text(encoding="utf-8")
        text = re.sub(r"(?m)^(Installed-Size: ).*$", rf"\g<1>{installed_size(tree)}", text)
        text = re.sub(
            r"(?m)^(Depends: )(.*)$", lambda line: line[1] + without_repeats(line[2]), text
        )
        control.write_text(text, encoding="utf-8")
        if (control.parent / "triggers").exists():
            for script in ("postinst", "postrm"):
                (control.parent / script).unlink()
        run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, package)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        finish(Path(name))
