"""Lists as the values of url and form args."""

from __future__ import annotations

from typing import Any

import pytest

import ntapi


@pytest.mark.parametrize(
    ("values", "query"),
    [
        ([7, "a b", None, True], "?id=7&id=a%20b&id=true"),
        ((1.5,), "?id=1.5"),
        ([], ""),
        ([None], ""),
    ],
)
def test_a_pair_for_each(fault: ntapi.Client, values: Any, query: str) -> None:
    target = fault.get("echo", ntapi.url("id", values)).json()["target"]
    assert target == f"/echo{query}"


def test_a_form_with_lists(fault: ntapi.Client) -> None:
    body = fault.post(
        "echo", ntapi.form("a", 1), ntapi.form("b", [2, 3]), ntapi.form("c", 4)
    ).json()
    assert body["body"] == "a=1&b=2&b=3&c=4"


def test_a_list_is_a_value() -> None:
    arg = ntapi.url("id", [1, 2])
    assert arg == ntapi.url("id", (1, 2))
    assert hash(arg) == hash(ntapi.url("id", (1, 2)))
    assert repr(arg) == '<ntapi.Arg url("id", "1"); url("id", "2")>'
    assert repr(arg.secret()) == '<ntapi.Arg url("id", <redacted>); url("id", <redacted>)>'


def test_lists_of_a_client(fault: ntapi.Client) -> None:
    fault.args = (ntapi.url("id", [1, 2]),)
    assert fault.get("echo").json()["target"] == "/echo?id=1&id=2"


def test_other_args_take_no_lists() -> None:
    with pytest.raises(TypeError, match="the path arg 'a' has to be a string"):
        ntapi.path("a", [1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the url arg 'a' has to be a string"):
        ntapi.url("a", [[1]])  # type: ignore[list-item]
