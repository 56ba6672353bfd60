"""JSON numbers and booleans as types of the program, also those that are written as strings."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from typing import Annotated, Any, Optional

import pytest

import ntapi
from decoding import decode, refused
from ntapi.testing import Stub


def test_numbers_in_strings() -> None:
    lenient = {"numbers_in_strings": True}
    assert decode(list[int], ["5", "5.0", 5], **lenient) == [5, 5, 5]
    assert decode(list[float], ["-1.5e3", 1], **lenient) == [-1500.0, 1.0]
    assert decode(int, "12345678901234567890.0", **lenient) == 12345678901234567890
    assert decode(datetime, "5", dates=ntapi.DateFormat.SECONDS, **lenient).timestamp() == 5
    for wrong in ("", "x", "0x10", "inf", " 5", "1_0"):
        assert refused(float, wrong, **lenient) == "float expected, string found"
    assert refused(int, "5.5", **lenient) == "int expected, string found"
    # More digits than Python reads, and more than a float can hold.
    for large in ("1" * 5000, "1e999", "1e999999999", "1e9999999999999999999999"):
        assert refused(float, large, **lenient) == "float expected, string found"
        assert refused(int, large, **lenient) == "int expected, string found"


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
    assert ntapi.decode(int, Decimal("-1e30")) == -(10**30)
    for wrong in ("1.5", "1E-999999999", "1E+309", "1E+999999999"):
        with pytest.raises(ntapi.ApiError, match=f"int expected, number {re.escape(wrong)} found"):
            ntapi.decode(int, Decimal(wrong))


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
