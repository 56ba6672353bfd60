"""Interceptors: what they see, what they may do, and the errors for mistakes."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any, Optional

import pytest

import ntapi
from conftest import API_URL, Perform, Unraisable
from interception import Flow, message
from ntapi import HTTPRequest, HTTPResponse, InterceptedCall, Interceptor, codes
from ntapi.testing import Stub

# What they see and change.


def test_a_generator_signs_method_path_and_body(perform: Perform, stub: Stub) -> None:
    def signature(method: str, url: str, body: bytes) -> str:
        text = f"{method} {url.removeprefix('https://api.test')}\n".encode() + body
        return hmac.new(b"key", text, hashlib.sha256).hexdigest()

    @ntapi.attempt_interceptor
    def sign(call: InterceptedCall) -> Flow:
        request = call.request
        assert request.body_kind is ntapi.BodyKind.BYTES
        content = request.body or b""
        request.headers["X-Signature"] = signature(request.method, request.url, content)
        response = yield request
        assert response.status == 201
        return None

    stub.on("POST").answer(201, json={"id": 1})
    response = perform([sign], "orders", ntapi.url("dry", True), ntapi.json({"city": "Łódź"}))
    assert response.status == 201
    assert response.json() == {"id": 1}
    (sent,) = stub.requests
    assert sent.headers["X-Signature"] == signature("POST", sent.url, sent.body)
    assert sent.url == f"{API_URL}/orders?dry=true"
    assert json.loads(sent.body) == {"city": "Łódź"}


def test_a_plain_function_changes_all_of_a_request(perform: Perform, stub: Stub) -> None:
    @ntapi.attempt_interceptor
    def change(call: InterceptedCall) -> None:
        request = call.request
        assert (request.method, request.url) == ("GET", f"{API_URL}/a")
        assert request.body_kind is ntapi.BodyKind.NONE
        request.method = "PUT"
        request.url = "https://other.test/b?c=d"
        request.headers["X-Added"] = "1"
        del request.headers["X-Removed"]
        request.body = b"bytes"
        assert request.body == b"bytes"

    stub.on("PUT").answer(json="changed")
    response = perform([change], "a", ntapi.header("X-Removed", "1"))
    assert response.json() == "changed"
    (sent,) = stub.requests
    assert (sent.method, sent.url, sent.body) == ("PUT", "https://other.test/b?c=d", b"bytes")
    assert sent.headers["X-Added"] == "1"
    assert "X-Removed" not in sent.headers


def test_a_response_is_shown_and_passes(perform: Perform, stub: Stub) -> None:
    seen: list[HTTPResponse] = []

    @ntapi.attempt_interceptor
    def look(call: InterceptedCall) -> Flow:
        response = yield call.request
        seen.append(response)
        return response

    lines = [("X-A", "1"), ("X-A", "2"), ("X-B", "ü")]
    stub.on("GET").answer(404, json=[1], headers=lines)
    assert perform([look], "a").status == 404
    (response,) = seen
    # The response is readable after the passage, too.
    assert (response.status, response.body, response.error) == (404, b"[1]", None)
    assert response.headers.get_all("x-a") == ["1", "2"]
    assert response.headers["x-b"] == "ü"
    assert repr(response) == "<ntapi.HTTPResponse 404>"


def test_a_failed_exchange_is_shown_with_its_error(perform: Perform, stub: Stub) -> None:
    @ntapi.attempt_interceptor
    def look(call: InterceptedCall) -> Flow:
        response = yield call.request
        assert response.status == 0
        assert response.error is not None
        assert response.error.code is codes.NO_STUB
        assert response.body == b""
        assert len(response.headers) == 0
        return HTTPResponse(200, {"Content-Type": "application/json"}, '"instead"')

    assert perform([look], "a").json() == "instead"


# What they answer.


@pytest.mark.parametrize("is_generator", [False, True])
@pytest.mark.parametrize("scope", ["call", "attempt"])
def test_an_interceptor_answers_and_nothing_is_sent(
    perform: Perform, stub: Stub, is_generator: bool, scope: Any
) -> None:
    def answer() -> HTTPResponse:
        headers = [("Content-Type", "application/json"), ("X-A", "1"), ("X-A", "2")]
        return HTTPResponse(203, headers, b'{"name": "London"}')

    def generate(_: InterceptedCall) -> Flow:
        return answer()
        yield

    response = perform([Interceptor(generate if is_generator else lambda _: answer(), scope)], "a")
    assert response.error is None
    assert (response.status, response.json()) == (203, {"name": "London"})
    assert response.headers.get_all("x-a") == ["1", "2"]
    assert stub.requests == []


@pytest.mark.parametrize("scope", ["call", "attempt"])
def test_the_body_of_its_own_answer_goes_where_it_is_wanted(
    stub: Stub, tmp_path: Path, scope: Any
) -> None:
    own = Interceptor(lambda _: HTTPResponse(200, (), b'{"n": 1}\n{"n": 2}\n'), scope)
    path = tmp_path / "file"
    with ntapi.Client(API_URL, stub=stub, interceptors=[own]) as client:
        response = client.send("a", ntapi.download(path), ntapi.option("raw_data"))
        assert response.file == path
        assert path.read_bytes() == b'{"n": 1}\n{"n": 2}\n'
        with client.stream("a") as stream:
            assert b"".join(stream) == path.read_bytes()
        assert list(client.lines("a")) == [{"n": 1}, {"n": 2}]
    assert stub.requests == []


def test_an_answer_is_judged_as_the_server_s(perform: Perform, stub: Stub) -> None:
    response = perform([ntapi.call_interceptor(lambda _: HTTPResponse(503, (), "no"))], "a")
    assert response.error is not None
    assert response.error.code is codes.HTTP_ERROR
    assert response.error.http_status == 503
    assert response.data == b"no"


def test_answers_come_from_a_fixture(perform: Perform, stub: Stub) -> None:
    fixtures = {"weather": b'{"name": "London"}'}

    @ntapi.call_interceptor
    def fixture(call: InterceptedCall) -> Optional[HTTPResponse]:
        found = fixtures.get(call.request.url.rpartition("/")[2])
        if found is None:
            return None
        return HTTPResponse(200, {"Content-Type": "application/json"}, found)

    stub.on("GET", "other").answer(json="sent")
    assert perform([fixture], "weather").json() == {"name": "London"}
    assert perform([fixture], "other").json() == "sent"
    assert [request.url for request in stub.requests] == [f"{API_URL}/other"]


def test_the_response_is_replaced_on_its_way_out(perform: Perform, stub: Stub) -> None:
    @ntapi.call_interceptor
    def replace(call: InterceptedCall) -> Flow:
        response = yield call.request
        return HTTPResponse(response.status, response.headers, response.body.replace(b"1", b"2"))

    stub.on("GET").answer(json=[1], headers={"X-A": "kept"})
    response = perform([replace], "a")
    assert response.json() == [2]
    assert response.headers["x-a"] == "kept"


class CircuitOpen(ntapi.ApiError):
    """An error of a program's own."""


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("scope", ["call", "attempt"])
def test_what_it_raises_is_the_error(
    perform: Perform, stub: Stub, unraisable: Unraisable, scope: Any, is_after: bool
) -> None:
    problem = CircuitOpen("circuit open", "the circuit is open")

    def refuse(call: InterceptedCall) -> Flow:
        if is_after:
            yield call.request
        raise problem

    stub.on("GET").answer(json=1)
    response = perform([Interceptor(refuse, scope)], "a")
    assert response.error is problem
    assert len(stub.requests) == is_after
    assert unraisable.errors == []


