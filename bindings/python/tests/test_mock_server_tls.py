"""The mock server with TLS, and as a proxy."""

from __future__ import annotations

import contextlib
import ssl
import threading

import pytest

pytest.importorskip("h2")
pytest.importorskip("trustme")

import h2.events

import ntapi
from conftest import PATIENCE, wait_for
from mock_server_wire import HTTP2Client, connected, curl, raw, trusting, until_end, until_mark
from ntapi.testing import Answer, Server, Stub
from ntapi.testing.server import Fault, ServerAnswer

GET = b"GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


def test_clients_trust_its_authority(stub: Stub) -> None:
    stub.on("GET").answer(text="hello")
    server = Server(stub, tls=True)
    with server as url:
        assert url == f"https://127.0.0.1:{server.port}"
        assert server.ca_pem.startswith(b"-----BEGIN CERTIFICATE-----")
        path = server.ca_path
        with ntapi.Client(url) as client:
            client.set_default("caFile", str(path))
            assert client.send("x", ntapi.option("raw_data")).data == b"hello"
        assert curl("--cacert", path, f"https://localhost:{server.port}/x").stdout.endswith(
            b"hello"
        )
        assert curl(f"{url}/x").returncode == 60
        wait_for(lambda: server.failed_handshakes)
        assert "connection 3: the TLS handshake has failed" in server.failed_handshakes[0]
    assert not path.exists()


def test_the_log_says_what_was_agreed() -> None:
    server = Server(tls=True)
    with server:
        server.enqueue(Answer())
        with trusting(server).wrap_socket(
            connected(server), server_hostname="api.example.com"
        ) as sock:
            sock.sendall(GET)
            assert until_end(sock).startswith(b"HTTP/1.1 200 OK")
        tls = server.take_request().tls
    assert tls is not None
    assert (tls.version, tls.alpn, tls.server_name) == ("TLSv1.3", None, "api.example.com")
    assert tls.client_certificate is None
    assert tls.cipher


@pytest.mark.parametrize(
    "name", ["my_service", "r3---sn-a.example.com", "-a-.example.com", "a.b_c.example.com."]
)
def test_a_name_that_the_dns_has_not(name: str) -> None:
    server = Server(tls=True)
    with server:
        with trusting(server).wrap_socket(connected(server), server_hostname=name) as sock:
            assert sock.version()
        assert server.failed_handshakes == []


@pytest.mark.parametrize("has_http2", [True, False])
def test_http_2_is_chosen_by_alpn(has_http2: bool) -> None:
    server = Server(tls=True, http2=has_http2)
    with server:
        context = trusting(server)
        context.set_alpn_protocols(["h2", "http/1.1"])
        with context.wrap_socket(connected(server), server_hostname="localhost") as sock:
            assert sock.selected_alpn_protocol() == ("h2" if has_http2 else "http/1.1")
        server.enqueue(ServerAnswer(text="hello", trailers={"X-Sum": "7"}))
        done = curl("--cacert", server.ca_path, f"{server.url}/x")
    assert done.stdout.startswith(b"HTTP/2 200" if has_http2 else b"HTTP/1.1 200")
    assert done.stdout.endswith(b"hellox-sum: 7\r\n" if has_http2 else b"helloX-Sum: 7\r\n")


@pytest.mark.parametrize("mode", ["optional", "required"])
def test_a_client_shows_its_certificate(mode: str) -> None:
    server = Server(tls=True, client_certificates=mode)  # type: ignore[arg-type]
    with server:
        server.enqueue(Answer())
        trust = ["--cacert", server.ca_path, f"{server.url}/x"]
        assert curl("--cert", server.client_certificate_path, *trust).returncode == 0
        tls = server.take_request().tls
        assert tls is not None
        assert tls.client_certificate is not None
        assert ("commonName", "ntapi test client") in [
            pair for pairs in tls.client_certificate["subject"] for pair in pairs
        ]
        if mode == "required":
            assert curl(*trust).returncode != 0
            wait_for(lambda: server.failed_handshakes)
            assert "certificate" in server.failed_handshakes[0]
        else:
            server.enqueue(Answer())
            assert curl(*trust).returncode == 0
            assert server.requests[1].tls is not None
            assert server.requests[1].tls.client_certificate is None


@pytest.mark.parametrize("kind", ["alert", "close", "reset"])
def test_a_handshake_fails(kind: str) -> None:
    server = Server(tls=True)
    expected = {
        "alert": "HANDSHAKE_FAILURE",
        "close": "EOF|UNEXPECTED",
        "reset": "reset by peer",
    }
    with server:
        server.fail_connections(kind)  # type: ignore[arg-type]
        with connected(server) as plain, pytest.raises(OSError, match=expected[kind]):
            trusting(server).wrap_socket(plain, server_hostname="localhost")
        with trusting(server).wrap_socket(connected(server), server_hostname="localhost") as sock:
            assert sock.version()


def test_a_handshake_stalls() -> None:
    server = Server(tls=True)
    with server:
        server.fail_connections("stall")
        with connected(server) as plain:
            plain.settimeout(None)
            failed = threading.Event()

            def shake() -> None:
                with pytest.raises(OSError):  # noqa: PT011 - it depends on the version of OpenSSL
                    trusting(server).wrap_socket(plain, server_hostname="localhost")
                failed.set()

            thread = threading.Thread(target=shake)
            thread.start()
            # Only the end of the server ends it.
            assert not failed.is_set()
            server.close()
            thread.join()
            assert failed.is_set()


