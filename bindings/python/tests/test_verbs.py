"""`get`, `post`, `put`, `patch` and `delete`, and the errors for other libraries' names."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from pathlib import Path
from types import MappingProxyType
from typing import Any, Callable

import pytest

import ntapi
from conftest import PATIENCE
from ntapi.testing import Stub


@dataclasses.dataclass
class Note:
    text: str


VERBS = ("get", "post", "put", "patch", "delete")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_sends_its_method(fault: ntapi.Client, verb: str) -> None:
    response = getattr(fault, verb)("echo", ntapi.url("q", "a b"))
    assert response.json()["method"] == verb.upper()
    assert response.json()["target"] == "/echo?q=a%20b"


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_of_the_async_client(servers: dict[str, str], verb: str) -> None:
    async def main() -> Any:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            return (await getattr(client, verb)("echo", ntapi.header("X-A", "b"))).json()

    assert asyncio.run(asyncio.wait_for(main(), PATIENCE))["method"] == verb.upper()


def test_a_verb_overrides_what_the_args_say(fault: ntapi.Client) -> None:
    fault.args = (ntapi.method("PUT"),)
    response = fault.patch("echo", ntapi.method("POST"), ntapi.json({"a": 1}))
    assert (response.json()["method"], response.json()["body"]) == ("PATCH", '{"a":1}')


def test_a_verb_needs_no_command(servers: dict[str, str]) -> None:
    with ntapi.Client(servers["fault"] + "/echo") as client:
        assert client.get().json()["method"] == "GET"
        assert client.post(ntapi.form("a", 1)).json()["body"] == "a=1"


def test_a_verb_raises_as_send_does(fault: ntapi.Client) -> None:
    with pytest.raises(ntapi.ApiError) as caught:
        fault.get("status/404")
    assert caught.value.http_status == 404


def test_a_verb_takes_handlers(nginx: ntapi.Client, pattern: bytes) -> None:
    pieces: list[bytes] = []
    assert nginx.get("pattern-8M.bin", data_handler=pieces.append).data == b""
    assert b"".join(pieces) == pattern


@pytest.mark.parametrize(
    ("keywords", "line"),
    [
        ({"params": {"q": "s3cret"}}, 'the arg ntapi.url("q", ...)'),
        ({"params": None}, 'the arg ntapi.url("name", ...)'),
        ({"json": {"a": 1}}, "ntapi.json(...)"),
        ({"headers": {"X-A": "s3cret"}}, 'ntapi.header("X-A", ...)'),
        ({"timeout": 5}, "ntapi.timeout(5)"),
        ({"data": {"a": "b"}}, 'ntapi.form("a", ...)'),
        ({"data": b"s3cret"}, "ntapi.data(...)"),
        ({"auth": ("ann", "s3cret")}, "ntapi.basic_auth(user, password) or ntapi.bearer(token)"),
        ({"verify": False}, 'write the arg ntapi.option("allow_invalid_certificate")'),
        ({"verify": "ca.pem"}, 'SessionConfiguration.default(ca_file="ca.pem")'),
        ({"stream": True}, "with client.stream(command) as chunks"),
        ({"retry": 3}, "write the arg ntapi.retry(ntapi.RetryPolicy(attempts=4))"),
        ({"retry": True}, "write the arg ntapi.retry(True)"),
        ({"retries": 3}, "write the arg ntapi.retry(ntapi.RetryPolicy(attempts=4))"),
        ({"idempotency_key": "s3cret"}, "write the arg ntapi.idempotency_key(...)"),
        ({"idempotencykey": "s3cret"}, "write the arg ntapi.idempotency_key(...)"),
        ({"token": "s3cret"}, "write the arg ntapi.bearer(...)"),
        ({"cache_policy": "no_store"}, "write the arg ntapi.cache_policy(...)"),
        ({"user_agent": "x"}, "SessionConfiguration.default(user_agent=...)"),
        ({"interceptors": []}, "write the arg ntapi.interceptor(...)"),
        ({"upload_progres": print}, "did you mean upload_progress=?"),
        ({"params": {"a": 1, "b": 2}}, 'write the args ntapi.url("a", ...), ntapi.url("b", ...)'),
        (
            {"params": {"a": 1}},
            "a request has no keyword 'params'; write the arg ntapi.url(\"a\", ...)",
        ),
        ({"nonsense": 1}, "a request has no keyword 'nonsense'"),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda client, **keywords: client.send("x", **keywords),
        lambda client, **keywords: client.perform("x", **keywords),
        lambda client, **keywords: client.begin("x", **keywords),
        lambda client, **keywords: client.create_request("x", **keywords),
    ],
    ids=["send", "perform", "begin", "create_request"],
)
def test_a_keyword_of_another_library(
    call: Callable[..., object], keywords: dict[str, Any], line: str
) -> None:
    with ntapi.Client("http://127.0.0.1:9") as client, pytest.raises(TypeError) as caught:
        call(client, **keywords)
    assert line in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_the_keywords_of_a_verb(stub: Stub) -> None:
    """They pass the client's own `send`, and a request with them may start fast."""
    sent: list[tuple[object, ...]] = []

    class Mine(ntapi.Client):
        def send(self, *args: Any, **handlers: Any) -> ntapi.Response:
            sent.append(args)
            return super().send(*args, **handlers)

    stub.on("GET").answer()
    with Mine("http://api.test", stub=stub) as client:
        client.get("x", ntapi.url("a", 1), timeout=5, params={"b": 2})
    assert sent == [("x", ntapi.url("a", 1), ntapi.url("b", 2), ntapi.timeout(5), ntapi.arg.GET)]


