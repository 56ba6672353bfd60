"""Interceptors: what they see, what they may do, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import hashlib
import hmac
import io
import json
import threading
import time
import weakref
from collections.abc import Generator, Iterator
from typing import Any, Callable, Optional

import pytest

import ntapi
from conftest import PATIENCE, Unraisable, run_python
from ntapi import HTTPRequest, HTTPResponse, InterceptedCall, Interceptor, codes
from ntapi._bridge import interceptions
from ntapi.testing import Answer, ManualClock, Stub, StubRequest

URL = "https://api.test/v1"
Flow = Generator[HTTPRequest, HTTPResponse, Optional[HTTPResponse]]
Perform = Callable[..., ntapi.Response]


@pytest.fixture(autouse=True)
def no_passage_left() -> Iterator[None]:
    """Every passage has ended when its request has."""
    yield
    ntapi.drain(PATIENCE)
    assert not interceptions._passages


@pytest.fixture(params=["Client", "AsyncClient"])
def perform(request: pytest.FixtureRequest, stub: Stub) -> Perform:
    """Performs a request of a new client of this kind, answered by the stub."""

    def with_threads(interceptors: Any, *args: Any, **options: Any) -> ntapi.Response:
        with ntapi.Client(URL, stub=stub, interceptors=interceptors, **options) as client:
            return client.perform(*args)

    async def with_loop(interceptors: Any, *args: Any, **options: Any) -> ntapi.Response:
        async with ntapi.AsyncClient(
            URL, stub=stub, interceptors=interceptors, **options
        ) as client:
            return await client.perform(*args)

    if request.param == "Client":
        return with_threads
    return lambda *args, **options: asyncio.run(with_loop(*args, **options))


def wait_for(is_there: Callable[[], object]) -> None:
    """Waits for something that no event tells of."""
    deadline = time.monotonic() + PATIENCE
    while not is_there():
        assert time.monotonic() < deadline
        gc.collect()


def message(response: ntapi.Response) -> str:
    assert response.error is not None
    return response.error.message


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
    assert response.json == {"id": 1}
    (sent,) = stub.requests
    assert sent.headers["X-Signature"] == signature("POST", sent.url, sent.body)
    assert sent.url == f"{URL}/orders?dry=true"
    assert json.loads(sent.body) == {"city": "Łódź"}


def test_a_plain_function_changes_all_of_a_request(perform: Perform, stub: Stub) -> None:
    @ntapi.attempt_interceptor
    def change(call: InterceptedCall) -> None:
        request = call.request
        assert (request.method, request.url) == ("GET", f"{URL}/a")
        assert request.body_kind is ntapi.BodyKind.NONE
        request.method = "PUT"
        request.url = "https://other.test/b?c=d"
        request.headers["X-Added"] = "1"
        del request.headers["X-Removed"]
        request.body = b"bytes"
        assert request.body == b"bytes"

    stub.on("PUT").answer(json="changed")
    response = perform([change], "a", ntapi.header("X-Removed", "1"))
    assert response.json == "changed"
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
    # Also after the passage.
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

    assert perform([look], "a").json == "instead"


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
    assert (response.status, response.json) == (203, {"name": "London"})
    assert response.headers.get_all("x-a") == ["1", "2"]
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
    assert perform([fixture], "weather").json == {"name": "London"}
    assert perform([fixture], "other").json == "sent"
    assert [request.url for request in stub.requests] == [f"{URL}/other"]


def test_the_response_is_replaced_on_its_way_out(perform: Perform, stub: Stub) -> None:
    @ntapi.call_interceptor
    def replace(call: InterceptedCall) -> Flow:
        response = yield call.request
        return HTTPResponse(response.status, response.headers, response.body.replace(b"1", b"2"))

    stub.on("GET").answer(json=[1], headers={"X-A": "kept"})
    response = perform([replace], "a")
    assert response.json == [2]
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
    assert response.json == "at last"
    assert [request.headers["X-Attempt"] for request in stub.requests] == ["0", "1", "2"]
    assert [request.headers["X-Inner"] for request in stub.requests] == ["1", "2", "3"]
    assert [request.body for request in stub.requests] == [b"[1]"] * 3
    assert passages == [(1, "first"), (2, "interceptor"), (3, "interceptor")]


def test_what_is_sent_again_is_what_it_was_given(perform: Perform, stub: Stub) -> None:
    """Not what a redirect or an inner interceptor made of it."""

    @ntapi.call_interceptor
    def twice(call: InterceptedCall) -> Flow:
        first = yield call.request
        assert first.body == b"1"
        assert call.request.url == f"{URL}/a"
        assert "X-Inner" not in call.request.headers
        yield call.request
        return None

    @ntapi.call_interceptor
    def inner(call: InterceptedCall) -> None:
        assert "X-Inner" not in call.request.headers
        call.request.headers["X-Inner"] = "1"

    stub.on("POST", "a").answer(303, headers={"Location": "/v1/b"})
    stub.on("GET", "b").answer(json=1).answer(json=2)
    assert perform([twice, inner], "a", ntapi.json({"x": "y"})).json == 2
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
    assert perform([first_of_two], "a").json == 1
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
    with ntapi.Client(URL, stub=stub, interceptors=[guard]) as client:
        assert [client.perform("a").status for _ in range(3)] == [500, 500, 0]
        with pytest.raises(CircuitOpen):
            client.send("a")
    assert rule.call_count == 2


# Where they stand.


def test_each_attempt_has_an_id(perform: Perform, stub: Stub) -> None:
    passages: list[tuple[str, int, str]] = []

    def note(scope: str, call: InterceptedCall) -> None:
        passages.append((scope, call.number, call.reason))
        if scope == "attempt":
            call.request.headers["X-Request-Id"] = f"7/{call.number}"

    interceptors = [
        ntapi.attempt_interceptor(functools.partial(note, "attempt")),
        ntapi.call_interceptor(functools.partial(note, "call")),
    ]
    stub.on("GET", "a").answer(503).answer(302, headers={"Location": "/v1/b"})
    stub.on("GET", "b").answer(json=1)
    policy = ntapi.RetryPolicy(base=0)
    assert perform(interceptors, "a", ntapi.retry(policy)).json == 1
    assert passages == [
        ("call", 1, "first"),
        ("attempt", 1, "first"),
        ("attempt", 2, "retry"),
        ("attempt", 3, "redirect"),
    ]
    ids = [request.headers["X-Request-Id"] for request in stub.requests]
    assert ids == ["7/1", "7/2", "7/3"]


def test_another_origin_is_told(perform: Perform, stub: Stub) -> None:
    @ntapi.attempt_interceptor
    def sign(call: InterceptedCall) -> None:
        if call.is_own_origin:
            call.request.headers["X-Signature"] = "secret"

    stub.on("GET", "a").answer(302, headers={"Location": "https://evil.test/b"})
    stub.on("GET", "https://evil.test/b").answer(302, headers={"Location": f"{URL}/c"})
    stub.on("GET", "c").answer(json=1)
    assert perform([sign], "a").json == 1
    assert ["X-Signature" in request.headers for request in stub.requests] == [True, False, True]


def test_new_credentials_pass_again(perform: Perform, stub: Stub) -> None:
    reasons: list[str] = []

    @ntapi.attempt_interceptor
    def look(call: InterceptedCall) -> None:
        reasons.append(f"{call.reason} {call.request.headers['Authorization']}")

    stub.on("GET").answer(401).answer(json=1)
    authenticator = ntapi.Authenticator(lambda _: "new", token="old")
    assert perform([look], "a", authenticator=authenticator).json == 1
    assert reasons == ["first Bearer old", "credentials Bearer new"]


def test_the_order_is_class_configuration_client_request(stub: Stub) -> None:
    order: list[str] = []

    def named(name: str) -> Interceptor:
        def look(call: InterceptedCall) -> Flow:
            order.append(name)
            yield call.request
            order.append(f"/{name}")
            return None

        return ntapi.attempt_interceptor(look)

    class Base(ntapi.Client):
        interceptors = (named("class"),)

    class Other(Base):
        pass

    configuration = ntapi.SessionConfiguration.ephemeral(interceptors=[named("configuration")])
    stub.on("GET").answer(json=1)
    own = named("client")
    with Other(URL, configuration=configuration, stub=stub) as client:
        configuration.interceptors = []
        assert client.interceptors == ()
        client.interceptors = [own]
        assert client.interceptors == (own,)
        assert client.send("a", ntapi.interceptor(named("request")), ntapi.interceptor(None))
        names = ["class", "configuration", "client", "request"]
        assert order == [*names, *(f"/{name}" for name in reversed(names))]
        order.clear()
        client.interceptors = []
        client.send("a")
        assert order == [*names[:2], "/configuration", "/class"]
    assert len(Base.interceptors) == 1
    assert Other.interceptors == Base.interceptors
    assert ntapi.Client.interceptors == ()


def test_a_class_replaces_its_base_s(stub: Stub) -> None:
    def mark(call: InterceptedCall) -> None:
        call.request.headers["X-Marked"] = "1"

    class Marked(ntapi.Client):
        interceptors = (ntapi.attempt_interceptor(mark),)

    class Unmarked(Marked):
        interceptors = ()

    stub.on("GET")
    for kind in Marked, Unmarked, ntapi.Client, Marked:
        with kind(URL, stub=stub) as client:
            client.send("a")
    marked = ["X-Marked" in request.headers for request in stub.requests]
    assert marked == [True, False, False, True]


def test_it_knows_the_request_of_the_client(perform: Perform, stub: Stub) -> None:
    identifiers: list[int] = []

    @ntapi.attempt_interceptor
    def look(call: InterceptedCall) -> None:
        assert isinstance(call.api_request, ntapi.Request)
        assert call.api_request.state is ntapi.RequestState.RUNNING
        identifiers.append(call.api_request.identifier)

    stub.on("GET")
    response = perform([look], "a")
    assert identifiers == [response.request.identifier]


def test_streams_services_and_handlers_pass_too(stub: Stub) -> None:
    reasons: list[str] = []
    bodies: list[bytes] = []

    @ntapi.attempt_interceptor
    def look(call: InterceptedCall) -> Flow:
        reasons.append(call.reason)
        response = yield call.request
        bodies.append(response.body)
        return None

    stub.on("GET").answer(json=[1, 2])
    with ntapi.Client(URL, stub=stub, interceptors=[look]) as client:
        with client.stream("a") as chunks:
            assert b"".join(chunks) == b"[1,2]"
        done = threading.Event()
        client.begin("a", ntapi.response_thread(ntapi.BACKGROUND), lambda _: done.set())
        assert done.wait(PATIENCE)
        assert client.send("a", data_handler=lambda _: None).status == 200
    assert reasons == ["first"] * 3
    # A body that goes elsewhere is not seen.
    assert bodies == [b"", b"[1,2]", b""]


# Bodies.


def test_a_body_stream_is_sent_again_when_it_can_be(perform: Perform, stub: Stub) -> None:
    @ntapi.attempt_interceptor
    def twice(call: InterceptedCall) -> Flow:
        assert call.request.body_kind is ntapi.BodyKind.STREAM
        assert call.request.body is None
        yield call.request
        yield call.request
        return None

    stub.on("POST").answer(json=1)
    assert perform([twice], "a", ntapi.stream(io.BytesIO(b"content"))).json == 1
    assert [request.body for request in stub.requests] == [b"content"] * 2
    stub.forget_requests()
    response = perform([twice], "a", ntapi.stream(iter([b"content"])))
    assert "cannot be sent twice" in message(response)
    assert len(stub.requests) == 1


def test_a_body_stream_becomes_bytes(perform: Perform, stub: Stub) -> None:
    @ntapi.attempt_interceptor
    def replace(call: InterceptedCall) -> None:
        call.request.body = "text"
        assert call.request.body_kind is ntapi.BodyKind.BYTES

    stub.on("POST").answer(json=1)
    assert perform([replace], "a", ntapi.stream(iter([b"content"]))).json == 1
    assert stub.requests[0].body == b"text"


# Cancel and time.


class Waiting:
    """An interceptor that waits for an answer which never comes, and how that has ended."""

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.sent = threading.Event()
        self.over = threading.Event()

    def wait(self, call: InterceptedCall) -> Flow:
        try:
            self.sent.set()
            yield call.request
            self.ended.append("answered")
        except BaseException as error:
            self.ended.append(type(error).__name__)
            raise
        finally:
            self.over.set()
        return None

    async def wait_async(self, call: InterceptedCall) -> Optional[HTTPResponse]:
        try:
            self.sent.set()
            await call.next()
            self.ended.append("answered")
        except BaseException as error:
            self.ended.append(type(error).__name__)
            raise
        finally:
            self.over.set()
        return None


def test_a_cancel_ends_a_waiting_generator(stub: Stub, clock: ManualClock) -> None:
    waiting = Waiting()
    stub.on("GET").answer(delay=60)
    responses: list[ntapi.Response] = []
    interceptors = [ntapi.call_interceptor(waiting.wait), ntapi.attempt_interceptor(waiting.wait)]
    with ntapi.Client(URL, stub=stub, clock=clock, interceptors=interceptors) as client:
        place = ntapi.response_thread(ntapi.BACKGROUND)
        request = client.begin("a", place, responses.append)
        wait_for(lambda: stub.requests)
        request.cancel()
        assert request.wait(PATIENCE)
    assert responses[0].error is not None
    assert responses[0].error.code is codes.CANCELLED
    assert waiting.ended == ["GeneratorExit"] * 2


def test_the_total_timeout_ends_a_waiting_generator(stub: Stub, clock: ManualClock) -> None:
    waiting = Waiting()
    stub.on("GET").answer(delay=60)
    interceptors = [ntapi.call_interceptor(waiting.wait)]
    with ntapi.Client(URL, stub=stub, clock=clock, interceptors=interceptors) as client:
        place = ntapi.response_thread(ntapi.BACKGROUND)
        request = client.begin("a", [place, ntapi.timeout(5, "total")])
        wait_for(lambda: stub.requests)
        clock.advance(5)
        assert request.wait(PATIENCE)
        assert request.response is not None
        assert request.response.error is not None
        assert request.response.error.clock is ntapi.Clock.TOTAL
    # A call interceptor is shown a timeout as any other failure, or is closed.
    assert waiting.over.wait(PATIENCE)
    assert waiting.ended in (["GeneratorExit"], ["answered"])


@pytest.mark.parametrize("scope", ["call", "attempt"])
def test_a_cancel_reaches_a_generator_that_runs(stub: Stub, scope: Any) -> None:
    """It is closed at its next yield, and nothing is sent."""
    running, goes_on, ended = threading.Event(), threading.Event(), threading.Event()

    def work(call: InterceptedCall) -> Flow:
        running.set()
        assert goes_on.wait(PATIENCE)
        try:
            yield call.request
        except GeneratorExit:
            ended.set()
            raise
        return None

    stub.on("GET")
    with ntapi.Client(URL, stub=stub, interceptors=[Interceptor(work, scope)]) as client:
        request = client.begin("a", ntapi.response_thread(ntapi.BACKGROUND))
        assert running.wait(PATIENCE)
        request.cancel()
        goes_on.set()
        assert ended.wait(PATIENCE)
        assert request.wait(PATIENCE)
    assert stub.requests == []


def test_what_it_raises_after_a_cancel_is_reported(stub: Stub, unraisable: Unraisable) -> None:
    def wait(call: InterceptedCall) -> Flow:
        try:
            yield call.request
        finally:
            raise ValueError("too late")

    stub.on("GET").answer(delay=60)
    clock = ManualClock()
    interceptors = [ntapi.call_interceptor(wait)]
    with ntapi.Client(URL, stub=stub, clock=clock, interceptors=interceptors) as client:
        request = client.begin("a", ntapi.response_thread(ntapi.BACKGROUND))
        wait_for(lambda: stub.requests)
        request.cancel()
        assert request.wait(PATIENCE)
        assert unraisable.arrived.wait(PATIENCE)
    assert [str(error) for error in unraisable.errors] == ["too late"]


def test_a_closing_client_ends_them(stub: Stub, clock: ManualClock) -> None:
    waiting = Waiting()
    stub.on("GET").answer(delay=60)
    interceptors = [ntapi.call_interceptor(waiting.wait)]
    client = ntapi.Client(URL, stub=stub, clock=clock, interceptors=interceptors)
    client.begin("a", ntapi.response_thread(ntapi.BACKGROUND))
    wait_for(lambda: stub.requests)
    client.close()
    assert waiting.over.wait(PATIENCE)
    assert waiting.ended == ["GeneratorExit"]


# Async functions.


def with_loop(stub: Stub, function: Any, *args: Any, **options: Any) -> ntapi.Response:
    """Performs a request that passes an async function."""

    async def main() -> ntapi.Response:
        interceptors = [Interceptor(function, options.pop("scope", "attempt"))]
        async with ntapi.AsyncClient(
            URL, stub=stub, interceptors=interceptors, **options
        ) as client:
            return await client.perform(*args)

    return asyncio.run(main())


def test_an_async_function_sends_and_answers(stub: Stub) -> None:
    async def insist(call: InterceptedCall) -> HTTPResponse:
        await asyncio.sleep(0)
        for attempt in range(5):
            call.request.headers["X-Attempt"] = str(attempt)
            response = await call.next()
            if response.status != 503:
                break
        return response

    stub.on("GET").answer(503).answer(json="at last")
    assert with_loop(stub, insist, "a").json == "at last"
    assert [request.headers["X-Attempt"] for request in stub.requests] == ["0", "1"]


def test_an_async_function_answers_itself_proceeds_or_raises(stub: Stub) -> None:
    async def answer(_: InterceptedCall) -> HTTPResponse:
        return HTTPResponse(200, {"Content-Type": "application/json"}, "[1]")

    async def proceed(call: InterceptedCall) -> None:
        call.request.headers["X-A"] = "1"

    async def replace(call: InterceptedCall) -> HTTPResponse:
        await call.next(call.request)
        return HTTPResponse(200, {"Content-Type": "application/json"}, "[2]")

    problem = ValueError("no idea")

    async def fail(call: InterceptedCall) -> None:
        await call.next()
        raise problem

    stub.on("GET").answer(json=1)
    assert with_loop(stub, answer, "a").json == [1]
    assert stub.requests == []
    assert with_loop(stub, proceed, "a").json == 1
    assert stub.requests[0].headers["X-A"] == "1"
    assert with_loop(stub, replace, "a").json == [2]
    error = with_loop(stub, fail, "a").error
    assert error is not None
    assert error.__cause__ is problem


def test_an_async_function_runs_on_the_request_s_loop_and_context(stub: Stub) -> None:
    variable = contextvars.ContextVar("variable", default="none")
    seen: list[tuple[int, str]] = []

    async def look(call: InterceptedCall) -> None:
        assert asyncio.current_task() is not None
        seen.append((threading.get_ident(), variable.get()))

    stub.on("GET")
    client = ntapi.AsyncClient(URL, stub=stub, interceptors=[ntapi.attempt_interceptor(look)])

    async def main(name: str) -> None:
        variable.set(name)
        await asyncio.gather(*(client.send("a") for _ in range(5)))

    async def close() -> None:
        await client.close()

    threads = [threading.Thread(target=asyncio.run, args=[main(name)]) for name in ("x", "y")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted({name for _, name in seen}) == ["x", "y"]
    assert len(seen) == 10
    assert len(set(seen)) == 2
    asyncio.run(close())


def test_a_cancelled_task_ends_an_async_function(stub: Stub, clock: ManualClock) -> None:
    waiting = Waiting()
    stub.on("GET").answer(delay=60)

    async def main() -> None:
        interceptors = [ntapi.attempt_interceptor(waiting.wait_async)]
        async with ntapi.AsyncClient(
            URL, stub=stub, clock=clock, interceptors=interceptors
        ) as client:
            task = asyncio.create_task(client.send("a"))
            while not stub.requests:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while not waiting.over.is_set():
                await asyncio.sleep(0)

    asyncio.run(main())
    assert waiting.ended == ["CancelledError"]


def test_a_wait_for_the_answer_may_be_given_up(stub: Stub) -> None:
    """The request goes on, and its answer is what the function said meanwhile."""
    goes_on = threading.Event()

    async def impatient(call: InterceptedCall) -> HTTPResponse:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(call.next(), 0.001)
        with pytest.raises(RuntimeError, match="before its last call has returned"):
            await call.next()
        goes_on.set()
        return HTTPResponse(200, {"Content-Type": "application/json"}, '"instead"')

    def late(_: StubRequest) -> Answer:
        assert goes_on.wait(PATIENCE)
        return Answer(json="late")

    stub.on("GET").answer_with(late)
    assert with_loop(stub, impatient, "a").json == "instead"


def test_an_async_function_needs_an_async_client(stub: Stub) -> None:
    async def look(call: InterceptedCall) -> None:
        await call.next()

    interceptor = ntapi.attempt_interceptor(look)
    assert interceptor.is_async
    text = "is async and needs an AsyncClient"
    with ntapi.Client(URL, stub=stub) as client:
        with pytest.raises(TypeError, match=text):
            client.interceptors = [interceptor]
        assert client.interceptors == ()
        with pytest.raises(TypeError, match=text):
            client.send("a", ntapi.interceptor(interceptor))
        stub.on("GET").answer(json=1)
        assert client.send("a").json == 1
    with pytest.raises(TypeError, match=text):
        ntapi.Client(URL, interceptors=[interceptor])
    configuration = ntapi.SessionConfiguration.ephemeral(interceptors=[interceptor])
    with pytest.raises(TypeError, match=text):
        ntapi.Client(URL, configuration=configuration)


def test_an_arg_s_async_function_runs_on_the_loop(stub: Stub) -> None:
    async def look(call: InterceptedCall) -> HTTPResponse:
        call.request.headers["X-A"] = "1"
        return await call.next()

    stub.on("GET").answer(json=1)

    async def main() -> None:
        async with ntapi.AsyncClient(URL, stub=stub) as client:
            arg = ntapi.interceptor(ntapi.attempt_interceptor(look))
            assert (await client.send("a", arg)).json == 1
            async with client.stream("a", arg) as chunks:
                assert [chunk async for chunk in chunks] == [b"1"]

    asyncio.run(main())
    assert [request.headers["X-A"] for request in stub.requests] == ["1", "1"]


# Mistakes.


def test_mistakes_are_told_where_they_are_made(stub: Stub) -> None:
    def look(call: InterceptedCall) -> None:
        pass

    async def stream(call: InterceptedCall) -> Any:
        yield call.request

    wrong: Any = look
    with ntapi.Client(URL, stub=stub) as client:
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
    with pytest.raises(ValueError, match="99 is no status"):
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
    with Keeping(URL, stub=stub, interceptors=[interceptor]) as client:
        assert "a hook that has returned cannot be sent" in message(client.perform("a"))


# What is left.


def test_a_client_goes_with_its_interceptors(stub: Stub) -> None:
    class Signing:
        def __init__(self) -> None:
            self.client = ntapi.Client(URL, stub=stub)
            self.client.interceptors = [ntapi.attempt_interceptor(self.sign)]

        def sign(self, call: InterceptedCall) -> None:
            call.request.headers["X-A"] = "1"

    stub.on("GET")
    signing = Signing()
    for _ in range(3):
        signing.client.interceptors = [ntapi.attempt_interceptor(signing.sign)]
        signing.client.send("a")
        signing.client.send("a", ntapi.interceptor(ntapi.attempt_interceptor(signing.sign)))
    ended = weakref.ref(signing)
    del signing
    wait_for(lambda: ended() is None)
    wait_for(
        lambda: "Signing.sign" not in str([use.interceptor for use in interceptions._uses.values()])
    )


def test_what_a_passage_held_goes_with_it(stub: Stub) -> None:
    held: list[Any] = []

    class Held:
        pass

    @ntapi.attempt_interceptor
    def hold(call: InterceptedCall) -> Flow:
        own = Held()
        held.append(weakref.ref(own))
        held.append(weakref.ref(call.request._owner))
        response = yield call.request
        held.append(weakref.ref(response._handle))
        return response

    stub.on("GET")
    with ntapi.Client(URL, stub=stub, interceptors=[hold]) as client:
        for _ in range(3):
            client.send("a")
    assert len(held) == 9
    wait_for(lambda: not any(each() for each in held))


def test_many_threads_while_they_are_replaced(stub: Stub) -> None:
    """Each request is signed, by one or the other."""
    rounds = 100

    def signing(name: str) -> Interceptor:
        def sign(call: InterceptedCall) -> Flow:
            call.request.headers["X-Signed"] = name
            yield call.request
            return None

        return ntapi.attempt_interceptor(sign)

    stub.on("GET").answer_with(lambda request: Answer(json=request.headers["X-Signed"]))
    with ntapi.Client(URL, stub=stub, interceptors=[signing("0")]) as client:
        results: list[Any] = []

        def work() -> None:
            for _ in range(rounds):
                results.append(client.send("a").json)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        turn = 0
        while any(thread.is_alive() for thread in threads):
            turn += 1
            client.interceptors = [signing(str(turn))]
        for thread in threads:
            thread.join(PATIENCE)
    assert len(results) == 4 * rounds
    assert all(result.isdigit() for result in map(str, results))


PROGRAM = """
import sys, threading
import ntapi
from ntapi.testing import ManualClock, Stub

