"""Models of pydantic as the type of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Optional

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
