"""JSON values as types of the program: which fit, and the errors for those that do not."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    Optional,
    TypedDict,
    TypeVar,
    Union,
)
from uuid import UUID

import pytest
from typing_extensions import NotRequired

import ntapi
from decoding import decode, refused
from ntapi import codes
from ntapi.decoding.decoder import decode_at
from ntapi.decoding.options import parse_path, path_text
from ntapi.testing import Stub

T = TypeVar("T")
UserId = NewType("UserId", int)


class Sky(enum.Enum):
    CLEAR = "clear"
    RAIN = "rain"


class Level(enum.IntEnum):
    LOW = 1


@dataclass
class Wind:
    speed: float
    degrees: Annotated[int, ntapi.Key("deg")] = 0


@dataclass
class City:
    id: UserId
    name: str
    wind: Wind
    temperature: Annotated[float, ntapi.Key("main.temp")]
    sky: Optional[Sky] = None
    tags: list[str] = field(default_factory=list)
    country: Optional[str] = field(default=None, metadata={"json": "sys.country"})
    parts: Optional[list[City]] = None


CITY = {"id": 1, "name": "Zürich", "wind": {"speed": 3}, "main": {"temp": 8}, "extra": [1]}


@dataclass(frozen=True, order=True)
class Page(Generic[T]):
    items: list[T]
    more: bool = field(default=False, metadata={"json": "has_more"})


@dataclass(frozen=True, order=True)
class Numbers(Page[int]):
    total: int = 0


class Point(NamedTuple):
    x: int
    y: int = 2


@dataclass
class Point2:
    x: int
    kept: int = field(default=7, init=False)
    y: int = 0


class Movie(TypedDict):
    title: str
    year: NotRequired[int]
    rating: Optional[float]


class Partial(TypedDict, total=False):
    a: int
    b: Annotated[str, ntapi.Key("inner.b")]


@dataclass
class Positive:
    value: int

    def __post_init__(self) -> None:
        if self.value <= 0:
            raise ValueError("not above 0")


def test_a_dataclass() -> None:
    assert decode(City, CITY) == City(UserId(1), "Zürich", Wind(3.0), 8.0)
    full = {**CITY, "sky": "rain", "tags": ["a"], "sys": {"country": "CH"}, "parts": [CITY]}
    city = decode(City, full)
    assert city.sky is Sky.RAIN
    assert city.country == "CH"
    assert city.parts == [City(UserId(1), "Zürich", Wind(3.0), 8.0)]
    assert isinstance(city.temperature, float)


def test_fields_find_their_places_in_any_init() -> None:
    @dataclass(init=False)
    class Reversed:
        a: int
        b: int

        def __init__(self, b: int, a: int) -> None:
            self.a, self.b = a, b

    @dataclass
    class Inherited(Point2):
        def total(self) -> int:
            return self.x + self.y + self.kept

    made = decode(Reversed, {"a": 1, "b": 2})
    assert (made.a, made.b) == (1, 2)
    assert decode(Inherited, {"x": 1, "y": 2}).total() == 10


def test_null_reads_as_absent() -> None:
    nothing = dict.fromkeys(("sky", "tags", "sys", "parts"))
    city = decode(City, {**CITY, **nothing, "wind": {"speed": 1, "deg": None}})
    assert (city.sky, city.tags, city.country, city.parts, city.wind.degrees) == (
        None,
        [],
        None,
        None,
        0,
    )


@pytest.mark.parametrize(
    ("form", "value", "expected"),
    [
        (int, 5.0, 5),
        (float, 5, 5.0),
        (Decimal, 0.1, Decimal("0.1")),
        (Decimal, "19.90", Decimal("19.90")),
        (Any, {"a": [1]}, {"a": [1]}),
        (object, None, None),
        (None, None, None),
        (list[int], [1, 2.0], [1, 2]),
        (Sequence[int], [1], [1]),
        (set[str], ["a", "a"], {"a"}),
        (frozenset[int], [1], frozenset({1})),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (list, [1, "a"], [1, "a"]),
        (dict, {"a": 1}, {"a": 1}),
        (dict[str, float], {"a": 1}, {"a": 1.0}),
        (Mapping[str, list[int]], {"a": [1]}, {"a": [1]}),
        (dict[int, str], {"-5": "a"}, {-5: "a"}),
        (dict[Sky, int], {"rain": 1}, {Sky.RAIN: 1}),
        (Optional[int], None, None),
        (Union[int, str], "5", "5"),
        (Union[str, int], 5, 5),
        (Union[float, int], 5, 5),
        (Union[int, list[int], None], [1], [1]),
        (Union[datetime, str], "no date", "no date"),
        (Literal["a", 1], 1, 1),
        (Level, 1, Level.LOW),
        (UserId, 7, 7),
        (
            UUID,
            "12345678-1234-5678-1234-567812345678",
            UUID(int=0x12345678123456781234567812345678),
        ),
        (date, "2013-11-20", date(2013, 11, 20)),
        (ntapi.URL, "https://a.example/x", ntapi.URL("https://a.example/x")),
        (Point, {"x": 1}, Point(1, 2)),
        (Page[int], {"items": [1], "has_more": True}, Page([1], True)),
        (Page[Page[str]], {"items": [{"items": ["a"]}]}, Page([Page(["a"])])),
        (Numbers, {"items": [1.0], "total": 1}, Numbers([1], False, 1)),
        (Movie, {"title": "a", "rating": None, "other": 1}, {"title": "a", "rating": None}),
        (Movie, {"title": "a", "year": 5.0}, {"title": "a", "year": 5, "rating": None}),
        (Movie, {"title": "a", "year": None}, {"title": "a", "rating": None}),
        (Partial, {"inner": {"b": "x"}}, {"b": "x"}),
        (Partial, {}, {}),
    ],
)
def test_types(form: Any, value: Any, expected: Any) -> None:
    made = decode(form, value)
    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize(
    ("form", "value", "message"),
    [
        (City, [], "object expected, array found"),
        (City, {}, "id: UserId expected, nothing found"),
        (City, {**CITY, "name": 7}, "name: str expected, number 7 found"),
        (City, {**CITY, "name": None}, "name: str expected, null found"),
        (City, {**CITY, "id": True}, "id: int expected, boolean found"),
        (City, {**CITY, "main": None}, "main.temp: float expected, nothing found"),
        (City, {**CITY, "main": {"temp": None}}, "main.temp: float expected, null found"),
        (City, {**CITY, "main": {"temp": "hot"}}, "main.temp: float expected, string found"),
        (City, {**CITY, "wind": {}}, "wind.speed: float expected, nothing found"),
        (City, {**CITY, "tags": ["a", 5]}, "tags[1]: str expected, number 5 found"),
        (City, {**CITY, "tags": {}}, "tags: array expected, object found"),
        (City, {**CITY, "sky": "fog"}, "sky: one of 'clear', 'rain' expected, string found"),
        (
            City,
            {**CITY, "parts": [CITY, {**CITY, "main": {}}]},
            "parts[1].main.temp: float expected, nothing found",
        ),
        (Page[City], {"items": None}, "items: array expected, null found"),
        (list[int], [1.5], "[0]: int expected, number 1.5 found"),
        (list[bool], [1], "[0]: bool expected, number 1 found"),
        (float, "5", "float expected, string found"),
        (Decimal, "nan", "Decimal expected, string found"),
        (dict[str, int], {"a.b": "x"}, '["a.b"]: int expected, string found'),
        (dict[int, int], {"x": 1}, "x: an integer as key expected"),
        (dict[int, int], {"1" * 5000: 1}, f"{'1' * 5000}: an integer as key expected"),
        (tuple[int, str], [1], "2 elements expected, 1 found"),
        (tuple[int, str], [1, 2], "[1]: str expected, number 2 found"),
        (Union[int, str], [], "int or str expected, array found"),
        (Union[int, City], {**CITY, "name": 1}, "name: str expected, number 1 found"),
        (Literal["a", 1], True, "one of 'a', 1 expected, boolean found"),
        (Literal["a", 1], [], "one of 'a', 1 expected, array found"),
        (Level, True, "one of 1 expected, boolean found"),
        (date, "2013-02-29", "date (2013-11-20) expected, string found"),
        (UUID, "x", "UUID expected: badly formed hexadecimal UUID string"),
        (ntapi.URL, "/x", "URL expected: a URL must begin with http:// or https://"),
        (ntapi.URL, "http:///x", "URL expected: a URL without a host"),
        (ntapi.URL, "http://a b", "URL expected: a URL with a space or a control character"),
        (ntapi.URL, 5, "URL expected, number 5 found"),
        (Movie, {"rating": 1}, "title: str expected, nothing found"),
        (list[Positive], [{"value": 1}, {"value": 0}], "[1]: Positive refuses it: not above 0"),
        (None, 5, "null expected, number 5 found"),
    ],
)
def test_what_does_not_fit(form: Any, value: Any, message: str) -> None:
    assert refused(form, value) == message


def test_a_path_leads_to_the_value() -> None:
    value = {"a": [{"b": 5}], "n": None}
    assert decode(int, value, "a[0].b") == 5
    assert decode(Optional[int], value, "a[3].b") is None
    assert refused(int, value, "a[3].b") == "a[3].b: int expected, nothing found"
    assert refused(int, value, "n") == "n: int expected, null found"
    assert refused(list[str], value, "a") == "a[0]: str expected, object found"
    with pytest.raises(ValueError, match="is not a path"):
        decode(int, value, "a..b")


@pytest.mark.parametrize(
    "path", ["a", "a.b", "a[0].b", "[0]", '["a.b"].c', r'["\"\\"]', '[""]', ""]
)
def test_paths_read_as_they_are_written(path: str) -> None:
    assert path_text(parse_path(path)) == path


@pytest.mark.parametrize("path", [".a", "a.", "a..b", "[a]", "[-1]", "a[0]b", 'a"', '["a]', "[0"])
def test_malformed_paths(path: str) -> None:
    with pytest.raises(ValueError, match="is not a path"):
        parse_path(path)
    with pytest.raises(ValueError, match="path"):
        ntapi.Key("")


def test_keys_in_camel_case() -> None:
    @dataclass
    class Row:
        some_long_name: int
        x: Annotated[int, ntapi.Key("kept_asIs")] = 0

    camel = ntapi.Keys.CAMEL_CASE
    assert decode(Row, {"someLongName": 1, "kept_asIs": 2}, keys=camel) == Row(1, 2)
    assert refused(Row, {}, keys=camel) == "someLongName: int expected, nothing found"


@dataclass
class Document:
    content: ntapi.JSON
    versions: list[ntapi.JSON] = field(default_factory=list)
    more: Optional[dict[str, ntapi.JSON]] = None


class GetDocument(ntapi.Service[ntapi.JSON]):
    command = "document"


def test_json_is_a_type() -> None:
    value: ntapi.JSON = {"a": [1, None, {"b": True}]}
    assert decode(ntapi.JSON, value) == value
    assert decode(ntapi.JSON, None) is None
    assert decode(list[ntapi.JSON], [value, 5]) == [value, 5]
    assert decode(Union[int, ntapi.JSON], value) == value
    fields = {"content": value, "versions": [1, "x"], "more": {"a": [value]}}
    assert decode(Document, fields) == Document(value, [1, "x"], {"a": [value]})
    stub = Stub()
    stub.on("GET", "document").answer(json=value)
    with ntapi.Client("http://h.test", stub=stub) as client:
        assert client.call(GetDocument()) == value


# Mistakes of the program.


def test_types_that_cannot_be_made_are_named() -> None:
    @dataclass
    class Wrong:
        inner: list[complex]

    with pytest.raises(TypeError, match=r"Wrong\.inner: complex cannot be made of JSON"):
        decode(Wrong, {})

    for named in (list["City"], Optional["City"], "City"):
        with pytest.raises(TypeError, match="'City' is only a name: write the type itself"):
            decode(named, [])

    class Plain:
        pass

    with pytest.raises(TypeError, match="Plain cannot be made of JSON"):
        decode(Plain, {})


def test_a_deep_document_is_an_error() -> None:
    @dataclass
    class Node:
        child: Optional[Node] = None

    value: Any = None
    for _ in range(5000):
        value = {"child": value}
    with pytest.raises(ntapi.ApiError, match="nests deeper") as caught:
        decode_at(Node, value, "", ntapi.DecodingOptions())
    assert caught.value.code is codes.UNEXPECTED_JSON