@pytest.mark.parametrize("is_after", [False, True])
def test_an_exception_is_named_and_is_the_cause(
    perform: Perform,
    stub: Stub,
    unraisable: Unraisable,
    caplog: pytest.LogCaptureFixture,
    is_after: bool,
) -> None:
    problem = ValueError("no idea")

    @ntapi.attempt_interceptor
    def fail(call: InterceptedCall) -> Flow:
        if is_after:
            yield call.request
        raise problem

    stub.on("GET").answer(json=1)
    error = perform([fail], "a").error
    assert error is not None
    text = f"the interceptor {fail.function.__qualname__} failed: ValueError('no idea')"
    assert error.message == text
    assert (error.code, error.domain) == (codes.GENERIC, ntapi.ErrorDomain.REQUEST)
    assert error.__cause__ is problem
    assert text in caplog.text
    assert unraisable.errors == []


def test_an_outer_one_sees_and_replaces_an_inner_failure(perform: Perform, stub: Stub) -> None:
    @ntapi.call_interceptor
    def outer(call: InterceptedCall) -> Flow:
        response = yield call.request
        assert response.error is not None
        return HTTPResponse(200, (), response.error.message)

    def inner(_: InterceptedCall) -> None:
        raise ntapi.ApiError("own", "inner")

    response = perform([outer, ntapi.call_interceptor(inner)], "a", ntapi.option("raw_data"))
    assert response.error is None
    assert response.data == b"inner"


