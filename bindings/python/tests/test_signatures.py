"""The C signatures are those of the headers, and so are the enums."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY
from ntapi import codes
from ntapi._bridge import callbacks, enums, events, signatures
from ntapi._bridge.library import LATEST, lib

sys.path.insert(0, str(REPOSITORY / "bindings" / "python" / "tools"))

import write_signatures
from write_signatures import ALL, BRIDGE, COMMAND, Header

HEADER = Header(*ALL)
TABLE = {**signatures.FUNCTIONS, **callbacks.CALLBACK_FUNCTIONS}
STRUCTS = {
    structure.__doc__.rstrip("."): structure
    for module in (signatures, callbacks)
    for structure in vars(module).values()
    if isinstance(structure, type)
    and issubclass(structure, ctypes.Structure)
    and structure is not ctypes.Structure
}


def test_the_parser_finds_the_header() -> None:
    scripts = (REPOSITORY / "cmake").glob("*.map")
    in_script = re.findall(r"ntapi_\w+;", "".join(path.read_text() for path in scripts))
    assert len(HEADER.functions) == len(in_script)
    assert len(HEADER.callbacks) == 36
    assert "Thread" in HEADER.enums


@pytest.mark.parametrize("name", ["signatures.py", "callbacks.py"])
def test_the_command_makes_the_files(name: str) -> None:
    assert (BRIDGE / name).read_text() == write_signatures.made()[name], f"run `{COMMAND}`"


def test_no_function_is_in_both_tables() -> None:
    assert not set(signatures.FUNCTIONS) & set(callbacks.CALLBACK_FUNCTIONS)
    assert LATEST in {function.name for function in HEADER.functions}


INVENTED = """
typedef enum ntapi_size {
    NTAPI_SIZE_SMALL = 0, /* a comment; of an enum */
    NTAPI_SIZE_LARGE = 2
} ntapi_size;
typedef int ntapi_sizes; /* ntapi_size values with | */
typedef struct ntapi_box ntapi_box;
#define NTAPI_BOX_COUNT 64
/** A comment: it names ntapi_box_nothing(void); */
typedef ptrdiff_t (*ntapi_box_fill_fn)(void *user_data, const char *bytes, size_t length,
                                       const char *name);
typedef struct ntapi_box_options {
    size_t size; /* of this struct; */
    const char *name;
    const char *body;     /* it may contain NUL */
    const char *const *labels;
    const int *numbers;
    void *(*make)(int64_t value, void *place);
    ntapi_box_fill_fn fill;
    ntapi_sizes sizes;
    bool is_open;
} ntapi_box_options;
NTAPI_NEW ntapi_box *ntapi_box_create(const ntapi_box_options *options, ntapi_error **error);
void ntapi_box_free(ntapi_box *box);
NTAPI_CHECKED int ntapi_box_put(ntapi_box *box, const char *bytes, size_t length,
                                ntapi_size size, double weight, uint64_t number);
const char *ntapi_box_text(const ntapi_box *box, size_t *length);
const char *ntapi_response_data(const ntapi_box *box);
ntapi_size ntapi_box_fill_with_a_function(ntapi_box *box, ntapi_box_fill_fn fill, void *user_data);
"""
WRITTEN = [
    "BoxFillFunction = CFUNCTYPE(c_ssize_t, c_void_p, c_void_p, c_size_t, c_char_p)\n",
    '''class BoxOptions(Structure):
    """ntapi_box_options."""

    _fields_ = (
        ("size", c_size_t),
        ("name", c_char_p),
        ("body", c_void_p),
        ("labels", POINTER(c_char_p)),
        ("numbers", c_void_p),
        ("make", c_void_p),
        ("fill", BoxFillFunction),
        ("sizes", c_int),
        ("is_open", c_bool),
    )
''',
    '''class Size:
    """ntapi_size."""

    SMALL = 0
    LARGE = 2
''',
    """    "ntapi_box_create": (c_void_p, (c_void_p, POINTER(c_void_p))),
    "ntapi_box_free": (None, (c_void_p,)),
    "ntapi_box_put": (c_int, (c_void_p, c_void_p, c_size_t, c_int, c_double, c_uint64)),
    "ntapi_box_text": (c_char_p, (c_void_p, POINTER(c_size_t))),
    "ntapi_response_data": (c_void_p, (c_void_p,)),
    "ntapi_box_fill_with_a_function": (c_int, (c_void_p, BoxFillFunction, c_void_p)),
