"""Models of pydantic as the type of an answer."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Optional, Union
from uuid import UUID

import pytest

import ntapi
from decoding import MOMENT, decode, refused
from ntapi.testing import Stub

pydantic = pytest.importorskip("pydantic")

LONG = "1.123456789012345678"


def test_models_of_pydantic() -> None:
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


@pytest.mark.parametrize("is_late", [False, True])
def test_a_model_of_pydantic_has_all_digits(is_late: bool) -> None:
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


class Kind(enum.Enum):
    SMALL = "small"


ORDER = {
    "at": "2013-11-20T10:00:00Z",
    "day": "2013-11-20",
    "id": "12345678-1234-5678-1234-567812345678",
    "kind": "small",
    "sizes": [1, 2],
    "counts": {"5": 1},
    "rate": LONG,
    "large": 2**64 + 1,
}


def strict_order(**more: Any) -> Any:
    """A strict model with the types that JSON has only as text."""
    return pydantic.create_model(
        "Order",
        __config__=pydantic.ConfigDict(strict=True),
        at=(datetime, ...),
        day=(date, ...),
        id=(UUID, ...),
        kind=(Kind, ...),
        sizes=(set[int], ...),
        counts=(dict[int, int], ...),
        large=(int, ...),
        rate=(float, ...),
        **more,
    )


def received(form: Any, text: str) -> Any:
    stub = Stub()
    stub.on("GET", "order").answer(text=text, content_type="application/json")
    with ntapi.Client("http://h.test", stub=stub) as client:
        return client.send("order").decode(form)


def test_a_strict_model_accepts_what_json_has_as_text() -> None:
    text = json.dumps(ORDER).replace(f'"{LONG}"', LONG)
    read = received(list[strict_order()], f"[{text}]")[0]  # type: ignore[misc]
    assert read.model_dump() == {
        "at": MOMENT,
        "day": date(2013, 11, 20),
        "id": UUID(ORDER["id"]),
        "kind": Kind.SMALL,
        "sizes": {1, 2},
        "counts": {5: 1},
        "rate": float(LONG),
        "large": 2**64 + 1,
    }


def test_a_strict_model_stays_strict() -> None:
    value = {**ORDER, "rate": 1.5}
    for name, wrong in {"large": "5", "at": 5, "sizes": ["1"], "rate": "1.5"}.items():
        problem = refused(strict_order(), {**value, name: wrong})
        assert problem.startswith(f"{name}{'[0]' if name == 'sizes' else ''}: Input should be a")
    lax = pydantic.create_model("Lax", large=(int, ...), at=(pydantic.StrictInt, ...))
    assert decode(lax, {"large": "5", "at": 5}).large == 5
    assert refused(lax, {"large": "5", "at": "5"}) == "at: Input should be a valid integer"


def test_a_strict_model_has_all_digits() -> None:
    form = strict_order(price=(Decimal, ...), tax=(Optional[Decimal], None))
    text = json.dumps({**ORDER, "price": "P"}).replace(f'"{LONG}"', LONG).replace('"P"', LONG)
    read = received(form, text)
    assert (read.price, read.rate, read.at) == (Decimal(LONG), float(LONG), MOMENT)
    with pytest.raises(ntapi.ApiError, match="large: Input should be a valid integer"):
        received(form, text.replace(str(2**64 + 1), '"5"'))


def test_a_strict_model_with_a_validator_gets_values_first() -> None:
    """Only what it refuses is tried as text."""

    class Price(pydantic.BaseModel):  # type: ignore[name-defined, misc]
        model_config = pydantic.ConfigDict(strict=True)
        amount: Decimal
        key: Union[UUID, str]

        @pydantic.field_validator("amount", mode="before")
        @classmethod
        def rounded(cls, value: Any) -> Decimal:
            return Decimal(value).quantize(Decimal("0.01"))

    read = received(Price, f'{{"amount": {LONG}, "key": "{UUID(int=5)}"}}')
    assert (read.amount, read.key) == (Decimal("1.12"), str(UUID(int=5)))
