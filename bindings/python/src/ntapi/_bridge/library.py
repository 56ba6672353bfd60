"""Finds libntapi, loads it and gives its functions their signatures."""

from __future__ import annotations

import ctypes
import os

from .signatures import FUNCTIONS

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Callable, NoReturn, Optional

SONAME = "libntapi.so.0"
VARIABLE = "NTAPI_LIBRARY"
LATEST = "ntapi_recorder_create_replaying"
"""The function that was added last."""


def _candidates() -> Iterator[tuple[str, str]]:
    """Where the library may be, in the order of search: the name of each place, and the file."""
    named = os.environ.get(VARIABLE)
    if named:
        # The user has named this file: falling back to another copy would hide a mistake.
        yield f"the environment variable {VARIABLE}", named
        return
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    yield "the package", os.path.join(package, SONAME)
    root = os.path.abspath(os.path.join(package, *[os.pardir] * 4))
    if os.path.isfile(os.path.join(root, "Package.swift")):
        yield "the source tree", os.path.join(root, "build", SONAME)
    yield "the system", SONAME
    import ctypes.util

    found = ctypes.util.find_library("ntapi")
    if found and found != SONAME:
        yield "the system", found


class Library:
    """The library's functions, each declared on first use."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self._name = library._name
        # Filling a list of args takes several short calls. These keep Python's lock: otherwise each
        # would give it to another thread and wait to get it back. PyPy has no such calls.
        self._with_lock = library
        if hasattr(ctypes, "PyDLL"):
            self._with_lock = ctypes.PyDLL(library._name, handle=library._handle)

    def __getattr__(self, name: str) -> Any:
        library = self._with_lock if name.startswith("ntapi_args_") else self.library
        function = getattr(library, name)
        signature = FUNCTIONS.get(name)
        if signature is None:
            from .callbacks import CALLBACK_FUNCTIONS

            signature = CALLBACK_FUNCTIONS[name]
        function.restype, function.argtypes = signature
        # From now on the function is found without this.
        setattr(self, name, function)
        return function


def _checked(library: ctypes.CDLL, path: str) -> Library:
    """Checks that it is libntapi."""
    try:
        library.ntapi_version.restype = ctypes.c_char_p
        library.ntapi_version.argtypes = ()
    except AttributeError:
        raise ImportError(f"{path} is not libntapi: it has no ntapi_version") from None
    return Library(library)


def require(ours: str) -> None:
    """Raises ImportError for a library that does not fit this version of the package."""
    path, version = lib.library._name, lib.ntapi_version().decode()
    if not fits(version, ours):
        raise ImportError(
            f"{path} is version {version}, but this package needs {ours} or a later one of the "
            "same series. Install the package and the library from the same release."
        )
    # Functions are only added, so a library that has the latest function has all.
    if not hasattr(lib.library, LATEST):
        raise ImportError(f"{path} (version {version}) lacks the function {LATEST}")


def fits(version: str, ours: str) -> bool:
    """Whether a version fits: the same major, and for major 0 the same minor. A newer one fits,
    because functions are only added.
    """
    try:
        needed, found = (tuple(map(int, text.split(".")[:3])) for text in (ours, version))
    except ValueError:
        return False
    series = 2 if needed[0] == 0 else 1
    return found[:series] == needed[:series] and found >= needed


# The packages of Debian and Ubuntu, of Fedora, and of Alpine or Arch, by the beginning of the
# library's name.
_NEEDED = {
    "libcurl.so": ("libcurl4", "libcurl", "curl"),
    "libjansson.so": ("libjansson4", "jansson", "jansson"),
    "libz.so": ("zlib1g", "zlib", "zlib"),
}


def _missing(path: str, problem: str) -> Optional[str]:
    """Explains the linker's error if libntapi is there but a library that it needs is not."""
    for stem, (debian, fedora, other) in _NEEDED.items():
        start = problem.find(stem)
        if start < 0:
            continue
        name = problem[start:].split(":")[0]
        if "version `" in problem:
            trouble = "is there, but of another build than the one that libntapi was linked with"
        else:
            trouble = "is not installed"
        return (
            f"{name} {trouble}, and {path} needs it: `sudo apt install {debian}` (Debian, "
            f"Ubuntu), `sudo dnf install {fedora}` (Fedora), or the package {other}. The linker "
            f"says: {problem}"
        )
    return None


def load() -> Library:
    """Loads the library. The error lists all places that were searched."""
    tried: list[str] = []
    for origin, path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            missing = _missing(path, str(error))
            if missing is not None:
                raise ImportError(missing) from None
            tried.append(f"  {origin}: {path} ({error})")
        else:
            return _checked(library, path)
    raise ImportError(
        f"{SONAME} was not found. Looked in:\n"
        + "\n".join(tried)
        + "\nInstall a wheel, which has the library, or Debian's package libntapi0; build it with "
        "`cmake -B build -G Ninja && cmake --build build` in the repository; "
        f"or set {VARIABLE} to the file."
    )


lib = load()


def take_text(pointer: int | None) -> str | None:
    """The text of a new `char *` of the library, which this frees."""
    if pointer is None:
        return None
    try:
        return ctypes.string_at(pointer).decode("utf-8", "replace")
    finally:
        lib.ntapi_text_free(pointer)


# Ownership of C objects.


endings: list[Callable[[], object]] = []
"""Functions to call when the process ends, before `is_over` is set."""
is_over: list[bool] = []
"""Not empty after the process has ended all requests. From then on free nothing: a free may call
Python code that is gone already, and the exit of the process releases the memory.
"""


class Handle:
    """Owns a C object and frees it once: on `free` or when collected, in any order with other
    handles. Without a function that frees, the object is only borrowed.
    """

    __slots__ = ("__weakref__", "_free", "pointer")

    pointer: Optional[int]
    """The C pointer; None, which C reads as NULL, once freed."""

    def __init__(self, pointer: int, free: Optional[Callable[[int], Any]] = None) -> None:
        self.pointer = pointer
        self._free = free

    def free(self) -> None:
        """Frees the object now; a second call does nothing."""
        pointer, self.pointer = self.pointer, None
        if pointer is not None and self._free is not None:
            self._free(pointer)

    def __reduce__(self) -> NoReturn:
        # A copy would free the same object.
        raise TypeError("an object of libntapi cannot be pickled or copied")

    def __del__(self, _is_over: list[bool] = is_over) -> None:
        # After a Ctrl-C before __init__, there is no pointer.
        if not _is_over and hasattr(self, "_free"):
            self.free()
