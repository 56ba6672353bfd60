"""Dataclasses with an `__init__` of their own, and with parameters that are no fields.

Without `from __future__ import annotations`: before Python 3.11, InitVar must not be a string.
"""

import dataclasses
import functools
from dataclasses import InitVar, dataclass, field
from typing import Annotated, Any, Callable, ClassVar, Generic, Optional, TypeVar

import pytest

import ntapi
from decoding import decode, refused

T = TypeVar("T")


@dataclass
class City:
    name: str
    factor: InitVar[float]
    title: str = field(init=False)
    planet: ClassVar[str] = "Earth"
    unit: InitVar[Annotated[Optional[str], ntapi.Key("units.temperature")]] = None
    degrees: float = 0

    def __post_init__(self, factor: float, unit: Optional[str]) -> None:
        self.title = f"{self.name} {self.degrees * factor} {unit}"


@dataclass
class Box(Generic[T]):
    items: InitVar[list[T]]
    count: int = field(init=False)

    def __post_init__(self, items: list[T]) -> None:
        self.count = len(items)


def test_an_init_var_is_decoded_by_its_type() -> None:
    value = {"name": "Oslo", "factor": 2, "degrees": 4, "planet": "Mars"}
    city = decode(City, {**value, "units": {"temperature": "C"}})
    assert (city.name, city.degrees, city.title) == ("Oslo", 4, "Oslo 8.0 C")
    assert City.planet == "Earth"
    assert decode(City, value).title == "Oslo 8.0 None"
    assert refused(City, {"name": "Oslo"}) == "factor: float expected, nothing found"
    assert refused(City, {**value, "factor": "x"}) == "factor: float expected, string found"
    assert decode(Box[int], {"items": [1, 2]}).count == 2
    assert refused(Box[int], {"items": ["a"]}) == "items[0]: int expected, string found"
    assert ntapi.json(city) == ntapi.json({"name": "Oslo", "degrees": 4.0})


@dataclass
class Pair:
    a: int
    b: int = 2


@dataclass
class Turned(Pair):
    c: int = 3

    def __init__(self, c: int, b: int, a: int) -> None:
        super().__init__(a, b)
        self.c = c


@dataclass
class Keywords(Pair):
    def __init__(self, **given: int) -> None:
        super().__init__(**given)


def shouting(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def wrapper(self: Any, b: int, a: int) -> None:
        function(self, a * 10, b * 10)

    del wrapper.__dict__["__wrapped__"]
    return wrapper


class Wrapped(Pair):
    __init__ = shouting(Pair.__init__)


@dataclass
class Positional(Pair):
    def __init__(self, a: int, b: int, /) -> None:
        super().__init__(a, b)


@dataclass
class Rest(Pair):
    def __new__(cls, *values: int) -> "Rest":
        return super().__new__(cls)


@dataclass
class More(Pair):
    def __init__(self, a: int, *, b: int, scale: int = 10) -> None:
        super().__init__(a * scale, b * scale)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (Turned, {"a": 1, "b": 2, "c": 3}),
        (Keywords, {"a": 1, "b": 2}),
        (Wrapped, {"a": 10, "b": 20}),
        (Positional, {"a": 1, "b": 2}),
        (Rest, {"a": 1, "b": 2}),
        (More, {"a": 10, "b": 20}),
    ],
)
def test_an_init_of_the_program_gets_the_fields_by_name(
    form: type[Pair], expected: dict[str, int]
) -> None:
    assert vars(decode(form, {"a": 1, "c": 3})) == expected


@dataclass
class Renamed(Pair):
    def __init__(self, a: int, x: int) -> None:
        super().__init__(a, x)


class Missing(Pair):
    def __init__(self, a: int) -> None:
        super().__init__(a)


@dataclass
class Needing(Pair):
    def __init__(self, a: int, b: int, scale: int) -> None:
        super().__init__(a * scale, b)


@dataclass
class ByPosition(Pair):
    def __init__(self, b: int, a: int, /) -> None:
        super().__init__(a, b)


@dataclass(init=False)
class WithoutInit:
    b: int


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        (Renamed, "Renamed.__init__ has no parameter for the field 'b': add it, or declare the"),
        (Missing, "Missing.__init__ has no parameter for the field 'b': add it, or declare the"),
        (WithoutInit, "WithoutInit.__init__ has no parameter for the field 'b': add it"),
        (Needing, "Needing.__init__ needs 'scale', which is no field: give it a default"),
        (ByPosition, "ByPosition.__init__ has to take 'a' by name: remove the /"),
    ],
)
def test_an_init_that_cannot_get_the_fields_is_named(form: type, problem: str) -> None:
    with pytest.raises(TypeError, match=f"^{problem}"):
        decode(form, {"a": 1, "b": 2})
    around = dataclasses.make_dataclass("Around", [("inner", form)])
    with pytest.raises(TypeError, match=rf"^Around\.inner: {problem}"):
        decode(around, {})


class Unreadable(type):
    """A class whose signature cannot be read, as one of Python 3.14 that names unknown types."""

    @property
    def __signature__(cls) -> Any:
        raise NameError("name 'Known' is not defined")


@dataclass
class Unknown(Pair, metaclass=Unreadable):
    """Without a text here, `dataclass` would read the signature."""

    def __init__(self, b: int, a: int) -> None:
        super().__init__(a, b)


def test_the_annotations_of_an_init_need_not_be_known() -> None:
    assert vars(decode(Unknown, {"a": 1, "b": 3})) == {"a": 1, "b": 3}
