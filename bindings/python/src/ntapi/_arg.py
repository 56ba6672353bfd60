"""The arg, a plain value. `ntapi.arg` has the functions that make them."""

from __future__ import annotations

import os

from ._checks import check_string, check_text, type_name

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Optional, Union

    from ._types import Args, BytesLike, Path, PlaceLike, Scalar


class Arg:
    """One element of a request's list of args. It has no effect until a request is begun with it.

    Make one with a function of `ntapi.arg`: `ntapi.url("q", "London")`. It is a value: it never
    changes, and equal ones compare equal. Printing one redacts secrets.
    """

    __slots__ = ("__weakref__", "is_secret", "is_suppressed", "kind", "values")

    kind: str
    """What it is, named as the function that made it."""
    values: tuple[Any, ...]
    """What it was made with."""
    is_secret: bool
    """Whether it was marked with `secret()`."""
    is_suppressed: bool
    """Whether a value was None, so that it is as if the arg had not been given."""

    def __init__(
        self,
        kind: str,
        values: tuple[Any, ...],
        is_secret: bool = False,
        is_suppressed: bool = False,
    ) -> None:
        _set_kind(self, kind)
        _set_values(self, values)
        _set_secret(self, is_secret)
        _set_suppressed(self, is_suppressed)

    def secret(self) -> Arg:
        """The same arg, marked: printed as <redacted>, and a secret header never follows a redirect
        elsewhere.
        """
        return Arg(self.kind, self.values, True, self.is_suppressed)

    def _fields(self) -> tuple[Any, ...]:
        return self.kind, self.values, self.is_secret, self.is_suppressed

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if isinstance(other, Arg) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an arg never changes, so {name!r} cannot be set: make another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an arg never changes, so {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return Arg, self._fields()

    def __repr__(self) -> str:
        # Imported here: the description needs the library's own rule of what is secret.
        from ._bridge.args import describe

        return f"<ntapi.Arg {describe(self)}>"


# Past __setattr__, straight into the slots.
_set_kind = Arg.__dict__["kind"].__set__
_set_values = Arg.__dict__["values"].__set__
_set_secret = Arg.__dict__["is_secret"].__set__
_set_suppressed = Arg.__dict__["is_suppressed"].__set__


GET = Arg("method", ("GET",))
POST = Arg("method", ("POST",))
PUT = Arg("method", ("PUT",))
PATCH = Arg("method", ("PATCH",))
DELETE = Arg("method", ("DELETE",))


def flatten(args: Iterable[Args]) -> list[Arg]:
    """One flat list, in order, without the suppressed args."""
    result: list[Arg] = []
    for item in args:
        if item is None:
            continue
        if isinstance(item, Arg):
            if not item.is_suppressed:
                result.append(item)
        elif isinstance(item, (list, tuple)):
            result.extend(flatten(item))
        elif isinstance(item, (str, bytes)):
            # The type alone: it may be a token.
            raise TypeError(
                f"an arg is expected, not a {type(item).__name__}; "
                "did you mean ntapi.url(name, value)?"
            )
        elif callable(item):
            raise TypeError(
                f"an arg is expected, not {item!r}; "
                "the handler comes after the args: begin(command, args, handler)"
            )
        elif hasattr(item, "__iter__"):
            result.extend(flatten(item))
        else:
            raise TypeError(f"an arg is expected, not {item!r}")
    return result


# The values of args: checked where the arg is made, and made what JSON or C can carry.


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
        from .decoding.encoding import plain

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
