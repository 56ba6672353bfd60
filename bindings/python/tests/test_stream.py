"""Streams: chunks, JSON lines and server-sent events."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
import warnings
from pathlib import Path
from typing import Any, Optional
from unittest import mock

import pytest

import ntapi
from conftest import IDLE_TIMEOUT, LONGER_THAN_IDLE, PATIENCE, run_python
from ntapi import ServerSentEvent, codes
from ntapi._bridge.library import lib
from stream_samples import EVENTS, LINES, seen, token

HANDLE_KIND_ANY, HANDLE_KIND_HEADERS = 0, 26
"""NTAPI_HANDLE_KIND_ANY and _HEADERS."""

# Chunks


def test_the_head_is_there_before_the_body(fault: ntapi.Client) -> None:
    with fault.stream("lines", ntapi.url("count", 0), ntapi.url("hold", 1)) as chunks:
        assert chunks.status == 200
        assert chunks.headers["Content-Type"] == "application/x-ndjson"
        assert chunks.response is None
    assert chunks.request.state is ntapi.RequestState.CANCELLED
    assert list(chunks) == []


def test_a_body_arrives_whole_and_in_order(nginx: ntapi.Client, pattern: bytes) -> None:
    with nginx.stream("pattern-8M.bin") as chunks:
        pieces = list(chunks)
    assert b"".join(pieces) == pattern
    assert all(type(piece) is bytes and 0 < len(piece) <= 320 * 1024 for piece in pieces)
    assert chunks.response is not None
    assert chunks.response.error is None
    assert chunks.response.metrics.bytes_decoded == len(pattern)


def test_an_empty_body_has_no_chunks(fault: ntapi.Client) -> None:
    assert b"".join(fault.stream("ok", ntapi.url("size", 30))).startswith(b'{"ok":true')
    with fault.stream("status/204") as chunks:
        assert chunks.status == 204
        assert list(chunks) == []


def read(client: ntapi.Client, way: str, path: Path, *args: Any) -> None:
    """Reads a body to its end: into memory or a file, as a stream or as lines."""
    if way == "memory":
        client.send(*args)
    elif way == "download":
        client.send(*args, ntapi.download(path))
    else:
        list(getattr(client, way)(*args))


@pytest.mark.parametrize(
    ("way", "status"),
    # Events connect again after a 503.
    [(way, status) for way in ("memory", "download", "stream", "lines") for status in (503, 404)]
    + [("events", 404)],
)
def test_a_status_stands_before_an_unknown_coding(
    fault: ntapi.Client, tmp_path: Path, way: str, status: int
) -> None:
    args = ("encoding/charset", ntapi.url("status", status))
    with pytest.raises(ntapi.ApiError) as caught:
        read(fault, way, tmp_path / "f", *args)
    assert (caught.value.code, caught.value.http_status) == (codes.HTTP_ERROR, status)
    assert caught.value.retryable == (status == 503)
    assert caught.value.response is not None
    assert caught.value.response.json()["ok"] is True


@pytest.mark.parametrize("way", ["memory", "download", "stream", "lines"])
def test_an_unknown_coding_is_named_alike(fault: ntapi.Client, tmp_path: Path, way: str) -> None:
    with pytest.raises(ntapi.ApiError, match=r"encoded as 'utf-8'.*set decompression to false"):
        read(fault, way, tmp_path / "f", "encoding/charset")


@pytest.mark.parametrize("coding", ["magic", "br", "gzip"])
def test_an_empty_answer_ends_whatever_its_coding(
    fault: ntapi.Client, tmp_path: Path, coding: str
) -> None:
    for arg in (ntapi.url("status", 204), ntapi.url("status", 200), ntapi.url("chunked", 1)):
        args = ("no-body", arg, ntapi.url("coding", coding))
        assert fault.send(*args).data == b""
        assert fault.send(*args, ntapi.download(tmp_path / "f")).file == tmp_path / "f"
        assert (tmp_path / "f").read_bytes() == b""
        assert list(fault.stream(*args)) == []
        assert list(fault.lines(*args)) == []
    args = ("no-body", ntapi.url("status", 204), ntapi.url("coding", coding))
    assert list(fault.events(*args)) == []


@pytest.mark.parametrize("command", ["close-delimited", "close-delimited/torn"])
@pytest.mark.parametrize("way", ["memory", "download", "chunks", "lines"])
def test_a_body_that_ends_with_its_tls_connection(
    servers: dict[str, str], tmp_path: Path, way: str, command: str
) -> None:
    """Torn: without close_notify. Somebody may have cut the body short."""
    path = tmp_path / "f"
    with ntapi.Client(servers["fault_tls"]) as client:
        client.set_default("caFile", servers["ca"])

        def read() -> object:
            if way == "memory":
                return client.send(command).json()
            if way == "download":
                client.send(command, ntapi.download(path))
                return json.loads(path.read_bytes())
            if way == "chunks":
                return json.loads(b"".join(client.stream(command)))
            (line,) = client.lines(command)
            return line

        if command.endswith("torn"):
            with pytest.raises(ntapi.ApiError) as caught:
                read()
            assert caught.value.failure is ntapi.NetworkFailure.CUT_SHORT
            assert caught.value.retryable
            assert not path.exists()
        else:
            assert read() == {"ok": True, "text": "x" * 200}


def test_an_http_error_is_raised_unless_it_is_ignored(fault: ntapi.Client) -> None:
    with pytest.raises(ntapi.ApiError) as caught, fault.stream("status/404"):
        pass
    assert caught.value.code is codes.HTTP_ERROR
    assert caught.value.response is not None
    assert caught.value.response.json()["status"] == 404
    stream = fault.stream("status/404")
    assert stream.status == 404
    with pytest.raises(ntapi.ApiError, match="404"):
        next(stream)
    with fault.stream("status/404", ntapi.option("ignore_http_errors")) as chunks:
        assert chunks.status == 404
        assert b"as asked" in b"".join(chunks)
    with pytest.raises(ntapi.ApiError) as caught:
        list(fault.stream("x", ntapi.header("X\n", "y")))
    assert caught.value.code is codes.INVALID_REQUEST


def test_what_came_before_a_break_is_read(fault: ntapi.Client) -> None:
    chunks = fault.stream("close/in-body")
    assert len(next(chunks)) == 100
    for _ in range(2):
        with pytest.raises(ntapi.ApiError) as caught:
            next(chunks)
        assert caught.value.code is codes.NETWORK


def test_nobody_who_reads_holds_up_the_network(nginx: ntapi.Client, weather: ntapi.Client) -> None:
    with nginx.stream("256M.bin", ntapi.timeout(IDLE_TIMEOUT)) as chunks:
        next(chunks)
        weather.send("slow", ntapi.url("seconds", LONGER_THAN_IDLE))
        assert chunks.request.bytes_received < 4 << 20
        for _ in range(20):
            assert next(chunks)


def test_leaving_the_loop_cancels(nginx: ntapi.Client) -> None:
    for _ in nginx.stream("256M.bin"):
        break
    gc.collect()
    assert nginx.drain(PATIENCE) == 0
    stream = nginx.stream("256M.bin")
    request = stream.request
    del stream
    gc.collect()
    assert nginx.drain(PATIENCE) == 0
    assert request.response is not None
    assert request.response.error is not None
    assert request.response.error.code is codes.CANCELLED


def test_a_client_that_is_closed_ends_its_streams(servers: dict[str, str]) -> None:
    with ntapi.Client(servers["fault"]) as client:
        stream = client.lines("lines", ntapi.url("hold", 1))
        assert next(stream) == {"n": 1}
    with pytest.raises(ntapi.ApiError) as caught:
        list(stream)
    assert caught.value.code is codes.CANCELLED


def test_a_stream_may_be_read_on_another_thread(nginx: ntapi.Client, pattern: bytes) -> None:
    chunks = nginx.stream("pattern-8M.bin")
    pieces: list[bytes] = []
    thread = threading.Thread(target=lambda: pieces.extend(chunks))
    thread.start()
    thread.join(PATIENCE)
    assert b"".join(pieces) == pattern


def test_handlers_of_the_thread_run_while_it_waits(fault: ntapi.Client) -> None:
    responses: list[ntapi.Response] = []
    lines = fault.lines("lines", ntapi.url("pause", 100), ntapi.url("count", 3))
    fault.begin("ok", (), responses.append)
    assert len(list(lines)) == 3
    assert [response.status for response in responses] == [200]


def test_a_handler_in_the_background_may_read_a_stream(fault: ntapi.Client) -> None:
    found: list[Any] = []

    def read(_: ntapi.Response) -> None:
        found.extend(fault.lines("lines"))

    fault.begin("ok", ntapi.response_thread(ntapi.BACKGROUND), read)
    assert fault.drain(PATIENCE) == 0
    assert [value["n"] for value in found] == [1, 2, 3, 4, 5]


UNREAD = """
import sys, ntapi
how, url = sys.argv[1:]
client = ntapi.Client(url)
if how == "exit":
    chunks = client.stream("ok")
    assert chunks.status == 200
