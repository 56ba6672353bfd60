"""Tests/conformance/tracing.json: requests and their spans, which all languages share."""

from __future__ import annotations

import json
import threading
import uuid
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

import pytest

import ntapi
from conftest import PATIENCE, REPOSITORY
from telemetry import (
    METRIC_ATTRIBUTES,
    SPAN_ATTRIBUTES,
    SpanKind,
    StatusCode,
    Telemetry,
    attributes_of,
    check_attributes,
    check_conventions,
    instrumented,
    stable_names,
)
from test_conformance import filled, python_arg

PATH = REPOSITORY / "Tests" / "conformance" / "tracing.json"
CASES: list[dict[str, Any]] = json.loads(PATH.read_text("utf-8"))
KNOWN_METHODS = "OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS"
DURATION = "http.client.request.duration"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(
    case: dict[str, Any], servers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {**servers, "token": uuid.uuid4().hex}
    case = filled(case, table)
    options = case.get("options", {})
    if "known_methods" in options:
        monkeypatch.setenv(KNOWN_METHODS, options.pop("known_methods"))
    with instrumented(**options) as telemetry:
        with telemetry.tracer.start_as_current_span("test") as test:
            response = run(case, table)
        check_spans(case, table, telemetry, test)
        check_metrics(telemetry)
    if "traceparent" in case["expect"]:
        check_traceparent(case["expect"]["traceparent"], response, telemetry)


def run(case: dict[str, Any], table: dict[str, str]) -> Any:
    """Makes the requests of a case; the response of the last one."""
    configuration = ntapi.SessionConfiguration.ephemeral(ca_file=table["ca"], proxy="")
    for name, value in case.get("settings", {}).items():
        configuration[name] = value
    client = ntapi.Client(case.get("base", table[case["server"]]), configuration=configuration)
    if "tokens" in case:
        old, new = case["tokens"]
        client.authenticator = ntapi.Authenticator(lambda _: new, token=old)
    args = [python_arg(arg) for arg in case["args"]]
    how = case.get("how")
    with client:
        if how == "cancelled":
            return cancelled(client, case["command"], args)
        if how == "closed":
            with client.stream(case["command"], *args) as chunks:
                next(chunks)
            assert client.drain(PATIENCE) == 0
            return None
        if how is not None:
            stream = client.events if how == "events" else client.stream
            for _ in stream(case["command"], *args):
                pass
            return None
        for _ in range(case.get("times", 1)):
            response = client.perform(case["command"], args)
        return response


class Begins(ntapi.Observer):
    """Waits for the first attempt."""

    def __init__(self) -> None:
        self.seen = threading.Event()

    def attempt_begins(self, context: Any, observed: ntapi.Observation) -> None:
        self.seen.set()


def cancelled(client: ntapi.Client, command: str, args: list[ntapi.Arg]) -> None:
    begins = Begins()
    client.add_observer(begins)
    args = [*args, ntapi.response_thread(ntapi.Thread.BACKGROUND)]
    request = client.begin(command, args, lambda _: None)
    assert begins.seen.wait(PATIENCE)
    request.cancel()
    assert client.drain(PATIENCE) == 0


def check_spans(
    case: dict[str, Any], table: dict[str, str], telemetry: Telemetry, test: Any
) -> None:
    expected, spans = case["expect"], telemetry.spans()
    assert [span.name for span in spans] == [span["name"] for span in expected["spans"]]
    parent = test
    internal = [each for each in telemetry.spans(SpanKind.INTERNAL) if each.name != "test"]
    if "call" in expected:
        (parent,) = internal
        assert parent.name == "ntapi.request"
        assert parent.parent == test.get_span_context()
        assert attributes_of(parent) == expected["call"]
        is_error = parent.status.status_code is StatusCode.ERROR
        assert is_error is ("error.type" in expected["call"])
    else:
        assert internal == []
    for span, wanted in zip(spans, expected["spans"]):
        check_conventions(span)
        assert span.parent == parent.get_span_context()
        found = attributes_of(span)
        for name in ("network.peer.address", "network.peer.port"):
            if wanted.get("peer") == "any":
                found.pop(name, None)
        assert found == every_attribute(case, table, wanted)
        kind = wanted["attributes"].get("error.type")
        assert (span.status.status_code is StatusCode.ERROR) is (kind is not None)
        assert (span.status.description is None) is (kind is None or kind.isdigit())


def every_attribute(
    case: dict[str, Any], table: dict[str, str], span: dict[str, Any]
) -> dict[str, Any]:
    """All attributes of a span that is expected."""
    server = span.get("server", case["server"])
    address, port = server if isinstance(server, list) else host_and_port(table[server])
    attributes = {"server.address": address, "server.port": port}
    peer = span.get("peer", server)
    if peer not in (None, "any"):
        attributes["network.peer.address"] = "127.0.0.1"
        attributes["network.peer.port"] = host_and_port(table[peer])[1]
    if "http.response.status_code" in span["attributes"]:
        attributes["network.protocol.version"] = span.get("version", "1.1")
    own = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in span["attributes"].items()
    }
    return {**own, **attributes}


def host_and_port(url: str) -> tuple[Any, Any]:
    parts = urlsplit(url)
    return parts.hostname, parts.port


def check_metrics(telemetry: Telemetry) -> None:
    """Each span has been counted once, with its attributes and its duration."""
    shared = METRIC_ATTRIBUTES.keys() - {"url.template"}
    wanted: Counter[Any] = Counter()
    seconds = 0.0
    for span in telemetry.spans():
        found = attributes_of(span)
        wanted[frozenset((name, found[name]) for name in shared & found.keys())] += 1
        seconds += ((span.end_time or 0) - (span.start_time or 0)) / 1e9
    points = telemetry.points(DURATION)
    counted: Counter[Any] = Counter()
    for point in points:
        found = attributes_of(point)
        check_attributes(found, METRIC_ATTRIBUTES)
        counted[frozenset((name, found[name]) for name in shared & found.keys())] += point.count
    assert counted == wanted
    assert sum(point.sum for point in points) == pytest.approx(seconds)


def check_traceparent(is_sent: bool, response: Any, telemetry: Telemetry) -> None:
    headers = ntapi.Headers(response.json()["headers"])
    sent = headers.get("traceparent")
    if not is_sent:
        assert sent is None
        return
    context = telemetry.spans()[-1].get_span_context()
    assert sent is not None
    assert sent.split("-")[1:3] == [f"{context.trace_id:032x}", f"{context.span_id:016x}"]


def test_our_table_of_the_conventions_is_theirs() -> None:
    # Those that the conventions still develop.
    developed = {
        "http.request.body.size",
        "http.request.size",
        "http.response.body.size",
        "http.response.size",
        "url.template",
        "user_agent.synthetic.type",
    }
    names = SPAN_ATTRIBUTES.keys() | METRIC_ATTRIBUTES.keys()
    assert names - stable_names() == developed
