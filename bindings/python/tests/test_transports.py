"""httpx and httpx2 over NTApi. Each scenario runs with the library's own transport and with ours,
and a program sees the same.
"""

from __future__ import annotations

import asyncio
import gc
import json
import pickle
import socketserver
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Optional
from urllib.parse import urlsplit

import pytest

import ntapi.transports
from conftest import PATIENCE, run_python
from ntapi import NetworkFailure
from ntapi.testing import Recorder, Stub, StubFault
from ntapi.transports._failures import failure_of
from ntapi.transports._httpx_seam import _EXCEPTION_OF
from transport_sides import INTERRUPTIONS, IS_NEW_LIBCURL, LARGE, SHORT, OwnError, Pieces, Seam


@pytest.fixture(params=["httpx2", "httpx2-async", "httpx", "httpx-async"])
def seam(request: pytest.FixtureRequest, servers: dict[str, str]) -> Seam:
    """A library and the kind of its client."""
    name, _, kind = request.param.partition("-")
    return Seam(name, kind == "async", servers["ca"])


@pytest.fixture(params=["httpx2", "httpx"])
def blocking(request: pytest.FixtureRequest, servers: dict[str, str]) -> Seam:
    """A library with its blocking client."""
    return Seam(request.param, False, servers["ca"])


@pytest.fixture(params=["httpx2", "httpx"])
def asynchronous(request: pytest.FixtureRequest, servers: dict[str, str]) -> Seam:
    """A library with its async client."""
    return Seam(request.param, True, servers["ca"])


RESPONSES = {
    **{f"close/{place}": {} for place in ("in-headers", "after-headers", "in-body", "after-body")},
    "close/before": {},
    "close-delimited": {},
    "connection-close": {},
    "continue-only": {},
    "continue-storm?count=20": {},
    "drip?size=50&bytes=10&ms=1": {},
    "early-hints": {},
    "http09": {},
    "head-with-body": {},
    "no-content-with-body": {},
    "not-modified": {},
    "no-location": {},
    "ok": {},
    "status/204": {},
    "status/404": {},
    "status/500": {},
    "zeros?size=300000": {},
    "switching": {},
    "transfer-encoding": {},
    "unlabelled-gzip": {},
    "huge-header": {},
    "many-headers?count=500": {},
    "two-locations": {},
    "headers?X-A=1&x-a=2&X-A=3": {},
    "set-cookie?set=a=1;Path=/&set=b=2": {},
    "redirect/echo": {},
    "chunked/ok": {},
    "chunked/truncated": {},
    "chunked/no-final": {},
    "chunked/not-hex": {},
    "length/short": {},
    "length/long": {},
    "length/negative": {},
    "length/twice-differing": {},
    "status-line/garbage": {},
    "status-line/letters": {},
    "header/no-colon": {},
    "header/folded": {},
    "encoding/gzip": {},
    "encoding/deflate": {},
    "encoding/corrupt": {},
    "encoding/bad-crc": {},
    "encoding/truncated": {},
    "encoding/unknown": {},
    "encoding/twice": {},
    "reset/before": {},
    "reset/in-headers": {},
    "stall/before": {"timeout": SHORT},
    "stall/in-headers": {"timeout": SHORT},
    "stall/in-body": {"timeout": SHORT},
}


@pytest.mark.parametrize("path", RESPONSES)
def test_a_program_sees_the_same_response(seam: Seam, servers: dict[str, str], path: str) -> None:
    url = f"{servers['fault']}/{path}"
    expected = seam.outcome(seam.stock(), "GET", url, **RESPONSES[path])
    if path == "two-locations" and IS_NEW_LIBCURL:
        expected = "RemoteProtocolError"
    assert seam.outcome(seam.ours(), "GET", url, **RESPONSES[path]) == expected


REQUESTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "HEAD": ("HEAD", "ok", {}),
    "HEAD with body": ("HEAD", "head-with-body", {}),
    "OPTIONS": ("OPTIONS", "echo", {}),
    "TRACE": ("TRACE", "echo", {}),
    "own method": ("PURGE", "echo", {}),
    "GET with body": ("GET", "echo", {"content": b"question"}),
    "DELETE": ("DELETE", "echo", {}),
    "empty POST": ("POST", "echo", {}),
    "empty bytes": ("PUT", "echo", {"content": b""}),
    "JSON": ("POST", "echo", {"json": {"city": "Zürich"}}),
    "form": ("POST", "echo", {"data": {"a": "b c"}}),
    "large": ("POST", "mirror", {"content": LARGE}),
    "pieces": ("POST", "echo", {"content": Pieces()}),
    "pieces with length": (
        "POST",
        "echo",
        {"content": Pieces(), "headers": {"Content-Length": "11"}},
    ),
    "pieces that fail": ("POST", "echo", {"content": Pieces(OwnError)}),
    "order and case": (
        "GET",
        "echo-raw",
        {"headers": [(b"X-One", b"1"), (b"x-two", b"2"), (b"X-One", b"3"), (b"ACCEPT", b"a/b")]},
    ),
    "UTF-8": ("GET", "echo-raw", {"headers": [(b"X-City", "Zürich".encode())]}),
    "own host": ("GET", "echo-raw", {"headers": {"Host": "other.test"}}),
    "line end in a header": ("GET", "echo", {"headers": [(b"X-One", b"a\nb")]}),
    "blank in a name": ("GET", "echo", {"headers": [(b"X One", b"a")]}),
    "path as it is": ("GET", "echo/a//b;c=1?x=%2f&y=a+b&z=|{}&u=ü", {}),
    "fragment": ("GET", "echo?a=b#c", {}),
    "early answer": ("POST", "early-answer?after=0&body=hi", {"content": LARGE}),
    "basic auth": ("GET", "echo", {"auth": ("ann", "pässword")}),
    "redirects": ("POST", "chain/3?status=307", {"content": b"x", "follow_redirects": True}),
    "stalled upload": ("POST", "no-read", {"content": LARGE * 10, "timeout": SHORT}),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_server_sees_the_same_request(seam: Seam, servers: dict[str, str], name: str) -> None:
    method, path, options = REQUESTS[name]
    url = f"{servers['fault']}/{path}"
    expected = seam.outcome(seam.stock(), method, url, **options)
    assert seam.outcome(seam.ours(), method, url, **options) == expected


@pytest.mark.parametrize("length", [4, 5, 6, 12])
def test_a_body_that_is_not_as_long_as_it_says(
    seam: Seam, servers: dict[str, str], length: int
) -> None:
    # The stock transport lets an exception of h11 through here.
    options = {"content": Pieces(), "headers": {"Content-Length": str(length)}}
    url = f"{servers['fault']}/echo"
    assert seam.outcome(seam.ours(), "POST", url, **options) == "LocalProtocolError"


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_a_body_that_is_interrupted(
    seam: Seam, servers: dict[str, str], interruption: type[BaseException]
) -> None:
    url = f"{servers['fault']}/echo"
    for transport in (seam.stock(), seam.ours()):
        with pytest.raises(interruption):
            seam.request(transport, "POST", url, content=Pieces(interruption))


def test_bytes_may_be_sent_in_chunks(seam: Seam, servers: dict[str, str]) -> None:
    # httpx's own transport sends Content-Length as well, which RFC 9112 (6.2) forbids.
    options = {"content": b"text", "headers": {"Transfer-Encoding": "chunked"}}
    echo = seam.request(seam.ours(), "POST", f"{servers['fault']}/echo", **options).json()
    assert echo["body"] == "text"
    assert echo["header"]["transfer-encoding"] == "chunked"
    assert "content-length" not in echo["header"]


@pytest.mark.parametrize(
    "server",
    ["fault_tls", "tls_expired", "tls_wrong_host", "tls_self_signed", "tls_close", "tls_old"],
)
def test_tls(seam: Seam, servers: dict[str, str], server: str) -> None:
    url = f"{servers[server]}/ok"
    assert seam.outcome(seam.ours(), "GET", url) == seam.outcome(seam.stock(), "GET", url)


