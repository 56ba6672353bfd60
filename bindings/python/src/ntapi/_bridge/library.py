"""Finds libntapi, loads it and gives its functions their signatures."""

from __future__ import annotations

import ctypes
import os

from .. import __version__
from .signatures import FUNCTIONS, LATEST

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Callable, NoReturn, Optional

SONAME = "libntapi.so.0"
VARIABLE = "NTAPI_LIBRARY"


def _candidates() -> Iterator[tuple[str, str]]:
    """Where the library may be, best first: the name of each place, and the file."""
    named = os.environ.get(VARIABLE)
    if named:
        # Asked for by name: falling back to another copy would hide a mistake.
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
    """The library's functions, each declared when it is first used."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self._name = library._name
        # A list of args is filled by some short calls. Each would let another thread have Python's
        # lock, and wait until that thread gives it back. PyPy has no such calls.
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
        # From now on it is found without this.
        setattr(self, name, function)
        return function


def _checked(library: ctypes.CDLL, path: str) -> Library:
    """Checks that the library's version fits."""
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
    # Functions are only ever added, so one that has the latest has all.
    if not hasattr(library, LATEST):
        raise ImportError(f"{path} (version {version}) lacks the function {LATEST}")
    return Library(library)


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


# By the beginning of their names: the packages of Debian and Ubuntu, Fedora, and Alpine or Arch.
_NEEDED = {
    "libcurl.so": ("libcurl4", "libcurl", "curl"),
    "libjansson.so": ("libjansson4", "jansson", "jansson"),
    "libz.so": ("zlib1g", "zlib", "zlib"),
}


def _missing(path: str, problem: str) -> Optional[str]:
    """What the linker means when the library is there, but one that it needs is not."""
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
    """Loads the library, or says everywhere it was looked for."""
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
    """The text of a `char *` that the library returned as new, which is freed."""
    if pointer is None:
        return None
    try:
        return ctypes.string_at(pointer).decode("utf-8", "replace")
    finally:
        lib.ntapi_text_free(pointer)


# Ownership of C objects.


is_over: list[bool] = []
"""Not empty once the process has ended all requests. It takes its memory back, so that nothing is
freed any more: what a free may call in Python may be gone already.
"""


class Handle:
    """Owns one C object and frees it once, when told to or when collected, in any order with other
    handles. Without a function that frees, the object is lent.
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
        # The copy would free the same object.
        raise TypeError("an object of libntapi cannot be pickled or copied")

    def __del__(self, _is_over: list[bool] = is_over) -> None:
        # Ctrl-C may have come before __init__.
        if not _is_over and hasattr(self, "_free"):
            self.free()