""",
]


def test_an_invented_header(tmp_path: Path) -> None:
    """Each kind of declaration, with the types that it has to get."""
    path = tmp_path / "invented.h"
    path.write_text(INVENTED)
    header = Header(path)
    assert header.constants == {"BOX_COUNT": "64"}
    assert [
        header.callback("BoxFillFunction"),
        header.struct("BoxOptions"),
        header.numbers("Size"),
        "".join(map(header.row, header.functions)),
    ] == WRITTEN


def test_an_unknown_type(tmp_path: Path) -> None:
    path = tmp_path / "invented.h"
    path.write_text("void ntapi_turn(float angle);\n")
    header = Header(path)
    with pytest.raises(ValueError, match="angle has an unknown type: float"):
        header.row(header.functions[0])


def test_the_layout_of_structs(tmp_path: Path) -> None:
    """The compiler gives each member the same place."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    expected, lines = [], []
    for c_name, structure in STRUCTS.items():
        expected.append(f"{c_name} {ctypes.sizeof(structure)}")
        lines.append(f'printf("{c_name} %zu\\n", sizeof({c_name}));')
        for name, *_ in structure._fields_:
            field = getattr(structure, name)
            expected.append(f"{name} {field.offset} {field.size}")
            place = f"offsetof({c_name}, {name}), sizeof((({c_name} *)0)->{name})"
            lines.append(f'printf("{name} %zu %zu\\n", {place});')
    includes = "".join(f"#include <{path.name}>\n" for path in ALL if "jansson" not in path.name)
    source, program = tmp_path / "layout.c", tmp_path / "layout"
    source.write_text(
        f"#include <stddef.h>\n#include <stdio.h>\n{includes}int main(void) {{\n"
        + "\n".join(lines)
        + "\n}\n"
    )
    include = f"-I{REPOSITORY / 'include'}"
    subprocess.run([compiler, include, str(source), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout.splitlines() == expected


@pytest.mark.parametrize(
    ("structure", "layout", "omitted"),
    [(signatures.Event, events._EVENT, 1), (signatures.Watch, events._WATCH, 0)],
)
def test_the_formats_of_events(structure: Any, layout: Any, omitted: int) -> None:
    """Each member is read from its place."""
    assert layout.size == ctypes.sizeof(structure)
    fields = structure._fields_[omitted:]
    values = range(1, len(fields) + 1)
    filled = structure(**{name: value for (name, _), value in zip(fields, values)})
    assert layout.unpack(filled) == tuple(values)


def test_every_function_is_in_the_library() -> None:
    """Those of libntapi; libntapi-redis has its own test."""
    of_redis = {name for name in TABLE if name.startswith("ntapi_redis_")}
    for name in set(TABLE) - of_redis:
        assert getattr(lib, name).argtypes == TABLE[name][1]


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("Thread", enums.Thread),
        ("Clock", enums.Clock),
        ("CachePolicy", enums.CachePolicy),
        ("ErrorDomain", enums.ErrorDomain),
        ("RequestState", enums.RequestState),
        ("SessionKind", enums.SessionKind),
        ("Log", enums.LogFlags),
    ],
)
def test_same_enums(name: str, members: Any) -> None:
    c_name, values = HEADER.enums[name]
    in_header = {key.removeprefix(f"{c_name.upper()}_"): value for key, value in values.items()}
    in_header.pop("ALL", None)
    in_python = {name: member.value for name, member in members.__members__.items()}
    in_python.pop("ALL", None)
    if "NONE" not in in_python:
        # C's void is None in Python.
        in_header.pop("NONE", None)
    assert in_python == in_header


def test_same_codes() -> None:
    found = re.findall(r'NTAPI_CODE_(\w+) = \d+,? +/\* "(.*?)"', write_signatures.read(ALL))
    assert len(found) == 19
    for name, text in found:
        assert getattr(codes, name) is codes.ErrorCode(text)
