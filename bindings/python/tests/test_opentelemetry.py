"""ntapi.opentelemetry: what the table of spans cannot say."""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ntapi
from conftest import PATIENCE, Unraisable
from ntapi.testing import Stub
from telemetry import (
    NTApiInstrumentor,
    SpanKind,
    StatusCode,
    Telemetry,
    attributes_of,
    instrumented,
)

baggage = pytest.importorskip("opentelemetry.baggage")
context = pytest.importorskip("opentelemetry.context")
propagate = pytest.importorskip("opentelemetry.propagate")
utils = pytest.importorskip("opentelemetry.instrumentation.utils")

DURATION = "http.client.request.duration"
REQUEST_SIZE = "http.client.request.body.size"
RESPONSE_SIZE = "http.client.response.body.size"
ACTIVE = "http.client.active_requests"
BOUNDARIES = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    """All clients are instrumented, with the default options."""
    with instrumented() as telemetry:
        yield telemetry


def sent_headers(response: ntapi.Response) -> ntapi.Headers:
    """The headers of the request, as the fault server's /echo got them."""
    return ntapi.Headers(response.json()["headers"])


# Context.


def test_parents_of_requests_that_run_together(
    servers: dict[str, str], telemetry: Telemetry
) -> None:
    async def ask(client: ntapi.AsyncClient, number: int) -> None:
        with telemetry.tracer.start_as_current_span(f"parent {number}"):
            await client.send("redirect/to", ntapi.url("url", f"/late?ms=20&number={number}"))

    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            await asyncio.gather(*(ask(client, number) for number in range(8)))

    asyncio.run(main())
    parents = {span.name: span.context for span in telemetry.spans(SpanKind.INTERNAL)}
    spans = telemetry.spans()
    assert len(spans) == 16
    for span in spans:
        number = attributes_of(span)["url.full"].rpartition("%3D")[2].rpartition("=")[2]
        assert span.parent == parents[f"parent {number}"]


def test_a_request_of_a_handler_has_the_handler_s_context(
    fault: ntapi.Client, telemetry: Telemetry
) -> None:
    def again(_: ntapi.Response) -> None:
        with telemetry.tracer.start_as_current_span("handler"):
            fault.begin("echo", [background], lambda _: None)

    background = ntapi.response_thread(ntapi.Thread.BACKGROUND)
    with telemetry.tracer.start_as_current_span("caller"):
        fault.begin("ok", [background], again)
    assert fault.drain(PATIENCE) == 0
    caller, handler = telemetry.spans(SpanKind.INTERNAL)
    assert [span.parent for span in telemetry.spans()] == [caller.context, handler.context]


def test_baggage_and_trace_state_are_sent(fault: ntapi.Client, telemetry: Telemetry) -> None:
    token = context.attach(baggage.set_baggage("tenant", "ann"))
    try:
        headers = sent_headers(fault.send("echo"))
    finally:
        context.detach(token)
    assert headers["baggage"] == "tenant=ann"
    assert headers["traceparent"]
    assert attributes_of(telemetry.spans()[0])["http.request.method"] == "GET"


@pytest.mark.parametrize(
    ("options", "is_sent"),
    [
        ({}, True),
        ({"propagate_to": ["127.0.0.1"]}, True),
        ({"propagate_to": ["{origin}"]}, True),
        ({"propagate_to": ["{origin}/"]}, True),
        ({"propagate_to": ["https://127.0.0.1", "127.0.0.2"]}, False),
        ({"propagate_to": []}, False),
        ({"propagate_to": lambda origin: origin.startswith("http://127.0.0.1:")}, True),
        ({"propagate_to": lambda origin: False}, False),
        ({"exclude_origins": ["127.0.0.1"]}, False),
        ({"exclude_origins": ["HTTP://127.0.0.1"]}, True),
        ({"propagate_to": ["127.0.0.1"], "exclude_origins": ["{origin}"]}, False),
    ],
)
def test_origins(servers: dict[str, str], fault: ntapi.Client, options: Any, is_sent: bool) -> None:
    filled = {
        name: [text.replace("{origin}", servers["fault"]) for text in value]
        if isinstance(value, list)
        else value
        for name, value in options.items()
    }
    with instrumented(**filled) as telemetry:
        headers = sent_headers(fault.send("echo"))
    assert ("traceparent" in headers) is is_sent
    assert telemetry.names() == ["GET"]


