"""Interceptors: their order, what passes through them, and bodies that are sent again."""

from __future__ import annotations

import functools
import io
import threading
from typing import Any

import pytest

import ntapi
from conftest import API_URL, PATIENCE, Perform
from interception import Flow, message
from ntapi import InterceptedCall, Interceptor
from ntapi.testing import Answer, Stub, StubRequest

# The order of interceptors.


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
    assert perform(interceptors, "a", ntapi.retry(policy)).json() == 1
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
    stub.on("GET", "https://evil.test/b").answer(302, headers={"Location": f"{API_URL}/c"})
    stub.on("GET", "c").answer(json=1)
    assert perform([sign], "a").json() == 1
    assert ["X-Signature" in request.headers for request in stub.requests] == [True, False, True]


def test_new_credentials_pass_again(perform: Perform, stub: Stub) -> None:
    reasons: list[str] = []

    @ntapi.attempt_interceptor
    def look(call: InterceptedCall) -> None:
        reasons.append(f"{call.reason} {call.request.headers['Authorization']}")

    stub.on("GET").answer(401).answer(json=1)
    authenticator = ntapi.Authenticator(lambda _: "new", token="old")
    assert perform([look], "a", authenticator=authenticator).json() == 1
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
    with Other(API_URL, configuration=configuration, stub=stub) as client:
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
        with kind(API_URL, stub=stub) as client:
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
    with ntapi.Client(API_URL, stub=stub, interceptors=[look]) as client:
        with client.stream("a") as chunks:
            assert b"".join(chunks) == b"[1,2]"
        done = threading.Event()
        client.begin("a", ntapi.response_thread(ntapi.BACKGROUND), lambda _: done.set())
        assert done.wait(PATIENCE)
        assert client.send("a", data_handler=lambda _: None).status == 200
    assert reasons == ["first"] * 3
    # The interceptor does not see a body that goes to a handler or a file.
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
    assert perform([twice], "a", ntapi.stream(io.BytesIO(b"content"))).json() == 1
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
    assert perform([replace], "a", ntapi.stream(iter([b"content"]))).json() == 1
    assert stub.requests[0].body == b"text"


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
            API_URL, configuration=configuration, stub=stub, interceptors=interceptors
        ) as client:
            assert client.send("account").json() == {"for": tenant}