def test_a_file_that_its_path_does_not_give(stub: Stub, tmp_path: Path) -> None:
    """The content that the file gives is sent, and not the content at its path."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"hello")
    reading, writing = os.pipe()
    os.write(writing, b"piped")
    os.close(writing)
    stub.on("POST").answer()
    with (
        ntapi.Client("http://api.test", stub=stub) as client,
        path.open("rb") as begun,
        path.open("rb") as replaced,
        open(reading, "rb") as pipe,
    ):
        begun.read(2)
        path.unlink()
        path.write_bytes(b"other")
        for file in (begun, replaced, pipe):
            client.post("x", files={"f": ("a.txt", file)})
    sent = [request.text.partition("\r\n\r\n")[2][:5] for request in stub.requests]
    assert sent == ["llo\r\n", "hello", "piped"]


@pytest.mark.parametrize("function", ["get", "send", "perform", "stream"])
def test_args_and_handlers_as_keywords(function: str) -> None:
    with ntapi.Client("http://127.0.0.1:9") as client:
        call = getattr(client, function)
        with pytest.raises(TypeError, match=r"write the args after the command: .*, \*args\)"):
            call("x", args=[ntapi.url("q", 1)])
        with pytest.raises(TypeError, match=r"client\.begin\(command, \*args, handler=handler\)"):
            call("x", handler=print)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (
            ({"a": "s3cret"},),
            "not a dict; write ntapi.json(...) to send it as JSON, or ntapi.form(",
        ),
        ((Note("s3cret"),), "not a Note; write ntapi.json(...) to send it as JSON"),
        ((MappingProxyType({"a": "s3cret"}),), "not a mappingproxy; write ntapi.json(...)"),
        ((memoryview(b"s3cret"),), "not a memoryview; write ntapi.data(...)"),
        ((b"s3cret",), "not a bytes; write ntapi.data(...) to send it as the body"),
        (
            ("s3cret",),
            "not a str; write ntapi.url(name, value) to add it to the query, or ntapi.data(",
        ),
        (([{"a": "s3cret"}],), "not a dict; write ntapi.json(...)"),
        ((5,), "not 5"),
    ],
)
def test_a_body_in_place_of_an_arg(values: tuple[Any, ...], line: str) -> None:
    with ntapi.Client("http://127.0.0.1:9") as client:
        for call in (client.post, client.send, client.perform):
            with pytest.raises(TypeError) as caught:
                call("x", *values)
            assert f"an arg is expected, {line}" in str(caught.value)
            assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("kind", ["stream", "lines", "events"])
def test_streams_take_no_keywords(kind: str) -> None:
    with (
        ntapi.Client("http://127.0.0.1:9") as client,
        pytest.raises(TypeError, match=r"write the arg ntapi\.timeout"),
    ):
        getattr(client, kind)("x", timeout=5)


def test_an_async_keyword_of_another_library() -> None:
    async def main() -> None:
        async with ntapi.AsyncClient("http://127.0.0.1:9") as client:
            with pytest.raises(TypeError, match=r"ntapi.url\(\"q\""):
                await client.send("x", params={"q": 1})  # type: ignore[call-arg]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("keywords", "line"),
    [
        ({"timeout": 5}, "write args=[ntapi.timeout(5)]"),
        ({"headers": {"A": "s3cret"}}, 'write args=[ntapi.header("A", ...)]'),
        ({"verify": "ca.pem"}, "write configuration=ntapi.SessionConfiguration.default("),
        ({"interceptor": []}, "did you mean interceptors=?"),
        ({"retry": 3}, "write args=[ntapi.retry(ntapi.RetryPolicy(attempts=4))]"),
        ({"retries": 3}, "write args=[ntapi.retry(ntapi.RetryPolicy(attempts=4))]"),
        ({"idempotency_key": "s3cret"}, "write args=[ntapi.idempotency_key(...)]"),
        ({"token": "s3cret"}, "write args=[ntapi.bearer(...)]"),
        (
            {"user_agent": "x"},
            "write configuration=ntapi.SessionConfiguration.default(user_agent=...)",
        ),
        ({"cache": None}, "SessionConfiguration.default(cache=...)"),
        ({"useragent": "x"}, "SessionConfiguration.default(user_agent=...)"),
        ({"nonsense": 1}, "a client has no keyword 'nonsense'"),
    ],
)
def test_a_clients_keyword(keywords: dict[str, Any], line: str) -> None:
    for cls in (ntapi.Client, ntapi.AsyncClient):
        with pytest.raises(TypeError) as caught:
            cls("http://127.0.0.1:9", **keywords)
        assert line in str(caught.value)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("ok", "write `response.error is None`"),
        ("status_code", "write `response.status`"),
        ("content", "write `response.data`"),
        ("raise_for_status", "write `response.raise_for_error()`"),
    ],
)
def test_an_attribute_of_another_library(stub: Stub, name: str, line: str) -> None:
    with ntapi.Client("http://api.test", stub=stub) as client:
        stub.on("GET").answer(json={})
        response = client.send()
        with pytest.raises(AttributeError, match="'Response' object has no attribute") as caught:
            getattr(response, name)
        assert line in str(caught.value)
        assert not hasattr(response, "nonsense")


def test_an_attribute_of_another_librarys_client() -> None:
    with (
        ntapi.Client("http://127.0.0.1:9") as client,
        pytest.raises(AttributeError, match=r"client\.request\(\"HEAD\", command\)"),
    ):
        client.head("x")  # type: ignore[attr-defined]


def test_a_function_of_another_library() -> None:
    with pytest.raises(AttributeError, match=r"ntapi\.Client\(base_url\)\.get\(command\)"):
        ntapi.get  # type: ignore[attr-defined] # noqa: B018


def test_names_of_other_libraries_are_not_listed(stub: Stub) -> None:
    stub.on("GET").answer()
    with ntapi.Client("http://api.test", stub=stub) as client:
        names = dir(client.send())
    assert "status" in names
    assert not {"ok", "status_code", "content"} & set(names)
