"""JSON values as types of the program: which fit, and the errors for those that do not."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
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
from decoding import MOMENT, decode, refused
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


def test_numbers_in_strings() -> None:
    lenient = {"numbers_in_strings": True}
    assert decode(list[int], ["5", "5.0", 5], **lenient) == [5, 5, 5]
    assert decode(list[float], ["-1.5e3", 1], **lenient) == [-1500.0, 1.0]
    assert decode(datetime, "5", dates=ntapi.DateFormat.SECONDS, **lenient).timestamp() == 5
    for wrong in ("", "x", "0x10", "inf", " 5", "1_0"):
        assert refused(float, wrong, **lenient) == "float expected, string found"
    assert refused(int, "5.5", **lenient) == "int expected, string found"
    # More digits than Python reads, and more than a float can hold.
    for large in ("1" * 5000, "1e999"):
        assert refused(float, large, **lenient) == "float expected, string found"
    assert refused(int, "1" * 5000, **lenient) == "int expected, string found"


# Mistakes of the program.


def test_types_that_cannot_be_made_are_named() -> None:
    @dataclass
    class Wrong:
        inner: list[complex]

    with pytest.raises(TypeError, match=r"Wrong\.inner: complex cannot be made of JSON"):
        decode(Wrong, {})

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


def test_models_of_pydantic() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):  # type: ignore[name-defined, misc]
        size: int = pydantic.Field(gt=0)
        at: Optional[datetime] = None

    assert decode(list[Model], [{"size": 1, "at": "2013-11-20T10:00:00Z"}])[0].at == MOMENT
    assert refused(dict[str, list[Model]], {"a": [{"size": 0}]}).startswith(
        "a[0].size: Input should be greater than 0"
    )

    @dataclass
    class Around:
        model: Model

    # The annotation is a string that names a class of this function.
    Around.__annotations__["model"] = Model
    Around.__dataclass_fields__["model"].type = Model
    assert decode(Around, {"model": {"size": 2}}).model.size == 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, True),
        (1, True),
        (1.0, True),
        ("true", True),
        ("1", True),
        (False, False),
        (0, False),
        ("false", False),
        ("0", False),
        (2, None),
        (0.5, None),
        ("yes", None),
        ("TRUE", None),
        ("", None),
        (None, None),
        ([1], None),
    ],
)
def test_loose_booleans_are_taken_when_asked_for(value: object, expected: bool | None) -> None:
    def decoded(**options: bool) -> bool | None:
        try:
            made = ntapi.decode(bool, value, options=ntapi.DecodingOptions(**options))
        except ntapi.ApiError:
            return None
        assert type(made) is bool
        return made

    assert decoded(loose_booleans=True) is expected
    assert decoded(loose_booleans=True, numbers_in_strings=True) is expected
    assert decoded() is (expected if isinstance(value, bool) else None)


@dataclass
class Price:
    net: Decimal
    rate: float
    other: Any
    taxes: dict[str, Optional[Decimal]]


LONG = "1.123456789012345678"


def test_a_decimal_has_all_digits() -> None:
    text = f'{{"net": {LONG}, "rate": {LONG}, "other": 0.5, "taxes": {{"a": {LONG}, "b": null}}}}'
    exact = Decimal(LONG)
    expected = Price(exact, float(LONG), 0.5, {"a": exact, "b": None})
    stub = Stub()
    stub.on("GET", "price").answer(data=text.encode(), headers={"Content-Type": "application/json"})
    stub.on("GET", "warned").answer(text=f"Warning: x\n{text}")
    stub.on("GET", "long").answer(json=[2**64 + 1, 0.1])
    with ntapi.Client("http://h.test", stub=stub) as client:
        for command in ("price", "warned"):
            response = client.send(command)
            assert response.decode(Price) == expected
            assert response.decode(Decimal, "net") == exact
            # Nobody asked for a Decimal here.
            assert response.decode(dict[str, Any]) == json.loads(text)
            assert response.decode(Annotated[Decimal, ntapi.DateFormat.HTTP], "taxes.a") == exact
        assert client.send("long").decode(list[Decimal]) == [2**64 + 1, Decimal("0.1")]


def test_what_a_parser_of_decimals_reads() -> None:
    text = f'{{"net": {LONG}, "rate": {LONG}, "other": null, "taxes": {{}}}}'
    read = ntapi.decode(Price, json.loads(text, parse_float=Decimal))
    assert read == Price(Decimal(LONG), float(LONG), None, {})
    assert isinstance(read.rate, float)
    assert ntapi.decode(int, Decimal("5.0")) == 5
    with pytest.raises(ntapi.ApiError, match=r"int expected, number 1\.5 found"):
        ntapi.decode(int, Decimal("1.5"))


@dataclass
class Sale:
    price: Decimal
    at: Annotated[datetime, ntapi.DateFormat.SECONDS]
    ended: Annotated[datetime, ntapi.DateFormat.MILLISECONDS]


def test_times_beside_a_decimal() -> None:
    """A value with a Decimal in its type is read with all digits, and so are its times."""
    text = f'{{"price": {LONG}, "at": 1700000000.123456789, "ended": 1700000000123.456789}}'
    at = datetime.fromtimestamp(1700000000.123456789, timezone.utc)
    stub = Stub()
    stub.on("GET", "sale").answer(text=text, content_type="application/json")
    with ntapi.Client("http://h.test", stub=stub) as client:
        read = client.send("sale").decode(Sale)
    for sale in (read, ntapi.decode(Sale, json.loads(text, parse_float=Decimal))):
        assert sale == Sale(Decimal(LONG), at, at)


@pytest.mark.parametrize("is_late", [False, True])
def test_a_model_of_pydantic_has_all_digits(is_late: bool) -> None:
    pydantic = pytest.importorskip("pydantic")
    config = pydantic.ConfigDict(defer_build=is_late)
    tax = pydantic.create_model("Tax", __config__=config, rate=(Optional[Decimal], ...))
    form = pydantic.create_model("Total", __config__=config, tax=(tax, ...), n=(int, ...))
    stub = Stub()
    text = f'[{{"tax": {{"rate": {LONG}}}, "n": {2**64 + 1}, "net": {LONG}, "m": {2**64 + 3}}}]'
    stub.on("GET", "long").answer(text=text, content_type="application/json")
    with ntapi.Client("http://h.test", stub=stub) as client:
        (read,) = client.send("long").decode(list[form])  # type: ignore[valid-type]
        assert (read.tax.rate, read.n) == (Decimal(LONG), 2**64 + 1)
        net, exact = (client.send("long").decode(each, "[0].net") for each in (float, Decimal))
        assert (net, exact) == (float(LONG), Decimal(LONG))
        assert client.send("long").decode(int, "[0].m") == 2**64 + 3
