"""Keys of dictionaries, elements of sets, enums with their own rules, types without parameters."""

from __future__ import annotations

import enum
import json
import typing
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, Optional, Union
from uuid import UUID

import pytest
from typing_extensions import TypeAliasType

import ntapi
from decoding import MOMENT, decode, refused

UserId = NewType("UserId", int)
AdminId = NewType("AdminId", UserId)
Name = NewType("Name", str)
Number = TypeAliasType("Number", int)
Stamp = Annotated[datetime, ntapi.DateFormat.SECONDS]


class Level(enum.IntEnum):
    LOW = 1


class Choosy(enum.Enum):
    """An enum that makes mistakes with some values."""

    YES = "yes"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        if value == "y":
            return cls.YES
        return {}[value]


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        (int, "-5", -5),
        (UserId, "5", 5),
        (AdminId, "5", 5),
        (Number, "5", 5),
        (Annotated[AdminId, "of the server"], "5", 5),
        (Level, "1", Level.LOW),
        (Literal[1, "2", True], "1", 1),
        (Literal[1, "2", True], "2", "2"),
        (Literal[1, "2", True], "true", True),
        (Optional[int], "5", 5),
        (Optional[int], "null", None),
        (Union[int, str], "5", "5"),
        (float, "1.5", 1.5),
        (float, "-2", -2.0),
        (bool, "false", False),
        (Decimal, "1.50", Decimal("1.50")),
        (Stamp, "1384941600", MOMENT),
        (UUID, str(UUID(int=5)), UUID(int=5)),
        (Name, "5", "5"),
        (object, "5", "5"),
    ],
)
def test_keys(key: Any, text: str, expected: Any) -> None:
    ((made, value),) = decode(dict[key, int], {text: 7}).items()
    assert (made, type(made), value) == (expected, type(expected), 7)


@pytest.mark.parametrize(
    ("key", "text", "problem"),
    [
        (UserId, "x", "an integer as key expected"),
        (UserId, "5.0", "an integer as key expected"),
        (AdminId, "1" * 5000, "an integer as key expected"),
        (Level, "2", "one of 1 expected, string found"),
        (Level, "1" * 5000, "one of 1 expected, string found"),
        (Literal[1, "2"], "3", "one of 1, '2' expected, string found"),
        (Literal[1, "2"], "true", "one of 1, '2' expected, string found"),
        (float, "x", "float expected, string found"),
        (float, "1e999", "float expected, string found"),
        (bool, "1", "bool expected, string found"),
    ],
)
def test_keys_that_do_not_fit(key: Any, text: str, problem: str) -> None:
    assert refused(dict[key, int], {text: 7}).endswith(f": {problem}")


@pytest.mark.parametrize("key", [1, 1.5, True, Level.LOW, Decimal("1.5"), UUID(int=5)])
def test_keys_are_read_as_they_are_written(key: Any) -> None:
    text = ntapi.json({key: "a"}).values[0]
    assert isinstance(text, str)
    assert decode(dict[type(key), str], json.loads(text)) == {key: "a"}  # type: ignore[misc]


@dataclass
class City:
    name: str


@pytest.mark.parametrize("make", [set, frozenset])
def test_elements_that_a_set_cannot_have(make: Any) -> None:
    for element, value, kind in [
        (City, {"name": "Oslo"}, "City"),
        (dict[str, int], {}, "dict"),
        (Any, [1], "list"),
    ]:
        assert refused(dict[str, make[element]], {"a": [value]}) == (
            f"a: its elements cannot be in a {make.__name__} (unhashable type: '{kind}'): "
            "declare a list"
        )
    assert refused(make, [[]]).startswith(f"its elements cannot be in a {make.__name__}")


def test_an_enum_that_raises() -> None:
    assert decode(Choosy, "y") is Choosy.YES
    assert refused(list[Choosy], ["yes", "no"]) == "[1]: one of 'yes' expected, string found"
    with pytest.raises(ntapi.ApiError) as caught:
        decode(Choosy, "no")
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("List", [1, "a"], [1, "a"]),
        ("Sequence", [1], [1]),
        ("Iterable", [1], [1]),
        ("Collection", [1], [1]),
        ("MutableSequence", [1], [1]),
        ("Set", [1], {1}),
        ("FrozenSet", [1], frozenset({1})),
        ("Tuple", [1, "a"], (1, "a")),
        ("Dict", {"a": 1}, {"a": 1}),
        ("Mapping", {"a": 1}, {"a": 1}),
        ("MutableMapping", {"a": 1}, {"a": 1}),
    ],
)
def test_types_without_parameters(name: str, value: Any, expected: Any) -> None:
    form = getattr(typing, name)
    made = decode(form, value)
    assert (made, type(made)) == (expected, type(expected))
    assert decode(Optional[form], value) == expected
    assert refused(form, "x").endswith("expected, string found")


def test_an_empty_tuple_is_a_type() -> None:
    assert decode(tuple[()], []) == ()
    assert refused(tuple[()], [1]) == "0 elements expected, 1 found"


@pytest.mark.parametrize("name", ["Callable", "Type", "Optional", "Union", "Literal"])
def test_other_types_without_parameters_are_named(name: str) -> None:
    with pytest.raises(TypeError, match="cannot be made of JSON"):
        decode(getattr(typing, name), [])
