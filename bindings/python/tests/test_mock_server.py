"""The mock server: the stub on a real port, the queue, the log, the latches."""

from __future__ import annotations

import copy
import http.client
import json
import logging
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("h2")
pytest.importorskip("trustme")

import h2.events

import ntapi
from conftest import PATIENCE
from mock_server_wire import RESET, connected, http2, raw, until_end, until_mark
from ntapi.testing import Answer, ManualClock, Recorder, Server, Stub, StubFault
from ntapi.testing.server import Fault, Latch, ReceivedRequest, ServerAnswer

if TYPE_CHECKING:
    from ntapi.testing.server._answer import Place

GET = b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"


def ask(server: Server, method: str, path: str, *args: Any, **options: Any) -> tuple[int, bytes]:
    """Status and body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request(method, path, *args, **options)
    answer = connection.getresponse()
    try:
        return answer.status, answer.read()
    finally:
        connection.close()


def test_the_stub_answers_on_a_port(stub: Stub) -> None:
    stub.on("GET", "find?q=London").answer(json={"name": "London"}, headers={"X-A": "1"})
    stub.on("POST", "notes", json={"title": "x"}).answer(201)
    server = Server(stub)
    with server as url:
        assert url == server.url == f"http://127.0.0.1:{server.port}"
        assert ask(server, "GET", "/v1/find?q=London&x=1") == (200, b'{"name":"London"}')
        assert ask(server, "POST", "/notes", '{ "title": "x" }') == (201, b"")
    assert [request.method for request in stub.requests] == ["GET", "POST"]


def test_a_request_without_a_rule_is_answered_with_the_difference(stub: Stub) -> None:
    stub.on("GET", "find?q=London")
    server = Server(stub)
    url = server.start().url
    status, body = ask(server, "GET", "/v1/find?q=Oslo")
    server.close()
    with pytest.raises(AssertionError, match=r"find\?q=London was never requested; no stub has"):
        server.verify()
    assert status == 501
    assert body.decode().startswith(f"no stub matches GET {url}/v1/find?q=Oslo; the nearest: GET")
    assert not server.requests[0].is_matched


def test_an_error_of_the_block_is_not_replaced() -> None:
    server = Server()
    with pytest.raises(ZeroDivisionError), server:  # noqa: PT012 - the block is the subject
        server.enqueue(Answer())
        raise ZeroDivisionError


def test_the_queue_comes_before_the_rules(stub: Stub) -> None:
    stub.on(None).answer(text="rule")
    server = Server(stub)
    with server:
        server.enqueue(Answer(text="1"), ServerAnswer(text="2"), Answer(404))
        answers = [ask(server, "GET", path) for path in ("/a", "/b", "/c", "/d")]
    assert answers == [(200, b"1"), (200, b"2"), (404, b""), (200, b"rule")]


def test_what_is_left_in_the_queue_is_reported() -> None:
    server = Server()
    with pytest.raises(AssertionError, match="2 answers of the queue were never asked for"), server:
        server.enqueue(Answer(), Answer())


def test_a_scenario_fails_twice_and_then_works(stub: Stub) -> None:
    stub.on("GET", "x").answer(503).add(ServerAnswer(fault=Fault("reset"))).answer(text="works")
    server = Server(stub)
    with server:
        assert ask(server, "GET", "/x")[0] == 503
        with pytest.raises(ConnectionError):
            ask(server, "GET", "/x")
        assert ask(server, "GET", "/x") == ask(server, "GET", "/x") == (200, b"works")


def test_a_function_answers(stub: Stub) -> None:
    stub.on("PUT").answer_with(lambda request: ServerAnswer(data=request.body, chunked=True))
    server = Server(stub)
    with server:
        assert ask(server, "PUT", "/x", b"\0\xff" * 100_000) == (200, b"\0\xff" * 100_000)


def test_an_assertion_in_a_function_fails_the_test(stub: Stub, unraisable: Any) -> None:
    def wrong(request: Any) -> Any:
        raise AssertionError(request.method)

    stub.on("PUT").answer_with(wrong)
    server = Server(stub)
    with (
        pytest.raises(AssertionError, match="wrong has raised AssertionError: PUT") as caught,
        server,
    ):
        assert ask(server, "PUT", "/x")[0] == 500
    assert caught.value.__cause__ is unraisable.errors[0]


def test_the_log_has_what_came() -> None:
    server = Server()
    with server:
        server.enqueue(Answer(), Answer(), Answer())
        head = "POST /a%20b?c HTTP/1.1\r\nhost: api.test\r\nX-One: 1\r\nx-ONE: \xe9\r\n"
        with connected(server) as sock:
            sock.sendall(f"{head}Content-Length: 2\r\n\r\nhi".encode("latin-1"))
            until_mark(sock, b"\r\n\r\n")
            chunked = "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-T: 1\r\n\r\n"
            sock.sendall((head + chunked).encode("latin-1"))
            until_mark(sock, b"\r\n\r\n")
        assert ask(server, "GET", "/")[0] == 200
    first, second, third = server.requests
    assert (first.method, first.target, first.url) == (
        "POST",
        "/a%20b?c",
        "http://api.test/a%20b?c",
    )
    assert first.headers.raw[1:3] == ((b"X-One", b"1"), (b"x-ONE", b"\xe9"))
    assert (first.body, second.body, second.trailers["x-t"]) == (b"hi", b"hi", "1")
    numbers = [(each.connection, each.exchange) for each in server.requests]
    assert numbers == [(1, 1), (1, 2), (2, 1)]
    assert (third.http_version, third.tls, third.outcome) == (1.1, None, "answered")


@pytest.mark.parametrize("status", [200, 500])
def test_the_server_logs_nothing_that_is_secret(
    stub: Stub, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    """The client's own lines redact what is marked; the server does not know of the marks."""
    caplog.set_level(logging.DEBUG, "ntapi")
    stub.on("GET").answer(status)
    args = [
        ntapi.path("id", "sesame").secret(),
        ntapi.url("q", "sesame").secret(),
        ntapi.header("X-One", "sesame").secret(),
        ntapi.url("appid", "sesame"),
    ]
    server = Server(stub)
    with server as url, ntapi.Client(url) as client:
        assert client.perform("notes/{id}", args).status == status
        assert client.drain(PATIENCE) == 0
    (request,) = server.requests
    assert request.target == "/notes/sesame?q=sesame&appid=sesame"
    assert request.headers["x-one"] == "sesame"
    assert "GET" in caplog.text
    assert "sesame" not in caplog.text


