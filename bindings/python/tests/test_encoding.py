"""Values of the program's own types as JSON, and back."""

from __future__ import annotations

import copy
import dataclasses
import enum
import json
import re
import uuid
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, Optional

import pytest

import ntapi
from decoding import MOMENT
from ntapi.decoding.encoding import plain
from ntapi.testing import Stub

FORMATS = ntapi.DateFormat


class State(enum.Enum):
    OPEN = "open"


class Level(enum.IntEnum):
    HIGH = 3


@dataclass
class Label:
    name: str


@dataclass
class Issue:
    title: str
    state: Optional[State] = State.OPEN
    due_on: Optional[datetime] = None
    city: Annotated[Optional[str], ntapi.Key("address.city")] = None
    street: Optional[str] = field(default=None, metadata={"json": "address.street"})
    first: Annotated[Optional[int], ntapi.Key("items[0].size")] = None
    second: Annotated[Optional[int], ntapi.Key("items[1].size")] = None
    labels: list[Label] = field(default_factory=list)
    seen: Annotated[Optional[list[Annotated[datetime, FORMATS.SECONDS]]], ntapi.Key("seen")] = None
    page: Optional[ntapi.URL] = None


def body(value: Any, options: Optional[ntapi.DecodingOptions] = None) -> Any:
    """The body that a server receives."""
    stub = Stub()
    stub.on("POST", "issues").answer()
    with ntapi.Client("https://a.example", stub=stub) as client:
        client.send("issues", ntapi.json(value, options))
    (request,) = stub.requests
    assert request.headers["content-type"] == "application/json"
    return json.loads(request.body)


def test_what_is_written_is_read_again() -> None:
    issue = Issue(
        "a",
        due_on=MOMENT,
        city="Oslo",
        street="x",
        first=1,
        second=2,
        labels=[Label("é")],
        seen=[MOMENT],
        page=ntapi.URL("https://a.example/"),
    )
    written = body(issue)
    assert written == {
        "title": "a",
        "state": "open",
        "due_on": "2013-11-20T10:00:00Z",
        "address": {"city": "Oslo", "street": "x"},
        "items": [{"size": 1}, {"size": 2}],
        "labels": [{"name": "é"}],
        "seen": [1384941600],
        "page": "https://a.example/",
    }
    assert ntapi.decode(Issue, written) == issue


def test_none_is_left_out_of_a_dataclass_alone() -> None:
    assert body(Issue("a", state=None)) == {"title": "a", "labels": []}
    assert body({"issue": Issue("a", state=None), "milestone": None}) == {
        "issue": {"title": "a", "labels": []},
        "milestone": None,
    }


def test_keys_in_camel_case() -> None:
    options = ntapi.DecodingOptions(keys=ntapi.Keys.CAMEL_CASE, dates=FORMATS.MILLISECONDS)
    written = body(Issue("a", state=None, due_on=MOMENT, city="Oslo"), options)
    assert written["dueOn"] == 1384941600000
    assert written["address"] == {"city": "Oslo"}
    assert body({"due_on": 1}, options) == {"due_on": 1}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (State.OPEN, "open"),
        (Level.HIGH, 3),
        (Decimal("19.90"), "19.90"),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (date(2013, 11, 20), "2013-11-20"),
        ({5}, [5]),
        (MOMENT.astimezone(timezone(timedelta(hours=2))), "2013-11-20T10:00:00Z"),
        (MOMENT.replace(microsecond=500000), "2013-11-20T10:00:00.5Z"),
    ],
)
def test_types(value: Any, expected: Any) -> None:
    assert body([value]) == [expected]
    assert body(value) == expected


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (FORMATS.SECONDS, 1384941600),
        (FORMATS.MILLISECONDS, 1384941600000),
        (FORMATS.HTTP, "Wed, 20 Nov 2013 10:00:00 GMT"),
    ],
)
def test_dates_are_written_in_the_first_format(form: ntapi.DateFormat, expected: Any) -> None:
    options = ntapi.DecodingOptions(dates=[form, FORMATS.ISO8601])
    assert body(MOMENT, options) == expected
    assert ntapi.decode(datetime, expected, options=options) == MOMENT


