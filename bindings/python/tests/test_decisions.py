"""Decisions: the program is asked once, answers immediately or later, and no decision is lost."""

from __future__ import annotations

import asyncio
import gc
import threading
from pathlib import Path
from typing import Any

import pytest

import ntapi
from conftest import PATIENCE, Unraisable

REDIRECT = [ntapi.url("url", "/bytes/500"), ntapi.url("status_code", 307), ntapi.option("raw_data")]


@pytest.fixture
def client(servers: dict[str, str]) -> Any:
    with ntapi.Client(servers["httpbin"]) as client:
        yield client


def test_each_kind_is_asked_once(client: ntapi.Client) -> None:
    seen: list[tuple[ntapi.DecisionKind, int]] = []

    def decide(decision: ntapi.Decision) -> None:
        seen.append((decision.kind, decision.status))
        if decision.kind is ntapi.DecisionKind.REDIRECT:
            assert decision.header("location") == "/bytes/500"
            assert not decision.download("/tmp/x")
        assert decision.proceed()
        assert not decision.proceed()

    response = client.send("redirect-to", REDIRECT, decision_handler=decide)
    assert len(response.data) == 500
    assert seen == [(ntapi.DecisionKind.REDIRECT, 307), (ntapi.DecisionKind.RESPONSE, 200)]


def test_a_redirect_is_refused_or_cancelled(client: ntapi.Client) -> None:
    refused = client.perform("redirect-to", REDIRECT, decision_handler=lambda it: it.refuse())
    assert refused.status == 307
    assert refused.error is not None
    assert refused.error.code is ntapi.codes.HTTP_ERROR
    cancelled = client.perform("redirect-to", REDIRECT, decision_handler=lambda it: it.cancel())
    assert cancelled.error is not None
    assert cancelled.error.code is ntapi.codes.CANCELLED


def test_the_request_of_a_decision_keeps_it(client: ntapi.Client) -> None:
    kept: list[ntapi.HTTPRequest] = []
    has_asked = threading.Event()

    def decide(decision: ntapi.Decision) -> None:
        if decision.http_request is not None:
            kept.append(decision.http_request)
            has_asked.set()

    place = ntapi.decision_thread(ntapi.BACKGROUND)
    request = client.begin("redirect-to", [*REDIRECT, place], decision_handler=decide)
    assert has_asked.wait(PATIENCE)
    gc.collect()
    assert kept[0].url.endswith("/bytes/500")
    kept[0].headers["X-Seen"] = "1"
    assert not request.wait(0)
    # This drops the decision, which counts as an answer.
    kept.clear()
    assert request.wait(PATIENCE)
    assert request.response is not None
    assert len(request.response.data) == 500


def test_a_response_is_cancelled(client: ntapi.Client) -> None:
    def decide(decision: ntapi.Decision) -> None:
        if decision.kind is ntapi.DecisionKind.RESPONSE:
            assert decision.status == 200
            assert decision.cancel()

    response = client.perform("redirect-to", REDIRECT, decision_handler=decide)
    assert response.error is not None
    assert response.error.code is ntapi.codes.CANCELLED
    assert response.data == b""


def test_the_request_that_follows_can_be_changed(client: ntapi.Client) -> None:
    def decide(decision: ntapi.Decision) -> None:
        if decision.http_request is not None:
            decision.http_request.url = decision.http_request.url.replace("/bytes/500", "/headers")
            decision.http_request.headers["X-Added"] = "1"

    response = client.send("redirect-to", REDIRECT[:2], decision_handler=decide)
    assert response.json()["headers"]["X-Added"] == "1"


def test_a_response_becomes_a_download(client: ntapi.Client, tmp_path: Path) -> None:
    path = tmp_path / "bytes.bin"
    response = client.send("bytes/700", decision_handler=lambda decision: decision.download(path))
    assert path.stat().st_size == 700
    assert str(response.file) == str(path)


def test_an_answer_may_come_later_from_another_thread(client: ntapi.Client) -> None:
    def decide(decision: ntapi.Decision) -> None:
        threading.Timer(0.05, decision.proceed).start()

    assert len(client.send("redirect-to", REDIRECT, decision_handler=decide).data) == 500


PROBLEM = ValueError("no idea")


def raising(decision: ntapi.Decision) -> None:
    raise PROBLEM