def test_requests_are_taken_in_order() -> None:
    server = Server()
    with server:
        server.enqueue(Answer(), Answer())
        ask(server, "GET", "/a")
        ask(server, "GET", "/b")
        assert [server.take_request().target for _ in "ab"] == ["/a", "/b"]
        with pytest.raises(TimeoutError, match=r"the body of request 3 .* 2 requests have"):
            server.take_request(timeout=0)


def test_the_head_is_there_before_the_body() -> None:
    server = Server()
    with server, connected(server) as sock:
        server.enqueue(Answer())
        sock.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n1")
        request = server.take_request(at="head")
        assert not request.has_body_arrived
        with pytest.raises(TimeoutError, match="the body of"):
            request.wait_for_body(timeout=0)
        sock.sendall(b"2")
        request.wait_for_body()
        assert request.body == b"12"
        assert request.wait_for_end() == "answered"


@pytest.mark.parametrize(
    ("place", "before"),
    [("hold", b""), ("hold_body", b"200 OK"), ("hold_trailers", b"body")],
)
def test_a_latch_holds_an_answer(place: str, before: bytes) -> None:
    latch = Latch()
    server = Server()
    with server, connected(server) as sock:
        server.enqueue(ServerAnswer(data=b"body", **{place: latch}))
        sock.sendall(GET)
        latch.wait_until_reached()
        assert server.requests[0].outcome is None
        seen = until_mark(sock, before) if before else b""
        assert b"body" not in seen or place == "hold_trailers"
        latch.release()
        server.requests[0].wait_for_end()
        assert latch.is_released