def test_a_broken_propagator_changes_nothing(
    fault: ntapi.Client,
    telemetry: Telemetry,
    monkeypatch: pytest.MonkeyPatch,
    unraisable: Unraisable,
) -> None:
    def inject(*_: Any, **__: Any) -> None:
        raise ValueError("broken propagator")

    monkeypatch.setattr(propagate.get_global_textmap(), "inject", inject)
    assert "traceparent" not in sent_headers(fault.send("echo"))
    assert [str(error) for error in unraisable.errors] == ["broken propagator"]
    (span,) = telemetry.spans()
    assert span.status.status_code is StatusCode.UNSET
    assert [point.count for point in telemetry.points(DURATION)] == [1]


# Suppression.


@pytest.mark.parametrize("suppress", ["suppress_instrumentation", "suppress_http_instrumentation"])
def test_nothing_is_done_while_it_is_suppressed(fault: ntapi.Client, suppress: str) -> None:
    metrics = (DURATION, REQUEST_SIZE, RESPONSE_SIZE, ACTIVE)
    with instrumented(call_spans=True, metrics=metrics) as telemetry:
        with getattr(utils, suppress)():
            headers = sent_headers(fault.send("echo"))
        assert "traceparent" not in headers
        assert telemetry.spans() == telemetry.spans(SpanKind.INTERNAL) == []
        assert [point for name in metrics for point in telemetry.points(name)] == []
        fault.send("echo")
        assert telemetry.names() == ["GET"]


@pytest.mark.parametrize("name", ["http.request.method", "http.method"])
def test_a_span_of_another_http_library_is_enough(
    fault: ntapi.Client, telemetry: Telemetry, name: str
) -> None:
    start = telemetry.tracer.start_as_current_span
    with start("GET", kind=SpanKind.CLIENT, attributes={name: "GET"}):
        assert "traceparent" not in sent_headers(fault.send("echo"))
    assert len(telemetry.spans()) == 1
    # These spans are not those of an HTTP library.
    with start("query", kind=SpanKind.CLIENT, attributes={"db.system.name": "x"}):
        fault.send("echo")
    with start("GET", kind=SpanKind.SERVER, attributes={name: "GET"}):
        fault.send("echo")
    assert len(telemetry.spans()) == 4
    assert sum(point.count for point in telemetry.points(DURATION)) == 2


# Times.


def test_the_span_of_a_stream_ends_with_its_last_byte(
    fault: ntapi.Client, telemetry: Telemetry
) -> None:
    with fault.lines("lines", ntapi.url("count", 2), ntapi.url("hold", 1)) as lines:
        assert next(lines) is not None
        assert telemetry.spans() == []
    assert fault.drain(PATIENCE) == 0
    (closed,) = telemetry.spans()
    # The program has closed it.
    assert closed.status.status_code is StatusCode.UNSET
    with fault.lines("lines") as lines:
        assert len(list(lines)) == 5
        assert len(telemetry.spans()) == 2


def test_a_sampler_sees_what_it_needs(fault: ntapi.Client) -> None:
    sampling = pytest.importorskip("opentelemetry.sdk.trace.sampling")
    tracers = pytest.importorskip("opentelemetry.sdk.trace").TracerProvider
    seen: list[Any] = []

    class Refusing(sampling.Sampler):  # type: ignore[misc, name-defined]
        def should_sample(self, _: Any, __: Any, name: str, *values: Any, **named: Any) -> Any:
            seen.append((name, *values, *named.values()))
            return sampling.SamplingResult(sampling.Decision.DROP)

        def get_description(self) -> str:
            return "none"

    with instrumented(tracer_provider=tracers(sampler=Refusing())) as telemetry:
        headers = sent_headers(fault.send("echo"))
        assert [point.count for point in telemetry.points(DURATION)] == [1]
    (said,) = seen
    (attributes,) = (value for value in said if isinstance(value, dict))
    assert attributes.keys() == {
        "http.request.method",
        "server.address",
        "server.port",
        "url.full",
    }
    assert SpanKind.CLIENT in said
    # The server must not sample, either.
    assert int(headers["traceparent"].rpartition("-")[2], 16) & 1 == 0


