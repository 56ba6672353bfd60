"""The arg, a plain value. `ntapi.arg` has the functions that make them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ._aliases import Args


class Arg:
    """One word of the small language for a request; nothing happens until a request is begun with
    it.

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
        from ._arg_list import describe

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