@pytest.mark.parametrize("retryable", [True, False])
def test_an_error_says_whether_the_policy_may_retry(
    perform: Perform, stub: Stub, retryable: bool
) -> None:
    @ntapi.attempt_interceptor
    def fail_at_first(call: InterceptedCall) -> None:
        if call.number == 1:
            raise ntapi.ApiError("own", domain=ntapi.ErrorDomain.NETWORK, retryable=retryable)

    stub.on("GET")
    response = perform([fail_at_first], "a", ntapi.retry(ntapi.RetryPolicy(base=0)))
    assert response.metrics.retries == int(retryable)
    assert (response.error is None) is retryable


# Sending again.


def test_a_generator_sends_again_as_often_as_it_likes(perform: Perform, stub: Stub) -> None:
    passages: list[tuple[int, str]] = []

    @ntapi.attempt_interceptor
    def insist(call: InterceptedCall) -> Flow:
        for attempt in range(5):
            call.request.headers["X-Attempt"] = str(attempt)
            response = yield call.request
            if response.status != 503:
                break
        return None

    @ntapi.attempt_interceptor
    def look(call: InterceptedCall) -> None:
        passages.append((call.number, call.reason))
        call.request.headers["X-Inner"] = str(call.number)

    stub.on("POST").answer(503).answer(503).answer(json="at last")
    response = perform([insist, look], "a", ntapi.json([1]))
    assert response.json() == "at last"
    assert [request.headers["X-Attempt"] for request in stub.requests] == ["0", "1", "2"]
    assert [request.headers["X-Inner"] for request in stub.requests] == ["1", "2", "3"]
    assert [request.body for request in stub.requests] == [b"[1]"] * 3
    assert passages == [(1, "first"), (2, "interceptor"), (3, "interceptor")]


def test_what_is_sent_again_is_what_it_was_given(perform: Perform, stub: Stub) -> None:
    """The original request is sent again, and not one that a redirect or an inner interceptor
    changed.
    """

    @ntapi.call_interceptor
    def twice(call: InterceptedCall) -> Flow:
        first = yield call.request
        assert first.body == b"1"
        assert call.request.url == f"{API_URL}/a"
        assert "X-Inner" not in call.request.headers
        yield call.request
        return None

    @ntapi.call_interceptor
    def inner(call: InterceptedCall) -> None:
        assert "X-Inner" not in call.request.headers
        call.request.headers["X-Inner"] = "1"

    stub.on("POST", "a").answer(303, headers={"Location": "/v1/b"})
    stub.on("GET", "b").answer(json=1).answer(json=2)
    assert perform([twice, inner], "a", ntapi.json({"x": "y"})).json() == 2
    ways = [(request.method, request.url.rpartition("/")[2]) for request in stub.requests]
    assert ways == [("POST", "a"), ("GET", "b")] * 2
    assert [request.body for request in stub.requests] == [b'{"x":"y"}', b""] * 2


def test_an_earlier_response_is_the_answer(perform: Perform, stub: Stub) -> None:
    @ntapi.attempt_interceptor
    def first_of_two(call: InterceptedCall) -> Flow:
        first = yield call.request
        yield call.request
        return first

    stub.on("GET").answer(json=1).answer(json=2)
    assert perform([first_of_two], "a").json() == 1
    assert len(stub.requests) == 2


