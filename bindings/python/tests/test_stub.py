"""Requests that a stub answers in memory take the same steps as with the network."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import codes
from ntapi.testing import Answer, ManualClock, Stub, StubFault, StubRequest

URL = "http://api.test/v1"


@pytest.fixture
def client(stub: Stub) -> Iterator[ntapi.Client]:
    with ntapi.Client(URL, stub=stub) as client:
        yield client


def test_a_request_gets_its_answer(stub: Stub, client: ntapi.Client) -> None:
    assert client.stub is stub
    stub.on("GET", "/v1/find?q=London").answer(json={"list": [1]}, headers={"X-A": "b"})
    response = client.send("find", ntapi.url("q", "London"), ntapi.url("cnt", 5))
    assert response.json() == {"list": [1]}
    assert response.headers["x-a"] == "b"
    assert response.headers["content-type"] == "application/json"
    stub.verify()


@pytest.mark.parametrize(
    ("keyword", "line"),
    [
        ("body", "an answer has no keyword 'body'; write json=, text= or data="),
        ("content", "an answer has no keyword 'content'; write json=, text= or data="),
        ("status_code", "an answer has no keyword 'status_code'; write status="),
        ("header", "an answer has no keyword 'header'; did you mean headers=?"),
        ("nonsense", "an answer has no keyword 'nonsense'"),
    ],
)
def test_an_unknown_keyword_of_an_answer(stub: Stub, keyword: str, line: str) -> None:
    given: dict[str, Any] = {keyword: 1}
    for make in (Answer, stub.on("GET").answer):
        with pytest.raises(TypeError) as caught:
            make(200, **given)
        assert str(caught.value) == line


def test_the_content_type_of_an_answer(stub: Stub, client: ntapi.Client) -> None:
    kind, more = "application/problem+json", [("X-A", "b"), ("X-A", "c")]
    rule = stub.on("GET").answer(json={"title": "full"}, content_type=kind, headers=more)
    rule.add(Answer(data=b"{}", content_type=kind)).lose_connection(
        1, data=b"ab", content_type=kind
    )
    rule.answer(text="{}", content_type=kind, headers={"Content-Type": "a/b"})
    response = client.send("a")
    assert response.headers.get_all("X-A") == ["b", "c"]
    seen = [response, *(client.perform("a") for _ in range(3))]
    assert [each.headers["Content-Type"] for each in seen] == [kind] * 3 + ["a/b"]
    with pytest.raises(TypeError, match="content_type has to be a string, not bytes"):
        Answer(text="a", content_type=b"a/b")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given", [{"X-Sum": "7", "X-End": "ä"}, [("X-Sum", "7"), ("X-End", "ä")]], ids=["dict", "pairs"]
)
def test_the_trailers_of_an_answer(stub: Stub, client: ntapi.Client, given: Any) -> None:
    stub.on(None).answer(text="body", trailers=given)
    expected = (("X-Sum", "7"), ("X-End", "ä"))
    response = client.send("a", ntapi.option("raw_data"))
    assert (response.data, response.trailers.lines) == (b"body", expected)
    # Over HTTP/1.1 a body before trailers has no length.
    assert "Content-Length" not in response.headers
    with client.stream("a") as stream:
        assert (b"".join(stream), stream.response.trailers.lines) == (b"body", expected)
    # There is no body that trailers could follow.
    assert client.perform("a", ntapi.method("HEAD")).trailers.lines == ()


def test_wrong_trailers_are_refused(stub: Stub) -> None:
    wrong = "a line of trailers cannot be a header"
    with pytest.raises(ValueError, match=wrong):
        stub.on("GET").answer(trailers={"A": "b\r\nC: d"})
    number: Any = 5
    with pytest.raises(TypeError, match="the trailer A has to be a string, not int"):
        Answer(trailers={"A": number})


def test_an_answer_of_a_rule_has_no_fault(stub: Stub) -> None:
    given: dict[str, Any] = {"fault": StubFault.TIMEOUT}
    with pytest.raises(
        TypeError, match=r"no keyword 'fault'; write rule\.fail\(fault\), or rule\.lose_connection"
    ):
        stub.on("GET").answer(**given)


def test_an_unknown_keyword_of_a_rule(stub: Stub) -> None:
    given: dict[str, Any] = {"body": 1}
    with pytest.raises(TypeError, match=r"a rule has no keyword 'body'; write json= or contains="):
        stub.on("POST", "find", **given)
    given = {"wher": print}
    with pytest.raises(TypeError, match=r"a rule has no keyword 'wher'; did you mean where=\?"):
        stub.on("POST", "find", **given)


def test_a_body_in_place_of_a_status(stub: Stub) -> None:
    document: Any = {"a": 1}
    with pytest.raises(TypeError, match=r"status has to be a number, not dict; .* json=, text= or"):
        stub.on("GET").answer(document)


def test_what_is_not_meant_is_a_clear_error(stub: Stub, client: ntapi.Client) -> None:
    rule = stub.on("POST", "find")
    with pytest.raises(ntapi.ApiError, match=r"POST find \(the method is GET\)") as caught:
        client.send("find")
    assert caught.value.code is codes.NO_STUB
    assert [request.is_matched for request in stub.requests] == [False]
    with pytest.raises(AssertionError, match="POST find was never requested; no stub has matched"):
        stub.verify()
    assert rule.call_count == 0
    stub.forget_requests()
    assert stub.requests == []


def test_answers_come_in_turn(stub: Stub, client: ntapi.Client) -> None:
    stub.on(None).answer(json="other")
    rule = stub.on("GET", "a").answer(503).answer(json=None).answer(text="2").used_up()
    assert client.perform("a").status == 503
    assert client.send("a").json() is None
    assert client.send("a").json() == 2
    assert rule.call_count == 3
    assert client.send("a").json() == "other"


def test_bodies_and_functions(stub: Stub, client: ntapi.Client) -> None:
    threads: list[int] = []

    def is_meant(request: StubRequest) -> bool:
        threads.append(threading.get_ident())
        return bool(request.headers["x-a"] == "1" and request.json() == {"n": [1]})

    stub.on("POST", "a", json={"x": 1}).answer(json="json")
    stub.on("POST", "a", contains="needle").answer(json="text")
    stub.on("POST", "a", where=is_meant).answer_with(
        lambda request: Answer(201, data=request.body, headers=[("Content-Type", "a/b")])
    )
    assert client.send("a", ntapi.json({"n": [1]}), ntapi.header("X-A", "1")).data == b'{"n":[1]}'
    assert client.send("a", ntapi.json({"x": 1}), ntapi.header("X-A", "1")).json() == "json"
    assert client.send("a", ntapi.form("q", "a needle"), ntapi.header("X-A", "1")).json() == "text"
    assert threading.get_ident() not in threads
    request = stub.requests[0]
    assert (request.method, request.url, request.text) == ("POST", f"{URL}/a", '{"n":[1]}')
    assert repr(request) == "<ntapi.testing.StubRequest POST http://api.test/v1/a>"


def test_what_functions_raise_is_reported(
    stub: Stub, client: ntapi.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", lambda report: raised.append(report.exc_value))

    def wrong(request: StubRequest) -> Any:
        raise ValueError(request.method)

    stub.on("GET", "a", where=wrong)
    assert client.perform("a").error.code is codes.NO_STUB  # type: ignore[union-attr]
    stub.on("GET", "a").answer_with(wrong)
    response = client.perform("a")
    assert response.status == 500
    assert "ValueError('GET')" in response.text
    assert [str(error) for error in raised] == ["GET", "GET"]


def test_what_functions_raise_fails_verify(
    stub: Stub, client: ntapi.Client, unraisable: Any
) -> None:
    def wrong(request: StubRequest) -> Any:
        assert request.method == "POST", "a POST is expected"

    def is_meant(request: StubRequest) -> Any:
        raise KeyError("page")

    stub.on("GET").answer_with(wrong)
    client.perform("a")
    client.perform("a")
    stub.on("GET", where=is_meant).answer().used_up()
    client.perform("a")
    name = "test_what_functions_raise_fails_verify.<locals>."
    with pytest.raises(AssertionError) as caught:
        stub.verify()
    text = str(caught.value)
    assert f"the function {name}wrong has raised AssertionError: a POST is expected" in text
    assert text.endswith(f"; the function {name}is_meant has raised KeyError: 'page'")
    assert text.count("wrong") == 1
    assert str(caught.value.__cause__).startswith("a POST is expected")
    assert len(unraisable.errors) == 4
    stub.forget_requests()
    with pytest.raises(AssertionError) as caught:
        stub.verify()
    assert "has raised" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_assertion_in_a_function_fails_the_block(unraisable: Any) -> None:
    def wrong(request: StubRequest) -> Any:
        raise AssertionError(request.url)

    with pytest.raises(AssertionError, match=f"raised AssertionError: {URL}/a"), Stub() as stub:  # noqa: PT012 - the end of the block
        stub.on("GET").answer_with(wrong)
        with ntapi.Client(URL, stub=stub) as client:
            assert client.perform("a").status == 500
    assert len(unraisable.errors) == 1


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (StubFault.NO_CONNECTION, codes.NETWORK),
        (StubFault.NO_INTERNET, codes.NO_INTERNET),
        (StubFault.UNKNOWN_HOST, codes.NETWORK),
        (StubFault.UNTRUSTED_CERTIFICATE, codes.TLS),
        (StubFault.TIMEOUT, codes.TIMEOUT),
        (StubFault.CONNECTION_LOST, codes.NETWORK),
    ],
)
def test_faults(stub: Stub, client: ntapi.Client, fault: StubFault, code: codes.ErrorCode) -> None:
    stub.on("GET", "a").fail(fault)
    error = client.perform("a").error
    assert error is not None
    assert error.code is code
    assert error.domain is ntapi.ErrorDomain.NETWORK


def test_a_download_goes_on(stub: Stub, client: ntapi.Client, tmp_path: Path) -> None:
    body = bytes(range(256)) * 400
    stub.on("GET", "file").lose_connection(
        60_000, data=body, content_type="image/png", headers={"ETag": '"1"'}
    )
    first = client.perform("file", ntapi.download(tmp_path / "file"))
    assert first.headers["Content-Type"] == "image/png"
    assert first.resume_data is not None
    stub.on("GET", "file", where=lambda request: "range" in request.headers).answer(
        206,
        data=body[60_000:],
        headers={"ETag": '"1"', "Content-Range": f"bytes 60000-{len(body) - 1}/{len(body)}"},
    )
    client.send("", ntapi.resume(first.resume_data))
    assert (tmp_path / "file").read_bytes() == body
    lost = stub.on("GET", "lost").answer_with(
        lambda _: Answer(data=b"012345", fault=StubFault.CONNECTION_LOST, fault_after=3)
    )
    assert client.perform("lost").data == b"012"
    assert lost.call_count == 1


def test_time_is_the_clients(stub: Stub, client: ntapi.Client) -> None:
    clock = ManualClock()
    client.clock = clock
    stub.on("GET", "a").answer(json=1, delay=5)
    seen: list[Any] = []
    request = client.begin(
        "a", ntapi.response_thread(ntapi.BACKGROUND), lambda response: seen.append(response.json())
    )
    assert clock.wait_for_sleepers(timeout=PATIENCE)
    assert clock.next_wake == 5
    clock.advance(5)
    request.wait()
    assert seen == [1]
    stub.on("GET", "pieces").answer(data=b"abc", piece_size=1, piece_delay=2)
    read = []
    with client.stream("pieces") as stream:
        read.append(next(stream))
        for _ in range(2):
            assert clock.wait_for_sleepers(timeout=PATIENCE)
            clock.advance(2)
            read.append(next(stream))
    assert read == [b"a", b"b", b"c"]


def test_asyncio(stub: Stub) -> None:
    stub.on("GET", "lines").answer(text='{"n":1}\n{"n":2}\n', piece_size=3)

    async def main() -> None:
        loop, asked = asyncio.get_running_loop(), asyncio.Event()

        def is_meant(_: StubRequest) -> bool:
            loop.call_soon_threadsafe(asked.set)
            return True

        stub.on("GET", "never", where=is_meant).fail(StubFault.SILENCE)
        async with ntapi.AsyncClient(URL, stub=stub) as client:
            assert [line["n"] async for line in client.lines("lines")] == [1, 2]
            task = asyncio.ensure_future(client.send("never"))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


def test_mistakes(stub: Stub) -> None:
    wrong: Any = 7
    with pytest.raises(TypeError):
        stub.on(wrong)
    with pytest.raises(TypeError):
        stub.on("GET", "a", where=wrong)
    with pytest.raises(ValueError, match="one body"):
        Answer(text="a", json=1)
    with pytest.raises(ValueError, match="199"):
        Answer(199)
    with pytest.raises(ValueError, match="cannot be a header"):
        Answer(headers={"a b": "c"})
    with pytest.raises(ValueError, match="delay has to be 0 or more seconds"):
        Answer(delay=-1)
    with pytest.raises(ValueError, match="not with both"):
        stub.on("GET", "a", json=1, contains="b")


@pytest.mark.parametrize(("length", "text"), [("9", None), ("5", "hello"), ("2", "he")])
def test_a_content_length_of_its_own(stub: Stub, length: str, text: Optional[str]) -> None:
    stub.on("GET").answer(text="hello", headers={"Content-Length": length})
    with ntapi.Client("https://api.test", stub=stub) as client:
        response = client.perform("x", ntapi.option("raw_data"))
    if text is None:
        assert response.error is not None
        assert response.error.code is ntapi.codes.NETWORK
        assert "middle of the body" in response.error.message
    else:
        assert response.error is None
        assert response.text == text


def test_a_header_that_no_answer_has(stub: Stub) -> None:
    with pytest.raises(ValueError, match="a character that no header has"):
        stub.on("GET").answer(headers={"X-Line": "a\nb"})


def test_requests_are_waited_for(stub: Stub) -> None:
    def send() -> None:
        client.perform("first")
        assert seen.wait(PATIENCE)
        client.perform("second")

    seen = threading.Event()
    stub.on("GET", "first").answer(json=1)
    with ntapi.Client("http://api.test", stub=stub) as client:
        assert stub.wait_for_requests(0) == []
        with pytest.raises(TimeoutError, match=r"^0 of 1 requests have come within 0 s$"):
            stub.wait_for_requests(timeout=0)
        thread = threading.Thread(target=send)
        thread.start()
        try:
            (first,) = stub.wait_for_requests(timeout=PATIENCE)
            assert first.url == "http://api.test/first"
            with pytest.raises(TimeoutError, match=r"^1 of 2 requests .* 0.01 s: .*/first"):
                stub.wait_for_requests(2, timeout=0.01)
        finally:
            seen.set()
        # A request that no rule has matched is counted.
        urls = [each.url for each in stub.wait_for_requests(2, PATIENCE)]
        assert urls == ["http://api.test/first", "http://api.test/second"]
        thread.join()
    with pytest.raises(ValueError, match="count has to be a number from 0"):
        stub.wait_for_requests(-1)