def test_a_unix_socket_has_no_port(servers: dict[str, str], telemetry: Telemetry) -> None:
    # libcurl reports only the first 45 bytes of a longer path.
    path = str(Path(servers["unix_tmp"]) / uuid.uuid4().hex[:8])
    configuration = ntapi.SessionConfiguration.ephemeral(unix_socket=path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        with ntapi.Client("http://api.test", configuration=configuration) as client:
            client.begin("x", [ntapi.response_thread(ntapi.Thread.BACKGROUND)], lambda _: None)
            with listener.accept()[0] as connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            assert client.drain(PATIENCE) == 0
    found = attributes_of(telemetry.spans()[0])
    assert found["network.peer.address"] == path
    assert "network.peer.port" not in found
    assert (found["server.address"], found["server.port"]) == ("api.test", 80)


# Metrics.


def test_the_duration_has_the_buckets_of_the_conventions(
    fault: ntapi.Client, telemetry: Telemetry
) -> None:
    fault.send("echo", ntapi.url("secret", "1"))
    (point,) = telemetry.points(DURATION)
    assert point.explicit_bounds == BOUNDARIES
    assert not any("url" in name for name in attributes_of(point))
    for name in (REQUEST_SIZE, RESPONSE_SIZE, ACTIVE):
        assert telemetry.points(name) == []


def test_sizes_of_bodies(fault: ntapi.Client) -> None:
    with instrumented(metrics=(REQUEST_SIZE, RESPONSE_SIZE)) as telemetry:
        fault.perform("mirror", ntapi.data(b"12345"))
        fault.perform("reset/{place}", ntapi.path("place", "before"))
        sent = {point.sum: attributes_of(point) for point in telemetry.points(REQUEST_SIZE)}
        assert sent.keys() == {0, 5}
        assert sent[0]["error.type"] == "reset"
        assert sent[0]["url.template"] == "/reset/{place}"
        assert sent[5]["http.response.status_code"] == 200
        (received,) = telemetry.points(RESPONSE_SIZE)
        assert received.sum == 5
        assert telemetry.points(DURATION) == []


def test_active_requests(fault: ntapi.Client) -> None:
    with instrumented(metrics=[ACTIVE]) as telemetry:
        with fault.lines("lines", ntapi.url("hold", 1)) as lines:
            next(lines)
            (point,) = telemetry.points(ACTIVE)
            assert point.value == 1
            assert attributes_of(point).keys() == {
                "http.request.method",
                "server.address",
                "server.port",
            }
        assert fault.drain(PATIENCE) == 0
        assert [point.value for point in telemetry.points(ACTIVE)] == [0]


# Which clients.


def test_uninstrument(fault: ntapi.Client) -> None:
    with instrumented() as telemetry:
        lines = fault.lines("lines", ntapi.url("hold", 1))
        next(lines)
    assert telemetry.spans() == []
    fault.send("echo")
    lines.close()
    assert fault.drain(PATIENCE) == 0
    # Only the request that had begun before has a span.
    (span,) = telemetry.spans()
    assert "/lines" in attributes_of(span)["url.full"]


def test_one_client(servers: dict[str, str], fault: ntapi.Client) -> None:
    telemetry = Telemetry()
    with ntapi.Client(servers["fault"]) as other:
        NTApiInstrumentor.instrument_client(fault, **telemetry.providers)
        fault.send("echo")
        other.send("echo")
        assert telemetry.names() == ["GET"]
        NTApiInstrumentor.uninstrument_client(fault)
        fault.send("echo")
        assert telemetry.names() == ["GET"]


def test_the_options_of_a_client_win(servers: dict[str, str], fault: ntapi.Client) -> None:
    own = Telemetry()
    with instrumented(call_spans=True) as telemetry, ntapi.Client(servers["fault"]) as other:
        NTApiInstrumentor.instrument_client(fault, url_query=False, **own.providers)
        fault.send("redirect/echo", ntapi.url("a", "1"))
        other.send("status/200")
        NTApiInstrumentor.uninstrument_client(fault)
        fault.send("echo")
    found = [attributes_of(span)["url.full"] for span in own.spans()]
    assert found == [f"{servers['fault']}/redirect/echo", f"{servers['fault']}/echo"]
    assert own.spans(SpanKind.INTERNAL) == []
    assert telemetry.names() == ["GET", "GET"]
    assert len(telemetry.spans(SpanKind.INTERNAL)) == 2


@pytest.mark.parametrize("is_kept", [False, True])
def test_the_query_in_a_description(is_kept: bool) -> None:
    """The messages of errors name URLs, and what a Location says."""
    stub = Stub()
    stub.on("GET", "a?name=Ann").answer(data=b"x", content_type="application/json")
    stub.on("GET", "b?name=Ann").answer(status=302, headers={"Location": "b?name=Ann"})
    options = {"url_query": is_kept, "call_spans": True}
    with instrumented(**options) as telemetry, ntapi.Client("http://h.test", stub=stub) as client:
        for command in ("a", "b"):
            with pytest.raises(ntapi.ApiError):
                client.send(command, ntapi.url("name", "Ann"))
    texts = [
        span.status.description or ""
        for kind in (SpanKind.CLIENT, SpanKind.INTERNAL)
        for span in telemetry.spans(kind)
    ]
    # The invalid JSON is an error of the call, too many redirects are also one of the attempt.
    assert [("Ann" in text, bool(text)) for text in texts[-3:]] == [(is_kept, True)] * 3
    assert "GET http://h.test/a" in texts[-2]


def test_twice_is_once(
    fault: ntapi.Client, telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    NTApiInstrumentor().instrument(**telemetry.providers)
    fault.send("echo")
    assert telemetry.names() == ["GET"]
    NTApiInstrumentor.uninstrument_client(fault)
    own = Telemetry()
    NTApiInstrumentor.instrument_client(fault, **own.providers)
    NTApiInstrumentor.instrument_client(fault, **own.providers)
    fault.send("echo")
    assert own.names() == telemetry.names() == ["GET"]
    assert [
        record.getMessage() for record in caplog.records if record.name.startswith("ntapi")
    ] == [
        "an ntapi client is to be uninstrumented, and is not instrumented",
        "an ntapi client is to be instrumented, and already is",
    ]


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"call_span": True}, TypeError, "call_span"),
        ({"request_headers": "X-A"}, TypeError, "request_headers has to be a list of texts"),
        ({"response_headers": [1]}, TypeError, "response_headers has to be a list of texts"),
        ({"metrics": ["duration"]}, ValueError, "there is no metric 'duration'; there are http"),
        ({"metrics": True}, TypeError, "metrics has to be a list of texts, not bool"),
        ({"propagate_to": ["https://a/b"]}, ValueError, "propagate_to: 'https://a/b' is neither"),
        ({"exclude_origins": ["a:1"]}, ValueError, "exclude_origins: 'a:1' is neither an origin"),
        ({"exclude_origins": "https://a"}, TypeError, "exclude_origins has to be a list"),
        ({"excluded_urls": "("}, ValueError, "excluded_urls"),
    ],
)
def test_mistakes(options: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text.replace("(", r"\(")):
        NTApiInstrumentor().instrument(**options)
    assert not NTApiInstrumentor().is_instrumented_by_opentelemetry


def test_only_a_client_can_be_instrumented() -> None:
    with pytest.raises(TypeError, match="a client is expected, not type"):
        NTApiInstrumentor.instrument_client(ntapi.Client)  # type: ignore[arg-type]


def test_environment_variables(fault: ntapi.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_PYTHON_EXCLUDED_URLS", "/echo")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_CLIENT_REQUEST", "Accept, X-No")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_CLIENT_RESPONSE", "x-try")
    with instrumented() as telemetry:
        fault.send("echo")
        fault.send("headers", ntapi.url("X-Try", "1"), ntapi.header("Accept", "a/b"))
    (span,) = telemetry.spans()
    headers = {name: value for name, value in attributes_of(span).items() if ".header." in name}
    assert headers == {
        "http.request.header.accept": ("a/b",),
        "http.response.header.x-try": ("1",),
    }
    monkeypatch.setenv("OTEL_PYTHON_NTAPI_EXCLUDED_URLS", "/status, /headers")
    with instrumented() as telemetry:
        fault.send("echo")
        fault.send("status/200")
    (span,) = telemetry.spans()
    assert attributes_of(span)["url.full"].endswith("/echo")