def test_a_circuit_breaker_refuses_without_asking(stub: Stub) -> None:
    class Circuit:
        def __init__(self) -> None:
            self.failures = 0

        def guard(self, call: InterceptedCall) -> Flow:
            if self.failures >= 2:
                raise CircuitOpen("circuit open", "not asked")
            response = yield call.request
            is_good = response.error is None and response.status < 500
            self.failures = 0 if is_good else self.failures + 1
            return response

    circuit = Circuit()
    rule = stub.on("GET").answer(500)
    guard = ntapi.call_interceptor(circuit.guard)
    with ntapi.Client(API_URL, stub=stub, interceptors=[guard]) as client:
        assert [client.perform("a").status for _ in range(3)] == [500, 500, 0]
        with pytest.raises(CircuitOpen):
            client.send("a")
    assert rule.call_count == 2


# Mistakes.


def test_mistakes_are_told_where_they_are_made(stub: Stub) -> None:
    def look(call: InterceptedCall) -> None:
        pass

    async def stream(call: InterceptedCall) -> Any:
        yield call.request

    wrong: Any = look
    with ntapi.Client(API_URL, stub=stub) as client:
        with pytest.raises(TypeError, match=r"make one of a function with ntapi\.attempt_"):
            client.interceptors = [wrong]
        with pytest.raises(ValueError, match="attribute `interceptors`"):
            client.args = [ntapi.interceptor(ntapi.call_interceptor(look))]
    with pytest.raises(TypeError, match="an Interceptor is expected, not function"):
        ntapi.interceptor(wrong)
    wrong = "often"
    with pytest.raises(ValueError, match='a scope is "call" or "attempt", not \'often\''):
        Interceptor(look, wrong)
    with pytest.raises(TypeError, match="has to be callable, not str"):
        Interceptor(wrong, "call")
    wrong = stream
    with pytest.raises(TypeError, match="not an async generator"):
        ntapi.call_interceptor(wrong)
    wrong = True
    with pytest.raises(TypeError, match="a status has to be a number, not bool"):
        HTTPResponse(wrong)
    with pytest.raises(ValueError, match="99 is not a status"):
        HTTPResponse(99)
    assert "look scope='call'" in repr(ntapi.call_interceptor(look))
    assert "look scope='call'" in repr(ntapi.interceptor(ntapi.call_interceptor(look)))


def returning(value: Any) -> Any:
    return lambda _: value


def yielding(value: Any) -> Any:
    def generate(_: InterceptedCall) -> Any:
        yield value

    return generate


async def coroutine() -> None:
    """Nobody awaits it."""


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (returning("x"), "it has to return an HTTPResponse or None, not 'x'"),
        (yielding(None), "sends the HTTPRequest of its call, not NoneType"),
        (yielding(HTTPResponse(200)), "sends the HTTPRequest of its call, not HTTPResponse"),
        (lambda _: coroutine(), "an async interceptor is made of an `async def`"),
        (
            returning(HTTPResponse(200, {"a b": "c"})),
            "<ntapi.HTTPResponse 200> cannot be an answer",
        ),
        (lambda: None, "takes 0 positional arguments but 1 was given"),
    ],
)
def test_a_mistake_in_an_interceptor_is_the_error(
    perform: Perform, stub: Stub, function: Any, text: str
) -> None:
    assert text in message(perform([ntapi.attempt_interceptor(function)], "a"))
    assert stub.requests == []


def test_a_request_of_a_hook_cannot_be_sent(stub: Stub) -> None:
    kept: list[HTTPRequest] = []

    class Keeping(ntapi.Client):
        def build_request(self, request: HTTPRequest) -> None:
            kept.append(request)

    interceptor = ntapi.attempt_interceptor(lambda _: (yield kept[0]))
    with Keeping(API_URL, stub=stub, interceptors=[interceptor]) as client:
        assert "a hook that has returned cannot be sent" in message(client.perform("a"))
