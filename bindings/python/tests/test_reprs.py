"""The repr of every public object shows no address and no secret."""

from __future__ import annotations

import asyncio
import enum
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import testing
from ntapi.testing import Stub, server

PUBLIC = [
    value
    for module in (ntapi, testing)
    for name in module.__all__
    if inspect.isclass(value := getattr(module, name))
]

PUBLIC_OF_SERVER = [
    value for name in server.__all__ if inspect.isclass(value := getattr(server, name))
]


@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)
def test_every_public_class_has_a_repr(cls: type) -> None:
    assert cls.__repr__ is not object.__repr__


def test_reprs_show_no_secrets(stub: Stub, tmp_path: Path) -> None:
    seen: list[str] = []

    class Tickets(ntapi.Service[None]):
        command = "tickets"

    class Tracker(ntapi.Client):
        def build_request(self, request: ntapi.HTTPRequest) -> None:
            seen.append(repr(request))
            self.last = request

    rule = stub.on("GET", "tickets?token=s3cret").answer(200, json={})
    configuration = ntapi.SessionConfiguration.ephemeral(proxy_user="ann", proxy_password="s3cret")
    with Tracker("http://api.test", stub=stub, configuration=configuration) as client:
        client.authenticator = ntapi.Authenticator(lambda _: "t", token="s3cret")
        client.rate_limiter = ntapi.RateLimiter(30, seconds=2)
        response = client.send("tickets", ntapi.url("token", "s3cret"))
        seen += map(repr, (client.authenticator, client.rate_limiter, response, response.request))
        seen += map(repr, (client.last, Tickets(), ntapi.defaults, ntapi.mailbox(), client))
        seen += map(repr, (stub, rule, testing.Answer(503, json={"token": "s3cret"})))
        seen += map(repr, (testing.Recorder(tmp_path / "r.json"), ntapi.Mailbox(), configuration))
        with client.stream("tickets", ntapi.url("token", "s3cret")) as chunks:
            seen.append(repr(chunks))
    seen.append(repr(stub.requests[0]))
    assert not [text for text in seen if "s3cret" in text or " at 0x" in text or "object" in text]
    assert "<ntapi.HTTPRequest GET http://api.test/tickets?token=<redacted>>" in seen
    assert "<ntapi.testing.StubRequest GET http://api.test/tickets?token=<redacted>>" in seen
    assert "<ntapi.HTTPRequest of a hook that has returned>" in seen
    assert "<ntapi.RateLimiter 30 requests in 2 s, 0 waiting>" in seen
    assert "<ntapi.Authenticator with a token>" in seen
    assert "<ntapi.testing.Answer 503 with json>" in seen
    assert any(text.startswith("<ntapi.Stream 200 of <ntapi.Request #") for text in seen)


def test_the_repr_of_an_async_stream(stub: Stub) -> None:
    async def main() -> str:
        stub.on("GET").answer(data=b"abc")
        async with (
            ntapi.AsyncClient("http://api.test", stub=stub) as client,
            client.stream("x") as chunks,
        ):
            return repr(chunks)

    text = asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert text.startswith("<ntapi.AsyncStream 200 of <ntapi.Request #")


