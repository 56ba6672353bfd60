"""Tools that trace, mock or record what a client sends, over NTApi. Each scenario runs with the
stock transport and with ours.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ntapi.testing
import ntapi.transports
from conftest import PATIENCE
from transport_service import SIDES, Service, running, session, transport

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


# Spans.


@pytest.mark.parametrize("kind", ["blocking", "async"])
def test_opentelemetry_of_httpx(service: Service, library: Any, kind: str) -> None:
    instrumentation = pytest.importorskip("opentelemetry.instrumentation.httpx")
    wrapped = "" if library is httpx else "Httpx2"
    name = "HTTPXClientInstrumentor" if library is httpx else "HTTPX2ClientInstrumentor"
    instrumentor = getattr(instrumentation, name)
    is_async = kind == "async"
    prefix = "Async" if is_async else "Sync"
    wrapper = getattr(instrumentation, f"{prefix}OpenTelemetryTransport{wrapped}")
    client_class = library.AsyncClient if is_async else library.Client

    def request(client: Any) -> None:
        async def send() -> None:
            async with client:
                await client.get(f"{service.url}/twice-503")

        if is_async:
            asyncio.run(send())
        else:
            with client:
                client.get(f"{service.url}/twice-503")

    seen = []
    for is_ours in SIDES:
        provider, spans = tracing()
        own = client_class(transport=transport(library, is_ours, is_async), timeout=PATIENCE)
        instrumentor.instrument_client(own, tracer_provider=provider)
        request(own)
        below = wrapper(transport(library, is_ours, is_async), tracer_provider=provider)
        request(client_class(transport=below, timeout=PATIENCE))
        seen.append((spans(), len(service.part())))
    assert seen[0] == seen[1]
    assert seen[0] == ([("GET", 503, False), ("GET", 503, False)], 2)


def test_opentelemetry_for_all_of_httpx(service: Service) -> None:
    instrumentation = pytest.importorskip("opentelemetry.instrumentation.httpx")
    provider, spans = tracing()
    instrumentor = instrumentation.HTTPXClientInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        for is_ours in SIDES:
            with httpx.Client(transport=transport(httpx, is_ours), timeout=PATIENCE) as client:
                client.get(f"{service.url}/fresh")
    finally:
        instrumentor.uninstrument()
    # It changes the class HTTPTransport, and ours is another class.
    assert spans() == [("GET", 200, False)]


def test_opentelemetry_of_requests(service: Service) -> None:
    instrumentation = pytest.importorskip("opentelemetry.instrumentation.requests")
    seen = []
    for is_ours in SIDES:
        provider, spans = tracing()
        instrumentor = instrumentation.RequestsInstrumentor()
        instrumentor.instrument(tracer_provider=provider)
        try:
            with session(is_ours) as own:
                own.get(f"{service.url}/fresh", timeout=PATIENCE)
                with pytest.raises(requests.ConnectionError):
                    own.post(f"{service.url}/closed", timeout=PATIENCE)
        finally:
            instrumentor.uninstrument()
        seen.append(spans())
    assert seen[0] == seen[1]
    assert seen[0] == [("GET", 200, False), ("POST", None, True)]


def tracing() -> Any:
    """A provider of tracers, and what its spans are: name, status and whether it is an error."""
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    def spans() -> list[Any]:
        return [
            (
                each.name,
                each.attributes.get("http.status_code"),
                any(event.name == "exception" for event in each.events),
            )
            for each in exporter.get_finished_spans()
        ]

    return provider, spans


# Mocks and recordings.


def test_respx() -> None:
    respx = pytest.importorskip("respx")
    url = "http://api.test/thing"

    def ask(is_ours: bool) -> Any:
        with httpx.Client(transport=transport(httpx, is_ours), timeout=PATIENCE) as client:
            return client.get(url).json()

    async def ask_async() -> Any:
        own = transport(httpx, True, is_async=True)
        async with httpx.AsyncClient(transport=own, timeout=PATIENCE) as client:
            return (await client.get(url)).json()

    # By default it changes httpcore, below the stock transport.
    with respx.mock(using="httpcore", assert_all_called=False) as router:
        router.get(url).respond(json={"mocked": True})
        assert ask(is_ours=False) == {"mocked": True}
        with pytest.raises(httpx.ConnectError):
            ask(is_ours=True)
    # This changes httpx.Client, above both.
    with respx.mock(using="httpx") as router:
        router.get(url).respond(json={"mocked": True})
        assert ask(is_ours=False) == ask(is_ours=True) == {"mocked": True}
        assert asyncio.run(ask_async()) == {"mocked": True}
        assert router.calls.call_count == 3


def test_responses() -> None:
    responses = pytest.importorskip("responses")
    url = "http://api.test/thing"
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        mock.get(url, json={"mocked": True})
        with session(False) as own:
            assert own.get(url).json() == {"mocked": True}
        with session(True) as own, pytest.raises(requests.ConnectionError):
            # It changes HTTPAdapter.send, and our adapter is no HTTPAdapter.
            own.get(url, timeout=PATIENCE)
    target = "ntapi.transports.RequestsAdapter.send"
    with responses.RequestsMock(target=target) as mock, session(True) as own:
        mock.get(url, json={"mocked": True})
        assert own.get(url).json() == {"mocked": True}


def test_vcrpy_and_the_recorder(service: Service, tmp_path: Path) -> None:
    vcr = pytest.importorskip("vcr")
    url = f"{service.url}/gzip"
    for number, is_ours in enumerate(SIDES):
        with vcr.use_cassette(str(tmp_path / f"{number}.yaml")) as cassette:
            with httpx.Client(transport=transport(httpx, is_ours), timeout=PATIENCE) as client:
                assert client.get(url).json() == {"city": "London"}
            with session(is_ours) as own:
                assert own.get(url, timeout=PATIENCE).json() == {"city": "London"}
        # It changes HTTPTransport and urllib3, and our sides use neither.
        assert len(cassette) == (0 if is_ours else 2)

    recording = tmp_path / "recording.json"
    with (
        ntapi.testing.Recorder(recording) as recorder,
        ntapi.Client(recorder=recorder) as own,
        httpx.Client(transport=ntapi.transports.HTTPX(client=own), timeout=PATIENCE) as client,
        session(False) as upper,
    ):
        upper.mount("http://", ntapi.transports.RequestsAdapter(client=own))
        assert client.get(url).json() == {"city": "London"}
        assert upper.get(url, timeout=PATIENCE).json() == {"city": "London"}
        assert recorder.count == 2
    # The text is readable, so the body was decompressed.
    assert recording.read_text().count("London") == 2
    assert service.count("/gzip") == 6


@pytest.mark.parametrize("kind", ["blocking", "async"])
def test_vcrpy_records_a_mock_transport(
    service: Service, library: Any, kind: str, tmp_path: Path
) -> None:
    vcr = pytest.importorskip("vcr")
    url = f"{service.url}/gzip"

    async def ask_async(is_ours: bool) -> bytes:
        async with transport(library, is_ours, is_async=True) as own:
            # vcrpy changes the class MockTransport as well, and this one lets NTApi answer.
            upper = library.MockTransport(own.handle_async_request) if is_ours else own
            async with (
                library.AsyncClient(transport=upper, timeout=PATIENCE) as client,
                client.stream("POST", url, content=b"question") as response,
            ):
                return b"".join([piece async for piece in response.aiter_raw()])

    def ask(is_ours: bool) -> bytes:
        if kind == "async":
            return asyncio.run(ask_async(is_ours))
        with transport(library, is_ours) as own:
            upper = library.MockTransport(own.handle_request) if is_ours else own
            with (
                library.Client(transport=upper, timeout=PATIENCE) as client,
                client.stream("POST", url, content=b"question") as response,
            ):
                return b"".join(response.iter_raw())

    seen = []
    for number, is_ours in enumerate(SIDES):
        path = tmp_path / f"{number}.yaml"
        bodies = []
        for _ in range(2):
            with vcr.use_cassette(str(path)) as cassette:
                bodies.append(ask(is_ours))
            assert len(cassette) == 1
        assert len(service.part()) == 1
        response = cassette.responses[0]
        del response["headers"]["date"]
        seen.append((bodies, response))
    assert seen[0] == seen[1]
    # Recorded and replayed as they came.
    assert {gzip.decompress(body) for body in seen[1][0]} == {b'{"city": "London"}'}