def test_models_of_pydantic() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):  # type: ignore[name-defined, misc]
        size: int = pydantic.Field(alias="theSize")
        at: Optional[datetime] = None

    assert body([Model(theSize=1, at=MOMENT)]) == [{"theSize": 1, "at": "2013-11-20T10:00:00Z"}]


def test_dataclasses_of_pydantic() -> None:
    """Pydantic reads them, so it also writes them."""
    pydantic = pytest.importorskip("pydantic")

    @pydantic.dataclasses.dataclass
    class Size:
        width: int = pydantic.Field(alias="theWidth")
        at: Optional[datetime] = None

    size = Size(theWidth=1)
    assert body({"a": [size]}) == {"a": [{"theWidth": 1, "at": None}]}
    assert ntapi.decode(dict[str, list[Size]], body({"a": [size]})) == {"a": [size]}


class Place(NamedTuple):
    name: str
    opened_at: Optional[datetime] = None


def test_a_named_tuple_is_an_array() -> None:
    """As for json.dumps, whatever is beside it."""
    assert body(Place("a", MOMENT)) == ["a", "2013-11-20T10:00:00Z"]
    assert body({State.OPEN: [Place("a")]}) == {"open": [["a", None]]}


@pytest.mark.parametrize("form", FORMATS)
def test_dates_that_are_keys_have_the_format_of_the_field(form: ntapi.DateFormat) -> None:
    days = dataclasses.make_dataclass("Days", [("on", Annotated[dict[datetime, int], form])])
    value = days({MOMENT: 1})
    assert ntapi.decode(days, body(value)) == value


@dataclass
class Box:
    items: list[Any]


def test_deep_values_are_written() -> None:
    value: Any = Label("a")
    for _ in range(300):
        value = Box([value])
    written = body(value)
    for _ in range(300):
        (written,) = written["items"]
    assert written == {"name": "a"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({State.OPEN: 1, Level.HIGH: {State.OPEN: 2}}, {"open": 1, "3": {"open": 2}}),
        ({uuid.UUID(int=5): 1}, {"00000000-0000-0000-0000-000000000005": 1}),
        ({date(2013, 11, 20): 1, MOMENT: 2}, {"2013-11-20": 1, "2013-11-20T10:00:00Z": 2}),
        ({Decimal("1.50"): 1, 2: 3, True: 4}, {"1.50": 1, "2": 3, "true": 4}),
        ([{State.OPEN: Label("a")}], [{"open": {"name": "a"}}]),
    ],
)
def test_keys_are_written_as_values_are(value: Any, expected: Any) -> None:
    assert body(value) == expected


def test_keys_that_cannot_be_written() -> None:
    with pytest.raises(TypeError, match="two keys of a dictionary are written as 'open'"):
        ntapi.json({"open": 1, State.OPEN: 2})
    with pytest.raises(TypeError, match="keys must be str, int, float, bool or None, not tuple"):
        ntapi.json({(1, 2): 3})


@pytest.mark.parametrize("around", [[], [Label("a")]])
def test_a_value_that_contains_itself(around: list[Any]) -> None:
    around += [around, around]
    with pytest.raises(ValueError, match=r"Circular reference|contains itself"):
        ntapi.json(around)


@pytest.mark.parametrize("form", FORMATS)
def test_a_moment_without_a_zone_is_refused(form: ntapi.DateFormat) -> None:
    """It may mean local time or UTC; the message says how to write each."""
    naive = MOMENT.replace(tzinfo=None)
    options = ntapi.DecodingOptions(dates=form)
    fixes = r"has no time zone.* value\.astimezone\(\).* value\.replace\(tzinfo=timezone\.utc\)"
    for value in (naive, [naive], {"at": naive}, Dated(naive)):
        with pytest.raises(TypeError, match=fixes):
            ntapi.json(value, options)
    for arg in (ntapi.url, ntapi.path, ntapi.form, ntapi.header):
        with pytest.raises(TypeError, match=fixes):
            arg("at", naive)
    assert body(naive.replace(tzinfo=timezone.utc), options) == body(MOMENT, options)


@dataclass
class Dated:
    at: datetime


@dataclass
class Clash:
    city: str = "Oslo"
    name: Annotated[str, ntapi.Key("city.name")] = "x"


