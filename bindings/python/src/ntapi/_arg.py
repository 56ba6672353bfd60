"""The arg, a plain value. `ntapi.arg` has the functions that make them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Union


@dataclass(frozen=True)
class Arg:
    """One word of the small language for a request; nothing happens until a request is begun with
    it.

    Make one with a function of `ntapi.arg`: `ntapi.url("q", "London")`. Printing one redacts
    secrets.
    """

    kind: str
    """What it is, named as the function that made it."""
    values: tuple[Any, ...]
    """What it was made with."""
    is_secret: bool = False
    """Whether it was marked with `secret()`."""
    is_suppressed: bool = field(default=False)
    """Whether a value was None, so that it is as if the arg had not been given."""

    def secret(self) -> Arg:
        """The same arg, marked: printed as <redacted>, and a secret header never follows a redirect
        elsewhere.
        """
        return replace(self, is_secret=True)

    def __repr__(self) -> str:
        # Imported here: the description needs the library's own rule of what is secret.
        from ._arg_list import describe

        return f"<ntapi.Arg {describe(self)}>"


Args = Union[Arg, None, Iterable["Args"]]
"""What methods accept as args: an arg, None, or any nesting of lists of them."""


def flatten(args: Iterable[Args]) -> list[Arg]:
    """One flat list, in order, without the suppressed args."""
    result: list[Arg] = []
    for item in args:
        if item is None:
            continue
        if isinstance(item, Arg):
            if not item.is_suppressed:
                result.append(item)
        elif isinstance(item, (str, bytes)):
            raise TypeError(
                f"an arg is expected, not {item!r}; did you mean ntapi.url(name, value)?"
            )
        elif callable(item):
            raise TypeError(
                f"an arg is expected, not {item!r}; "
                "the handler comes after the args: begin(command, args, handler)"
            )
        elif isinstance(item, Iterable):
            result.extend(flatten(item))
        else:
            raise TypeError(f"an arg is expected, not {item!r}")
    return result
