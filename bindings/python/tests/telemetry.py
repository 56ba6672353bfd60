"""OpenTelemetry's SDK with exporters in memory, and the conventions that spans and metrics keep."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")
pytest.importorskip("opentelemetry.instrumentation")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv import attributes as stable
from opentelemetry.trace import SpanKind as SpanKind
from opentelemetry.trace import StatusCode as StatusCode

from ntapi.opentelemetry import NTApiInstrumentor as NTApiInstrumentor

TEXT, NUMBER, TEXTS = str, int, tuple
REQUIRED, CONDITIONAL, RECOMMENDED, OPT_IN = "required", "conditional", "recommended", "opt-in"
SPAN_ATTRIBUTES = {
    "http.request.method": (REQUIRED, TEXT),
    "server.address": (REQUIRED, TEXT),
    "server.port": (REQUIRED, NUMBER),
    "url.full": (REQUIRED, TEXT),
    "error.type": (CONDITIONAL, TEXT),
    "http.request.method_original": (CONDITIONAL, TEXT),
    "http.response.status_code": (CONDITIONAL, NUMBER),
    "network.protocol.name": (CONDITIONAL, TEXT),
    "http.request.resend_count": (RECOMMENDED, NUMBER),
    "network.peer.address": (RECOMMENDED, TEXT),
    "network.peer.port": (RECOMMENDED, NUMBER),
    "network.protocol.version": (RECOMMENDED, TEXT),
    "http.request.header.<key>": (OPT_IN, TEXTS),
    "http.response.header.<key>": (OPT_IN, TEXTS),
    "http.request.body.size": (OPT_IN, NUMBER),
    "http.response.body.size": (OPT_IN, NUMBER),
    "http.request.size": (OPT_IN, NUMBER),
    "http.response.size": (OPT_IN, NUMBER),
    "network.transport": (OPT_IN, TEXT),
    "url.scheme": (OPT_IN, TEXT),
    "url.template": (OPT_IN, TEXT),
    "user_agent.original": (OPT_IN, TEXT),
    "user_agent.synthetic.type": (OPT_IN, TEXT),
}
"""The attributes of an HTTP client span, with their levels and types (HTTP spans, 1.44)."""
METRIC_ATTRIBUTES = {
    "http.request.method": (REQUIRED, TEXT),
    "server.address": (REQUIRED, TEXT),
    "server.port": (REQUIRED, NUMBER),
    "error.type": (CONDITIONAL, TEXT),
    "http.response.status_code": (CONDITIONAL, NUMBER),
    "network.protocol.name": (CONDITIONAL, TEXT),
    "network.protocol.version": (RECOMMENDED, TEXT),
    "url.scheme": (OPT_IN, TEXT),
    "url.template": (OPT_IN, TEXT),
}
"""The attributes of the metrics of a client, in the same form (HTTP metrics)."""
AT_CREATION = {"http.request.method", "server.address", "server.port", "url.full"}
"""Attributes that a sampler has to see."""


class Order(SpanProcessor):
    """The order in which spans begin. Their times do not tell: the clock of the day may be set."""

    def __init__(self) -> None:
        self.places: dict[int, int] = {}

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        self.places[span.context.span_id] = len(self.places)


class Telemetry:
    """The spans and metrics of a test."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._order = Order()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(self._order)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self._metrics = InMemoryMetricReader()
        self.meters = MeterProvider(metric_readers=[self._metrics])
        self.tracer = self.tracers.get_tracer("test")

    @property
    def providers(self) -> dict[str, Any]:
        """For the instrumentor."""
        return {"tracer_provider": self.tracers, "meter_provider": self.meters}

    def spans(self, kind: SpanKind = SpanKind.CLIENT) -> list[ReadableSpan]:
        """The spans that have ended, in the order in which they have begun."""
        found = [span for span in self._spans.get_finished_spans() if span.kind is kind]
        return sorted(found, key=lambda span: self._order.places[span.context.span_id])

    def names(self) -> list[str]:
        return [span.name for span in self.spans()]

    def points(self, name: str) -> list[Any]:
        """The data points of a metric."""
        data = self._metrics.get_metrics_data()
        return [
            point
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


@contextmanager
def instrumented(**options: Any) -> Iterator[Telemetry]:
    """Instruments all clients while the block runs."""
    telemetry = Telemetry()
    NTApiInstrumentor().instrument(**{**telemetry.providers, **options})
    try:
        yield telemetry
    finally:
        NTApiInstrumentor().uninstrument()


def attributes_of(span: Any) -> dict[str, Any]:
    return dict(span.attributes or {})


def check_conventions(span: ReadableSpan) -> None:
    """Checks a span of an HTTP client by the conventions: names, types, levels, status."""
    found = attributes_of(span)
    check_attributes(found, SPAN_ATTRIBUTES)
    assert span.kind is SpanKind.CLIENT
    assert (found["http.request.method"] == "_OTHER") is ("http.request.method_original" in found)
    method = found["http.request.method"].replace("_OTHER", "HTTP")
    assert span.name.partition(" ")[0] == method
    assert span.status.status_code is not StatusCode.OK
    status = found.get("http.response.status_code", 0)
    is_error = span.status.status_code is StatusCode.ERROR
    assert ("error.type" in found) is is_error
    if status >= 400:
        assert found["error.type"] == str(status)
        assert span.status.description is None
    assert found.get("http.request.resend_count") != 0
    assert ("network.peer.address" in found) >= ("network.peer.port" in found)
    assert span.events == ()


def check_attributes(found: dict[str, Any], table: dict[str, tuple[str, type]]) -> None:
    """Checks that each attribute is in a table, with its type, and no required one is missing."""
    for name, value in found.items():
        head, _, key = name.rpartition(".")
        named = f"{head}.<key>" if f"{head}.<key>" in table else name
        assert key == key.lower()
        assert type(value) is table[named][1], name
    missing = [
        name for name, (level, _) in table.items() if level is REQUIRED and name not in found
    ]
    assert missing == []


def stable_names() -> set[str]:
    """The names of all stable attributes, from the package of the conventions."""
    import importlib
    import pkgutil

    return {
        value.replace(".header", ".header.<key>")
        for module in pkgutil.iter_modules(stable.__path__, f"{stable.__name__}.")
        for name, value in vars(importlib.import_module(module.name)).items()
        if name.isupper() and isinstance(value, str)
    }