@dataclass
class Gap:
    last: Annotated[int, ntapi.Key("list[2]")] = 1


def test_what_cannot_be_written_is_named() -> None:
    def days(_: Any) -> Optional[datetime]:
        return None

    reading = ntapi.DecodingOptions(dates=days)
    for value, options, message in [
        ({"a": timedelta(1)}, None, "a timedelta cannot be written as JSON"),
        ([Issue], None, "the class Issue cannot be written as JSON"),
        ([MOMENT], reading, "a date cannot be written as days reads it"),
        (Clash(), None, "Clash.name: it needs an object where there is another value"),
        (Gap(), None, "Gap.last: the elements before it must be written first"),
    ]:
        with pytest.raises(TypeError, match=message):
            ntapi.json(value, options)
    with pytest.raises(ValueError, match="not JSON compliant"):
        ntapi.json(float("nan"))


@dataclass
class Raw:
    """The program's own values, and parts of the same places."""

    all: Any = None
    part: Annotated[Any, ntapi.Key("all.part")] = None
    all_later: Annotated[Any, ntapi.Key("all")] = None
    element: Annotated[Any, ntapi.Key("all[0]")] = None
    same_element: Annotated[Any, ntapi.Key("all[0]")] = None


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"all": {"a": 1}, "part": 2}, "part: it needs an object where there is another value"),
        ({"all": {}, "part": 2}, "part: it needs an object where there is another value"),
        ({"part": 2, "all_later": {"a": 1}}, "all_later: another field has written a value there"),
        ({"all": {"a": 1}, "all_later": {"a": 1}}, "all_later: another field has written a value"),
        ({"all": [], "element": 1}, "element: it needs an array where there is another value"),
        ({"all": [1], "element": 1}, "element: it needs an array where there is another value"),
        ({"all_later": Label("a"), "element": 1}, "element: it needs an array where there is"),
        ({"part": 2, "element": 1}, "element: it needs an array where there is another value"),
        ({"element": 1, "same_element": 1}, "same_element: another field has written a value"),
    ],
)
def test_fields_with_one_place_are_an_error_and_change_nothing(
    fields: dict[str, Any], problem: str
) -> None:
    before = copy.deepcopy(fields)
    with pytest.raises(TypeError, match=rf"^Raw\.{re.escape(problem)}"):
        ntapi.json(Raw(**fields))
    assert fields == before


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _read_day(value: Any) -> Optional[datetime]:
    return EPOCH + timedelta(days=value) if isinstance(value, int) else None


DAYS = ntapi.DateFormat.custom("days", _read_day, lambda moment: (moment - EPOCH).days)


def test_custom_dates_are_written_as_they_are_read() -> None:
    @dataclass
    class Order:
        day: datetime

    @dataclass
    class Stamped:
        day: Annotated[datetime, DAYS]

    moment = EPOCH + timedelta(days=10)
    options = ntapi.DecodingOptions(dates=DAYS)
    text = json.dumps(Order(moment), default=lambda value: plain(value, options))
    assert text == '{"day": 10}'
    assert json.dumps(Stamped(moment), default=lambda value: plain(value, None)) == text
    assert ntapi.decode(Order, {"day": 10}, options=options) == Order(moment)
    assert ntapi.decode(Stamped, {"day": 10}) == Stamped(moment)
    with pytest.raises(ntapi.ApiError, match="days"):
        ntapi.decode(Order, {"day": "ten"}, options=options)
    assert DAYS.text(moment) == "10"
    assert ntapi.DateFormat.SECONDS.text(moment) == "864000"
    assert ntapi.DateFormat.HTTP.text(moment) == "Sun, 11 Jan 1970 00:00:00 GMT"
    assert DAYS.text(None) is None


def test_custom_dates_that_are_only_read_cannot_be_written() -> None:
    moment = EPOCH + timedelta(days=10)
    read_only = ntapi.DateFormat.custom("days", _read_day)
    with pytest.raises(TypeError, match="cannot be written as days reads it"):
        read_only.text(moment)
    unwilling = ntapi.DateFormat.custom("days", _read_day, lambda moment: None)
    with pytest.raises(TypeError, match="cannot be written as days"):
        unwilling.text(moment)
