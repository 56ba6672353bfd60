"""`json()` is a method, as in requests and httpx. Used as an attribute, it says what to write."""

from __future__ import annotations

import asyncio
import inspect
import operator
import re
from typing import Any, Callable

import pytest

import ntapi
from conftest import API_URL
from ntapi.testing import Stub, StubRequest

DOCUMENTS = [{"a": 1}, [1], "text", 5, True, None]
Client = Callable[[Stub], ntapi.Response]


def from_threads(stub: Stub) -> ntapi.Response:
    return ntapi.Client(API_URL, stub=stub).send("a")


def from_loop(stub: Stub) -> ntapi.Response:
    async def main() -> ntapi.Response:
        async with ntapi.AsyncClient(API_URL, stub=stub) as client:
            return await client.send("a")

    return asyncio.run(main())


def from_stream(stub: Stub) -> ntapi.Response:
    """The response at the end of a stream, with the body of an error."""
    client = ntapi.Client(API_URL, stub=stub)
    with pytest.raises(ntapi.ApiError) as caught, client.stream("error"):
        pass
    assert caught.value.response is not None
    return caught.value.response


@pytest.mark.parametrize("perform", [from_threads, from_loop, from_stream])
@pytest.mark.parametrize("document", DOCUMENTS, ids=repr)
def test_the_method(stub: Stub, perform: Client, document: Any) -> None:
    stub.on("GET", "a").answer(json=document)
    stub.on("GET", "error").answer(404, json=document)
    response = perform(stub)
    assert response.json() == document
    assert response.json() is response.json()
    assert response.has_json


def event(_: Stub) -> ntapi.ServerSentEvent:
    return ntapi.ServerSentEvent(data='{"a": 1}')


def stub_request(stub: Stub) -> StubRequest:
    ntapi.Client(API_URL, stub=stub).post("a", ntapi.json({"a": 1}))
    return stub.requests[0]


USES: list[tuple[Callable[[Any], object], str]] = [
    (lambda json: json["a"], "{}['a']"),
    (lambda json: json[0], "{}[0]"),
    (list, "for value in {}"),
    (lambda json: [*json], "for value in {}"),
    (dict, "{}.keys()"),
    (lambda json: {**json}, "{}.keys()"),
    (len, "len({})"),
    (bool, "if {}"),
    (operator.not_, "if {}"),
    (lambda json: json == {"a": 1}, "{} == value"),
    (lambda json: json != {}, "{} != value"),
    (lambda json: "a" in json, "value in {}"),
    (lambda json: json.get("a"), "{}.get"),
    (lambda json: json.items(), "{}.items"),
    (lambda json: json.append(1), "{}.append"),
]


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (from_threads, "response.json()"),
        (from_loop, "response.json()"),
        (event, "event.json()"),
        (stub_request, "request.json()"),
    ],
)
@pytest.mark.parametrize(("use", "says"), USES)
def test_the_old_spelling(
    stub: Stub,
    make: Callable[[Stub], Any],
    line: str,
    use: Callable[[Any], object],
    says: str,
) -> None:
    stub.on(None, "a").answer(json={"a": 1})
    made = make(stub)
    with pytest.raises((TypeError, AttributeError), match=re.escape(says.format(line))) as caught:
        use(made.json)
    assert "write " in str(caught.value)
    assert made.json() == {"a": 1}


def test_a_type_of_ones_own(stub: Stub) -> None:
    stub.on("GET", "a").answer(json=[1])
    response: Any = from_threads(stub)
    for call in (lambda: response.json(list[int]), lambda: response.json(parse_float=str)):
        with pytest.raises(TypeError, match=r"write response\.decode\(Type\)"):
            call()
    assert response.decode(list[int]) == [1]
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        ntapi.ServerSentEvent(data="1").json(int)  # type: ignore[call-arg]


def test_it_is_a_method_for_tools(stub: Stub) -> None:
    stub.on("GET", "a").answer(json=[1])
    response = from_threads(stub)
    assert inspect.isfunction(ntapi.Response.json)
    assert "parsed on first use" in (ntapi.Response.json.__doc__ or "")
    assert callable(response.json)
    assert repr(response.json).startswith("<method response.json() of <ntapi.Response GET ")
    assert not hasattr(response.json, "__len__x")
    with pytest.raises(AttributeError, match=r"no attribute '_private'$"):
        response.json._private  # type: ignore[attr-defined] # noqa: B018


def test_what_is_no_json(stub: Stub) -> None:
    stub.on("GET", "a").answer(text="no")
    response = ntapi.Client(API_URL, stub=stub).perform("a")
    assert response.json() is None
    assert response.error is not None
    assert response.error.code is ntapi.codes.INVALID_JSON