@pytest.mark.parametrize(
    ("url", "exception"),
    [
        ("http://127.0.0.1:1/", "ConnectError"),
        ("http://nowhere.invalid/", "ConnectError"),
        ("ftp://127.0.0.1/", "UnsupportedProtocol"),
    ],
)
def test_no_connection(seam: Seam, url: str, exception: str) -> None:
    assert seam.outcome(seam.ours(), "GET", url) == exception
    assert seam.outcome(seam.stock(), "GET", url) == exception


def test_a_port_that_cannot_be(seam: Seam) -> None:
    url = "http://127.0.0.1:123456/"
    assert seam.outcome(seam.ours(), "GET", url) == "ConnectError"
    if not seam.is_async:
        # The async transport lets an OverflowError of asyncio through.
        assert seam.outcome(seam.stock(), "GET", url) == "ConnectError"


def test_each_clock_has_its_exception(seam: Seam, servers: dict[str, str]) -> None:
    timeout = seam.library.Timeout(PATIENCE, connect=SHORT)
    for transport in (seam.ours(), seam.stock()):
        url = servers["blackhole"]
        assert seam.outcome(transport, "GET", url, timeout=timeout) == "ConnectTimeout"
    short = seam.library.Timeout(PATIENCE, read=SHORT)
    assert seam.outcome(seam.ours(), "GET", url, timeout=short) == "ConnectTimeout"
    upload = seam.library.Timeout(PATIENCE, read=SHORT, write=SHORT)
    url = f"{servers['fault']}/no-read"
    content = {"content": LARGE * 10, "timeout": upload}
    assert seam.outcome(seam.ours(), "POST", url, **content) == "WriteTimeout"


def test_a_default_of_the_program_does_not_end_an_exchange(
    seam: Seam, servers: dict[str, str]
) -> None:
    ntapi.defaults.set("resourceTimeout", 0.001)
    try:
        url = f"{servers['fault']}/ok"
        assert seam.request(seam.ours(), "GET", url).status_code == 200
    finally:
        ntapi.defaults.set("resourceTimeout", None)