def test_no_connection_outlives_its_server() -> None:
    for _ in range(100):
        server = Server(tls=True)
        with server:
            server.fail_connections("stall")
            with connected(server) as plain:
                plain.settimeout(PATIENCE)
                plain.send(b"\x16")
                # The server may have accepted it, or not, or may be about to begin with it.
                server.close()
                with contextlib.suppress(ConnectionResetError):
                    assert plain.recv(1) == b""


def test_faults_below_tls() -> None:
    server = Server(tls=True)
    with server:
        seen = []
        for kind in ("close", "half_close"):
            fault = Fault(kind, "body", after=2)  # type: ignore[arg-type]
            server.enqueue(ServerAnswer(data=b"body", fault=fault))
            with trusting(server).wrap_socket(
                connected(server), server_hostname="localhost", suppress_ragged_eofs=False
            ) as sock:
                sock.sendall(GET)
                # An end without a close_notify would be an error.
                seen.append(until_end(sock)[-6:])
        server.enqueue(ServerAnswer(data=b"body", fault=Fault("reset", "body", after=2)))
        done = curl("--cacert", server.ca_path, "--http1.1", f"{server.url}/x")
    assert seen == [b"\r\n\r\nbo"] * 2
    assert done.stdout.endswith(b"bo")
    assert b"Connection reset by peer" in done.stderr


def test_a_stream_is_reset_below_tls() -> None:
    server = Server(tls=True)
    with server:
        server.enqueue(ServerAnswer(data=b"body", fault=Fault("reset_stream", code=11)))
        context = trusting(server)
        context.set_alpn_protocols(["h2"])
        with context.wrap_socket(connected(server), server_hostname="localhost") as sock:
            client = HTTP2Client(sock)
            client.get("/")
            reset = client.events(h2.events.StreamReset)[-1]
    assert isinstance(reset, h2.events.StreamReset)
    assert reset.error_code == 11


def test_tls_comes_to_a_server_without_it() -> None:
    server = Server()
    with server:
        with connected(server) as sock, pytest.raises((ssl.SSLError, OSError)):
            ssl.create_default_context().wrap_socket(sock, server_hostname="localhost")
        wait_for(lambda: server.failed_handshakes)
        assert "the server has no tls=True" in server.failed_handshakes[0]


# As a proxy.


def test_connect_tunnels_to_the_server_itself(stub: Stub) -> None:
    stub.on("GET", "https://api.example.com/find").answer(text="found")
    server = Server(stub, tls=True)
    with server:
        proxy = f"http://127.0.0.1:{server.port}"
        done = curl("-x", proxy, "--cacert", server.ca_path, "https://api.example.com/find")
        assert done.stdout.endswith(b"found"), done.stderr
        connect, request = server.requests
    assert (connect.method, connect.target) == ("CONNECT", "api.example.com:443")
    assert (connect.connection, request.connection) == (1, 2)
    assert request.url == "https://api.example.com/find"
    assert request.tls is not None
    assert request.tls.server_name == "api.example.com"


@pytest.mark.parametrize("host", ["10.1.2.3", "[2001:db8::1]", "my_service"])
def test_connect_says_which_certificate_is_wanted(stub: Stub, host: str) -> None:
    """A client that connects to an address names nothing in the handshake."""
    stub.on("GET", f"https://{host}/find").answer(text="found")
    server = Server(stub, tls=True)
    with server as url:
        proxy = f"http://127.0.0.1:{server.port}"
        trust = ["--cacert", server.ca_path]
        done = curl("-x", proxy, *trust, f"https://{host}/find")
        assert done.stdout.endswith(b"found"), done.stderr
        tls = server.requests[1].tls
        assert tls is not None
        assert tls.server_name == ("my_service" if host == "my_service" else None)
        # Another client that names nothing wants the server itself.
        server.enqueue(Answer())
        assert curl(*trust, f"{url}/x").returncode == 0


def test_connect_tunnels_to_an_address_of_this_machine() -> None:
    proxy, target = Server(), Server()
    with proxy, target as url:
        target.enqueue(Answer(text="target"))
        done = curl("-p", "-x", proxy.url, f"{url}/x")
        assert done.stdout.endswith(b"target"), done.stderr
        assert [request.method for request in proxy.requests] == ["CONNECT"]


def test_connect_is_answered_from_a_queue() -> None:
    server = Server()
    with server:
        server.enqueue_connect(
            Answer(407, headers={"Proxy-Authenticate": "Basic"}),
            ServerAnswer(fault=Fault("reset")),
        )
        done = curl("-p", "-x", server.url, "http://api.example.com/")
        assert done.stdout.startswith(b"HTTP/1.1 407 Proxy Authentication Required")
        assert raw(server, "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n") == b"<reset>"
    server.enqueue_connect(Answer())
    with pytest.raises(AssertionError, match="1 answers of the queue for CONNECT"):
        server.verify()


def test_a_plain_proxy_answers_itself(stub: Stub) -> None:
    stub.on("GET", "http://api.example.com/find").answer(text="found")
    server = Server(stub)
    with server:
        done = curl("-x", server.url, "http://api.example.com/find")
    assert done.stdout.endswith(b"found")
    assert server.requests[0].target == "http://api.example.com/find"


def test_a_tunnel_ends_with_its_client() -> None:
    server = Server()
    with server:
        with connected(server) as sock:
            sock.sendall(b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n")
            until_mark(sock, b"\r\n\r\n")
            server.enqueue(ServerAnswer(fault=Fault("stall")))
            sock.sendall(GET)
            server.take_request()
            request = server.take_request()
        assert request.wait_for_end() == "hung up"
