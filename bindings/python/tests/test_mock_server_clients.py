"""The mock server under clients of others: each makes the same requests."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("h2")
pytest.importorskip("trustme")

import ntapi
from conftest import PATIENCE
from mock_server_wire import curl, curl_until
from ntapi import NetworkFailure
from ntapi.testing import Server, Stub
from ntapi.testing.server import Fault, Latch, ServerAnswer


@pytest.fixture
def latch() -> Latch:
    return Latch()


@pytest.fixture(params=[False, True], ids=["http", "https"])
def server(request: pytest.FixtureRequest, stub: Stub, latch: Latch) -> Iterator[Server]:
    """A server whose /find answers, after one failure, and whose /lost breaks in the body.

    A reset discards what the client has not read, and may come while the client still writes. If a
    client releases `latch` when the first bytes are there, it sees the body break.
    """
    stub.on("GET", "find?q=London").answer(503).answer(json={"name": "London"})
    fault = Fault("reset", "body", after=2)
    stub.on("POST", "lost").add(ServerAnswer(data=b"0123", hold_trailers=latch, fault=fault))
    server = Server(stub, tls=request.param)
    with server:
        yield server


def check(server: Server, version: float) -> None:
    """Checks what a client has sent."""
    requests = server.requests
    targets = [(request.method, request.target) for request in requests]
    assert targets == [("GET", "/v1/find?q=London")] * 2 + [("POST", "/v1/lost")]
    assert requests[2].body == b'{"a":1}'
    assert {request.http_version for request in requests} == {version}
    assert [request.is_matched for request in requests] == [True] * 3


@pytest.mark.parametrize("version", [1.1, 2.0])
def test_curl(server: Server, latch: Latch, version: float) -> None:
    options = ["--http1.1"]
    if version == 2:
        options = ["--http2"] if server.url.startswith("https") else ["--http2-prior-knowledge"]
    if server.url.startswith("https"):
        options += ["--cacert", str(server.ca_path)]
    find = [*options, f"{server.url}/v1/find?q=London"]
    assert b" 503" in curl(*find).stdout
    assert curl(*find).stdout.endswith(b'{"name":"London"}')
    lost = [*options, "-d", '{"a":1}', f"{server.url}/v1/lost"]
    printed, status = curl_until(b"\r\n\r\n01", latch, *lost)
    assert printed.endswith(b"\r\n\r\n01")
    assert status == 56
    check(server, version)


def test_ntapi(server: Server, latch: Latch) -> None:
    is_https = server.url.startswith("https")
    # It speaks HTTP/2 over TLS only.
    version = 2.0 if is_https else 1.1
    with ntapi.Client(f"{server.url}/v1") as client:
        if is_https:
            client.set_default("caFile", str(server.ca_path))
        client.args = [ntapi.option("http_version", "2" if version == 2 else "1.1")]
        args = ["find", ntapi.url("q", "London")]
        assert client.perform(*args).status == 503
        assert client.send(*args).json() == {"name": "London"}
        with client.stream("lost", ntapi.json({"a": 1})) as stream:
            pieces = iter(stream)
            assert next(pieces) == b"01"
            latch.release()
            with pytest.raises(ntapi.ApiError) as caught:
                next(pieces)
    assert caught.value.failure in (NetworkFailure.RESET, NetworkFailure.CUT_SHORT)
    check(server, version)


def test_ntapi_repeats_what_a_goaway_has_refused() -> None:
    server = Server(tls=True)
    with server, ntapi.Client(server.url) as client:
        client.set_default("caFile", str(server.ca_path))
        server.enqueue(ServerAnswer(fault=Fault("goaway", last_stream=0)), ServerAnswer(json=1))
        args = [ntapi.option("http_version", "2")]
        response = client.perform("x", *args)
        if response.error is not None:
            # A libcurl that does not repeat it itself.
            assert response.error.retryable
            response = client.perform("x", *args)
        assert response.json() == 1
    assert [request.connection for request in server.requests] == [1, 2]


def test_ntapi_cancels_while_an_answer_is_held() -> None:
    latch = Latch()
    server = Server()
    with server, ntapi.Client(server.url) as client:
        server.enqueue(ServerAnswer(text="half", hold_trailers=latch, chunked=True))
        request = client.begin("x", ntapi.response_thread(ntapi.BACKGROUND))
        latch.wait_until_reached()
        request.cancel()
        assert server.take_request().wait_for_end() == "hung up"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.skipif(find_spec(name) is None, reason=f"no {name}"))
        for name in ("httpx", "httpx2")
    ],
)
@pytest.mark.parametrize("version", [1.1, 2.0])
def test_httpx(server: Server, latch: Latch, name: str, version: float) -> None:
    httpx = import_module(name)
    is_https = server.url.startswith("https")
    verify = ssl.create_default_context(cafile=str(server.ca_path)) if is_https else True
    with httpx.Client(
        base_url=f"{server.url}/v1",
        verify=verify,
        http1=version == 1.1,
        http2=version == 2,
        timeout=PATIENCE,
        trust_env=False,
    ) as client:
        assert client.get("find", params={"q": "London"}).status_code == 503
        answer = client.get("find", params={"q": "London"})
        assert (answer.json(), answer.http_version) == (
            {"name": "London"},
            "HTTP/2" if version == 2 else "HTTP/1.1",
        )
        with client.stream("POST", "lost", content=b'{"a":1}') as lost:
            pieces = lost.iter_raw()
            assert next(pieces) == b"01"
            latch.release()
            with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
                next(pieces)
    check(server, version)


NODE = """
const [url, caPath] = process.argv.slice(2);
const fs = require("fs");
const ca = caPath ? fs.readFileSync(caPath) : undefined;
const { request } = require(url.startsWith("https") ? "https" : "http");
function ask(method, path, body) {
  return new Promise((resolve) => {
    const sent = request(url + path, { method, ca }, (answer) => {
      const pieces = [];
      answer.on("data", (piece) => pieces.push(piece));
      answer.on("end", () => resolve([answer.statusCode, Buffer.concat(pieces).toString()]));
      answer.on("error", (error) => resolve([error.code, Buffer.concat(pieces).toString()]));
    });
    sent.on("error", (error) => resolve([error.code, ""]));
    sent.end(body);
  });
}
(async () => {
  const answers = [];
  answers.push(await ask("GET", "/v1/find?q=London"));
  answers.push(await ask("GET", "/v1/find?q=London"));
  answers.push(await ask("POST", "/v1/lost", '{"a":1}'));
  console.log(JSON.stringify(answers));
})();
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_node(server: Server, latch: Latch, tmp_path: Path) -> None:
    latch.release()
    program = tmp_path / "client.js"
    program.write_text(NODE, encoding="utf-8")
    trust = [str(server.ca_path)] if server.url.startswith("https") else []
    done = subprocess.run(
        ["node", str(program), server.url, *trust], capture_output=True, text=True, check=True
    )
    answers = json.loads(done.stdout)
    assert answers[:2] == [[503, ""], [200, '{"name":"London"}']]
    assert answers[2][0] == "ECONNRESET"
    check(server, 1.1)