URL = "http://api.test/tickets?token=<redacted>"
SHOWN = {
    "Answer": "<ntapi.testing.Answer 201 with json>",
    "ApiError": "ApiError('HTTP error', 'HTTP 500 Internal Server Error for GET .*', domain=HTTP,",
    "Arg": '<ntapi.Arg url("token", <redacted>)>',
    "AsyncClient": "<ntapi.AsyncClient http://api.test>",
    "AsyncStream": "<ntapi.AsyncStream 200 of <ntapi.Request #.* GET http://api.test/tickets ",
    "Authenticator": "<ntapi.Authenticator with a token>",
    "Cache": "<ntapi.Cache of 1000 bytes, 0 on disk>",
    "CallResult": "<ntapi.CallResult 7>",
    "Challenge": "<ntapi.Challenge SERVER of api.test:80, realm 'members'>",
    "Client": "<ntapi.Client http://api.test>",
    "Cookie": "<ntapi.Cookie session domain=api.test path=/>",
    "Cookies": "<ntapi.Cookies ['session']>",
    "Credential": "<ntapi.Credential ann>",
    "CredentialStorage": "<ntapi.CredentialStorage in memory>",
    "CustomDateFormat": "CustomDateFormat(name='20 Nov', ",
    "Decision": f"<ntapi.Decision CACHE 200 of <ntapi.Request #.* GET {URL} running>>",
    "DecodingOptions": "DecodingOptions(keys=",
    "ErrorCode": "ErrorCode('timeout')",
    "HTTPRequest": f"<ntapi.HTTPRequest GET {URL}>",
    "HTTPResponse": "<ntapi.HTTPResponse 200>",
    "Headers": "Headers([('Authorization', '<redacted>'), ('A', 'b')])",
    "InterceptedCall": f"<ntapi.InterceptedCall 1 first <ntapi.HTTPRequest GET {URL}>>",
    "Interceptor": "<ntapi.Interceptor test_what_a_repr_shows.<locals>.see scope='call'>",
    "Key": "ntapi.Key('a.b')",
    "Mailbox": "<ntapi.Mailbox, fileno ",
    "ManualClock": "<ntapi.testing.ManualClock at 0.0 s, 0 sleepers>",
    "MemoryStore": "<ntapi.testing.MemoryStore with the system's clock>",
    "Metrics": "Metrics(",
    "Observation": "<ntapi.Observation #.* begun GET>",
    "Observer": "<test_reprs.test_what_a_repr_shows.<locals>.Listener>",
    "ProblemDetails": "ProblemDetails(type='about:blank', title='a', ",
    "ProtectionSpace": "ProtectionSpace(scheme='https', host='a', port=443, realm=None, ",
    "RateLimit": "RateLimit(requests=30, ",
    "RateLimiter": "<ntapi.RateLimiter 30 requests in 2 s, 0 waiting>",
    "Recorder": "<ntapi.testing.Recorder 'r.json', 0 exchanges>",
    "Refresh": "<ntapi.Refresh, response None>",
    "Request": f"<ntapi.Request #.* GET {URL} completed>",
    "RequestMetrics": "RequestMetrics(",
    "Response": f"<ntapi.Response GET {URL} 200, 1 bytes>",
    "RetryPolicy": "RetryPolicy(attempts=4, ",
    "ServerSentEvent": "ServerSentEvent(",
    "Service": "<test_reprs.test_what_a_repr_shows.<locals>.Seven>",
    "SessionConfiguration": "<ntapi.SessionConfiguration ephemeral: proxyPassword set>",
    "Store": "<ntapi.Store>",
    "StoreScript": "StoreScript(name='a', ",
    "Stream": f"<ntapi.Stream 200 of <ntapi.Request #.* GET {URL} ",
    "Stub": "<ntapi.testing.Stub, 0 requests>",
    "StubRequest": "<ntapi.testing.StubRequest GET http://api.test/tickets>",
    "StubRule": "<ntapi.testing.StubRule GET tickets, matched 0>",
    "Token": "<ntapi.Token <redacted>, lifetime 60.0>",
    "TransactionMetrics": "<ntapi.TransactionMetrics GET http://api.test 200, ",
    "URL": "'http://api.test'",
}
"""The beginning of each public class's repr; `.*` is anything."""


