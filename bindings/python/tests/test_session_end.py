"""The end of a client, and the metrics of its requests."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import codes


class Session(ntapi.Client):
    """Records its hooks."""

    def __init__(self, base_url: str) -> None:
        super().__init__(base_url)
        self.events: list[str] = []
        self.over = threading.Event()

    def session_invalidated(self) -> None:
        self.events.append("invalid")
        self.over.set()


class Measured(ntapi.Client):
    """Keeps the metrics of its requests."""

    metrics: ntapi.RequestMetrics

    def metrics_collected(self, request: ntapi.Request, metrics: ntapi.RequestMetrics) -> None:
        assert request.identifier == 1
        self.metrics = metrics


@pytest.mark.parametrize("place", [ntapi.BACKGROUND, ntapi.MAIN])
def test_what_runs_is_finished_and_then_told(servers: dict[str, str], place: ntapi.Thread) -> None:
    client = Session(servers["fault"])
    args = ntapi.response_thread(place)
    for _ in range(5):
        client.begin("ok", args, lambda response: client.events.append(str(response.status)))
    client.finish_and_invalidate()
    client.finish_and_invalidate()
    with pytest.raises(ntapi.ApiError, match="closed") as refused:
        client.send("ok")
    assert refused.value.code is codes.INVALID_REQUEST
    assert client.drain(PATIENCE) == 0
    assert client.over.wait(PATIENCE)
    assert client.events == ["200"] * 5 + ["invalid"]
    client.close()
    assert client.events.count("invalid") == 1


@pytest.mark.parametrize("end", ["close", "invalidate_and_cancel"])
def test_what_runs_is_cancelled_and_then_told(servers: dict[str, str], end: str) -> None:
    client = Session(servers["fault"])
    request = client.begin(
        "hold", ntapi.response_thread(ntapi.BACKGROUND), lambda _: client.events.append("handler")
    )
    getattr(client, end)()
    assert client.over.wait(PATIENCE)
    assert client.events == ["handler", "invalid"]
    assert request.response is not None
    assert request.response.error is not None
    assert request.response.error.code is codes.CANCELLED


def test_one_that_has_nothing_to_do(servers: dict[str, str]) -> None:
    client = Session(servers["fault"])
    client.finish_and_invalidate()
    assert client.over.wait(PATIENCE)
    assert client.events == ["invalid"]


def test_in_a_loop(servers: dict[str, str]) -> None:
    class AsyncSession(ntapi.AsyncClient):
        over = threading.Event()

        def session_invalidated(self) -> None:
            self.over.set()

    async def main() -> None:
        client = AsyncSession(servers["fault"])
        sent = asyncio.ensure_future(client.send("late", ntapi.url("ms", 50)))
        await asyncio.sleep(0)
        client.finish_and_invalidate()
        assert (await sent).status == 200
        assert await asyncio.to_thread(client.over.wait, PATIENCE)

    asyncio.run(main())


def test_metrics_of_every_exchange(servers: dict[str, str]) -> None:
    with Measured(servers["httpbin"]) as client:
        response = client.perform("redirect/1")
        metrics = client.metrics
        assert metrics == response.request_metrics
        assert (metrics.redirects, metrics.retries) == (1, 0)
        assert [one.status for one in metrics.transactions] == [302, 200]
        assert [one.url.rsplit("/", 1)[1] for one in metrics.transactions] == ["1", "get"]
        first, second = metrics.transactions
        assert metrics.start_time <= first.start_time < second.start_time
        assert first.method == "GET"
        assert first.error is None
        assert second.metrics.bytes_received == response.metrics.bytes_received
        assert 0 < second.metrics.first_byte <= second.metrics.total
        assert 0 < first.metrics.total + second.metrics.total <= metrics.elapsed
    with ntapi.Client(servers["httpbin"]) as plain:
        assert len(plain.perform("redirect/1").request_metrics.transactions) == 2
        failed = plain.perform("{name}")
        assert failed.request_metrics.transactions == ()


@pytest.mark.parametrize("end", ["close", "finish_and_invalidate", "invalidate_and_cancel"])
def test_it_is_told_when_the_program_has_dropped_the_client(
    servers: dict[str, str], end: str
) -> None:
    def begin() -> tuple[threading.Event, weakref.ref[Session]]:
        client = Session(servers["fault"])
        client.send("ok")
        getattr(client, end)()
        return client.over, weakref.ref(client)

    over, client = begin()
    assert over.wait(PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while client() is not None and time.monotonic() < deadline:
        gc.collect()
    assert client() is None
