"""Plain exchanges: what is sent and received, and which features they leave out."""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import pickle
from collections.abc import Iterator
from uuid import uuid4

import pytest

import ntapi
from ntapi import SessionConfiguration
from ntapi.testing import Stub

PLAIN = ntapi.option("plain_exchange")
BODY = bytes(range(256)) * 12_000
"""3 MB."""


def pieces() -> Iterator[bytes]:
    """The body in pieces whose size differs from that of any buffer."""
    return (BODY[start : start + 10_000] for start in range(0, len(BODY), 10_000))


@pytest.fixture
def client(servers: dict[str, str]) -> Iterator[ntapi.Client]:
    configuration = SessionConfiguration.ephemeral()
    with ntapi.Client(servers["fault"], configuration=configuration) as client:
        yield client


def test_a_compressed_body_comes_as_it_is(client: ntapi.Client) -> None:
    usual = client.send("encoding/gzip", ntapi.option("raw_data"))
    plain = client.send("encoding/gzip", PLAIN)
    assert plain.headers["content-encoding"] == "gzip"
    assert plain.data != usual.data
    assert gzip.decompress(plain.data) == usual.data
    with client.stream("encoding/gzip", PLAIN) as stream:
        assert b"".join(stream) == plain.data


def test_cookies_stay_out(client: ntapi.Client) -> None:
    client.send("set-cookie", PLAIN, ntapi.url("name", "a"), ntapi.url("value", "1"))
    assert list(client.cookies) == []
    client.cookies.set(ntapi.Cookie("b", "2", "127.0.0.1"))
    assert "b=2" in client.send("own-lines", ntapi.option("raw_data")).text
    assert client.send("own-lines", PLAIN).text == ""


def test_the_cache_stays_out(client: ntapi.Client) -> None:
    client.set_default("cachePolicy", "return_cached_else_load")
    token = str(uuid4())
    args = ["cached", ntapi.url("token", token), ntapi.url("cache-control", "max-age=100")]
    first = client.send(*args)
    assert client.send(*args).source is ntapi.Source.CACHE
    assert client.send(*args, PLAIN).source is ntapi.Source.NETWORK
    assert client.send(*args).data == first.data


def test_token_headers_and_challenges_stay_out(servers: dict[str, str]) -> None:
    asked: list[str] = []

    class Client(ntapi.Client):
        def decide(self, decision: ntapi.Decision) -> None:
            if decision.kind is ntapi.DecisionKind.CHALLENGE:
                asked.append("credential")
            decision.proceed()

    def refresh(refresh: ntapi.Refresh) -> ntapi.Token:
        asked.append("token")
        return ntapi.Token("fresh")

    with Client(servers["fault"]) as client:
        client.authenticator = ntapi.Authenticator(refresh)
        client.args = [ntapi.header("X-Own", "1")]
        client.set_default("userAgent", "test")
        assert client.send("own-lines", PLAIN).text == "X-Own: 1\n"
        assert client.send("status/401", PLAIN).status == 401
        assert asked == []
        assert "Bearer fresh" in client.send("own-lines", ntapi.option("raw_data")).text


def test_a_stub_answers_it(servers: dict[str, str]) -> None:
    stub = Stub()
    stub.on("GET", "thing").answer(status=418, text='{"a":1}')
    with ntapi.Client(servers["fault"]) as client:
        client.stub = stub
        response = client.send("thing", PLAIN)
    assert (response.status, response.data, response.error) == (418, b'{"a":1}', None)
    assert not response.has_json
    assert dict(stub.requests[0].headers) == {}


def test_the_head_comes_as_it_is(client: ntapi.Client) -> None:
    args = ["headers", PLAIN, ntapi.url("X-One", "1"), ntapi.url("x-one", "é")]
    response = client.send(*args)
    assert response.headers.raw[-2:] == ((b"X-One", b"1"), (b"x-one", "é".encode()))
    assert response.headers.get_all("X-ONE") == ["1", "é"]
    assert response.reason_phrase == "OK"
    for other in (copy.copy(response), pickle.loads(pickle.dumps(response))):
        assert other.headers.raw == response.headers.raw
        assert other.reason_phrase == "OK"
    with client.stream(*args) as stream:
        assert stream.headers.raw == response.headers.raw
        assert (stream.reason_phrase, stream.http_version) == ("OK", 1.1)


def test_trailers_of_a_stream(client: ntapi.Client) -> None:
    with client.stream("chunked/trailer", PLAIN) as stream:
        assert b"".join(stream)
        assert stream.response is not None
        assert stream.response.trailers.raw == ((b"X-Trailer", b"end"),)
        assert pickle.loads(pickle.dumps(stream.response)).trailers["x-trailer"] == "end"


def test_trailers_over_http_2(stub: Stub) -> None:
    pytest.importorskip("h2")
    pytest.importorskip("trustme")
    from ntapi.testing import Server

    stub.on("GET").answer(text="body", trailers={"x-sum": "7"})
    server = Server(stub, tls=True)
    with server as url, ntapi.Client(url) as client:
        client.set_default("caFile", str(server.ca_path))
        args = [PLAIN, ntapi.option("http_version", "2")]
        response = client.send("", *args)
        assert (response.data, response.trailers.lines) == (b"body", (("x-sum", "7"),))
        assert response.metrics.http_version == 2
        assert response.reason_phrase == ""
        with client.stream("", *args) as stream:
            assert (stream.http_version, stream.reason_phrase) == (2, "")
            assert list(stream) == [b"body"]
            assert stream.response is not None
            assert stream.response.trailers["X-Sum"] == "7"


@pytest.mark.parametrize("length", [None, len(BODY)])
def test_bodies_are_streamed_both_ways(client: ntapi.Client, length: int | None) -> None:
    args = [PLAIN, ntapi.method("PUT"), ntapi.stream(pieces(), length=length)]
    with client.stream("mirror", *args) as stream:
        received = b"".join(stream)
    assert received == BODY


@pytest.mark.parametrize("length", [None, len(BODY)])
def test_bodies_are_streamed_over_http_2(
    servers: dict[str, str], pattern: bytes, length: int | None
) -> None:
    with ntapi.Client(servers["nginx_tls"]) as client:
        client.set_default("caFile", servers["ca"])
        client.args = [PLAIN, ntapi.option("http_version", "2")]
        body = ntapi.stream(pieces(), length=length)
        with client.stream("upload", ntapi.method("PUT"), body) as stream:
            assert stream.http_version == 2
            answer = json.loads(b"".join(stream))
        assert answer["sha256"] == hashlib.sha256(BODY).hexdigest()
        assert answer["content_type"] is None
        with client.stream("pattern-8M.bin") as stream:
            assert stream.http_version == 2
            assert b"".join(stream) == pattern


@pytest.mark.parametrize("value", ["maybe", "2"])
def test_a_wrong_value(client: ntapi.Client, value: str) -> None:
    with pytest.raises(ntapi.ApiError, match="plain_exchange"):
        client.send("own-lines", ntapi.option("plain_exchange", value))


def test_a_hook_may_switch_it_on_and_off(servers: dict[str, str]) -> None:
    class Client(ntapi.Client):
        def build_request(self, request: ntapi.HTTPRequest) -> None:
            if "switch" in request.options:
                request.options["plain_exchange"] = request.options["switch"]

    with Client(servers["fault"]) as client:
        on = client.send("redirect/echo", ntapi.option("switch", "true"))
        assert (on.status, on.error) == (302, None)
        off = client.send("redirect/echo", PLAIN, ntapi.option("switch", "false"))
        assert json.loads(off.data)["path"] == "/echo"
        assert off.has_json