def test_what_a_repr_shows(stub: Stub) -> None:
    """It shows what a person needs, and no secret."""
    seen: dict[str, str] = {}

    def see(value: Any, name: str = "") -> Any:
        seen[name or type(value).__name__] = repr(value)

    def answer(request: testing.StubRequest) -> testing.Answer:
        see(request)
        return testing.Answer(200, json=7)

    def decide(decision: ntapi.Decision) -> None:
        see(decision)
        decision.proceed()

    def intercept(call: ntapi.InterceptedCall) -> Any:
        see(call)
        see(call.request)
        see((yield call.request))

    def refresh(request: ntapi.Refresh) -> str:
        see(request)
        return "s3cret"

    class Seven(ntapi.Service[int]):
        command = "tickets"

    class Listener(ntapi.Observer):
        def begun(self, observed: ntapi.Observation) -> None:
            if "Observation" not in seen:
                see(observed)
            see(self, "Observer")

    stub.on("GET", "tickets").answer_with(answer)
    stub.on("GET", "wrong").answer(500)
    token = ntapi.url("token", "s3cret")
    storage = ntapi.CredentialStorage()
    configuration = ntapi.SessionConfiguration.ephemeral(cache=ntapi.Cache(1000))
    with ntapi.Client("http://api.test", stub=stub, configuration=configuration) as client:
        client.add_observer(Listener())
        own = ntapi.interceptor(ntapi.call_interceptor(intercept))
        response = client.send("tickets", token, own, decision_handler=decide)
        metrics = response.request_metrics
        for each in (client, response, response.request, response.metrics, metrics, token):
            see(each)
        see(metrics.transactions[0])
        see(client.perform("wrong", token).error)
        with client.stream("tickets", token) as stream:
            see(stream)
        results: list[Any] = []
        client.begin_call(Seven(), handler=results.append).wait(PATIENCE)
        see(results[0])
        assert client.cookies is not None
        client.cookies.set(ntapi.Cookie("session", "s3cret", "api.test"))
        see(client.cookies)
        see(client.cookies.all()[0])
        see(client.cache)
        client.authenticator = ntapi.Authenticator(refresh)
        client.send("tickets")
        see(client.authenticator)
    challenge = ntapi.Challenge.__new__(ntapi.Challenge)
    challenge.kind, challenge.host, challenge.port = ntapi.ChallengeKind.SERVER, "api.test", 80
    challenge.realm = "members"

    async def main() -> None:
        async with ntapi.AsyncClient("http://api.test", stub=stub) as client:
            see(client)
            async with client.stream("tickets") as stream:
                see(stream)

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    for each in (
        challenge,
        storage,
        testing.Answer(201, json={"token": "s3cret"}),
        ntapi.Credential("ann", "s3cret"),
        ntapi.DateFormat.custom("20 Nov", lambda _: None),
        ntapi.DecodingOptions(),
        ntapi.codes.TIMEOUT,
        ntapi.Headers([("Authorization", "s3cret"), ("A", "b")]),
        ntapi.call_interceptor(see),
        ntapi.Key("a.b"),
        ntapi.Mailbox(),
        testing.ManualClock(),
        ntapi.ProblemDetails(title="a"),
        ntapi.ProtectionSpace("https", "a", 443),
        ntapi.RateLimit(30),
        ntapi.RateLimiter(30, seconds=2),
        ntapi.Store(),
        ntapi.StoreScript("a", "return 1"),
        testing.MemoryStore(),
        testing.Recorder("r.json"),
        ntapi.RetryPolicy(),
        ntapi.ServerSentEvent(data="1"),
        ntapi.SessionConfiguration.ephemeral(proxy_password="s3cret"),
        Stub(),
        Stub().on("GET", "tickets"),
        ntapi.Token("s3cret", lifetime=60),
        ntapi.URL("http://api.test"),
    ):
        see(each)
    see(Seven(), "Service")
    assert set(seen) == {cls.__name__ for cls in PUBLIC if not issubclass(cls, enum.Enum)}
    wrong = []
    for name, text in seen.items():
        pattern = re.escape(SHOWN[name]).replace(r"\.\*", ".*")
        if not re.match(pattern, text):
            wrong.append(f"{name}: {text}")
        assert "s3cret" not in text
    assert not wrong


def test_the_repr_of_a_response_without_an_answer(stub: Stub) -> None:
    stub.on("GET").fail(testing.StubFault.NO_INTERNET)
    with ntapi.Client("http://api.test", stub=stub) as client:
        text = repr(client.perform("tickets"))
    assert text.startswith("<ntapi.Response GET http://api.test/tickets no answer, ApiError('no in")


MADE_WHOLE = {"Cookie", "Credential", "ErrorCode", "ProtectionSpace", "TLSInfo", "URL"}
"""Tuples and strings: `__new__` makes them, and no `__init__` is needed."""
GENERATED = {"CustomDateFormat", "Metrics", "ProblemDetails", "RateLimit", "RequestMetrics"}
GENERATED |= {"StoreScript"}
"""Dataclasses, whose `__repr__` is Python's own."""
WITH_INIT = [
    cls
    for cls in dict.fromkeys(PUBLIC + PUBLIC_OF_SERVER)
    if not issubclass(cls, enum.Enum) and cls.__name__ not in MADE_WHOLE | GENERATED
]


@pytest.mark.parametrize("cls", WITH_INIT, ids=lambda cls: cls.__name__)
def test_the_repr_of_a_subclass_that_forgets_super(cls: Any) -> None:
    """A debugger, a log line or a failed test may show it."""

    class Weather(cls):  # type: ignore[misc]
        def __init__(self) -> None:
            if cls is ntapi.Response:
                self._pointer = None  # its finaliser reads it

    Weather.__qualname__ = "Weather"
    text = repr(Weather())
    if cls.__name__ in ("ApiError", "DecodingOptions", "RetryPolicy"):
        assert text.startswith((cls.__name__, "Weather("))
    elif cls.__name__ in ("Observer", "Service", "Store"):
        assert text == "<test_reprs.Weather>"
    else:
        assert text == "<test_reprs.Weather, not initialized>"


def test_a_repr_that_fails_for_another_reason() -> None:
    class Broken:
        def __repr__(self) -> str:
            return str(self.colour)  # type: ignore[attr-defined]

    result = ntapi.CallResult.__new__(ntapi.CallResult)
    result.error, result._value = None, Broken()
    if sys.version_info >= (3, 10):
        with pytest.raises(AttributeError, match="colour"):
            repr(result)
