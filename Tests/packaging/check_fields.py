"""Checks that the macros for the fields of a struct compile for members of their own type only.

With C11, C++11 and later, an NTAPI_FIELD_INT of a `char *` does not compile, and the error says so.
C99 cannot check this. In every standard, right programs compile without a warning.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from check_header_alone import commands

KINDS = {
    "BOOL": ["bool", "const bool"],
    "INT": ["int", "const int", "signed char", "char", "short", "int64_t", "long", "long long"],
    "UINT": ["unsigned", "uint8_t", "char", "uint16_t", "uint64_t", "size_t", "enum colour"],
    "DOUBLE": ["double", "float"],
    "STRING": ["const char *", "char *", "const char *const"],
    "URL": ["const char *"],
    "DATE": ["double"],
    "CUSTOM_DATE": ["double"],
    "OBJECT": ["struct point"],
}
"""Types of a member by the macros that are for them."""
LAST = {"DATE": ", 0", "CUSTOM_DATE": ", NULL", "OBJECT": ", point_fields"}
"""What a macro takes after the flags."""
ARRAYS = {
    "NTAPI_FIELD_ARRAY_OF(NTAPI_FIELD_KIND_STRING, struct s, m, n, path, 0)": "const char **",
    "NTAPI_FIELD_ARRAY_OF(NTAPI_FIELD_KIND_INT, struct s, m, n, path, 0)": "int *",
    "NTAPI_FIELD_ARRAY_OF(NTAPI_FIELD_KIND_DOUBLE, struct s, m, n, path, 0)": "double *",
    "NTAPI_FIELD_ARRAY(struct s, m, n, path, 0, point_fields)": "struct point *",
}
OTHERS = ["bool", "int", "int64_t", "unsigned", "size_t", "float", "double", "const char *"]
OTHERS += ["char[8]", "void *", "struct point", "struct point *"]
"""Types that are tried with each macro that is not for them."""
PROGRAM = """#include <ntapi.h>

enum colour {{ RED, GREEN }};
struct point {{ int x; }};
struct s {{ {member}; {count} n; }};

#define path "a"
int main(void) {{
    const ntapi_field point_fields[] = {{NTAPI_FIELD_INT(struct point, x, "x", 0), NTAPI_FIELD_END}};
    const ntapi_field fields[] = {{
        {field}, NTAPI_FIELD_END}};
    return fields[0].size == sizeof point_fields[0] && point_fields[0].size != 0 ? 0 : 1;
}}
"""
OLDEST = {"c11", "c++11"}
"""The standards with which the wrong programs are compiled: the oldest ones that can refuse them."""
WRONG_TYPE = "is not for a member of that type"
WRONG_COUNT = "the count has to be a size_t"


def field(kind: str) -> str:
    """The macro of that kind for the member m."""
    return f"NTAPI_FIELD_{kind}(struct s, m, path, 0{LAST.get(kind, '')})"


def program(macro: str, kind: str, count: str = "size_t") -> str:
    """A program with a member m of that type, and its field."""
    name, bracket, length = kind.partition("[")
    return PROGRAM.format(member=f"{name} m{bracket}{length}", count=count, field=macro)


def right() -> list[str]:
    """Programs that compile."""
    scalars = [program(field(kind), each) for kind, types in KINDS.items() for each in types]
    return scalars + [program(macro, each) for macro, each in ARRAYS.items()]


def wrong() -> list[tuple[str, str]]:
    """Programs that do not compile, and what the compiler says."""
    others = [
        program(field(kind), each)
        for kind, types in KINDS.items()
        for each in OTHERS
        if each not in types
    ]
    names = list(ARRAYS)
    shifted = zip(names[1:] + names[:1], ARRAYS.values(), strict=True)
    others += [program(macro, each) for macro, each in shifted]
    counts = [program(names[0], ARRAYS[names[0]], each) for each in ("int", "uint16_t")]
    return [(each, WRONG_TYPE) for each in others] + [(each, WRONG_COUNT) for each in counts]


def said(command: list[str], text: str, folder: Path) -> str:
    """What a compiler says to a program; "" when it compiles."""
    path = folder / "program"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run([*command, str(path)], check=False, capture_output=True, text=True)
    return done.stderr or "an error without a text" if done.returncode else ""


def main() -> int:
    """Prints each program that a compiler wrongly accepted or refused, and a summary line."""
    failures = []
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands().items():
            for text in right():
                tried += 1
                if answer := said(command, text, Path(folder)):
                    failures.append(f"{name} refuses\n{text}{answer}")
            for text, expected in wrong() if name.split()[0] in OLDEST else []:
                tried += 1
                answer = said(command, text, Path(folder))
                if expected not in answer:
                    failures.append(f"{name} does not say '{expected}'\n{text}{answer}")
    for failure in failures:
        print(failure)
    print(f"check_fields: {tried} programs, {len(failures)} were taken wrongly")
    return 1 if failures or not tried else 0


if __name__ == "__main__":
    raise SystemExit(main())