else:
    try:
        with client:
            chunks = client.stream("ok")
            # The whole body is here: it is too late for a cancel.
            assert chunks.status == 200
            assert client.perform("ok").status == 200
            if how == "error":
                raise ValueError
    except ValueError:
        pass
    assert b"".join(chunks).startswith(b'{"ok":true')
"""


@pytest.mark.parametrize("how", ["leave", "error", "exit"])
def test_an_unread_stream_holds_up_no_end(servers: dict[str, str], how: str) -> None:
    """Neither that of the client's block nor that of the process. It can still be read after it."""
    begun = time.monotonic()
    result = run_python(UNREAD, how, servers["fault"])
    assert result.returncode == 0, result.stderr
    # At exit, the library waits for five seconds for handlers that do not return.
    assert time.monotonic() - begun < 4 or how != "exit"


def test_a_dropped_stream_is_cancelled_where_warnings_are_errors(fault: ntapi.Client) -> None:
    with warnings.catch_warnings(), mock.patch("sys.unraisablehook"):
        warnings.simplefilter("error")
        for _ in fault.lines("lines", ntapi.url("count", 1), ntapi.url("hold", 1)):
            break
        gc.collect()
    assert fault.drain(PATIENCE) == 0


# JSON lines


def test_lines_are_read_however_they_are_cut(fault: ntapi.Client) -> None:
    for at in range(56):
        assert list(fault.lines("split/lines", ntapi.url("at", at))) == LINES, at
    assert list(fault.lines("split/lines", ntapi.url("each", 1))) == LINES


