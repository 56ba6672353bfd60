"""ntapi.opentelemetry under other HTTP libraries that have spans of their own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import ntapi.transports
from conftest import PATIENCE
from telemetry import Telemetry, attributes_of, instrumented

httpx = pytest.importorskip("httpx")
of_httpx = pytest.importorskip("opentelemetry.instrumentation.httpx")
sampling = pytest.importorskip("opentelemetry.sdk.trace.sampling")
tracers = pytest.importorskip("opentelemetry.sdk.trace").TracerProvider

DURATION = "http.client.request.duration"


def get(url: str, is_async: bool, instrument: Any) -> Any:
    """The answer to a request of httpx, over our transport; `instrument` gets the client."""

    async def send() -> Any:
        transport = ntapi.transports.AsyncHTTPX()
        async with httpx.AsyncClient(transport=transport, timeout=PATIENCE) as client:
            instrument(client)
            return await client.get(url)

    if is_async:
        return asyncio.run(send())
    with httpx.Client(transport=ntapi.transports.HTTPX(), timeout=PATIENCE) as client:
        instrument(client)
        return client.get(url)


@pytest.mark.parametrize("is_async", [False, True])
def test_an_instrumented_httpx_makes_the_span(servers: dict[str, str], is_async: bool) -> None:
    def instrument(client: Any) -> None:
        of_httpx.HTTPXClientInstrumentor.instrument_client(
            client, tracer_provider=telemetry.tracers
        )

    with instrumented() as telemetry:
        answer = get(f"{servers['fault']}/echo", is_async, instrument)
        (span,) = telemetry.spans()
        assert span.instrumentation_scope is not None
        assert span.instrumentation_scope.name == "opentelemetry.instrumentation.httpx"
        headers = ntapi.Headers(answer.json()["headers"])
        assert f"{span.context.span_id:016x}" in headers["traceparent"]
        assert telemetry.points(DURATION) == []


@pytest.mark.parametrize("is_async", [False, True])
def test_a_span_that_is_not_sampled_counts_too(servers: dict[str, str], is_async: bool) -> None:
    def instrument(client: Any) -> None:
        of_httpx.HTTPXClientInstrumentor.instrument_client(
            client, tracer_provider=tracers(sampler=sampling.ALWAYS_OFF)
        )

    with instrumented() as telemetry:
        get(f"{servers['fault']}/echo", is_async, instrument)
        assert telemetry.points(DURATION) == []


@pytest.mark.parametrize("is_async", [False, True])
def test_without_it_there_is_our_span(servers: dict[str, str], is_async: bool) -> None:
    with instrumented() as telemetry:
        get(f"{servers['fault']}/echo", is_async, lambda client: None)
        (span,) = telemetry.spans()
        assert attributes_of(span)["url.full"] == f"{servers['fault']}/echo"
        assert [point.count for point in telemetry.points(DURATION)] == [1]


def test_an_instrumented_requests_makes_the_span(servers: dict[str, str]) -> None:
    requests = pytest.importorskip("requests")
    of_requests = pytest.importorskip("opentelemetry.instrumentation.requests")
    theirs = Telemetry()
    of_requests.RequestsInstrumentor().instrument(**theirs.providers)
    try:
        with instrumented() as telemetry, requests.Session() as session:
            session.mount("http://", ntapi.transports.RequestsAdapter())
            session.get(f"{servers['fault']}/echo", timeout=PATIENCE)
            assert telemetry.spans() == []
    finally:
        of_requests.RequestsInstrumentor().uninstrument()
    assert theirs.names() == ["GET"]
