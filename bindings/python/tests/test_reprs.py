"""What printing a public object shows: never an address, never a secret."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import testing
from ntapi.testing import Stub

PUBLIC = [
    value
    for module in (ntapi, testing)
    for name in module.__all__
    if inspect.isclass(value := getattr(module, name))
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
    assert not [text for text in seen if "s3cret" in text or " at 0x" in text or "object" in text]
    assert "<ntapi.HTTPRequest GET http://api.test/tickets?token=<redacted>>" in seen
    assert "<ntapi.HTTPRequest of a hook that has returned>" in seen
    assert "<ntapi.RateLimiter 30 requests in 2 s, 0 waiting>" in seen
    assert "<ntapi.Authenticator with a token>" in seen
    assert "<ntapi.testing.Answer 503 with json>" in seen
    assert any(text.startswith("<ntapi.Stream 200") for text in seen)


def test_the_repr_of_an_async_stream(stub: Stub) -> None:
    async def main() -> str:
        stub.on("GET").answer(data=b"abc")
        async with (
            ntapi.AsyncClient("http://api.test", stub=stub) as client,
            client.stream("x") as chunks,
        ):
            return repr(chunks)

    text = asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert text.startswith("<ntapi.AsyncStream 200 ")
