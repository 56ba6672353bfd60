"""Libraries around a client, over NTApi: they cache, repeat, or read events.
Each scenario runs with the stock transport and with ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import PATIENCE
from transport_service import EVENTS, SIDES, Service, running, session, transport
from transport_sides import SHORT

httpx = pytest.importorskip("httpx")
requests = pytest.importorskip("requests")


@pytest.fixture
def service() -> Iterator[Service]:
    """The service."""
    with running() as started:
        yield started


@pytest.fixture(params=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> Any:
    """httpx or httpx2."""
    return pytest.importorskip(request.param)


# The number of requests.


@pytest.mark.parametrize("is_ours", SIDES)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_kept_connection_is_closed(service: Service, method: str, is_ours: bool) -> None:
    # Only NTApi sends an idempotent request again (RFC 9110, 9.2.2).
    with session(is_ours) as own:
        assert own.get(f"{service.url}/data", timeout=PATIENCE).status_code == 401
        service.part()
        with pytest.raises(requests.ConnectionError):
            own.request(method, f"{service.url}/closed", timeout=PATIENCE)
    expected = 2 if is_ours and method == "GET" else 1
    assert service.count("/closed") == expected


@pytest.mark.parametrize("path", ["/twice-503", "/twice-closed"])
def test_tenacity(service: Service, library: Any, path: str) -> None:
    tenacity = pytest.importorskip("tenacity")
    seen = []
    for is_ours in SIDES:
        errors: list[str] = []
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(library.HTTPError),
            stop=tenacity.stop_after_attempt(4),
            before_sleep=lambda state, errors=errors: errors.append(
                type(state.outcome.exception()).__name__
            ),
        )
        with library.Client(transport=transport(library, is_ours), timeout=PATIENCE) as client:

            def call(client: Any = client) -> Any:
                # A POST is never repeated below the library.
                return client.post(service.url + path).raise_for_status().json()

            seen.append((retrying(call), errors, service.part()))
    assert seen[0] == seen[1]
    assert len(seen[0][1]) == 2


# Caches.


@pytest.mark.parametrize("kind", ["blocking", "async"])
@pytest.mark.parametrize(("path", "count"), [("/fresh", 1), ("/tagged", 2), ("/data", 2)])
def test_hishel(
    service: Service, library: Any, path: str, count: int, kind: str, tmp_path: Path
) -> None:
    hishel = pytest.importorskip("hishel")
    caches = pytest.importorskip(f"hishel.{library.__name__}")
    url = service.url + path
    seen = []
    for is_ours in SIDES:
        database = tmp_path / f"{is_ours}.db"

        async def later(own: Any = is_ours, database: Path = database) -> Any:
            cached = caches.AsyncCacheTransport(
                transport(library, own, is_async=True),
                storage=hishel.AsyncSqliteStorage(database_path=database),
                rfc=True,
            )
            async with library.AsyncClient(transport=cached, timeout=PATIENCE) as client:
                return [caught(await client.get(url)) for _ in range(2)]

        if kind == "async":
            answers = asyncio.run(later())
        else:
            cached = caches.CacheTransport(
                transport(library, is_ours),
                storage=hishel.SqliteStorage(database_path=database),
                rfc=True,
            )
            with library.Client(transport=cached, timeout=PATIENCE) as client:
                answers = [caught(client.get(url)) for _ in range(2)]
        seen.append((answers, service.part()))
    assert seen[0] == seen[1]
    assert len(seen[0][1]) == count


def caught(response: Any) -> Any:
    """What a program sees of an answer that may come from a cache."""
    status = response.extensions["caching"]
    return response.status_code, response.json(), status


# Events.


@pytest.mark.parametrize("kind", ["blocking", "async"])
@pytest.mark.parametrize("path", ["/events", "/events-cut"])
def test_httpx_sse(service: Service, path: str, kind: str) -> None:
    sse = pytest.importorskip("httpx_sse")
    url = service.url + path
    seen = []
    for is_ours in SIDES:
        events: list[Any] = []

        def note(event: Any, events: list[Any] = events) -> None:
            events.append((event.id, event.event, event.data))
            # The service has waited for this.
            service.may_go_on.release()

        async def later(note: Any = note, is_ours: bool = is_ours) -> None:
            own = transport(httpx, is_ours, is_async=True)
            async with (
                httpx.AsyncClient(transport=own, timeout=PATIENCE) as client,
                sse.aconnect_sse(client, "GET", url) as source,
            ):
                async for event in source.aiter_sse():
                    note(event)

        service.may_go_on.release()
        error = ""
        try:
            if kind == "async":
                asyncio.run(later())
            else:
                own = transport(httpx, is_ours)
                with (
                    httpx.Client(transport=own, timeout=PATIENCE) as client,
                    sse.connect_sse(client, "GET", url) as source,
                ):
                    for event in source.iter_sse():
                        note(event)
        except httpx.HTTPError as failure:
            error = type(failure).__name__
        # Take the release after the last event, which no event needed.
        assert service.may_go_on.acquire(timeout=PATIENCE)
        seen.append((events, error))
    assert seen[0] == seen[1]
    assert len(seen[0][0]) == EVENTS
    assert bool(seen[0][1]) == (path == "/events-cut")


def test_httpx_sse_in_silence(service: Service) -> None:
    sse = pytest.importorskip("httpx_sse")
    for is_ours in SIDES:
        with (
            httpx.Client(transport=transport(httpx, is_ours), timeout=SHORT) as client,
            pytest.raises(httpx.ReadTimeout),
            sse.connect_sse(client, "GET", f"{service.url}/events") as source,
        ):
            list(source.iter_sse())
    # Let both answers of the service end.
    for _ in range(2 * EVENTS):
        service.may_go_on.release()
