"""The values of args: checked where the arg is made, and made what JSON or C can carry."""

from __future__ import annotations

import os

from ._arg import Arg
from ._checks import check_string, check_text, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Union

    from ._aliases import BytesLike, Path, PlaceLike, Scalar


_PLAIN = frozenset({str, int, float, bool, type(None)})


def arg_of(kind: str, *needed: Any, options: tuple[Any, ...] = ()) -> Arg:
    """An arg that is suppressed when one of the needed values is None."""
    for value in needed + options:
        if isinstance(value, str):
            check_text(
                value, f"the {kind} arg {needed[0]!r}" if len(needed) > 1 else f"the {kind} arg"
            )
    return Arg(kind, needed + options, False, any(value is None for value in needed))


def pair_of(kind: str, name: str, value: Any) -> Arg:
    """An arg of a name and a value, or a list of values where the kind has such pairs."""
    if type(name) is str and type(value) is str and name.isascii() and value.isascii():
        # The usual, which needs no check.
        return Arg(kind, (name, value))
    if isinstance(value, (list, tuple)) and kind in ("url", "form"):
        # A pair for each, in order. One of None is left out, as a single one is.
        scalars = (scalar_of(item, kind, checked_name(name, kind)) for item in value)
        pairs = tuple(item for item in scalars if item is not None)
        return Arg(kind, (name, pairs), False, not pairs)
    return arg_of(kind, checked_name(name, kind), scalar_of(value, kind, name))


def checked_name(name: str, kind: str) -> str:
    """The name in an arg, which has to be a string."""
    check_string(name, f"the name of a {kind} arg")
    return name


def checked_string(value: Optional[str], what: str) -> Optional[str]:
    """A value that has to be a string."""
    if value is not None:
        check_string(value, what)
    return value


def file_path(path: Optional[Path]) -> Optional[str]:
    return None if path is None else checked_string(os.fspath(path), "a file's path")


def checked_place(place: Optional[PlaceLike]) -> Optional[PlaceLike]:
    if place is not None:
        from ._places import check_place

        check_place(place)
    return place


def scalar_of(value: Optional[Scalar], kind: str, name: str) -> Optional[Scalar]:
    """A number that JSON can carry to the core, which writes it; anything else as text."""
    if type(value) not in _PLAIN:
        from enum import Enum

        if isinstance(value, Enum):
            value = value.value
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, float):
        return value
    if hasattr(value, "isoformat"):
        from ._encoding import plain

        # As the core writes its own dates.
        return str(plain(value, None))
    raise TypeError(
        f"the {kind} arg {name!r} has to be a string, a number, a boolean, a date or an enum of "
        f"these, not {type_name(value)}"
    )


def text_of(value: Optional[Scalar], kind: str, name: str) -> Optional[str]:
    """The text of a value."""
    if type(value) is str:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    scalar = scalar_of(value, kind, name)
    return None if scalar is None else str(scalar)


def bytes_of(content: Union[BytesLike, str, None]) -> Optional[bytes]:
    """Bytes that nobody changes any more; text as UTF-8."""
    if content is None or isinstance(content, bytes):
        return content
    if isinstance(content, str):
        check_text(content, "the text")
        return content.encode()
    if isinstance(content, (bytearray, memoryview)):
        return bytes(content)
    # bytes(5) would be five zeros.
    raise TypeError(f"bytes or a string are expected, not {type_name(content)}")