@pytest.mark.parametrize(("place", "seen"), [("head", b"HTTP/1.1 2"), ("body", b"0123456789")])
def test_a_latch_holds_a_fault(place: Place, seen: bytes) -> None:
    latch = Latch()
    server = Server()
    with server, connected(server) as sock:
        fault = Fault("reset", place, after=10)
        server.enqueue(ServerAnswer(data=b"0123456789ab", hold_trailers=latch, fault=fault))
        sock.sendall(GET)
        latch.wait_until_reached()
        assert until_mark(sock, seen).endswith(seen)
        assert server.requests[0].outcome is None
        latch.release()
        assert until_end(sock) == RESET
        assert server.requests[0].wait_for_end() == "fault"


def test_a_latch_holds_several_answers() -> None:
    latch = Latch()
    server = Server()
    with server:
        server.enqueue(*(ServerAnswer(text=str(number), hold=latch) for number in range(8)))
        answers: list[tuple[int, bytes]] = []
        threads = [
            threading.Thread(target=lambda: answers.append(ask(server, "GET", "/")))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        latch.wait_until_reached(8)
        assert answers == []
        latch.release()
        for thread in threads:
            thread.join()
    assert sorted(answers) == [(200, str(number).encode()) for number in range(8)]


def test_a_client_that_hangs_up_is_noticed() -> None:
    latch = Latch()
    server = Server()
    with server:
        server.enqueue(
            ServerAnswer(hold=latch), ServerAnswer(fault=Fault("stall", "head", after=5))
        )
        for seen in (b"", b"HTTP/"):
            with connected(server) as sock:
                sock.sendall(GET)
                request = server.take_request()
                if seen:
                    assert until_mark(sock, seen) == seen
                else:
                    latch.wait_until_reached()
            assert request.wait_for_end() == "hung up"


def test_a_client_may_close_only_its_side() -> None:
    server = Server()
    with server, connected(server) as sock:
        server.enqueue(Answer(text="late"))
        sock.sendall(GET)
        sock.shutdown(1)
        assert until_end(sock).endswith(b"late")


def test_the_delays_of_a_stub_follow_its_clock(stub: Stub, clock: ManualClock) -> None:
    stub.on("GET").answer(data=b"abcd", delay=60, piece_size=2, piece_delay=3600)
    server = Server(stub, clock=clock)
    with server, connected(server) as sock:
        sock.sendall(GET)
        assert clock.wait_for_sleepers()
        clock.advance(60)
        assert until_mark(sock, b"ab").endswith(b"\r\n\r\nab")
        assert clock.wait_for_sleepers()
        clock.advance(3600)
        assert until_mark(sock, b"cd") == b"cd"


def test_what_comes_before_and_after_a_body() -> None:
    server = Server()
    with server:
        links = [(103, {"Link": "</a.css>"}), (102, [])]
        server.enqueue(
            ServerAnswer(
                text="body",
                informational=links,
                trailers={"X-Sum": "7"},
                headers={"Connection": "close"},
            )
        )
        answer = raw(server)
    assert answer.startswith(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 102 ")
    assert b"Content-Length" not in answer
    assert answer.endswith(b"4\r\nbody\r\n0\r\nX-Sum: 7\r\n\r\n")


def test_a_body_may_be_asked_for_or_not() -> None:
    server = Server()
    head = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
    with server:
        server.enqueue(Answer(text="all"), ServerAnswer(413, before_body=True))
        with connected(server) as sock:
            sock.sendall(head)
            assert until_mark(sock, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            sock.sendall(b"body")
            assert until_mark(sock, b"all").startswith(b"HTTP/1.1 200 OK")
        with connected(server) as sock:
            sock.sendall(head)
            sock.shutdown(1)
            assert until_end(sock).startswith(b"HTTP/1.1 413 ")
        assert server.take_request().body == b"body"
        assert server.take_request().body == b""


def test_an_answer_before_the_body_over_http_2() -> None:
    server = Server()
    with server:
        server.enqueue(ServerAnswer(413, before_body=True))
        client = http2(server)
        with client.socket:
            head = [(":method", "POST"), (":scheme", "http"), (":authority", "h"), (":path", "/")]
            client.protocol.send_headers(1, head)
            client.flush()
            kinds = [type(event) for event in client.events(h2.events.StreamReset)]
    assert kinds.index(h2.events.ResponseReceived) < kinds.index(h2.events.StreamReset)
    assert not server.requests[0].has_body_arrived


def test_head_and_empty_answers(stub: Stub) -> None:
    stub.on("HEAD").answer(text="body")
    stub.on("GET", "none").answer(204)
    server = Server(stub)
    with server:
        assert ask(server, "HEAD", "/x") == (200, b"")
        assert ask(server, "GET", "/none") == (204, b"")


def test_requests_share_a_connection_over_http_2() -> None:
    latch = Latch()
    server = Server()
    with server:
        server.enqueue(ServerAnswer(text="first", hold=latch), Answer(data=b"x" * 300_000))
        client = http2(server)
        with client.socket:
            first = client.get("/first")
            latch.wait_until_reached()
            second = client.get("/second")
            body = bytearray()
            while len(body) < 300_000:
                for event in client.protocol.receive_data(client.socket.recv(65536)):
                    if getattr(event, "data", None) and event.stream_id == second:
                        body += event.data
                        client.protocol.acknowledge_received_data(len(event.data), second)
                client.flush()
            latch.release()
            server.requests[0].wait_for_end()
    assert (first, second) == (1, 3)
    assert [(each.connection, each.exchange) for each in server.requests] == [(1, 1), (1, 2)]
    assert server.requests[1].http_version == 2


def test_a_stream_that_the_client_resets_is_noticed() -> None:
    latch = Latch()
    server = Server()
    with server:
        server.enqueue(ServerAnswer(hold=latch))
        client = http2(server)
        with client.socket:
            stream = client.get("/")
            latch.wait_until_reached()
            client.protocol.reset_stream(stream, 8)
            client.flush()
            assert server.take_request().wait_for_end() == "hung up"
            assert server.requests[0].reset_code == 8


def test_a_recording_replays(tmp_path: Path, servers: dict[str, str]) -> None:
    args = ["data/2.5/find", ntapi.url("q", "London"), ntapi.url("appid", "k")]
    with (
        Recorder(tmp_path / "r.json") as recorder,
        ntapi.Client(servers["weather"], recorder=recorder) as client,
    ):
        recorded = client.send(*args).data
    server = Server(Stub.from_recording(tmp_path / "r.json", any_origin=True))
    with server:
        status, body = ask(server, "GET", "/data/2.5/find?q=London&appid=other")
    assert (status, json.loads(body)) == (200, json.loads(recorded))


@pytest.mark.parametrize("fault", [StubFault.NO_CONNECTION, StubFault.CONNECTION_LOST])
def test_a_fault_of_a_stub_is_a_reset(stub: Stub, fault: StubFault) -> None:
    stub.on("GET").fail(fault)
    server = Server(stub)
    with server:
        assert raw(server) == b"<reset>"


@pytest.mark.parametrize("fault", [StubFault.SILENCE, StubFault.TIMEOUT])
def test_silence_lasts_until_the_client_leaves(stub: Stub, fault: StubFault) -> None:
    stub.on("GET").fail(fault)
    server = Server(stub)
    with server:
        with connected(server) as sock:
            sock.sendall(GET)
            request = server.take_request()
        assert request.wait_for_end() == "hung up"


def test_what_is_not_http_is_reported() -> None:
    server = Server()
    with pytest.raises(AssertionError, match=r"connection 1: .*illegal request line"), server:
        assert raw(server, "hello\r\n\r\n").startswith(b"HTTP/1.1 400 ")


def test_servers_have_ports_of_their_own() -> None:
    servers = [Server().start() for _ in range(20)]
    try:
        assert len({server.port for server in servers}) == 20
    finally:
        for server in servers:
            server.close()
    with pytest.raises(ConnectionRefusedError):
        connected(servers[0])


def test_a_server_is_started_once() -> None:
    server = Server()
    assert repr(server) == "<ntapi.testing.Server not started, 0 requests>"
    with server as url:
        with pytest.raises(RuntimeError, match="was started already"):
            server.start()
        assert repr(server) == f"<ntapi.testing.Server {url}, 0 requests>"
    with pytest.raises(RuntimeError, match="was started already"):
        server.start()


def test_close_ends_what_is_running() -> None:
    latch = Latch()
    server = Server().start()
    server.enqueue(ServerAnswer(hold=latch))
    with connected(server) as sock:
        sock.sendall(GET)
        latch.wait_until_reached()
        server.close()
        assert until_end(sock) == b""
    assert server.requests[0].outcome == "closed"
    latch.release()
    server.close()


MISTAKES = [
    (lambda: Fault("drop"), "close, half_close, reset"),  # type: ignore[arg-type]
    (lambda: Fault("reset", "middle"), "before, head, body, end"),  # type: ignore[arg-type]
    (lambda: Fault("goaway", "head"), "inside a head"),
    (lambda: Fault("reset", code=1), "reset has no code"),
    (lambda: Fault("reset", after=1), "after counts bytes"),
    (lambda: ServerAnswer(fault="reset"), "write Fault"),  # type: ignore[arg-type]
    (lambda: ServerAnswer(informational=[(200, {})]), "200 is not informational"),
    (lambda: ServerAnswer(trailers={"A": "b\r\nC: d"}), "cannot be a header"),
    (lambda: ServerAnswer(hold=True), "hold has to be a Latch"),  # type: ignore[arg-type]
    (lambda: ServerAnswer(body=b""), "json=, text= or data="),
    (lambda: Server(client_certificates="required"), "needs tls=True"),
    (lambda: Server("http://x"), "has to be a Stub"),  # type: ignore[arg-type]
    (lambda: Server(clock=time.monotonic), "has to be a ManualClock"),  # type: ignore[arg-type]
    (lambda: Server().url, "was not started"),
    (lambda: Server().ca_path, "tls=True"),
]


@pytest.mark.parametrize(("make", "message"), MISTAKES)
def test_a_mistake_is_named(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        make()


def test_nothing_is_imported_before_it_is_used() -> None:
    code = """
import sys
import ntapi.testing
assert not {"h11", "h2", "trustme", "asyncio"} & set(sys.modules), sys.modules
sys.modules["h2"] = None
try:
    ntapi.testing.Server
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "ntapi.testing.Server needs h2: pip install h11 h2 trustme\n"


def test_what_a_request_shows() -> None:
    server = Server()
    with server:
        server.enqueue(Answer())
        ask(server, "POST", "/a?key=secret", json.dumps({"a": 1}))
    request = server.requests[0]
    assert isinstance(request, ReceivedRequest)
    assert (request.json(), request.text) == ({"a": 1}, '{"a": 1}')
    assert "secret" not in repr(request)
    assert repr(request).endswith("/a, connection 1, exchange 1>")


def test_what_can_be_copied() -> None:
    fault = Fault("goaway", "body", after=3, code=11)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        fault = copy.deepcopy(pickle.loads(pickle.dumps(fault, protocol)))
    assert (fault.kind, fault.place, fault.after, fault.code) == ("goaway", "body", 3, 11)
    server = Server()
    with server:
        server.enqueue(Answer())
        ask(server, "GET", "/")
        for each in (server, server.requests[0], Latch(), ServerAnswer()):
            with pytest.raises(TypeError, match="cannot be pickled or copied"):
                copy.copy(each)
