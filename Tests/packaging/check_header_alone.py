"""Compiles each header of include alone, with all versions of C and C++ that users have, by GCC and
clang, warnings as errors.

Checks that the compiler warns of a status that must be checked, a new object that is dropped, and a
deprecated function.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from header import ALL, INSTALLED, ROOT, functions

STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}"]
COMPILERS = {
    "gcc": ["-xc", "-Wstrict-prototypes"],
    "clang": ["-xc", "-Wstrict-prototypes"],
    "g++": ["-xc++"],
    "clang++": ["-xc++"],
}
"""The options with which each compiles a program of its language."""
STANDARDS = {"-xc": ["c99", "c11", "c17", "c2x"], "-xc++": ["c++11", "c++17", "c++20"]}
PROGRAM = "#include <{header}>\nint main(void) {{ return ntapi_version() == 0; }}\n"


def commands() -> dict[str, list[str]]:
    """The command of each compiler that is here, by its name and standard. gcc is always here."""
    here = [name for name in COMPILERS if name == "gcc" or shutil.which(name)]
    return {
        f"{standard} by {name}": [name, *COMPILERS[name], f"-std={standard}", *STRICT]
        for name in here
        for standard in STANDARDS[COMPILERS[name][0]]
    }


CHECKED = re.compile(
    r"ntapi_(http_request_set_(?!priority)\w+|(client|class|configuration)_add_interceptor"
    r"|request_set_(events|data_format|decision_handler)|(client_)?add_observer"
    r"|client_set_(?!log_flags)\w+|configuration_set_\w+|defaults_set(_\w+)?"
    r"|args_(data|multipart_data|mark_secret)|cookie_storage_(set|delete)"
    r"|credential_storage_(set(_default)?|remove)|cache_remove|authenticator_set_\w+"
    r"|rate_limiter_pause|decision_(download|retry|use_credential)|observation_add_header"
    r"|stub_rule_(body_\w+|match|answer_with)|recorder_add_secret)"
)
"""Functions that protect or describe requests, and may fail for a handle, a text, a number or a
struct.

Most of what is left out either keeps its mistake, which fails the request, and is called by the
dozen (`ntapi_args_url`), or can only be too late.
"""
MISTAKES = {
    "a freed or wrong stub": "ntapi_client_set_stub(client, (ntapi_stub *)args)",
    "a wrong scope": "ntapi_client_add_interceptor(client, ntapi_interceptor_create(7, 0, 0, 0, 0))",
    "wrong kinds of decisions": "ntapi_request_set_decision_handler(request, 1 << 20, 0, 0, 0)",
    "a text that is not UTF-8": 'ntapi_defaults_set_string(defaults, "proxy", "\\xff")',
    "a wrong authenticator": "ntapi_client_set_authenticator(client, (ntapi_authenticator *)args)",
    "wrong args": "ntapi_client_set_args(client, (ntapi_args *)client)",
    "the length of a failed read": 'ntapi_args_data(args, "", (size_t)-1, 0)',
}
"""Mistakes that programs have made, each in a call whose status they do not look at."""
OTHERS = {"a new object that is dropped": "ntapi_args_create()", "a deprecated function": "old()"}
WARNED = re.compile(r":(\d+):\d+: warning: .*(?:unused.result|deprecated)", re.IGNORECASE)


def unchecked(calls: dict[str, str], compiler: str, folder: Path) -> list[str]:
    """Which of the named calls compile without a warning."""
    program = folder / "program.c"
    first = [
        "#include <ntapi_store.h>",
        "#include <ntapi_testing.h>",
        'NTAPI_DEPRECATED("ntapi_args_create") void old(void);',
        "void program(ntapi_client *client, ntapi_args *args, ntapi_request *request,",
        "             ntapi_defaults *defaults) {",
        "    (void)client, (void)args, (void)request, (void)defaults;",
    ]
    program.write_text("\n".join([*first, *(f"    {call};" for call in calls.values()), "}\n"]))
    # Not -fsyntax-only, because GCC checks unused results later.
    command = [compiler, "-c", f"-I{ROOT / 'include'}", "-o", "/dev/null", str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    lines = {int(found[1]) for found in WARNED.finditer(done.stderr)}
    if done.returncode != 0:
        return [f"{compiler} refuses the program: {done.stderr}"]
    return [
        f"{name}, by {compiler}"
        for line, name in enumerate(calls, len(first) + 1)
        if line not in lines
    ]


def careless(folder: Path) -> list[str]:
    """What compiles without a warning that it should have, with each compiler that is here."""
    calls = {
        function.name: f"{function.name}({', '.join('0' for _ in function.parameters)})"
        for function in functions(*INSTALLED)
        if CHECKED.fullmatch(function.name) and "jansson" not in function.name
    }
    compilers = [name for name in ("gcc", "clang") if shutil.which(name)] or ["cc"]
    return [
        found
        for compiler in compilers
        for found in unchecked(calls | MISTAKES | OTHERS, compiler, folder)
    ]


def main() -> int:
    """Tries every language with every compiler that is here."""
    done: list[str] = []
    failed: list[str] = []
    for name in COMPILERS:
        if shutil.which(name) is None:
            print(f"check_header_alone: there is no {name} here")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program")
        for name, command in commands().items():
            for header in ALL:
                program.write_text(PROGRAM.format(header=header.name))
                good = subprocess.run([*command, str(program)], check=False).returncode == 0
                (done if good else failed).append(f"{header.name} as {name}")
        unused = careless(Path(folder))
    print(f"check_header_alone: {len(done)} compile, {len(failed)} do not {failed or ''}".rstrip())
    for each in unused:
        print(f"check_header_alone: no warning: {each}")
    return 1 if failed or unused else 0


if __name__ == "__main__":
    raise SystemExit(main())
