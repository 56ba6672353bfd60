"""Types with a name of their own: `type X = ...`, which is `TypeAliasType` before Python 3.12."""

import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Generic, Optional, TypeVar, Union

import pytest
from typing_extensions import TypeAliasType

import ntapi
from decoding import MOMENT, decode, refused

T = TypeVar("T")

Numbers = TypeAliasType("Numbers", list[int])
ListOf = TypeAliasType("ListOf", list[T], type_params=(T,))
Maybe = TypeAliasType("Maybe", Optional[int])
MaybeText = TypeAliasType("MaybeText", Union[Maybe, str])
Stamp = TypeAliasType("Stamp", Annotated[datetime, ntapi.DateFormat.SECONDS])
Inner = TypeAliasType("Inner", Annotated[Optional[int], ntapi.Key("a.b")])


@dataclass
class Everything(Generic[T]):
    items: ListOf[T]
    maybe: Maybe
    text: MaybeText
    inner: Inner
    stamps: Union[list[Stamp], None] = None


@pytest.mark.parametrize(
    ("form", "value", "expected"),
    [
        (Numbers, [1], [1]),
        (ListOf[str], ["a"], ["a"]),
        (ListOf[ListOf[Numbers]], [[[1]]], [[[1]]]),
        (ListOf, [1, "a"], [1, "a"]),
        (dict[str, Maybe], {"a": None, "b": 1}, {"a": None, "b": 1}),
        (MaybeText, "a", "a"),
        (MaybeText, None, None),
        (Stamp, 1384941600, MOMENT),
        (Everything[str], {"items": ["a"]}, Everything(["a"], None, None, None)),
        (
            Everything[int],
            {"items": [1], "maybe": 2, "text": "c", "a": {"b": 3}, "stamps": [1384941600]},
            Everything([1], 2, "c", 3, [MOMENT]),
        ),
    ],
)
def test_an_alias_is_what_it_stands_for(form: Any, value: Any, expected: Any) -> None:
    assert decode(form, value) == expected


@pytest.mark.parametrize(
    ("form", "value", "message"),
    [
        (Numbers, ["a"], "[0]: int expected, string found"),
        (ListOf[int], ["a"], "[0]: int expected, string found"),
        (MaybeText, [], "int or str expected, array found"),
        (Everything[str], {"items": [1]}, "items[0]: str expected, number 1 found"),
        (Everything[str], {"items": [], "maybe": "x"}, "maybe: int expected, string found"),
    ],
)
def test_what_does_not_fit_an_alias(form: Any, value: Any, message: str) -> None:
    assert refused(form, value) == message


def test_an_alias_is_written_as_what_it_stands_for() -> None:
    value = Everything([1], None, None, 3, [MOMENT])
    written = {"items": [1], "a": {"b": 3}, "stamps": [1384941600]}
    assert ntapi.json(value) == ntapi.json(written)


class Tree:
    """An alias that contains itself, as Python 3.12 makes it: its type is made when it is read."""

    __type_params__ = ()

    @property
    def __value__(self) -> Any:
        return Union[int, Annotated[datetime, ntapi.DateFormat.HTTP], list[self]]  # type: ignore[name-defined]

    def __call__(self) -> None:
        """Before Python 3.11, typing takes only what can be called for a type."""


Tree.__name__ = "TypeAliasType"


def test_an_alias_that_contains_itself() -> None:
    tree: Any = Tree()
    assert decode(tree, [1, [2, []]]) == [1, [2, []]]
    assert refused(tree, [1, [2, "x"]]).startswith("[1][1]: int or ")
    assert decode(Optional[tree], None) is None

    @dataclass
    class Root:
        tree: Any

    Root.__annotations__["tree"] = tree
    assert decode(Root, {"tree": [[5]]}) == Root([[5]])
    http = "Wed, 20 Nov 2013 10:00:00 GMT"
    assert ntapi.json(Root([MOMENT, [1]])) == ntapi.json({"tree": [http, [1]]})


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is new in Python 3.12")
def test_the_syntax_of_python_3_12() -> None:
    names: dict[str, Any] = {}
    exec(
        "type Tree[T] = T | list[Tree[T]]\n"
        "type Sizes = dict[str, Tree[int]]\n"
        "type Words = Tree[str] | None",
        names,
    )
    assert decode(names["Sizes"], {"a": [1, [2]]}) == {"a": [1, [2]]}
    assert refused(names["Sizes"], {"a": [1, ["x"]]}).startswith("a[1][0]: int or ")
    assert decode(names["Words"], [["x"]]) == [["x"]]
    assert decode(names["Words"], None) is None