def test_a_bad_line_is_named_after_those_before(fault: ntapi.Client) -> None:
    lines = fault.lines("lines", ntapi.url("bad", 3), ntapi.url("hold", 1))
    assert [next(lines), next(lines)] == [{"n": 1}, {"n": 2}]
    with pytest.raises(ntapi.ApiError, match="line 3 of the stream is not JSON") as caught:
        next(lines)
    assert caught.value.code is codes.INVALID_JSON


def test_a_line_that_is_cut_off_is_none(fault: ntapi.Client) -> None:
    lines = fault.lines("lines", ntapi.url("count", 2), ntapi.url("end", "mid"))
    assert next(lines) == {"n": 1}
    with pytest.raises(ntapi.ApiError) as caught:
        next(lines)
    assert caught.value.code is codes.NETWORK


def test_a_line_is_bounded(fault: ntapi.Client) -> None:
    limit = ntapi.option("maximum_response_size", 100)
    assert len(list(fault.lines("lines", ntapi.url("count", 1000), limit))) == 1000
    with pytest.raises(ntapi.ApiError) as caught:
        list(fault.lines("endless", limit))
    assert caught.value.code is codes.RESPONSE_TOO_LARGE


def test_many_lines_arrive_in_order(fault: ntapi.Client) -> None:
    found = [value["n"] for value in fault.lines("lines", ntapi.url("count", 20_000))]
    assert found == list(range(1, 20_001))


# Server-sent events


def test_events_are_read_however_they_are_cut(fault: ntapi.Client) -> None:
    for at in range(0, 111, 2):
        args = ntapi.url("at", at), ntapi.url("token", token())
        assert list(fault.events("split/events", *args)) == EVENTS, at
    args = ntapi.url("each", 1), ntapi.url("token", token())
    assert list(fault.events("split/events", *args)) == EVENTS


@pytest.mark.parametrize("end", ["close", "reset", "mid"])
def test_a_stream_goes_on_where_its_connection_ended(fault: ntapi.Client, end: str) -> None:
    name = token()
    with fault.events("events", ntapi.url("token", name), ntapi.url("end", end)) as stream:
        found = list(stream)
    assert [event.json()["n"] for event in found] == list(range(1, 10))
    assert [event.last_event_id for event in found] == [str(n) for n in range(1, 10)]
    headers = [request["header"] for request in seen(fault, name)]
    assert [header.get("last-event-id") for header in headers] == [None, "3", "6", "9"]
    assert {header["accept"] for header in headers} == {"text/event-stream"}
    assert stream.response is not None
    assert (stream.response.status, stream.response.metrics.retries) == (204, 3)