def test_the_level_of_the_logger_may_be_set_at_any_time(
    seam: Seam, servers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    url = f"{servers['fault']}/ok"
    transport = seam.ours()
    caplog.set_level("INFO", logger="ntapi")
    assert seam.request(transport, "GET", url).status_code == 200
    assert url in caplog.text


def test_no_free_connection(blocking: Seam, servers: dict[str, str]) -> None:
    timeout = blocking.library.Timeout(PATIENCE, pool=SHORT)
    limits = blocking.library.Limits(max_connections=1)
    for transport in (blocking.ours(limits=limits), blocking.stock(limits=limits)):
        with blocking.client_class(transport=transport, timeout=timeout) as client:
            with client.stream("GET", f"{servers['fault']}/endless") as response:
                chunks = response.iter_raw()
                next(chunks)
                with pytest.raises(blocking.library.PoolTimeout):
                    client.get(f"{servers['fault']}/ok")
            # The stream has given its connection back.
            assert client.get(f"{servers['fault']}/ok").status_code == 200


def test_an_exception_has_its_request_and_cause(blocking: Seam) -> None:
    with (
        blocking.client_class(transport=blocking.ours()) as client,
        pytest.raises(blocking.library.ConnectError) as caught,
    ):
        client.get("http://127.0.0.1:1/")
    assert caught.value.request.url == "http://127.0.0.1:1/"
    assert isinstance(caught.value.__cause__, ntapi.ApiError)
    assert caught.value.__cause__.failure is ntapi.NetworkFailure.REFUSED


@pytest.mark.parametrize("trust", ["context", "path", "nothing"])
def test_http2(seam: Seam, servers: dict[str, str], trust: str) -> None:
    verify: Any = {"context": seam.context, "path": servers["ca"], "nothing": False}[trust]

    def version(server: str, **options: Any) -> str:
        transport = seam.ours(verify=verify, **options)
        return str(seam.request(transport, "GET", f"{servers[server]}/small.json").http_version)

    assert version("nginx_tls", http2=True) == "HTTP/2"
    assert version("nginx_tls") == "HTTP/1.1"
    assert version("nginx_tls1", http2=True) == "HTTP/1.1"
    assert version("nginx", http2=True) == "HTTP/1.1"


def test_client_certificate(seam: Seam, servers: dict[str, str]) -> None:
    url = f"{servers['tls_client']}/ok"
    assert seam.outcome(seam.ours(), "GET", url) == seam.outcome(seam.stock(), "GET", url)
    certificate = (servers["client_cert"], servers["client_key"])
    assert seam.request(seam.ours(cert=certificate), "GET", url).status_code == 200


@pytest.mark.parametrize("target", ["nginx", "nginx_tls"])
def test_proxy(seam: Seam, servers: dict[str, str], target: str) -> None:
    url = f"{servers[target]}/small.json"
    user, _, password = servers["proxy_credentials"].partition(":")
    good = seam.library.Proxy(servers["proxy_auth"], auth=(user, password))
    for proxy in (servers["proxy"], good, servers["proxy_auth"], "http://127.0.0.1:1"):
        expected = seam.outcome(seam.stock(proxy=proxy), "GET", url)
        assert seam.outcome(seam.ours(proxy=proxy), "GET", url) == expected


def test_the_environment_names_a_proxy(
    blocking: Seam, servers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    url = f"{servers['nginx']}/small.json"
    assert blocking.outcome(blocking.ours(), "GET", url) == "ConnectError"
    assert blocking.request(blocking.ours(trust_env=False), "GET", url).status_code == 200
    # A client uses the proxy only if no transport is given, not even the stock one.
    with (
        blocking.library.Client() as client,
        pytest.raises(blocking.library.ConnectError),
    ):
        client.get(url)


def test_large_bodies_both_ways_with_little_memory(blocking: Seam, servers: dict[str, str]) -> None:
    resource = pytest.importorskip("resource")
    piece = b"x" * 1_000_000

    def pieces() -> Iterator[bytes]:
        for _ in range(100):
            yield piece

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = 0
    with blocking.client_class(transport=blocking.ours(), timeout=PATIENCE) as client:
        with client.stream("GET", f"{servers['fault']}/zeros?size=100000000") as response:
            for chunk in response.iter_raw():
                size += len(chunk)
        answer = client.post(f"{servers['weather']}/upload", content=pieces()).json()
    assert size == 100_000_000
    assert answer["size"] == 100_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_a_large_body_on_a_loop_with_little_memory(
    asynchronous: Seam, servers: dict[str, str]
) -> None:
    resource = pytest.importorskip("resource")

    async def main() -> int:
        size = 0
        async with asynchronous.client_class(
            transport=asynchronous.ours(), timeout=PATIENCE
        ) as client:
            url = f"{servers['fault']}/zeros?size=100000000"
            async with client.stream("GET", url) as response:
                async for chunk in response.aiter_raw():
                    size += len(chunk)
        return size

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert asyncio.run(main()) == 100_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_a_dropped_response_ends_its_exchange(seam: Seam, servers: dict[str, str]) -> None:
    transport = seam.ours(limits=seam.library.Limits(max_connections=1))
    if seam.is_async:

        async def main() -> int:
            async with seam.client_class(transport=transport, timeout=PATIENCE) as client:
                request = client.build_request("GET", f"{servers['fault']}/endless")
                await client.send(request, stream=True)
                gc.collect()
                status: int = (await client.get(f"{servers['fault']}/ok")).status_code
                return status

        assert asyncio.run(main()) == 200
        return
    with seam.client_class(transport=transport, timeout=PATIENCE) as client:
        client.send(client.build_request("GET", f"{servers['fault']}/endless"), stream=True)
        gc.collect()
        assert client.get(f"{servers['fault']}/ok").status_code == 200


def test_a_response_outlives_its_client(blocking: Seam, servers: dict[str, str]) -> None:
    client = blocking.client_class(transport=blocking.ours())
    response = client.send(client.build_request("GET", f"{servers['fault']}/ok"), stream=True)
    del client
    gc.collect()
    assert response.read()
    response.close()


def test_requests_of_many_threads(blocking: Seam, servers: dict[str, str]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    url = f"{servers['fault']}/mirror"
    with (
        blocking.client_class(transport=blocking.ours(), timeout=PATIENCE) as client,
        ThreadPoolExecutor(16) as pool,
    ):
        texts = [f"text {number}" for number in range(100)]
        answers = pool.map(lambda text: client.post(url, content=text.encode()).text, texts)
        assert list(answers) == texts


def test_a_body_is_read_on_another_thread(blocking: Seam, servers: dict[str, str]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with (
        blocking.client_class(transport=blocking.ours(), timeout=PATIENCE) as client,
        client.stream("GET", f"{servers['fault']}/zeros?size=1000000") as response,
        ThreadPoolExecutor(1) as pool,
    ):
        assert len(pool.submit(response.read).result(PATIENCE)) == 1_000_000


# Cancel.


def test_a_cancelled_task_ends_its_request(asynchronous: Seam, servers: dict[str, str]) -> None:
    async def main() -> None:
        limits = asynchronous.library.Limits(max_connections=1)
        transport = asynchronous.ours(limits=limits)
        async with asynchronous.client_class(transport=transport, timeout=PATIENCE) as client:
            # With one connection, each further request needs that the one before has ended.
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.get(f"{servers['fault']}/hold"), SHORT)
            assert (await client.get(f"{servers['fault']}/ok")).status_code == 200

            async with client.stream("GET", f"{servers['fault']}/endless") as response:
                async for _ in response.aiter_raw():
                    break
            assert (await client.get(f"{servers['fault']}/ok")).status_code == 200

            ended = asyncio.Event()

            async def pieces() -> AsyncIterator[bytes]:
                try:
                    yield b"x"
                    await asyncio.sleep(PATIENCE)
                finally:
                    ended.set()

            upload = client.post(f"{servers['fault']}/mirror", content=pieces())
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(upload, SHORT)
            await asyncio.wait_for(ended.wait(), PATIENCE)
            assert (await client.get(f"{servers['fault']}/ok")).status_code == 200

    asyncio.run(main())


def test_anyio_and_trio(asynchronous: Seam, servers: dict[str, str]) -> None:
    anyio = pytest.importorskip("anyio")

    async def main() -> None:
        async with asynchronous.client_class(transport=asynchronous.ours()) as client:
            with anyio.move_on_after(SHORT) as scope:
                await client.get(f"{servers['fault']}/hold", timeout=PATIENCE)
            assert scope.cancelled_caught
            assert (await client.get(f"{servers['fault']}/ok")).status_code == 200

    anyio.run(main)
    pytest.importorskip("trio")
    with pytest.raises(RuntimeError, match="to_thread"):
        anyio.run(main, backend="trio")


# Settings.


def test_what_cannot_be_honoured_is_refused(blocking: Seam, tmp_path: Path) -> None:
    ciphers = ssl.create_default_context()
    ciphers.set_ciphers("ECDHE-RSA-AES128-GCM-SHA256")
    hostless = ssl.create_default_context()
    hostless.check_hostname = False
    revoked = ssl.create_default_context()
    revoked.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
    oldest = ssl.create_default_context()
    oldest.maximum_version = ssl.TLSVersion.TLSv1_2
    ticketless = ssl.create_default_context()
    ticketless.options |= ssl.OP_NO_TICKET
    for context in (ciphers, hostless, revoked, oldest, ticketless):
        with pytest.raises(ValueError, match="NTApi cannot do"):
            blocking.ours(verify=context)
    with pytest.raises(ValueError, match="cannot be read"):
        blocking.ours(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    with pytest.raises(ValueError, match="folder"):
        blocking.ours(verify=str(tmp_path))
    with pytest.raises(OSError, match="no file"):
        blocking.ours(verify=str(tmp_path / "none.pem"))
    proxy = blocking.library.Proxy("http://127.0.0.1:1", headers={"X-A": "1"})
    for options in (
        {"uds": "socket", "proxy": "http://127.0.0.1:1"},
        {"http1": False, "http2": True},
        {"socket_options": [(1, 2, 3)]},
        {"proxy": proxy},
        {"limits": blocking.library.Limits(max_keepalive_connections=0)},
    ):
        with pytest.raises(ValueError, match="NTApi"):
            blocking.ours(**options)


def test_a_context_of_the_program(blocking: Seam, servers: dict[str, str]) -> None:
    url = f"{servers['fault_tls']}/ok"
    nothing = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    nothing.check_hostname = False
    nothing.verify_mode = ssl.CERT_NONE
    assert blocking.request(blocking.ours(verify=nothing), "GET", url).status_code == 200
    newest = ssl.create_default_context(cafile=servers["ca"])
    newest.minimum_version = ssl.TLSVersion.TLSv1_3
    assert blocking.request(blocking.ours(verify=newest), "GET", url).status_code == 200
    old = f"{servers['tls_old']}/ok"
    assert blocking.outcome(blocking.ours(verify=newest), "GET", old) == "ConnectError"
    assert blocking.outcome(blocking.ours(verify=True), "GET", url) == "ConnectError"


def test_extensions_that_would_mislead(seam: Seam) -> None:
    url = "https://127.0.0.1:1/"
    target = {"extensions": {"target": "*"}}
    assert seam.outcome(seam.ours(), "GET", url, **target) == "LocalProtocolError"
    name = {"extensions": {"sni_hostname": "other.test"}}
    given = seam.transport_class(client=seam.ntapi_class())
    assert seam.outcome(given, "GET", url, **name) == "LocalProtocolError"


@pytest.mark.parametrize("side", ["stock", "ours"])
def test_the_certificate_of_another_name(seam: Seam, servers: dict[str, str], side: str) -> None:
    """A certificate is asked for by the name, has to be for it, and Host is that of the URL."""
    for scheme, place, name, status in (
        ("https", "fault_tls", "localhost", 200),
        ("https", "fault_tls", "other.test", "ConnectError"),
        ("http", "fault", "other.test", 200),
    ):
        host = urlsplit(servers[place]).netloc
        url, options = f"{scheme}://{host}/echo", {"extensions": {"sni_hostname": name}}
        if status == 200:
            answer = seam.request(getattr(seam, side)(), "GET", url, **options).json()
            assert answer["header"]["host"] == host
        else:
            assert seam.outcome(getattr(seam, side)(), "GET", url, **options) == status


def test_what_is_no_text_is_refused(seam: Seam) -> None:
    for line in (
        (b"X-City", b"Z\xfcrich"),
        (b"X-City", b"Oslo\r\nX-More: 1"),
        (b"X-City", b"Oslo\0X-More\x001"),
        (b"X-City", b"Oslo\0"),
        (b"Upgrade", b"websocket"),
    ):
        outcome = seam.outcome(seam.ours(), "GET", "http://127.0.0.1:1/", headers=[line])
        assert outcome == "LocalProtocolError"


def test_local_address(seam: Seam, servers: dict[str, str]) -> None:
    transport = seam.ours(local_address="127.0.0.3")
    assert seam.request(transport, "GET", f"{servers['fault']}/echo").json()["peer"] == "127.0.0.3"
    assert seam.outcome(seam.ours(local_address="203.0.113.1"), "GET", servers["fault"]) == (
        "ConnectError"
    )


class Echo(BaseHTTPRequestHandler):
    """Answers with the request, but for what names the library."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        lines = [line for line in self.headers.items() if line[0].lower() != "user-agent"]
        answer = json.dumps([self.path, lines, body.decode()]).encode()
        self.send_response_only(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


@pytest.fixture
def unix_socket(tmp_path: Path) -> Iterator[Path]:
    """The path of a socket with a server."""
    path = tmp_path / "s"
    with socketserver.ThreadingUnixStreamServer(str(path), Echo) as server:
        # The end of the server is noticed within this time.
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield path
        server.shutdown()
        thread.join()


def test_a_unix_socket(seam: Seam, unix_socket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(unix_socket.parent)
    # The proxy is for hosts, and not for a Unix socket.
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    url = "http://any.test:8000/a?b=c"
    for uds in (unix_socket.name, str(unix_socket)):
        expected = seam.outcome(seam.stock(uds=uds), "POST", url, content=b"question")
        assert seam.outcome(seam.ours(uds=uds), "POST", url, content=b"question") == expected
        assert expected[0] == 200
    for transport in (seam.stock(uds="nobody"), seam.ours(uds="nobody")):
        assert seam.outcome(transport, "GET", url) == "ConnectError"


def test_mounts(blocking: Seam, servers: dict[str, str]) -> None:
    mounts = {
        servers["fault"]: blocking.ours(),
        "all://": blocking.ours(proxy="http://127.0.0.1:1"),
    }
    with blocking.client_class(mounts=mounts) as client:
        assert client.get(f"{servers['fault']}/ok").status_code == 200
        with pytest.raises(blocking.library.ConnectError):
            client.get(f"{servers['nginx']}/small.json")


def test_a_transport_belongs_to_its_process(seam: Seam) -> None:
    with pytest.raises(TypeError, match="in each process"):
        pickle.dumps(seam.ours())


# With a client of the program.


def test_a_client_of_the_program(seam: Seam, stub: Stub) -> None:
    rule = stub.on("GET", "/v1/cities")
    rule.answer(json={"cities": 7}, headers={"Cache-Control": "max-age=60"})
    passed: list[str] = []

    @ntapi.attempt_interceptor
    def watch(call: ntapi.InterceptedCall) -> None:
        passed.append(call.request.headers["X-One"])

    client = seam.ntapi_class(
        "https://api.test/v1",
        configuration=ntapi.SessionConfiguration.ephemeral(),
        stub=stub,
        interceptors=[watch],
    )
    for _ in range(2):
        # Closing the transport does not close the client that was given.
        transport = seam.transport_class(client=client)
        url = "https://api.test/v1/cities"
        response = seam.request(transport, "GET", url, headers={"X-One": "1"})
        assert response.json() == {"cities": 7}
    # The second answer came from the client's cache.
    assert rule.call_count == 1
    assert passed == ["1"]
    client._close()


def test_retries_are_attempts_to_connect(seam: Seam, stub: Stub) -> None:
    lost = stub.on("GET", "https://api.test/lost")
    lost.fail(StubFault.NO_CONNECTION).answer(json=1)
    cut = stub.on("GET", "https://api.test/cut")
    cut.fail(StubFault.CONNECTION_LOST).answer(json=1)
    client = seam.ntapi_class(stub=stub)
    transport = seam.transport_class(retries=1, client=client)
    assert seam.request(transport, "GET", "https://api.test/lost").json() == 1
    assert seam.outcome(transport, "GET", "https://api.test/cut") == "RemoteProtocolError"
    client._close()


def test_what_ntapi_decompresses_is_not_decompressed_again(
    seam: Seam, servers: dict[str, str]
) -> None:
    url = f"{servers['nginx']}/gzip/big-100k.json"
    expected = seam.request(seam.stock(), "GET", url).json()
    for decompression in (True, False):
        configuration = ntapi.SessionConfiguration.ephemeral(decompression=decompression)
        client = seam.ntapi_class(configuration=configuration)
        response = seam.request(seam.transport_class(client=client), "GET", url)
        assert response.json() == expected
        assert ("content-encoding" in response.headers) is not decompression
        client._close()


def test_a_body_that_ntapi_cannot_decompress(seam: Seam, servers: dict[str, str]) -> None:
    url = f"{servers['fault']}/encoding/corrupt"
    for decompression in (True, False):
        configuration = ntapi.SessionConfiguration.ephemeral(decompression=decompression)
        client = seam.ntapi_class(configuration=configuration)
        # NTApi finds the damage, or the library does.
        assert seam.outcome(seam.transport_class(client=client), "GET", url) == "DecodingError"
        client._close()


@pytest.mark.parametrize(
    ("code", "failure", "expected"),
    [
        (55, NetworkFailure.RESET, "WriteError"),  # CURLE_SEND_ERROR
        (56, NetworkFailure.RESET, "ReadError"),  # CURLE_RECV_ERROR
        (None, NetworkFailure.RESET, "ReadError"),
        (92, NetworkFailure.RESET, "RemoteProtocolError"),  # CURLE_HTTP2_STREAM
        (45, NetworkFailure.OTHER, "ConnectError"),  # CURLE_INTERFACE_FAILED
        (1, NetworkFailure.OTHER, "TransportError"),
        # What NTApi says more exactly counts more than libcurl's code.
        (55, NetworkFailure.NO_ANSWER, "RemoteProtocolError"),
    ],
)
def test_the_exception_for_a_code_of_libcurl(
    code: Optional[int], failure: NetworkFailure, expected: str
) -> None:
    error = ntapi.ApiError(
        ntapi.codes.NETWORK,
        domain=ntapi.ErrorDomain.NETWORK,
        transport_code=code,
        failure=failure,
    )
    for is_sending in (False, True):
        assert _EXCEPTION_OF[failure_of(error, is_sending)] == expected


def test_the_library_follows_redirects_itself(seam: Seam, servers: dict[str, str]) -> None:
    client = seam.ntapi_class()
    transport = seam.transport_class(client=client)
    url = f"{servers['fault']}/chain/2"
    response = seam.request(transport, "GET", url, follow_redirects=True)
    assert [each.status_code for each in response.history] == [302, 302]
    client._close()


def test_recordings(blocking: Seam, servers: dict[str, str], tmp_path: Path) -> None:
    url = f"{servers['fault']}/status/404"
    path = tmp_path / "recording.json"
    answers = []
    for _ in range(2):
        with ntapi.Client(recorder=Recorder(path)) as client:
            transport = blocking.transport_class(client=client)
            answers.append(blocking.request(transport, "GET", url).json())
    assert answers[0] == answers[1]


def test_a_client_has_settings_of_its_own(seam: Seam) -> None:
    client = seam.ntapi_class()
    for options in ({"verify": False}, {"uds": "socket"}):
        with pytest.raises(TypeError, match="of its own"):
            seam.transport_class(**options, client=client)
    other = ntapi.Client if seam.is_async else ntapi.AsyncClient
    with pytest.raises(TypeError, match="is expected"):
        seam.transport_class(client=other())
    client._close()


# The package.


def test_importing_ntapi_imports_no_transport() -> None:
    code = (
        "import sys, ntapi, ntapi.transports\n"
        "print([name for name in ('httpx', 'httpx2', 'requests', 'stripe') if name in sys.modules])"
    )
    assert run_python(code).stdout.strip() == "[]"


def test_without_the_library_the_error_says_what_to_install() -> None:
    code = (
        "import sys\n"
        "for name in ('httpx', 'httpx2', 'requests', 'stripe'): sys.modules[name] = None\n"
        "import ntapi.transports\n"
        "for name in ntapi.transports.__all__:\n"
        "    try: getattr(ntapi.transports, name)\n"
        "    except ImportError as error: print(error)\n"
    )
    lines = run_python(code).stdout.splitlines()
    assert lines[:2] == [
        "ntapi.transports.AsyncHTTPX needs httpx: pip install httpx",
        "ntapi.transports.AsyncHTTPX2 needs httpx2 (Python 3.11 or later): pip install httpx2",
    ]
    assert len(lines) == len(ntapi.transports.__all__)


def test_after_a_fork(blocking: Seam, servers: dict[str, str]) -> None:
    code = f"""
import os, sys
import {blocking.library.__name__} as library
import ntapi.transports
client = library.Client(transport=ntapi.transports.{blocking.transport_class.__name__}())
url = sys.argv[1]
assert client.get(url).status_code == 200
if os.fork() == 0:
    print(client.get(url).status_code, flush=True)
    os._exit(0)
os.wait()
print(client.get(url).status_code)
"""
    result = run_python(code, f"{servers['fault']}/ok")
    assert result.stdout.split() == ["200", "200"], result.stderr
