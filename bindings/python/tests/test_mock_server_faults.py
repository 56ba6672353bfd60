"""The faults of the mock server, as a socket sees them."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("h2")
pytest.importorskip("trustme")

import h2.events

from mock_server_wire import RESET, connected, http2, raw, until_end, until_mark
from ntapi.testing import Answer, Server, Stub
from ntapi.testing.server import Fault, Latch, ServerAnswer

GET = b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 10\r\n\r\n"
BODY = b"0123456789"


def failing(fault: Fault) -> ServerAnswer:
    return ServerAnswer(data=BODY, fault=fault)


PLACES = [
    ("before", 0, b""),
    ("head", 0, b""),
    ("head", 12, HEAD[:12]),
    ("body", 0, HEAD),
    ("body", 4, HEAD + BODY[:4]),
    ("body", 99, HEAD + BODY),
    ("end", 0, HEAD + BODY),
]


@pytest.mark.parametrize(("place", "after", "seen"), PLACES)
@pytest.mark.parametrize(("kind", "end"), [("close", b""), ("half_close", b""), ("reset", RESET)])
def test_a_connection_breaks(kind: str, end: bytes, place: str, after: int, seen: bytes) -> None:
    server = Server()
    with server:
        server.enqueue(failing(Fault(kind, place, after=after)))  # type: ignore[arg-type]
        assert raw(server) == seen + end
        assert server.take_request().wait_for_end() == "fault"


@pytest.mark.parametrize(("place", "after", "seen"), PLACES)
def test_an_answer_stalls(place: str, after: int, seen: bytes) -> None:
    server = Server()
    with server:
        server.enqueue(failing(Fault("stall", place, after=after)))  # type: ignore[arg-type]
        with connected(server) as sock:
            sock.sendall(GET)
            assert not seen or until_mark(sock, seen) == seen
            request = server.take_request()
            assert request.outcome is None
            # The client closes its side. Nothing more has come before that.
            sock.shutdown(1)
            assert until_end(sock) == b""
        assert request.wait_for_end() == "hung up"


def test_a_half_closed_connection_is_still_read() -> None:
    server = Server()
    with server, connected(server) as sock:
        server.enqueue(failing(Fault("half_close", "body", after=4)))
        sock.sendall(GET)
        assert until_end(sock) == HEAD + BODY[:4]
        # A closed socket would answer with a RST. The server takes what comes, until the end.
        sock.sendall(b"x" * 500_000)
        assert server.requests[0].outcome is None
        sock.shutdown(1)
        assert server.requests[0].wait_for_end() == "fault"
        assert sock.recv(1) == b""


def test_a_half_closed_connection_of_http_2_is_still_read(stub: Stub) -> None:
    stub.on("GET", "/x").add(failing(Fault("half_close", "body", after=4)))
    stub.on("POST", "/y").answer()
    server = Server(stub)
    with server:
        client = http2(server)
        with client.socket:
            client.get("/x")
            assert _answer(until_end(client.socket)) == (_whole()[0], BODY[:4], False)
            # The server takes what comes, and answers nothing.
            client.protocol.ping(b"12345678")
            client.post("/y", b"x" * 50_000)
            requests = [server.take_request() for _ in range(2)]
            assert len(requests[1].body) == 50_000
            client.socket.shutdown(1)
            assert client.socket.recv(1) == b""
        ends = [request.wait_for_end() for request in requests]
    assert ends == ["fault", "hung up"]


def test_a_fault_comes_after_a_latch() -> None:
    latch = Latch()
    server = Server()
    with server, connected(server) as sock:
        server.enqueue(ServerAnswer(hold=latch, fault=Fault("reset")))
        sock.sendall(GET)
        latch.wait_until_reached()
        latch.release()
        assert until_end(sock) == RESET


def test_a_chunked_body_breaks() -> None:
    server = Server()
    with server:
        server.enqueue(ServerAnswer(data=BODY, chunked=True, fault=Fault("close", "body", after=3)))
        server.enqueue(
            ServerAnswer(data=BODY, chunked=True, fault=Fault("close", "body", after=99))
        )
        assert raw(server).endswith(b"chunked\r\n\r\n3\r\n012\r\n")
        assert raw(server).endswith(b"chunked\r\n\r\na\r\n0123456789\r\n")


@pytest.mark.parametrize(
    ("place", "seen"), [("body_delay", b"\r\n\r\n"), ("trailers_delay", b"a\r\n0123456789\r\n")]
)
def test_a_delay_is_at_its_place(place: str, seen: bytes) -> None:
    server = Server()
    with server, connected(server) as sock:
        server.enqueue(ServerAnswer(data=BODY, chunked=True, **{place: 3600}))
        sock.sendall(GET)
        assert until_mark(sock, seen).endswith(seen)
        assert server.take_request().outcome is None
        sock.shutdown(1)
        assert until_end(sock) == b""
        assert server.requests[0].wait_for_end() == "hung up"


def test_a_delay_ends() -> None:
    server = Server()
    with server:
        server.enqueue(ServerAnswer(data=BODY, delay=0.01, body_delay=0.01, trailers_delay=0.01))
        with connected(server) as sock:
            sock.sendall(GET)
            assert until_mark(sock, BODY) == HEAD + BODY
            assert server.take_request().wait_for_end() == "answered"


def test_more_was_announced_than_comes() -> None:
    server = Server()
    with server:
        server.enqueue(ServerAnswer(text="ab", headers={"Content-Length": "5"}))
        answer = raw(server)
    assert answer.endswith(b"\r\n\r\nab" + RESET)


@pytest.mark.parametrize(
    ("fault", "code", "body"),
    [
        (Fault("reset_stream"), 2, b""),
        (Fault("reset_stream", code=7), 7, b""),
        (Fault("reset_stream", "body", after=4, code=8), 8, BODY[:4]),
        (Fault("reset_stream", "end", code=0), 0, BODY),
    ],
)
def test_a_stream_is_reset(fault: Fault, code: int, body: bytes) -> None:
    server = Server()
    with server:
        server.enqueue(failing(fault), Answer(text="next"))
        client = http2(server)
        with client.socket:
            client.get("/x")
            events = client.events(h2.events.StreamReset)
            assert _body(events) == body
            assert [e.error_code for e in events if isinstance(e, h2.events.StreamReset)] == [code]
            # The connection goes on.
            client.get("/y")
            assert _body(client.events(h2.events.StreamEnded)) == b"next"


@pytest.mark.parametrize(
    ("fault", "last", "body"),
    [
        (Fault("goaway"), 1, BODY),
        (Fault("goaway", code=11), 1, BODY),
        (Fault("goaway", "body", after=4), 1, BODY),
        (Fault("goaway", "end"), 1, BODY),
        (Fault("goaway", last_stream=0), 0, b""),
        (Fault("goaway", "body", after=4, last_stream=0), 0, BODY[:4]),
    ],
)
def test_a_connection_goes_away(fault: Fault, last: int, body: bytes) -> None:
    server = Server()
    with server:
        server.enqueue(failing(fault))
        client = http2(server)
        with client.socket:
            client.get("/x")
            # After GOAWAY, h2 refuses what is still allowed, so the frames are read by hand.
            received = until_end(client.socket)
    frames = _frames(received)
    away = [payload for kind, payload in frames if kind == 7]
    assert [int.from_bytes(payload[:4], "big") for payload in away] == [last]
    assert int.from_bytes(away[0][4:8], "big") == fault.code
    assert b"".join(payload for kind, payload in frames if kind == 0) == body


@pytest.mark.parametrize(("place", "after", "seen"), PLACES)
@pytest.mark.parametrize(("kind", "end"), [("close", b""), ("half_close", b""), ("reset", RESET)])
def test_a_connection_of_http_2_breaks(
    kind: str, end: bytes, place: str, after: int, seen: bytes
) -> None:
    server = Server()
    with server:
        server.enqueue(failing(Fault(kind, place, after=after)))  # type: ignore[arg-type]
        client = http2(server)
        with client.socket:
            client.get("/x")
            received = until_end(client.socket)
        assert server.take_request().wait_for_end() == "fault"
    assert received.endswith(RESET) == (end == RESET)
    assert _answer(received[: len(received) - len(end)]) == _expected(place, after, seen)


@pytest.mark.parametrize(
    ("place", "after", "seen"), [each for each in PLACES if each[0] in ("before", "body")]
)
def test_a_stream_stalls_alone(stub: Stub, place: str, after: int, seen: bytes) -> None:
    stub.on("GET", "/x").add(failing(Fault("stall", place, after=after)))  # type: ignore[arg-type]
    stub.on("GET", "/y").answer(text="next")
    server = Server(stub)
    with server:
        client = http2(server)
        with client.socket:
            stalled = client.get("/x")
            expected = _expected(place, after, seen)
            received = b""
            while _answer(received) != expected:
                received += client.receive()
            first = server.take_request()
            for path in ("/y", "/y"):
                # Another stream is answered, before and after the client has given up.
                stream = client.get(path)
                events = client.events(h2.events.StreamEnded)
                assert {getattr(event, "stream_id", stream) for event in events} == {stream}
                assert _body(events) == b"next"
                if first.outcome is None:
                    client.protocol.reset_stream(stalled, 8)
                    client.flush()
                    assert first.wait_for_end() == "hung up"
        assert first.reset_code == 8


def test_a_stream_stalls_at_its_end(stub: Stub) -> None:
    stub.on("GET", "/x").add(failing(Fault("stall", "end")))
    stub.on("GET", "/y").answer(text="next")
    server = Server(stub)
    with server:
        client = http2(server)
        with client.socket:
            client.get("/x")
            assert _body(client.events(h2.events.StreamEnded)) == BODY
            client.get("/y")
            assert _body(client.events(h2.events.StreamEnded)) == b"next"
            first = server.take_request()
            # The stream has ended, so only the end of the connection is left to wait for.
            assert first.outcome is None
        assert first.wait_for_end() == "hung up"


@pytest.mark.parametrize("kind", ["close", "stall"])
@pytest.mark.parametrize("after", [0, 12, 9999])
def test_nothing_comes_behind_a_part_of_a_head(kind: str, after: int) -> None:
    # The client would take it for the rest of the frame.
    cut, held = Latch(), Latch()
    fault = Fault(kind, "head", after=after)  # type: ignore[arg-type]
    server = Server()
    with server:
        server.enqueue(ServerAnswer(data=BODY, hold_trailers=cut, fault=fault))
        client = http2(server)
        with client.socket:
            client.get("/cut")
            cut.wait_until_reached()
            server.enqueue(ServerAnswer(text="held", hold=held))
            client.get("/held")
            held.wait_until_reached()
            held.release()
            # The server answers it at once, if it may send.
            client.protocol.ping(b"12345678")
            server.enqueue(Answer())
            client.get("/last")
            requests = [server.take_request() for _ in range(3)]
            if kind == "close":
                cut.release()
            else:
                client.socket.shutdown(1)
            received = until_end(client.socket)
        ends = [request.wait_for_end() for request in requests]
    assert ends == ["fault" if kind == "close" else "hung up", "hung up", "hung up"]
    assert _answer(received) == (_whole()[0][:after], b"", False)


def test_a_connection_of_http_2_breaks_for_all_streams() -> None:
    latch = Latch()
    server = Server()
    with server:
        server.enqueue(ServerAnswer(hold=latch), failing(Fault("reset", "head", after=5)))
        client = http2(server)
        with client.socket:
            client.get("/held")
            latch.wait_until_reached()
            client.get("/reset")
            assert until_end(client.socket).endswith(RESET)
        ends = [request.wait_for_end() for request in server.requests]
    assert ends == ["hung up", "fault"]


def test_a_fault_of_http_2_is_reported_over_http_1() -> None:
    server = Server().start()
    server.enqueue(failing(Fault("goaway")))
    try:
        with connected(server) as sock:
            sock.sendall(GET)
            assert re.match(rb"HTTP/1.1 500 .*needs HTTP/2", until_mark(sock, b"/1\n"), re.DOTALL)
    finally:
        server.close()
    with pytest.raises(AssertionError, match="goaway needs HTTP/2"):
        server.verify()


@pytest.mark.parametrize(("kind", "seen"), [("close", b""), ("reset", RESET)])
def test_a_connection_fails_before_a_request(kind: str, seen: bytes) -> None:
    server = Server()
    with server:
        server.fail_connections(kind, 2)  # type: ignore[arg-type]
        assert [raw(server), raw(server)] == [seen, seen]
        assert server.requests == []
        server.enqueue(Answer(headers={"Connection": "close"}))
        assert raw(server).startswith(b"HTTP/1.1 200 OK")


def _whole() -> tuple[bytes, bytes, bool]:
    """An answer over HTTP/2 without a fault."""
    server = Server()
    with server:
        server.enqueue(ServerAnswer(data=BODY))
        client = http2(server)
        with client.socket:
            client.get("/x")
            received = b""
            while not _answer(received)[2]:
                received += client.receive()
    return _answer(received)


def _expected(place: str, after: int, seen: bytes) -> tuple[bytes, bytes, bool]:
    """The part of an answer that comes over HTTP/2, if `seen` comes over HTTP/1.1."""
    head, body, _ = _whole()
    if place in ("before", "head"):
        return head[:after], b"", False
    assert body == BODY
    return head, seen.removeprefix(HEAD), place == "end"


def _answer(received: bytes) -> tuple[bytes, bytes, bool]:
    """The frames of a head, the body, and whether the stream has ended. Only a frame of a head may
    be cut off.
    """
    head, body, is_ended = b"", b"", False
    while received:
        end = 9 + int.from_bytes(received[:3], "big")
        frame, received = received[:end], received[end:]
        kind = frame[3]
        assert kind in (0, 1, 4), frame
        if kind == 1:
            head += frame
        else:
            assert len(frame) == end
        if kind == 0:
            body += frame[9:]
        is_ended = is_ended or (kind < 4 and bool(frame[4] & 1))
    return head, body, is_ended


def _body(events: list[h2.events.Event]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, h2.events.DataReceived))


def _frames(received: bytes) -> list[tuple[int, bytes]]:
    """The kind and the payload of each frame (RFC 9113, 4.1)."""
    frames = []
    while received:
        end = 9 + int.from_bytes(received[:3], "big")
        frames.append((received[3], received[9:end]))
        received = received[end:]
    return frames