def test_some_answers_end_it(fault: ntapi.Client) -> None:
    for args, status in [
        ((ntapi.url("fails", 9), ntapi.url("status", 404)), 404),
        ((ntapi.url("type", "text/html"),), 200),
        ((ntapi.url("fails", 9), ntapi.option("maximum_failures", 1)), 503),
    ]:
        with pytest.raises(ntapi.ApiError) as caught:
            list(fault.events("events", ntapi.url("token", token()), *args))
        assert (caught.value.code, caught.value.http_status) == (codes.HTTP_ERROR, status)


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("kind", [ntapi.Client, ntapi.AsyncClient])
def test_an_answer_in_place_of_events_is_the_services_error(
    servers: dict[str, str], kind: Any, status: int
) -> None:
    class Service(kind):  # type: ignore[misc]
        def map_service_error(self, response: ntapi.Response) -> ntapi.ApiError:
            return ntapi.ApiError("refused", response.json()["message"])

    command = f"status/{status}", ntapi.url("message", "quota")

    async def read() -> Any:
        async with Service(servers["fault"]) as client:
            stream = client.events(*command)
            with pytest.raises(ntapi.ApiError, match="quota"):
                async with stream:
                    assert [event async for event in stream] == []
            return stream.response

    if kind is ntapi.AsyncClient:
        response = asyncio.run(read())
    else:
        with Service(servers["fault"]) as client:
            stream = client.events(*command)
            with pytest.raises(ntapi.ApiError, match="quota"), stream:
                assert list(stream) == []
            response = stream.response
    assert response.error is not None
    assert (response.status, str(response.error.code)) == (status, "refused")
    assert response.json() == {"status": status, "message": "quota"}
    assert "quota" in response.text


def test_what_a_post_began_is_not_gone_on_with(fault: ntapi.Client) -> None:
    name = token()
    args = ntapi.url("token", name), ntapi.json({"prompt": "x"})
    assert len(list(fault.events("events", *args))) == 3
    assert len(list(fault.events("events", *args, ntapi.option("reconnect")))) == 9


BASIC = "Basic YW5uOnB3"


def shown(servers: dict[str, str], name: str) -> list[Optional[str]]:
    """The credentials that each connection of a stream has shown."""
    with ntapi.Client(servers["fault"]) as other:
        return [request["header"].get("authorization") for request in seen(other, name)]


@pytest.mark.parametrize("once", [False, True])
def test_each_connection_has_a_token(servers: dict[str, str], once: bool) -> None:
    name = token()

    def refresh(_: ntapi.Refresh) -> str:
        bypass = ntapi.option("bypass_authentication")
        json = client.send("token/issue", ntapi.url("name", name), bypass).json()
        return str(json["token"])

    with ntapi.Client(servers["fault"]) as client:
        client.authenticator = ntapi.Authenticator(refresh)
        args = [ntapi.url("token", name), ntapi.url("name", name), ntapi.url("once", once or None)]
        assert [event.json()["n"] for event in client.events("events", args)] == list(range(1, 10))
        numbers = [1, 1, 2, 2, 3, 3, 4] if once else [1, 1, 1, 1]
        assert shown(servers, name) == [f"Bearer {name}-{number}" for number in numbers]


def test_each_connection_has_what_was_answered(servers: dict[str, str]) -> None:
    asked = []

    class Asking(ntapi.Client):
        decision_kinds = ntapi.DecisionKind.CHALLENGE

        def decide(self, decision: ntapi.Decision) -> None:
            asked.append(decision.challenge)
            decision.use("ann", "pw")

    name = token()
    args = [ntapi.url("token", name), ntapi.url("unless", BASIC)]
    with Asking(servers["fault"]) as client:
        assert len(list(client.events("events", args))) == 9
        assert shown(servers, name) == [None] + [BASIC] * 4
        target = f"{servers['fault_other']}/events?token={name}x&unless=Basic%20YW5uOnB3"
        one = ntapi.option("maximum_redirects", 1)
        assert len(list(client.events("redirect/to", ntapi.url("url", target), one))) == 9
        assert shown(servers, f"{name}x") == [None] + [BASIC] * 4
        assert len(asked) == 2


def test_each_connection_trusts_what_was_trusted(servers: dict[str, str]) -> None:
    asked = []

    class Trusting(ntapi.Client):
        decision_kinds = ntapi.DecisionKind.CHALLENGE

        def decide(self, decision: ntapi.Decision) -> None:
            asked.append(decision.challenge)
            decision.trust()

    with Trusting(servers["fault_tls"]) as client:
        client.set_default("caFile", None)
        args = [ntapi.url("token", token()), ntapi.url("whole", 1)]
        assert len(list(client.events("events", args))) == 9
    assert len(asked) == 1


