"""Compiles each header of include alone, with all versions of C and C++ that users have, warnings
as errors.

Checks that ignoring a status that must be checked does not compile.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from header import HEADER, HEADERS, ROOT, functions

STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-Wstrict-prototypes", "-fsyntax-only"]
LANGUAGES = {
    "c99": ["cc", "-xc", "-std=c99"],
    "c11": ["cc", "-xc", "-std=c11"],
    "c17": ["cc", "-xc", "-std=c17"],
    "c++17": ["c++", "-xc++", "-std=c++17"],
}
PROGRAM = "#include <{header}>\nint main(void) {{ return ntapi_version() == 0; }}\n"


def compiles(compiler: list[str], header: str, folder: Path) -> bool:
    """Whether a program compiles that includes only this header."""
    program = folder / "program"
    program.write_text(PROGRAM.format(header=header))
    strict = [flag for flag in STRICT if compiler[0] == "cc" or flag != "-Wstrict-prototypes"]
    command = [*compiler, *strict, f"-I{ROOT / 'include'}", str(program)]
    return subprocess.run(command, check=False).returncode == 0


CHECKED = re.compile(
    r"ntapi_(http_request_set_(?!priority)\w+|(client|class|configuration)_add_interceptor"
    r"|request_set_(events|data_format|decision_handler))"
)
"""Functions that may fail for a text, a number or a struct without making the request fail."""


def unchecked(folder: Path) -> list[str]:
    """Functions whose status a program must check, but that compile without a check."""
    program = folder / "program"
    found = []
    for function in functions(HEADER):
        if not CHECKED.fullmatch(function.name):
            continue
        arguments = ", ".join("0" for _ in function.parameters)
        text = f"#include <ntapi.h>\nint main(void) {{ {function.name}({arguments}); return 0; }}\n"
        program.write_text(text)
        # Not -fsyntax-only, because GCC checks unused results later.
        command = ["cc", "-xc", "-c", "-Werror", f"-I{ROOT / 'include'}", "-o", "/dev/null"]
        done = subprocess.run([*command, str(program)], check=False, capture_output=True, text=True)
        if "unused-result" not in done.stderr:
            found.append(f"{function.name} without a look at its status")
    return found


def main() -> int:
    """Tries every language that has a compiler here; C must have one."""
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
        careless = unchecked(Path(folder))
    print(f"check_header_alone: {len(done)} compile, {len(failed)} do not {failed or ''}".rstrip())
    for each in careless:
        print(f"check_header_alone: a program compiles that calls {each}")
    return 1 if failed or careless else 0


if __name__ == "__main__":
    raise SystemExit(main())
