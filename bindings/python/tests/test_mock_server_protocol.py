"""What the mock server understands and sends: URLs, HEAD, informational answers, GOAWAY."""

from __future__ import annotations

import pytest

pytest.importorskip("h2")
pytest.importorskip("trustme")

import h2.config
import h2.connection
import h2.events

from mock_server_wire import connected, curl, http2, until_end, until_mark
from ntapi.testing import Server, Stub

HEAD = [(":method", "GET"), (":scheme", "http"), (":authority", "h"), (":path", "/x")]


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