async def raising_later(decision: ntapi.Decision) -> None:
    await asyncio.sleep(0)
    raise PROBLEM


def check_blamed(response: ntapi.Response, who: str, unraisable: Unraisable) -> None:
    error = response.error
    assert error is not None
    assert error.message == f"the {who} failed: ValueError('no idea')"
    assert error.code is ntapi.codes.GENERIC
    assert error.domain is ntapi.ErrorDomain.REQUEST
    assert error.__cause__ is PROBLEM
    assert error.response is response
    assert unraisable.errors == []


def test_a_handler_that_raises_is_named(client: ntapi.Client, unraisable: Unraisable) -> None:
    response = client.perform("redirect-to", REDIRECT, decision_handler=raising)
    check_blamed(response, "decision handler", unraisable)


def test_a_hook_that_raises_is_named(
    servers: dict[str, str], unraisable: Unraisable, caplog: pytest.LogCaptureFixture
) -> None:
    class Raising(ntapi.Client):
        def decide(self, decision: ntapi.Decision) -> None:
            raising(decision)

    with Raising(servers["httpbin"]) as client:
        check_blamed(client.perform("redirect-to", REDIRECT), "hook decide", unraisable)
    assert "the hook decide failed: ValueError('no idea')" in caplog.text


def test_a_coroutine_that_raises_is_named(servers: dict[str, str], unraisable: Unraisable) -> None:
    class Raising(ntapi.AsyncClient):
        async def decide(self, decision: ntapi.Decision) -> None:
            await raising_later(decision)

    async def main() -> ntapi.Response:
        async with Raising(servers["httpbin"]) as client:
            return await client.perform("redirect-to", REDIRECT)

    check_blamed(asyncio.run(main()), "hook decide", unraisable)


def test_what_raises_after_its_answer_is_reported(
    client: ntapi.Client, unraisable: Unraisable
) -> None:
    def decide(decision: ntapi.Decision) -> None:
        decision.refuse()
        raise PROBLEM

    response = client.perform(
        "redirect-to", REDIRECT, ntapi.option("ignore_http_errors"), decision_handler=decide
    )
    assert response.status == 307
    assert unraisable.errors[0] is PROBLEM


class Asked(ntapi.Client):
    decision_kinds = ntapi.DecisionKind.REDIRECT

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.kinds: list[ntapi.DecisionKind] = []

    def decide(self, decision: ntapi.Decision) -> None:
        self.kinds.append(decision.kind)


def test_a_client_is_asked(servers: dict[str, str]) -> None:
    with Asked(servers["httpbin"]) as client:
        assert len(client.send("redirect-to", REDIRECT).data) == 500
        assert client.kinds == [ntapi.DecisionKind.REDIRECT]


def test_a_coroutine_decides(servers: dict[str, str]) -> None:
    class Decider(ntapi.AsyncClient):
        async def decide(self, decision: ntapi.Decision) -> None:
            await asyncio.sleep(0)
            decision.refuse() or decision.proceed()

    async def main() -> None:
        async with Decider(servers["httpbin"]) as client:
            response = await client.perform("redirect-to", REDIRECT)
            assert response.status == 307

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["function", "object"])
def test_a_coroutine_decides_however_it_is_made(servers: dict[str, str], kind: str) -> None:
    """A function that is not async may return one: it must not count as an agreement."""

    async def refuse(decision: ntapi.Decision) -> None:
        await asyncio.sleep(0)
        decision.refuse()

    class Answer:
        def __init__(self, decision: ntapi.Decision) -> None:
            self.decision = decision

        def __await__(self) -> Any:
            return refuse(self.decision).__await__()

    make: Any = refuse if kind == "function" else Answer

    async def main() -> int:
        async with ntapi.AsyncClient(servers["httpbin"]) as client:
            decide = lambda decision: make(decision)  # noqa: E731
            return (await client.perform("redirect-to", REDIRECT, decision_handler=decide)).status

    assert asyncio.run(asyncio.wait_for(main(), PATIENCE)) == 307


def test_without_a_loop_a_coroutine_ends_the_request(client: ntapi.Client) -> None:
    async def proceed(decision: ntapi.Decision) -> None:
        decision.proceed()

    response = client.perform("redirect-to", REDIRECT, decision_handler=lambda it: proceed(it))
    assert "an async handler needs an AsyncClient" in str(response.error)
