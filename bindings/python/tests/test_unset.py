"""UNSET and None: what is left out, and what is null."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Optional, Union

import pytest

import ntapi
from ntapi import UNSET, Unset
from ntapi.testing import Stub


@dataclass
class Change:
    title: Union[str, Unset] = UNSET
    due: Union[str, Unset, None] = UNSET
    city: Annotated[Union[str, Unset, None], ntapi.Key("address.city")] = UNSET
    note: Optional[str] = None


def sent(value: Any) -> Any:
    stub = Stub()
    stub.on("PATCH").answer()
    with ntapi.Client("http://api.test", stub=stub) as client:
        client.patch("x", ntapi.json(value))
    return json.loads(stub.requests[0].body)


@pytest.mark.parametrize(
    ("value", "document"),
    [
        (Change(), {}),
        (
            Change(title="a", due=None, city=None),
            {"title": "a", "due": None, "address": {"city": None}},
        ),
        (Change(due="b", note="c"), {"due": "b", "note": "c"}),
        ({"a": UNSET, "b": None, "c": {"d": UNSET}}, {"b": None, "c": {}}),
        ([{"a": UNSET, "b": Change(due=None)}], [{"b": {"due": None}}]),
        ({"a": (1, {"b": UNSET})}, {"a": [1, {}]}),
    ],
)
def test_what_is_sent(value: Any, document: Any) -> None:
    assert sent(value) == document


@pytest.mark.parametrize("value", [UNSET, [UNSET], {"a": [1, UNSET]}])
def test_only_members_can_be_left_out(value: Any) -> None:
    with pytest.raises(TypeError, match=r"ntapi\.UNSET can only be a member of an object"):
        ntapi.json(value)


@pytest.mark.parametrize(
    ("document", "value"),
    [
        ({}, Change()),
        ({"due": None, "address": {"city": None}}, Change(due=None, city=None)),
        ({"title": None}, Change()),
        ({"title": "a", "due": "b", "address": {}}, Change(title="a", due="b")),
        ({"address": None}, Change()),
    ],
)
def test_what_is_read(document: Any, value: Change) -> None:
    assert ntapi.decode(Change, document) == value


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(ntapi.ApiError, match="due: str expected, number 5 found"):
        ntapi.decode(Change, {"due": 5})


def test_an_arg_that_is_unset_is_suppressed() -> None:
    assert ntapi.url("a", UNSET).is_suppressed
    assert ntapi.form("a", UNSET).is_suppressed


def test_what_it_is_like() -> None:
    assert not UNSET
    assert repr(UNSET) == "ntapi.UNSET"
