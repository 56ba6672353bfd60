"""Finds libntapi, loads it and gives every function its signature."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from collections.abc import Iterator
from pathlib import Path

from ._signatures import FUNCTIONS
from ._version import __version__

SONAME = "libntapi.so.0"
VARIABLE = "NTAPI_LIBRARY"


def _candidates() -> Iterator[tuple[str, str]]:
    """Where the library may be, best first, as (what to call the place, what to load)."""
    named = os.environ.get(VARIABLE)
    if named:
        # Asked for by name: falling back to another copy would hide a mistake.
        yield f"the environment variable {VARIABLE}", named
        return
    here = Path(__file__).resolve()
    packaged = here.with_name(SONAME)
    yield "the package", str(packaged)
    for root in here.parents[4:5]:
        if (root / "include" / "ntapi.h").is_file():
            yield "the source tree", str(root / "build" / SONAME)
    yield "the system", SONAME
    found = ctypes.util.find_library("ntapi")
    if found and found != SONAME:
        yield "the system", found


def _bind(library: ctypes.CDLL, path: str) -> ctypes.CDLL:
    """Checks that the library's version fits and declares every function."""
    try:
        library.ntapi_version.restype = ctypes.c_char_p
        library.ntapi_version.argtypes = ()
        version = library.ntapi_version().decode()
    except AttributeError:
        raise ImportError(f"{path} is not libntapi: it has no ntapi_version") from None
    if not _fits(version):
        raise ImportError(
            f"{path} is version {version}, but this package needs {__version__} or a later one "
            "of the same series. Install the package and the library from the same release."
        )
    for name, (restype, argtypes) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{path} (version {version}) lacks the function {name}") from None
        function.restype = restype
        function.argtypes = argtypes
    return library


def _fits(version: str) -> bool:
    """Same major, and within major 0 the same minor; otherwise newer is fine, for functions are
    only ever added.
    """
    try:
        ours, theirs = (tuple(map(int, text.split(".")[:3])) for text in (__version__, version))
    except ValueError:
        return False
    series = 2 if ours[0] == 0 else 1
    return theirs[:series] == ours[:series] and theirs >= ours


def load() -> ctypes.CDLL:
    """Loads the library, or says everywhere it was looked for."""
    tried: list[str] = []
    for origin, path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            tried.append(f"  {origin}: {path} ({error})")
        else:
            return _bind(library, path)
    raise ImportError(
        f"{SONAME} was not found. Looked in:\n"
        + "\n".join(tried)
        + "\nInstall the wheel with `pip install ./bindings/python`, build the library with "
        "`cmake -B build -G Ninja && cmake --build build` in the repository, "
        f"or set {VARIABLE} to the file."
    )


lib = load()
