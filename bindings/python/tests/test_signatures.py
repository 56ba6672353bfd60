"""The table of C signatures equals the headers."""

from __future__ import annotations

import ctypes
import enum
import re
from typing import Any

import pytest

from conftest import REPOSITORY
from ntapi import codes
from ntapi._bridge import callbacks, enums, redis, signatures

TABLE = {**signatures.FUNCTIONS, **callbacks.CALLBACK_FUNCTIONS, **redis.FUNCTIONS}
HEADER = "".join(path.read_text() for path in sorted((REPOSITORY / "include").glob("*.h")))
# Without comments, the preprocessor's lines and their continuations.
SOURCE = re.sub(r"^\s*#(.*\\\n)*.*$", "", re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S), flags=re.M)

SCALARS: dict[str, Any] = {
    "void": None,
    "int": ctypes.c_int,
    "bool": ctypes.c_bool,
    "double": ctypes.c_double,
    "size_t": ctypes.c_size_t,
    "ptrdiff_t": ctypes.c_ssize_t,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "const char *": ctypes.c_char_p,
    "const int64_t *": ctypes.POINTER(ctypes.c_int64),
    "size_t *": ctypes.POINTER(ctypes.c_size_t),
    "const void *": ctypes.c_void_p,
    "const char *const *": ctypes.POINTER(ctypes.c_char_p),
    "ntapi_event *": ctypes.POINTER(signatures.Event),
    # Passed as an address, which is cheaper.
    "ntapi_watch *": ctypes.c_void_p,
    "const ntapi_redis_options *": ctypes.POINTER(redis.RedisOptions),
}
ENUMS = set(
    re.findall(r"\}\s*(ntapi_\w+);", "".join(re.findall(r"typedef enum.*?;", SOURCE, re.S)))
)
FLAGS = set(re.findall(r"typedef int (ntapi_\w+);", SOURCE))
CALLBACKS = {
    name: (result.strip(), arguments)
    for result, name, arguments in re.findall(
        r"typedef ([\w ]+\*?)\s*\(\*(ntapi_\w+_fn)\)\(([^)]*)\)", SOURCE
    )
}
FUNCTIONS = {
    name: (result.strip(), arguments)
    for result, name, arguments in re.findall(
        r"^(?:NTAPI_(?:NEW|CHECKED) )?((?:const )?\w+ \*?)(ntapi_\w+)\(([^;{]*?)\);",
        SOURCE,
        re.M | re.S,
    )
}
ADDRESSES = {
    "ntapi_http_request_body",
    "ntapi_request_received_message",
    "ntapi_response_data",
}
"""Functions whose const char * stays an address: it may contain NUL, or `quick` calls it."""


def callback(name: str) -> Any:
    words = name[len("ntapi_") : -len("_fn")].split("_")
    python_name = "".join(map(str.capitalize, words)) + "Function"
    return vars(signatures).get(python_name) or getattr(callbacks, python_name)


def c_type(text: str) -> Any:
    text = " ".join(text.split())
    if text in SCALARS:
        return SCALARS[text]
    if text in ENUMS | FLAGS:
        return ctypes.c_int
    if text in CALLBACKS:
        return callback(text)
    if text.endswith("**"):
        return ctypes.POINTER(ctypes.c_void_p)
    assert text.endswith("*"), text
    return ctypes.c_void_p


def argument_types(arguments: str) -> tuple[Any, ...]:
    if arguments.strip() == "void":
        return ()
    # Bytes may contain NUL, so ctypes must not turn them into a Python string.
    arguments = arguments.replace("const char *bytes", "const void *bytes")
    types = (re.sub(r"\w+$", "", argument.strip()).strip() for argument in arguments.split(","))
    return tuple(map(c_type, types))


def values_of(members: Any) -> dict[str, int]:
    """The names and numbers of an enum, or of a plain class of them."""
    if isinstance(members, enum.EnumMeta):
        return {name: member.value for name, member in members.__members__.items()}
    return {name: value for name, value in vars(members).items() if name.isupper()}


def test_the_parser_finds_the_header() -> None:
    scripts = (REPOSITORY / "cmake").glob("*.map")
    in_script = re.findall(r"ntapi_\w+;", "".join(path.read_text() for path in scripts))
    assert len(FUNCTIONS) == len(in_script)
    assert len(CALLBACKS) == 36
    assert "ntapi_thread" in ENUMS