sent = threading.Event()

def wait(call):
    sent.set()
    try:
        yield call.request
    finally:
        print("ended", flush=True)

stub = Stub()
stub.on("GET").answer(delay=60)
client = ntapi.Client("http://api.test", stub=stub, clock=ManualClock())
client.interceptors = [ntapi.call_interceptor(wait)]
client.set_default("exitTimeout", 0)
client.begin("a", ntapi.response_thread(ntapi.BACKGROUND))
assert sent.wait(60)
"""


def test_the_end_of_the_process_ends_them() -> None:
    result = run_python(PROGRAM)
    assert (result.returncode, result.stdout, result.stderr) == (0, "ended\n", "")


FORKING = """
import os, sys, threading
import ntapi
from ntapi.testing import Stub

def sign(call):
    call.request.headers["X-A"] = "1"
    response = yield call.request
    return response

stub = Stub()
stub.on("GET").answer_with(lambda request: ntapi.testing.Answer(json=request.headers["X-A"]))
client = ntapi.Client("http://api.test", stub=stub, interceptors=[ntapi.attempt_interceptor(sign)])
assert client.send("a").json == "1"
pid = os.fork()
if pid == 0:
    own = Stub()
    own.on("GET").answer_with(lambda request: ntapi.testing.Answer(json=request.headers["X-A"]))
    with ntapi.Client("http://api.test", stub=own) as child:
        child.interceptors = client.interceptors
        assert child.send("a").json == "1"
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert client.send("a").json == "1"
"""


def test_a_forked_child_has_its_own() -> None:
    result = run_python(FORKING)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


# What is stored.


@pytest.mark.parametrize("make", [ntapi.attempt_interceptor, ntapi.call_interceptor])
def test_two_signers_do_not_share_a_cache(stub: Stub, make: Any) -> None:
    def account(request: StubRequest) -> Answer:
        tenant = request.headers["X-Tenant-Key"]
        return Answer(json={"for": tenant}, headers={"Cache-Control": "max-age=100"})

    def signer(tenant: str) -> Interceptor:
        @make  # type: ignore[untyped-decorator]
        def sign(call: InterceptedCall) -> Flow:
            call.request.headers.set_secret("X-Tenant-Key", tenant)
            return (yield call.request)

        assert isinstance(sign, Interceptor)
        return sign

    stub.on("GET").answer_with(account)
    cache = ntapi.Cache()
    for tenant in ["a", "b", "a", "b"]:
        configuration = ntapi.SessionConfiguration.ephemeral(cache=cache)
        interceptors = [signer(tenant)]
        with ntapi.Client(
            URL, configuration=configuration, stub=stub, interceptors=interceptors
        ) as client:
            assert client.send("account").json == {"for": tenant}