NODE_HTTP2 = """
const [url, caPath] = process.argv.slice(2);
const fs = require("fs");
const client = require("http2").connect(url, { ca: caPath && fs.readFileSync(caPath) });
const seen = [];
client.on("goaway", (code, last) => seen.push(["goaway", code, last]));
client.on("error", (error) => seen.push(["error", error.code]));
function ask(path) {
  return new Promise((resolve) => {
    const stream = client.request({ ":path": path });
    let text = "";
    stream.setEncoding("utf8");
    stream.on("response", (headers) => seen.push([headers[":status"]]));
    stream.on("headers", (headers) => seen.push([headers[":status"]]));
    stream.on("trailers", (headers) => seen.push([headers["x-sum"]]));
    stream.on("data", (piece) => { text += piece; });
    stream.on("error", () => {});
    stream.on("close", () => { seen.push([text, stream.rstCode]); resolve(); });
    stream.end();
  });
}
(async () => {
  await ask("/a");
  await ask("/b");
  await ask("/c");
  console.log(JSON.stringify(seen));
  client.close();
})();
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
@pytest.mark.parametrize("has_tls", [False, True])
def test_node_over_http_2(has_tls: bool, tmp_path: Path) -> None:
    program = tmp_path / "client.js"
    program.write_text(NODE_HTTP2, encoding="utf-8")
    server = Server(tls=has_tls)
    with server as url:
        server.enqueue(
            ServerAnswer(text="a", informational=[(103, {"Link": "x"})], trailers={"X-Sum": "7"}),
            ServerAnswer(text="b", fault=Fault("reset_stream", code=7)),
            ServerAnswer(text="c", fault=Fault("goaway")),
        )
        trust = [str(server.ca_path)] if has_tls else []
        done = subprocess.run(
            ["node", str(program), url, *trust],
            capture_output=True, text=True, check=True, timeout=PATIENCE,
        )  # fmt: skip
    seen = json.loads(done.stdout)
    assert seen[:5] == [[103], [200], ["7"], ["a", 0], ["", 7]]
    assert [200] in seen[5:]
    assert ["c", 0] in seen[5:]
    assert ["goaway", 0, 5] in seen[5:]


GO = """
package main

import (
\t"crypto/tls"
\t"crypto/x509"
\t"fmt"
\t"io"
\t"net/http"
\t"os"
\t"strings"
)

func main() {
\tpool := x509.NewCertPool()
\tif len(os.Args) > 2 {
\t\tpem, _ := os.ReadFile(os.Args[2])
\t\tpool.AppendCertsFromPEM(pem)
\t}
\tclient := http.Client{Transport: &http.Transport{
\t\tTLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
\tshow := func(answer *http.Response, err error) {
\t\tif err != nil {
\t\t\tfmt.Println("failed")
\t\t\treturn
\t\t}
\t\tbody, err := io.ReadAll(answer.Body)
\t\tfmt.Println(answer.StatusCode, string(body), err != nil)
\t}
\tshow(client.Get(os.Args[1] + "/v1/find?q=London"))
\tshow(client.Get(os.Args[1] + "/v1/find?q=London"))
\tshow(client.Post(os.Args[1]+"/v1/lost", "application/json", strings.NewReader(`{"a":1}`)))
}
"""


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not here")
def test_go(server: Server, latch: Latch, tmp_path: Path) -> None:
    latch.release()
    program = tmp_path / "client.go"
    program.write_text(GO, encoding="utf-8")
    is_https = server.url.startswith("https")
    trust = [str(server.ca_path)] if is_https else []
    done = subprocess.run(
        ["go", "run", str(program), server.url, *trust], capture_output=True, text=True, check=True
    )
    answers = done.stdout.splitlines()
    assert answers[:2] == ["503  false", '200 {"name":"London"} false']
    assert answers[2] in ("200 01 true", "failed")
    check(server, 2.0 if is_https else 1.1)


def test_the_content_type_of_an_answer() -> None:
    server = Server()
    with server as url, ntapi.Client(url) as client:
        server.enqueue(ServerAnswer(json={"a": 1}, content_type="application/problem+json"))
        assert client.get("a").headers.get_all("Content-Type") == ["application/problem+json"]
