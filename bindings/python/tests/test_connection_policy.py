"""Where requests may go, and how a connection gets there."""

from __future__ import annotations

import re
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import ntapi
from ntapi.testing import Answer, Server, Stub, StubRequest


def session(url: str, **settings: Any) -> ntapi.Client:
    configuration = ntapi.SessionConfiguration.ephemeral(proxy="", **settings)
    return ntapi.Client(url, configuration=configuration)


def refusal(client: ntapi.Client, command: str = "echo") -> str:
    with pytest.raises(ntapi.ApiError) as caught:
        client.send(command)
    error = caught.value
    assert error.code is ntapi.codes.NOT_ALLOWED, error
    assert error.domain is ntapi.ErrorDomain.REQUEST
    assert not error.retryable
    return error.message


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"])
def test_loopback_is_not_public(servers: dict[str, str], host: str) -> None:
    port = urlsplit(servers["fault"]).port
    message = refusal(session(f"http://{host}:{port}", connection_policy="public"))
    assert re.search(r"does not allow the address (127\.0\.0\.1|::1): it is not public", message)


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        ({"schemes": ["https"]}, "the scheme http is not in schemes"),
        ({"ports": [443]}, "is not in ports"),
        ({"hosts": ["*.example.com"]}, "the host is not in hosts"),
        ({"denied_hosts": ["127.0.0.1"]}, "127.0.0.1 is in denied_hosts"),
        ({"addresses": ["10.0.0.0/8"]}, "127.0.0.1: it is not in addresses"),
        ({"denied_addresses": ["127.0.0.0/8"]}, "127.0.0.0/8 is in denied_addresses"),
    ],
)
def test_each_rule(servers: dict[str, str], policy: dict[str, Any], rule: str) -> None:
    assert rule in refusal(session(servers["fault"], connection_policy=policy))


def test_what_is_allowed(servers: dict[str, str]) -> None:
    policy = {"schemes": ["http"], "addresses": ["public", "127.0.0.1"], "hosts": ["127.0.0.1"]}
    assert session(servers["fault"], connection_policy=policy).send("echo").status == 200


def test_an_invalid_policy_is_named(servers: dict[str, str]) -> None:
    for policy in ("private", {"host": []}, {"addresses": ["10.0.0.1/8"]}):
        with pytest.raises(ntapi.ApiError, match="connectionPolicy") as caught:
            session(servers["fault"], connection_policy=policy).send("echo")
        assert caught.value.code is ntapi.codes.INVALID_REQUEST


def test_a_redirect_is_judged(servers: dict[str, str]) -> None:
    port = urlsplit(servers["httpbin"]).port
    client = session(servers["httpbin"], connection_policy={"ports": [port]})
    with pytest.raises(ntapi.ApiError, match="is not in ports") as caught:
        client.send("redirect-to", ntapi.url("url", servers["fault"] + "/echo"))
    assert caught.value.code is ntapi.codes.NOT_ALLOWED


def test_another_place(servers: dict[str, str]) -> None:
    port = urlsplit(servers["fault"]).port
    resolved = session(f"http://a.test:{port}", resolve=[f"a.test:{port}:127.0.0.1"])
    assert resolved.send("echo").status == 200
    redirected = session("http://b.test", connect_to=[f"b.test:80:127.0.0.1:{port}"])
    assert redirected.send("echo").status == 200


def resolve(request: StubRequest) -> Answer:
    """Answers a DNS query (RFC 8484): each name has the address 127.0.0.1, and no other."""
    query = request.body
    end = query.index(b"\0", 12) + 5
    answer = b""
    if query[end - 4 : end - 2] == b"\0\x01":
        answer = bytes.fromhex("c00c 0001 0001 0000003c 0004 7f000001")
    head = query[:2] + bytes.fromhex(
        "8180 0001 0001 0000 0000" if answer else "8180 0001 0000 0000 0000"
    )
    return Answer(
        data=head + query[12:end] + answer, headers={"Content-Type": "application/dns-message"}
    )


def test_dns_over_https(servers: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    port = urlsplit(servers["fault"]).port
    stub = Stub()
    stub.on("POST", "dns-query").answer_with(resolve)
    server = Server(stub, tls=True)
    with server as url:
        settings = {"ca_file": str(server.ca_path), "dns_over_https": f"{url}/dns-query"}
        client = session(f"http://nowhere.test:{port}", **settings)
        assert [client.send("echo").status for _ in range(3)] == [200, 200, 200]
        guarded = session(f"http://nowhere.test:{port}", connection_policy="public", **settings)
        assert "the address 127.0.0.1: it is not public" in refusal(guarded)
        assert {request.url for request in server.requests} == {f"{url}/dns-query"}
    assert capfd.readouterr().err == ""


class Hello(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")


@pytest.fixture
def unix_socket(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "s")
    with socketserver.ThreadingUnixStreamServer(path, Hello) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield path
        server.shutdown()
        thread.join()


def test_a_unix_socket(unix_socket: str) -> None:
    client = session("http://any.test", unix_socket=unix_socket)
    assert [client.send("a").json() for _ in range(3)] == [{}, {}, {}]
    guarded = session("http://any.test", unix_socket=unix_socket, connection_policy="public")
    assert "the address of a Unix socket" in refusal(guarded)
