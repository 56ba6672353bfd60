"""What the mock server understands and sends: URLs, HEAD, informational answers, GOAWAY."""

from __future__ import annotations

import http.client
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("h2")
pytest.importorskip("trustme")

import h2.config
import h2.connection
import h2.events
from hyperframe.frame import GoAwayFrame

from conftest import PATIENCE
from mock_server_wire import connected, curl, http2, raw, until_end, until_mark
from ntapi.testing import Server, Stub
from ntapi.testing.server import Fault, ServerAnswer

HEAD = [(":method", "GET"), (":scheme", "http"), (":authority", "h"), (":path", "/x")]


# GOAWAY of a client.


def test_a_client_goes_away_and_asks_at_once(stub: Stub) -> None:
    stub.on("GET", "/x").answer(text="hello")
    server = Server(stub)
    config = h2.config.H2Configuration(header_encoding="utf-8")
    protocol = h2.connection.H2Connection(config)
    protocol.initiate_connection()
    first = protocol.data_to_send()
    protocol.send_headers(1, HEAD, end_stream=True)
    seen: list[h2.events.Event] = []
    with server, connected(server) as sock:
        sock.sendall(first + GoAwayFrame(0, 0, 0).serialize() + protocol.data_to_send())
        while not any(isinstance(event, h2.events.StreamEnded) for event in seen):
            data = sock.recv(65536)
            assert data, seen
            seen += protocol.receive_data(data)
    heads = [dict(event.headers) for event in seen if isinstance(event, h2.events.ResponseReceived)]
    assert [head[":status"] for head in heads] == ["200"]
    # What was due before the GOAWAY has come, too.
    assert any(isinstance(event, h2.events.SettingsAcknowledged) for event in seen)


