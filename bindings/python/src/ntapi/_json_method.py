"""`json`, as a method that those who come from requests and httpx know.

It once was an attribute with the JSON itself. Used so, it fails with the line to write.
"""

from __future__ import annotations

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, NoReturn, TypeVar

    Function = TypeVar("Function", bound=Callable[..., object])

    def json_method(shown: str) -> Callable[[Function], Function]:
        """Makes a method of a function; `shown` is the object in messages."""
        raise NotImplementedError

else:

    def json_method(shown: str) -> Callable[[Function], _Descriptor]:
        return lambda function: _Descriptor(function, f"{shown}.json()")


class _Descriptor:
    def __init__(self, read: Callable[[Any], Any], line: str) -> None:
        self._read = read
        self._line = line
        self.__doc__ = read.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        # The class shows the function, for `help` and the reference.
        return self._read if instance is None else _Bound(self._read, instance, self._line)


class _Bound:
    """The method of one object."""

    __slots__ = ("_instance", "_line", "_read")

    def __init__(self, read: Callable[[Any], Any], instance: object, line: str) -> None:
        self._read = read
        self._instance = instance
        self._line = line

    def __call__(self, *surplus: object, **options: object) -> Any:
        if surplus or options:
            typed = "; for a type of your own write response.decode(Type)"
            has_form = hasattr(self._instance, "decode")
            raise TypeError(f"{self._line} takes no arguments{typed if has_form else ''}")
        return self._read(self._instance)

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

    __hash__ = object.__hash__

    def keys(self) -> NoReturn:
        """`{**response.json}` asks for them, and would swallow an AttributeError."""
        self._refuse(f"{self._line}.keys()")

    def __getattr__(self, name: str) -> NoReturn:
        problem = f"json is a method and has no attribute {name!r}"
        if not name.startswith("_"):
            problem += f": write {self._line}.{name}"
        raise AttributeError(problem)

    def _refuse(self, line: str) -> NoReturn:
        raise TypeError(f"json is a method: write {line}")

    def __repr__(self) -> str:
        return f"<method {self._line} of {self._instance!r}>"
