"""The mock server sends the trailers of answers, of its stub's and of recordings."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("h2")
pytest.importorskip("trustme")

import h2.events

import ntapi
from mock_server_wire import http2, raw
from ntapi.testing import Recorder, Server, Stub
from ntapi.testing.server import ServerAnswer

GET = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
SUM = (("x-end", "1"), ("x-sum", "7"))


def over_http_2(server: Server) -> tuple[int, bytes, tuple[tuple[str, str], ...]]:
    """Status, body and trailers of an answer over HTTP/2, whose names are in lower case."""
    client = http2(server)
    with client.socket:
        client.get("/x")
        seen = client.events(h2.events.StreamEnded)
    status, body, trailers = 0, b"", []
    for event in seen:
        if isinstance(event, h2.events.ResponseReceived):
            status = int(dict(event.headers)[":status"])
        elif isinstance(event, h2.events.DataReceived):
            body += event.data
        elif isinstance(event, h2.events.TrailersReceived):
            trailers = event.headers
    return status, body, tuple(trailers)


def test_trailers_of_an_answer_are_sent(stub: Stub) -> None:
    stub.on(None).answer(text="body", trailers=SUM, headers={"Connection": "close"})
    server = Server(stub)
    with server as url:
        answer = raw(server)
        assert b"Content-Length" not in answer
        assert answer.endswith(b"4\r\nbody\r\n0\r\nx-end: 1\r\nx-sum: 7\r\n\r\n")
        # An answer over HTTP/1.0, or to a HEAD, cannot have trailers.
        assert raw(server, GET.replace("1.1", "1.0")).endswith(b"\r\n\r\nbody")
        assert raw(server, GET.replace("GET", "HEAD")).endswith(b"\r\n\r\n")
        with ntapi.Client(url) as client:
            assert client.send("x", ntapi.option("raw_data")).trailers.lines == SUM
    assert {request.outcome for request in server.requests} == {"answered"}
    server.verify()


def test_a_length_leaves_no_room_for_trailers(stub: Stub) -> None:
    lines = {"Content-Length": "4", "Connection": "close"}
    stub.on("GET").answer(text="body", trailers=SUM, headers=lines)
    server = Server(stub)
    problem = r"GET http://h/x: the answer has a Content-Length.*: leave it out"
    with pytest.raises(AssertionError, match=problem), server:  # noqa: PT012 - the end of the block
        assert raw(server).endswith(b"\r\n\r\nbody")
        assert over_http_2(server) == (200, b"body", SUM)


@pytest.mark.parametrize(
    "name",
    ["Connection", "Content-Length", "Host", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding"],
)
@pytest.mark.parametrize("value", ["chunked", "4"])
def test_what_is_about_the_connection_is_no_trailer(stub: Stub, name: str, value: str) -> None:
    trailers = (SUM[0], (name, value), SUM[1])
    stub.on("GET").answer(text="body", trailers=trailers, headers={"Connection": "close"})
    server = Server(stub).start()
    try:
        assert raw(server).endswith(b"4\r\nbody\r\n0\r\nx-end: 1\r\nx-sum: 7\r\n\r\n")
        assert over_http_2(server) == (200, b"body", SUM)
    finally:
        server.close()
    assert [request.outcome for request in server.requests] == ["answered", "answered"]
    with pytest.raises(AssertionError) as caught:
        server.verify()
    assert str(caught.value).count(f"GET http://h/x: {name} is about the connection") == 2


@pytest.mark.parametrize("name", ["r.json", "r.har", "r.yaml"])
def test_trailers_of_a_recording_are_sent(tmp_path: Path, name: str) -> None:
    if name.endswith(".yaml"):
        pytest.importorskip("yaml")
    first = Server()
    with (
        first as url,
        Recorder(tmp_path / name) as recorder,
        ntapi.Client(url, recorder=recorder) as client,
    ):
        first.enqueue(ServerAnswer(text="body", trailers=SUM))
        assert client.send("x", ntapi.option("raw_data")).trailers.lines == SUM
    server = Server(Stub.from_recording(tmp_path / name, any_origin=True, repeats_last=True))
    with server as url, ntapi.Client(url) as client:
        assert client.send("x", ntapi.option("raw_data")).trailers.lines == SUM
        assert over_http_2(server) == (200, b"body", SUM)
    server.verify()