NODE = """
const client = require("http2").connect(process.argv[2]);
client.on("connect", () => {
  const stream = client.request({ ":path": "/x" });
  client.close();
  stream.on("response", (headers) => console.log(headers[":status"]));
  stream.on("error", (error) => console.log(error.code));
  stream.resume();
});
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_node_closes_at_once(stub: Stub, tmp_path: Path) -> None:
    stub.on("GET", "/x").answer(text="hello")
    program = tmp_path / "client.js"
    program.write_text(NODE, encoding="utf-8")
    server = Server(stub)
    with server as url:
        done = subprocess.run(
            ["node", str(program), url],
            capture_output=True, text=True, check=True, timeout=PATIENCE,
        )  # fmt: skip
    assert done.stdout == "200\n"


# What has no body.


def test_an_answer_of_the_server_to_head_has_no_body() -> None:
    server = Server().start()
    server.enqueue(ServerAnswer(fault=Fault("goaway")))
    client = http.client.HTTPConnection("127.0.0.1", server.port)
    try:
        for expected in (500, 501):
            client.request("HEAD", "/x")
            answer = client.getresponse()
            assert (answer.status, answer.read()) == (expected, b"")
            assert int(answer.headers["Content-Length"]) > 0
    finally:
        client.close()
        server.close()
    assert [(each.connection, each.exchange) for each in server.requests] == [(1, 1), (1, 2)]
    assert [each.outcome for each in server.requests] == ["answered", "answered"]


def test_an_answer_to_head_over_http_2_has_no_body() -> None:
    server = Server().start()
    client = http2(server)
    try:
        for _ in range(2):
            client.head("/x")
            seen = client.events(h2.events.StreamEnded)
            data = [event.data for event in seen if isinstance(event, h2.events.DataReceived)]
            assert b"".join(data) == b""
            answer = next(event for event in seen if isinstance(event, h2.events.ResponseReceived))
            assert dict(answer.headers)[":status"] == "501"
    finally:
        client.socket.close()
        server.close()
    assert [(each.connection, each.exchange) for each in server.requests] == [(1, 1), (1, 2)]


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_a_body(stub: Stub, status: int) -> None:
    answer = ServerAnswer(status, text="body", chunked=True, headers={"Connection": "close"})
    stub.on("GET").add(answer)
    server = Server(stub)
    with server:
        assert raw(server).endswith(b"\r\n\r\n")
        client = http2(server)
        with client.socket:
            client.get("/x")
            seen = client.events(h2.events.StreamEnded)
    assert not any(isinstance(event, h2.events.DataReceived) and event.data for event in seen)


# URLs.


@pytest.mark.parametrize("version", ["--http1.1", "--http2-prior-knowledge"])
def test_a_url_with_other_letters(stub: Stub, version: str) -> None:
    stub.on("GET", "find?q=Zürich").answer(text="found")
    server = Server(stub)
    with server as url:
        # curl sends their bytes as they are.
        done = curl(version, f"{url}/find?q=Zürich")
        assert done.stdout.endswith(b"found"), done.stdout
    (request,) = server.requests
    assert request.target == "/find?q=Z%C3%BCrich"
    assert request.url == f"{server.url}/find?q=Z%C3%BCrich"


def test_letters_of_a_request_line_come_in_pieces(stub: Stub) -> None:
    stub.on("POST").answer(text="ok")
    server = Server(stub)
    one = "POST /ä HTTP/1.1\r\nHost: h\r\nX-Letter: ä\r\nContent-Length: 2\r\n\r\nä".encode()
    with server, connected(server) as sock:
        for index in range(len(one)):
            sock.sendall(one[index : index + 1])
        until_mark(sock, b"ok")
        sock.sendall(one * 2)
        sock.shutdown(1)
        assert until_end(sock).count(b"200 OK") == 2
    assert [request.target for request in server.requests] == ["/%C3%A4"] * 3
    assert [request.body.decode() for request in server.requests] == ["ä"] * 3
    assert {request.headers.raw[1] for request in server.requests} == {
        (b"X-Letter", "ä".encode()),
    }


TARGETS = ["//[x", "//", "/?", "/%", "/%zz", "/[x]", '/{a}|b"<>^`', "x:y", "HTTP://h/x"]


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_is_answered(stub: Stub, target: str) -> None:
    stub.on(None).answer(text="ok")
    server = Server(stub)
    with server:
        with connected(server) as sock:
            for _ in range(2):
                sock.sendall(f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
                assert until_mark(sock, b"\r\n\r\nok").startswith(b"HTTP/1.1 200 OK")
        client = http2(server)
        with client.socket:
            client.get(target)
            client.events(h2.events.StreamEnded)
    assert [request.target for request in server.requests] == [target] * 3


# Informational answers.


def test_the_body_is_asked_for_over_http_2() -> None:
    server = Server()
    head = [(":method", "POST"), *HEAD[1:], ("expect", "100-Continue")]
    with server:
        server.enqueue(ServerAnswer(text="all"), ServerAnswer(413, before_body=True))
        client = http2(server)
        with client.socket:
            client.protocol.send_headers(1, head)
            client.flush()
            asked = client.events(h2.events.InformationalResponseReceived)[-1]
            assert isinstance(asked, h2.events.InformationalResponseReceived)
            assert dict(asked.headers) == {":status": "100"}
            client.protocol.send_data(1, b"body", end_stream=True)
            client.flush()
            client.events(h2.events.StreamEnded)
            client.protocol.send_headers(3, head)
            client.flush()
            seen = client.events(h2.events.StreamReset)
    assert not any(isinstance(each, h2.events.InformationalResponseReceived) for each in seen)
    assert [request.body for request in server.requests] == [b"body", b""]


def test_a_client_of_http_1_0_gets_no_informational_answer() -> None:
    server = Server()
    with server:
        server.enqueue(ServerAnswer(text="body", informational=[(103, {"Link": "</a.css>"})]))
        answer = raw(server, "GET /x HTTP/1.0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
