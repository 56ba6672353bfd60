"""requests over NTApi. Each scenario runs with the library's own adapter and with ours, and a
program sees the same.
"""

from __future__ import annotations

import gc
import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

import ntapi.transports
from conftest import PATIENCE, run_python
from ntapi.testing import Stub, StubFault
from transport_sides import INTERRUPTIONS, LARGE, SHORT, Outcome, OwnError, Pieces, seen

requests = pytest.importorskip("requests")


@pytest.fixture(params=[False, True], ids=["whole", "stream"])
def stream(request: pytest.FixtureRequest) -> bool:
    """Whether the body is read when the program asks for it."""
    return bool(request.param)


def session(servers: dict[str, str], adapter: Optional[Any] = None) -> Any:
    """A session that trusts the test servers, perhaps with an adapter."""
    new = requests.Session()
    new.trust_env = False
    new.verify = servers["ca"]
    if adapter is not None:
        new.mount("http://", adapter)
        new.mount("https://", adapter)
    return new


def outcome(own: Any, method: str, url: str, **options: Any) -> Outcome:
    """What a program sees of a request, without what differs from one to the next."""
    content = options.pop("content", None)
    if content is not None:
        options["data"] = content.sync() if isinstance(content, Pieces) else content
    try:
        response = own.request(method, url, **{"timeout": PATIENCE, **options})
        content = response.content
    except OwnError:
        return "OwnError"
    except requests.RequestException as error:
        return type(error).__name__
    lines = [(name.encode(), value.encode()) for name, value in response.raw.headers.items()]
    return (
        *seen(response.status_code, response.raw.version, response.reason, lines, content),
        sorted(response.cookies.items()),
        response.encoding,
        response.url,
        [each.status_code for each in response.history],
    )


RESPONSES: dict[str, dict[str, Any]] = {
    "close/before": {},
    "close/in-body": {},
    "reset/before": {},
    "reset/in-body": {},
    "close-delimited": {},
    "connection-close": {},
    "continue-storm?count=20": {},
    "head-with-body": {},
    "http09": {},
    "huge-header": {},
    "no-content-with-body": {},
    "not-modified": {},
    "no-location": {},
    "status/204": {},
    "status/404": {},
    "zeros?size=300000": {},
    "headers?X-A=1&x-a=2&X-A=3": {},
    "set-cookie?set=a=1;Path=/&set=b=2": {},
    "redirect/echo": {},
    "chain/3": {},
    "chain/2?status=307": {},
    "chunked/ok": {},
    "chunked/truncated": {},
    "chunked/not-hex": {},
    "length/long": {},
    "status-line/garbage": {},
    "encoding/gzip": {},
    "encoding/deflate": {},
    "encoding/corrupt": {},
    "encoding/truncated": {},
    "encoding/unknown": {},
    "stall/before": {"timeout": SHORT},
    "stall/in-body": {"timeout": SHORT},
    "drip?size=50&bytes=10&ms=1": {},
}


@pytest.mark.parametrize("path", RESPONSES)
def test_a_program_sees_the_same_response(servers: dict[str, str], path: str, stream: bool) -> None:
    url = f"{servers['fault']}/{path}"
    adapter = ntapi.transports.RequestsAdapter()
    with session(servers) as stock, session(servers, adapter) as ours:
        expected = outcome(stock, "GET", url, stream=stream, **RESPONSES[path])
        assert outcome(ours, "GET", url, stream=stream, **RESPONSES[path]) == expected


REQUESTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "HEAD": ("HEAD", "ok", {}),
    "OPTIONS": ("OPTIONS", "echo", {}),
    "DELETE": ("DELETE", "echo", {}),
    "GET with body": ("GET", "echo", {"content": b"question"}),
    "empty POST": ("POST", "echo", {}),
    "text": ("POST", "echo", {"content": "Zürich"}),
    "JSON": ("POST", "echo", {"json": {"city": "Zürich"}}),
    "form": ("POST", "echo", {"content": {"a": "b c"}}),
    "large": ("POST", "mirror", {"content": LARGE}),
    "pieces": ("POST", "echo", {"content": Pieces()}),
    "pieces that fail": ("POST", "echo", {"content": Pieces(OwnError)}),
    "order and case": ("GET", "echo-raw", {"headers": {"X-One": "1", "x-two": "2", "ACCEPT": "a"}}),
    "own host": ("GET", "echo", {"headers": {"Host": "other.test"}}),
    "line end in a header": ("GET", "echo", {"headers": {"X-One": "a\nb"}}),
    "path as it is": ("GET", "echo/a//b;c=1?x=%2f&y=a+b&u=ü", {}),
    "basic auth": ("GET", "echo", {"auth": ("ann", "password")}),
    "stalled upload": ("POST", "no-read", {"content": LARGE * 10, "timeout": SHORT}),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_server_sees_the_same_request(servers: dict[str, str], name: str, stream: bool) -> None:
    method, path, options = REQUESTS[name]
    url = f"{servers['fault']}/{path}"
    adapter = ntapi.transports.RequestsAdapter()
    with session(servers) as stock, session(servers, adapter) as ours:
        expected = outcome(stock, method, url, stream=stream, **options)
        assert outcome(ours, method, url, stream=stream, **options) == expected


@pytest.mark.parametrize("interruption", INTERRUPTIONS)
def test_a_body_that_is_interrupted(
    servers: dict[str, str], interruption: type[BaseException]
) -> None:
    adapter = ntapi.transports.RequestsAdapter()
    with session(servers) as stock, session(servers, adapter) as ours:
        for own in (stock, ours):
            with pytest.raises(interruption):
                own.post(f"{servers['fault']}/echo", data=Pieces(interruption).sync())


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/",
        "http://nowhere.invalid/",
        "tls_expired",
        "tls_wrong_host",
        "tls_close",
    ],
)
def test_no_connection(servers: dict[str, str], url: str, stream: bool) -> None:
    address = servers.get(url, url)
    adapter = ntapi.transports.RequestsAdapter()
    with session(servers) as stock, session(servers, adapter) as ours:
        expected = outcome(stock, "GET", address, stream=stream)
        assert outcome(ours, "GET", address, stream=stream) == expected


def test_connect_timeout(servers: dict[str, str]) -> None:
    with session(servers, ntapi.transports.RequestsAdapter()) as ours:
        for timeout in ((SHORT, PATIENCE), requests.adapters.TimeoutSauce(total=SHORT)):
            with pytest.raises(requests.ConnectTimeout) as caught:
                ours.get(servers["blackhole"], timeout=timeout)
        assert caught.value.request.url == f"{servers['blackhole']}/"
        assert isinstance(caught.value.__cause__, ntapi.ApiError)
        with pytest.raises(ValueError, match="pair"):
            ours.get(servers["fault"], timeout=(1, 2, 3))
        with pytest.raises(ValueError, match="must be an int"):
            ours.get(servers["fault"], timeout="long")
        with pytest.raises(requests.exceptions.InvalidURL):
            ours.get(f"{servers['fault']}/redirect/to?url=http%3A%2F%2F%3A1")


def test_each_request_may_have_its_own_tls(servers: dict[str, str]) -> None:
    certificate = (servers["client_cert"], servers["client_key"])
    with session(servers, ntapi.transports.RequestsAdapter()) as ours:
        assert ours.get(f"{servers['fault_tls']}/ok").ok
        assert ours.get(f"{servers['tls_self_signed']}/ok", verify=False).ok
        with pytest.raises(requests.exceptions.SSLError):
            ours.get(f"{servers['tls_self_signed']}/ok")
        assert ours.get(f"{servers['tls_client']}/ok", cert=certificate).ok
        with pytest.raises(requests.exceptions.SSLError):
            ours.get(f"{servers['fault_tls']}/ok", verify=True)
        with pytest.raises(OSError, match="no file"):
            ours.get(f"{servers['fault_tls']}/ok", verify="/nowhere.pem")