def test_a_pause_ends_with_a_close(fault: ntapi.Client) -> None:
    name = token()
    events = fault.events("events", ntapi.url("token", name), ntapi.url("retry", 3_600_000))
    assert [next(events).last_event_id for _ in range(3)] == ["1", "2", "3"]
    started = time.monotonic()
    events.close()
    events.close()
    assert list(events) == []
    assert time.monotonic() - started < PATIENCE
    assert len(seen(fault, name)) == 1


def test_an_event_is_a_value() -> None:
    event = ServerSentEvent("add", '{"a": 1}', "5")
    assert event.json() == {"a": 1}
    assert event == ServerSentEvent("add", '{"a": 1}', "5")
    assert event != ServerSentEvent("add", '{"a": 1}', "6")
    assert event != "add"
    assert len({event, ServerSentEvent("add", '{"a": 1}', "5")}) == 1
    assert repr(event) == "ServerSentEvent(type='add', data='{\"a\": 1}', last_event_id='5')"
    with pytest.raises(ValueError, match="Expecting value"):
        _ = ServerSentEvent(data="x").json()


# The process


MEMORY = """
import resource, sys, time
import ntapi

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

with ntapi.Client(sys.argv[1]) as client:
    def read(size):
        total = 0
        with client.stream("zeros", ntapi.url("size", size)) as chunks:
            for number, chunk in enumerate(chunks):
                total += len(chunk)
                # Slower than the network: a look at every eighth byte.
                assert sum(chunk[::8]) == 0
        assert total == size, total
    read(1 << 23)
    before = peak()
    read(1 << 30)
    print(peak() - before)
"""


def test_a_large_body_takes_little_memory(servers: dict[str, str]) -> None:
    """A GB through a slow reader."""
    grown = int(run_python(MEMORY, servers["fault"]).stdout)
    assert grown < 4096, f"{grown} KB"


def test_a_process_may_end_amid_streams(servers: dict[str, str]) -> None:
    program = """
import sys, ntapi
client = ntapi.Client(sys.argv[1])
lines = client.lines("lines", ntapi.url("hold", 1))
events = client.events("events", ntapi.url("hold", 1), ntapi.url("token", "exit"))
print(next(lines)["n"], next(events).data)
"""
    ended = run_python(program, servers["fault"])
    assert ended.stdout.strip() == '1 {"n":1}'
    assert ended.stderr == ""


def test_a_slow_handler_in_the_background_holds_up_no_stream(fault: ntapi.Client) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow(_: ntapi.Response) -> None:
        entered.set()
        assert leave.wait(PATIENCE)

    fault.begin("ok", ntapi.response_thread(ntapi.BACKGROUND), slow)
    assert entered.wait(PATIENCE)
    with fault.stream("ok", ntapi.timeout(IDLE_TIMEOUT, "total")) as chunks:
        content = b"".join(chunks)
    leave.set()
    assert content == fault.send("ok").data


# Connecting again and again


def test_thousands_of_connections_keep_nothing() -> None:
    """A request does not keep the header lines of earlier connections, however they are read, nor
    anything else of them.
    """
    connections = 3000
    count = 0
    stub = ntapi.testing.Stub()

    def answer(request: ntapi.testing.StubRequest) -> ntapi.testing.Answer:
        nonlocal count
        count += 1
        stub.forget_requests()
        return ntapi.testing.Answer(
            200 if count <= connections else 204,
            data=b"retry: 0\ndata: x\n\n",
            headers={"Content-Type": "text/event-stream", "X-Number": str(count)},
        )

    stub.on("GET", "**").answer_with(answer)
    kept, live = set(), set()
    clock = ntapi.testing.ManualClock()

    def end_pauses() -> None:
        for _ in range(connections):
            assert clock.wait_for_sleepers()
            clock.advance(1)

    threading.Thread(target=end_pauses).start()
    client = ntapi.Client("https://api.test", stub=stub, clock=clock)
    with client, client.events("e") as events:
        for number, _ in enumerate(events, 1):
            assert int(events.headers["X-Number"]) >= number
            request = events.request
            assert int(request.received_headers["X-Number"]) >= number
            assert (request.received_status, request.received_reason_phrase) == (200, "")
            if number % 500 == 0:
                kept.add(lib.ntapi_live_handles(HANDLE_KIND_HEADERS))
                live.add(lib.ntapi_live_handles(HANDLE_KIND_ANY))
    assert kept == {0}
    # Only handles of the present connection come and go. One kept for each would be thousands.
    assert max(live) - min(live) < 50