def test_same_names() -> None:
    assert set(TABLE) == set(FUNCTIONS)
    assert not set(signatures.FUNCTIONS) & set(callbacks.CALLBACK_FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_same_types(name: str) -> None:
    result, arguments = FUNCTIONS[name]
    restype, argtypes = TABLE[name]
    expected = ctypes.c_void_p if name in ADDRESSES else c_type(result)
    assert restype is expected
    assert argtypes == argument_types(arguments)


@pytest.mark.parametrize("name", CALLBACKS)
def test_same_callbacks(name: str) -> None:
    result, arguments = CALLBACKS[name]
    function = callback(name)
    assert function._restype_ is c_type(result)
    assert function._argtypes_ == argument_types(arguments)


STRUCTURES = {
    structure
    for module in (signatures, callbacks, redis)
    for structure in vars(module).values()
    if isinstance(structure, type)
    and issubclass(structure, ctypes.Structure)
    and structure.__module__ == module.__name__
}
LAYOUTS = {signatures.Event: signatures._EVENT, signatures.Watch: signatures._WATCH}
OTHER_NAMES = {signatures.Observed: "ntapi_observation"}


def test_the_structures_are_found() -> None:
    assert {signatures.ErrorDetails, callbacks.Hooks, redis.RedisOptions} < STRUCTURES


@pytest.mark.parametrize(
    "structure",
    # It has functions that are written out, so a test of its own.
    sorted(STRUCTURES - {signatures.Python}, key=lambda structure: structure.__name__),
)
def test_same_structures(structure: Any) -> None:
    layout = LAYOUTS.get(structure)
    name = "ntapi" + re.sub("([A-Z])", r"_\1", structure.__name__).lower()
    name = OTHER_NAMES.get(structure, name)
    body = re.search(rf"typedef struct {name} \{{(.*?)\}}", SOURCE, re.S)
    assert body
    fields = re.findall(r"(\w[\w *]*?)(\w+);", body[1])
    in_header = [(field, c_type(kind)) for kind, field in fields]
    # A body is bytes, which may contain NUL.
    in_header = [
        (field, ctypes.c_void_p if field in ("data", "body") else kind) for field, kind in in_header
    ]
    assert in_header == list(structure._fields_)
    if layout is not None:
        assert layout.size == ctypes.sizeof(structure)


def test_same_functions_of_python() -> None:
    body = re.search(r"typedef struct ntapi_python \{(.*?)\} ntapi_python;", SOURCE, re.S)
    assert body
    in_header = re.findall(r"(?:void \*\s*|ptrdiff_t |\(\*)(\w+)(?:;|\)\()", body[1])
    assert in_header == [name for name, _ in signatures.Python._fields_]
    assert f"#define NTAPI_PYTHON_KEYS_SIZE {signatures.PYTHON_KEYS_SIZE}\n" in HEADER


@pytest.mark.parametrize(
    ("prefix", "members"),
    [
        ("NTAPI_THREAD_", enums.Thread),
        ("NTAPI_CLOCK_", enums.Clock),
        ("NTAPI_CACHE_POLICY_", enums.CachePolicy),
        ("NTAPI_ERROR_DOMAIN_", enums.ErrorDomain),
        ("NTAPI_REQUEST_STATE_", enums.RequestState),
        ("NTAPI_SESSION_KIND_", enums.SessionKind),
        ("NTAPI_LOG_", enums.LogFlags),
        ("NTAPI_STATUS_", signatures.Status),
        ("NTAPI_HANDLER_", signatures.Handler),
        ("NTAPI_CONTENT_", signatures.Content),
        ("NTAPI_DATA_FORMAT_", signatures.DataFormat),
    ],
)
def test_same_enums(prefix: str, members: Any) -> None:
    in_header = dict(re.findall(prefix + r"(\w+) = (\d+)", SOURCE))
    in_header.pop("ALL", None)
    if "NONE" not in values_of(members):
        # C's void is None in Python.
        in_header.pop("NONE", None)
    in_python = {name: str(value) for name, value in values_of(members).items()}
    in_python.pop("ALL", None)
    assert in_python == in_header


def test_same_codes() -> None:
    found = re.findall(r'NTAPI_CODE_(\w+) = \d+,? +/\* "(.*?)"', HEADER)
    assert len(found) == 19
    for name, text in found:
        assert getattr(codes, name) is codes.ErrorCode(text)