def test_proxies(servers: dict[str, str]) -> None:
    good = servers["proxy_auth"].replace("//", f"//{servers['proxy_credentials']}@")
    adapter = ntapi.transports.RequestsAdapter()
    with session(servers) as stock, session(servers, adapter) as ours:
        nobody = "http://127.0.0.1:1"
        for proxy in (servers["proxy"], good, servers["proxy_auth"], nobody, "http:///", None):
            for target in ("nginx", "nginx_tls"):
                url = f"{servers[target]}/small.json"
                options = {"proxies": {"http": proxy, "https": proxy}}
                expected = outcome(stock, "GET", url, **options)
                assert outcome(ours, "GET", url, **options) == expected


def test_files_are_bodies(servers: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(LARGE)
    with session(servers, ntapi.transports.RequestsAdapter()) as ours, path.open("rb") as file:
        assert ours.post(f"{servers['fault']}/mirror", data=file).content == LARGE
        text = ours.post(f"{servers['fault']}/echo", data=io.StringIO("Zurich"))
        assert text.json()["body"] == "Zurich"
        # requests goes back to the beginning of the file.
        file.seek(0)
        again = ours.post(f"{servers['fault']}/redirect/echo?status=307", data=file)
        assert again.json()["size"] == len(LARGE)


def test_events_come_one_by_one(servers: dict[str, str]) -> None:
    def pieces() -> Iterator[bytes]:
        with session(servers, ntapi.transports.RequestsAdapter()) as ours:
            url = f"{servers['fault']}/split/lines?each=1"
            with ours.get(url, stream=True, timeout=PATIENCE) as response:
                yield from response.iter_content(100_000)

    # The server waits for nothing but its own pauses; a block of 100,000 bytes never fills.
    assert len(list(pieces())) > 1


def test_leaving_early_ends_the_exchange(servers: dict[str, str]) -> None:
    adapter = ntapi.transports.RequestsAdapter(max_connections=1)
    with session(servers, adapter) as ours:
        with ours.get(f"{servers['fault']}/endless", stream=True) as response:
            next(response.iter_content(10))
        # The only connection is free again.
        assert ours.get(f"{servers['fault']}/ok", timeout=PATIENCE).ok


def test_a_closed_session_can_go_on(servers: dict[str, str]) -> None:
    ours = session(servers, ntapi.transports.RequestsAdapter())
    with ours:
        assert ours.get(f"{servers['fault']}/ok").ok
    assert ours.get(f"{servers['fault']}/ok").ok
    copy = pickle.loads(pickle.dumps(ours))
    assert copy.get(f"{servers['fault']}/ok").ok
    copy.close()
    ours.close()


def test_a_body_outlives_its_session(servers: dict[str, str]) -> None:
    # `requests.get(url, stream=True)` returns a response whose session is closed.
    url = f"{servers['fault']}/drip?size=50&bytes=10&ms=1"
    bodies = []
    for adapter in (None, ntapi.transports.RequestsAdapter()):
        with session(servers, adapter) as own:
            response = own.get(url, stream=True, timeout=PATIENCE)
            first = next(response.iter_content(1))
        bodies.append(first + b"".join(response.iter_content(1)))
    assert bodies[0] == bodies[1]
    assert len(bodies[1]) == 50


def test_the_end_of_a_body_closes_the_client(
    servers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # What other tests have left is not counted.
    gc.collect()
    closed = []
    close = ntapi.Client.close
    monkeypatch.setattr(ntapi.Client, "close", lambda own: (closed.append(own), close(own)))
    with session(servers, ntapi.transports.RequestsAdapter()) as ours:
        response = ours.get(f"{servers['fault']}/ok", stream=True, timeout=PATIENCE)
    assert not closed
    assert response.content
    gc.collect()
    assert len(closed) == 1


def test_retries_are_attempts_to_connect(servers: dict[str, str], stub: Stub) -> None:
    stub.on("GET", "/lost").fail(StubFault.NO_CONNECTION).answer(json=1)
    stub.on("GET", "/cut").fail(StubFault.CONNECTION_LOST).answer(json=1)
    with ntapi.Client(stub=stub) as client:
        adapter = ntapi.transports.RequestsAdapter(max_retries=1, client=client)
        with session(servers, adapter) as ours:
            ours.verify = True
            assert ours.get("https://api.test/lost").json() == 1
            with pytest.raises(requests.ConnectionError):
                ours.get("https://api.test/cut")
    with pytest.raises(TypeError, match="number"):
        ntapi.transports.RequestsAdapter(max_retries=requests.adapters.Retry(3))


def test_a_client_of_the_program(servers: dict[str, str], stub: Stub) -> None:
    rule = stub.on("GET", "/v1/cities")
    rule.answer(json={"cities": 7}, headers={"Cache-Control": "max-age=60"})
    configuration = ntapi.SessionConfiguration.ephemeral()
    with (
        ntapi.Client("https://api.test", configuration=configuration, stub=stub) as client,
        session(servers, ntapi.transports.RequestsAdapter(client=client)) as ours,
    ):
        with pytest.raises(ValueError, match="settings of the client"):
            ours.get("https://api.test/v1/cities")
        ours.verify = True
        for _ in range(2):
            assert ours.get("https://api.test/v1/cities").json() == {"cities": 7}
        assert rule.call_count == 1
        with pytest.raises(ValueError, match="a setting of the client"):
            ours.get("https://api.test/v1/cities", proxies={"https": "http://127.0.0.1:1"})
        with pytest.raises(TypeError, match="of its own"):
            ntapi.transports.RequestsAdapter(http2=True, client=client)
    with ntapi.Client() as client, pytest.raises(TypeError, match="is expected"):
        ntapi.transports.RequestsAdapter(client=requests)
    assert client is not None


def test_what_ntapi_decompresses_is_not_decompressed_again(servers: dict[str, str]) -> None:
    url = f"{servers['nginx']}/gzip/big-100k.json"
    with session(servers) as stock:
        expected = stock.get(url).json()
    for stream in (False, True):
        with ntapi.Client() as client:
            adapter = ntapi.transports.RequestsAdapter(client=client)
            with session(servers, adapter) as ours:
                ours.verify = True
                response = ours.get(url, stream=stream)
                assert response.json() == expected
                assert "content-encoding" not in response.headers


def test_a_body_that_ntapi_cannot_decompress(servers: dict[str, str], stream: bool) -> None:
    url = f"{servers['fault']}/encoding/corrupt"
    with (
        ntapi.Client() as client,
        session(servers, ntapi.transports.RequestsAdapter(client=client)) as ours,
    ):
        ours.verify = True
        assert outcome(ours, "GET", url, stream=stream) == "ContentDecodingError"


def test_an_older_urllib3_is_refused() -> None:
    # As urllib3 1.26 looks to an import.
    code = """
import requests, urllib3
del urllib3.HTTPHeaderDict
import ntapi.transports
try:
    ntapi.transports.RequestsAdapter
except ImportError as error:
    print(error)
"""
    assert run_python(code).stdout.strip() == (
        "ntapi.transports.RequestsAdapter needs urllib3 2 or later: pip install 'urllib3>=2'"
    )


def test_after_a_fork(servers: dict[str, str]) -> None:
    code = """
import os, sys
import requests
import ntapi.transports
session = requests.Session()
session.mount("http://", ntapi.transports.RequestsAdapter())
assert session.get(sys.argv[1]).ok
if os.fork() == 0:
    print(session.get(sys.argv[1]).status_code, flush=True)
    os._exit(0)
os.wait()
print(session.get(sys.argv[1]).status_code)
"""
    result = run_python(code, f"{servers['fault']}/ok")
    assert result.stdout.split() == ["200", "200"], result.stderr
