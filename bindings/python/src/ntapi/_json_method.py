"""`json` as a method, as in requests and httpx.

It once was an attribute with the JSON itself. Code that still uses the attribute gets an error that
says what to write.
"""

from __future__ import annotations

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from functools import partial
    from typing import Any, Callable, NoReturn, TypeVar

    Base = partial[Any]
    Function = TypeVar("Function", bound=Callable[..., object])

    def json_method(shown: str) -> Callable[[Function], Function]:
        """Makes a method from a function; `shown` is the name of the object in messages."""
        raise NotImplementedError

else:
    # functools takes longer to import than this module, so import only this part of it.
    from _functools import partial

    Base = partial

    def json_method(shown: str) -> Callable[[Function], _Descriptor]:
        return lambda function: _Descriptor(function, f"{shown}.json()")


class _Descriptor:
    def __init__(self, read: Callable[[Any], Any], line: str) -> None:
        self._read = read
        self.__doc__ = read.__doc__
        self._bound = type("method", (_Bound,), {"__slots__": (), "_line": line})

    def __get__(self, instance: Any, owner: type) -> Any:
        # On the class it is the function, for `help` and the reference.
        return self._read if instance is None else self._bound(self._read, instance)


class _Bound(Base):
    """The method of one object. A partial, because making and calling one runs no Python code."""

    __slots__ = ()
    _line: str
    __hash__ = object.__hash__

    def __getitem__(self, key: object) -> NoReturn:
        self._refuse(f"{self._line}[{key!r}]")

    def __iter__(self) -> NoReturn:
        self._refuse(f"for value in {self._line}")

    def __contains__(self, value: object) -> NoReturn:
        self._refuse(f"value in {self._line}")

    def __len__(self) -> NoReturn:
        self._refuse(f"len({self._line})")

    def __bool__(self) -> NoReturn:
        self._refuse(f"if {self._line}")

    def __eq__(self, other: object) -> NoReturn:
        self._refuse(f"{self._line} == value")

    def __ne__(self, other: object) -> NoReturn:
        self._refuse(f"{self._line} != value")

    def keys(self) -> NoReturn:
        """`{**response.json}` looks this up, and would swallow an AttributeError."""
        self._refuse(f"{self._line}.keys()")

    def __getattr__(self, name: str) -> NoReturn:
        problem = f"json is a method and has no attribute {name!r}"
        if not name.startswith("_"):
            problem += f": write {self._line}.{name}"
        raise AttributeError(problem)

    def _refuse(self, line: str) -> NoReturn:
        raise TypeError(f"json is a method: write {line}")

    def __repr__(self) -> str:
        return f"<method {self._line} of {self.args[0]!r}>"
