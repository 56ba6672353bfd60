"""Compiles each header of include alone, as each C and C++ of its users, warnings as errors."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from header import HEADERS, ROOT

STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-Wstrict-prototypes", "-fsyntax-only"]
LANGUAGES = {
    "c99": ["cc", "-xc", "-std=c99"],
    "c11": ["cc", "-xc", "-std=c11"],
    "c17": ["cc", "-xc", "-std=c17"],
    "c++17": ["c++", "-xc++", "-std=c++17"],
}
PROGRAM = "#include <{header}>\nint main(void) {{ return ntapi_version() == 0; }}\n"


def compiles(compiler: list[str], header: str, folder: Path) -> bool:
    """Whether a program that includes that header first, and nothing else, compiles."""
    program = folder / "program"
    program.write_text(PROGRAM.format(header=header))
    strict = [flag for flag in STRICT if compiler[0] == "cc" or flag != "-Wstrict-prototypes"]
    command = [*compiler, *strict, f"-I{ROOT / 'include'}", str(program)]
    return subprocess.run(command, check=False).returncode == 0


def main() -> int:
    """Tries every language that a compiler is there for; C always is."""
    done: list[str] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, compiler in LANGUAGES.items():
            if shutil.which(compiler[0]) is None and compiler[0] == "c++":
                print("check_header_alone: no C++ compiler here, C++ was not tried")
                continue
            for header in (path.name for path in HEADERS):
                good = compiles(compiler, header, Path(folder))
                (done if good else failed).append(f"{header} as {name}")
    print(f"check_header_alone: {len(done)} compile, {len(failed)} do not {failed or ''}".rstrip())
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
