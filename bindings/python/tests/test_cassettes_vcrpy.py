"""Cassettes that vcrpy has written replay here, and vcrpy replays ours."""

from __future__ import annotations

import asyncio
import functools
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

import ntapi
from cassette_server import ANSWERS, PATHS, TEXT, Server, running
from ntapi.testing import Recorder, Stub

vcr = pytest.importorskip("vcr", reason="vcrpy needs Python 3.11")
aiohttp = pytest.importorskip("aiohttp")
httpx = pytest.importorskip("httpx")
httpx2 = pytest.importorskip("httpx2")
requests = pytest.importorskip("requests")
urllib3 = pytest.importorskip("urllib3")

JSON, FORM, PLAIN = {"q": 1, "list": ["ü"]}, {"q": "a b", "token": "mine"}, b"\x00\xff plain"
POSTS = ["json", "form", "plain", "parts", "stream"]


@pytest.fixture
def server() -> Iterator[Server]:
    with running() as server:
        yield server


# What other clients do. Each gives the body of its answer.


def with_requests(url: str, path: str) -> Any:
    send = {
        "json": lambda: requests.post(url, json=JSON),
        "form": lambda: requests.post(url, data=FORM),
        "plain": lambda: requests.post(url, data=PLAIN),
        "parts": lambda: requests.post(url, files={"file": ("ü.bin", PLAIN, "image/png")}),
        "stream": lambda: requests.post(url, data=iter([b"one ", b"two"])),
    }
    return send[path]().content if path in send else requests.get(url + path).content


def with_httpx(url: str, path: str, module: Any = httpx) -> Any:
    send = {
        "json": lambda: module.post(url, json=JSON),
        "form": lambda: module.post(url, data=FORM),
        "plain": lambda: module.post(url, content=PLAIN),
        "parts": lambda: module.post(url, files={"file": ("ü.bin", PLAIN, "image/png")}),
        "stream": lambda: module.post(url, content=iter([b"one ", b"two"])),
    }
    if path in send:
        return send[path]().content
    return module.get(url + path, follow_redirects=True).content


def with_urllib3(url: str, path: str) -> Any:
    send: dict[str, dict[str, Any]] = {
        "json": {"json": JSON},
        "form": {"fields": FORM, "encode_multipart": False},
        "plain": {"body": PLAIN},
        "parts": {"fields": {"file": ("ü.bin", PLAIN, "image/png")}},
        "stream": {"body": iter([b"one ", b"two"])},
    }
    if path in send:
        return urllib3.PoolManager().request("POST", url, **send[path]).data
    headers = {"Accept-Encoding": "gzip"}
    return urllib3.request("GET", url + path, headers=headers).data


def with_aiohttp(url: str, path: str) -> Any:
    send: dict[str, dict[str, Any]] = {
        "json": {"json": JSON},
        "form": {"data": FORM},
        "plain": {"data": PLAIN},
        "parts": {"data": {"file": io.BytesIO(PLAIN)}},
        "stream": {"data": PLAIN},
    }

    async def ask() -> bytes:
        async with aiohttp.ClientSession() as session:
            method = "POST" if path in send else "GET"
            given = send.get(path, {})
            async with session.request(
                method, url + ("" if path in send else path), **given
            ) as answer:
                body: bytes = await answer.read()
                return body

    return asyncio.run(ask())


CLIENTS: dict[str, Callable[[str, str], Any]] = {
    "requests": with_requests,
    "httpx": with_httpx,
    "httpx2": functools.partial(with_httpx, module=httpx2),
    "urllib3": with_urllib3,
    "aiohttp": with_aiohttp,
}


def same(replayed: bytes, recorded: bytes) -> bool:
    """Whether they are the same. A recording has JSON without its formatting, and no secrets."""
    if recorded.startswith(b"{"):
        return bool(json.loads(replayed) == json.loads(recorded))
    return replayed == recorded.replace(b"mine", b"<redacted>")


def with_ntapi(client: ntapi.Client, name: str, path: str) -> bytes:
    """The same request."""
    stream = ntapi.stream(iter([b"one ", b"two"]))
    send = {
        "json": [ntapi.json(JSON)],
        "form": [ntapi.form("q", "a b"), ntapi.form("token", "mine")],
        "plain": [ntapi.data(PLAIN)],
        "parts": [ntapi.multipart("file", PLAIN, filename="ü.bin", content_type="image/png")],
        "stream": [ntapi.data(PLAIN) if name == "aiohttp" else stream],
    }
    raw = ntapi.option("raw_data")
    if path not in send:
        return client.perform(path.lstrip("/"), raw).data
    return client.send("", ntapi.method("POST"), raw, *send[path]).data


@pytest.mark.parametrize("name", CLIENTS)
def test_what_vcrpy_writes_is_replayed(server: Server, tmp_path: Path, name: str) -> None:
    path = tmp_path / "vcr.yaml"
    paths = [*PATHS, "/chunked", *POSTS]
    with vcr.use_cassette(str(path)):
        expected = [CLIENTS[name](server.url, each) for each in paths]
    assert expected[paths.index("/gzip")].decode() == TEXT or name == "urllib3"
    count = server.count
    with (
        Recorder(path, mode="none") as recorder,
        ntapi.Client(server.url, recorder=recorder) as client,
    ):
        for each, body in zip(paths, expected):
            got = with_ntapi(client, name, each)
            if each in ("/br", "/gzip", "/deflate"):
                assert got.decode() == TEXT, each
            elif each == "parts":
                # The boundaries differ.
                assert got.startswith(b"posted ")
            else:
                assert got == body, each
        assert client.stub
        client.stub.verify()
    assert server.count == count


@pytest.mark.parametrize("name", CLIENTS)
def test_vcrpy_replays_what_is_recorded(server: Server, tmp_path: Path, name: str) -> None:
    path = tmp_path / "ours.yaml"
    paths = [*PATHS, "/chunked", "json", "form", "plain"]
    with Recorder(path) as recorder, ntapi.Client(server.url, recorder=recorder) as client:
        expected = [with_ntapi(client, name, each) for each in paths]
    count = server.count
    with vcr.use_cassette(str(path), record_mode="none") as cassette:
        for each, body in zip(paths, expected):
            assert same(CLIENTS[name](server.url, each), body), each
        assert cassette.all_played
    assert server.count == count


def test_vcrpy_compares_bodies_of_ours(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    with Recorder(path) as recorder, ntapi.Client(server.url, recorder=recorder) as client:
        raw = ntapi.option("raw_data")
        client.send("", raw, ntapi.json(JSON))
        client.send("", raw, ntapi.form("q", "a b"), ntapi.url("appid", "hush"))
    match = ["method", "scheme", "host", "port", "path", "query", "body"]
    filters = {"filter_query_parameters": [("appid", "<redacted>")]}
    with vcr.use_cassette(str(path), record_mode="none", match_on=match, **filters):
        assert requests.post(server.url, json=JSON).ok
        assert requests.post(f"{server.url}?appid=hush", data={"q": "a b"}).ok
    with vcr.use_cassette(str(path), record_mode="none", match_on=match) as cassette:
        with pytest.raises(vcr.errors.CannotOverwriteExistingCassetteException):
            requests.post(server.url, json={"q": 2})
        assert not cassette.play_count


def test_both_add_to_a_cassette(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "shared.yaml"
    with vcr.use_cassette(str(path)):
        requests.get(server.url + "/gzip")
    with (
        Recorder(path, mode="new_episodes") as recorder,
        ntapi.Client(server.url, recorder=recorder) as client,
    ):
        assert client.send("gzip", ntapi.option("raw_data")).text == TEXT
        client.send("json")
    assert recorder.count == 1
    with vcr.use_cassette(str(path), record_mode="new_episodes"):
        assert requests.get(server.url + "/gzip").text == TEXT
        assert requests.get(server.url + "/json").json() == json.loads(TEXT)
        requests.get(server.url + "/missing")
    text = path.read_text()
    assert text.count("uri: ") == text.count("  response:") == server.count == 3
    # vcrpy keeps what it does not know.
    assert text.count("http_version: HTTP/1.1") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["shared.yaml"]


def test_vcrpy_keeps_trailers(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    stub = Stub()
    stub.on("GET", "/sum").answer(text="body", trailers={"X-Sum": "7"})
    with (
        Recorder(path) as recorder,
        ntapi.Client(server.url, stub=stub, recorder=recorder) as client,
    ):
        client.send("sum", ntapi.option("raw_data"))
    for ask in CLIENTS.values():
        with vcr.use_cassette(str(path), record_mode="none"):
            assert ask(server.url, "/sum") == b"body"
    with vcr.use_cassette(str(path), record_mode="new_episodes"):
        requests.get(server.url + "/json")
    with ntapi.Client(server.url, stub=Stub.from_recording(path)) as client:
        assert client.send("sum", ntapi.option("raw_data")).trailers["x-sum"] == "7"
        assert client.send("json").trailers.lines == ()


def test_reason_and_headers_of_vcrpys_cassettes(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "vcr.yaml"
    with vcr.use_cassette(str(path), decode_compressed_response=True):
        requests.get(server.url + "/twice")
        requests.get(server.url + "/odd")
        requests.get(server.url + "/gzip")
    with (
        Recorder(path, mode="none") as recorder,
        ntapi.Client(server.url, recorder=recorder) as client,
    ):
        twice = client.send("twice", ntapi.option("raw_data"))
        assert twice.headers.get_all("X-Twice") == ["one", "two"]
        assert client.perform("odd").status == 299
        assert client.send("gzip", ntapi.option("raw_data")).text == TEXT


def test_recorded_status_headers_and_redirects_in_vcrpy(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    with Recorder(path) as recorder, ntapi.Client(server.url, recorder=recorder) as client:
        for each in ("twice", "moved", "missing"):
            client.perform(each)
    with vcr.use_cassette(str(path), record_mode="none"):
        twice = requests.get(server.url + "/twice")
        assert twice.raw.headers.getlist("X-Twice") == ["one", "two"]
        assert twice.cookies["sid"] == "<redacted>"
        moved = requests.get(server.url + "/moved")
        assert [each.status_code for each in moved.history] == [ANSWERS["/moved"][0]]
        missing = requests.get(server.url + "/missing")
        assert (missing.status_code, missing.reason) == (404, "Not Found")
    with vcr.use_cassette(str(path), record_mode="none"):
        answer = httpx.get(server.url + "/missing")
        assert (answer.status_code, answer.reason_phrase) == (404, "Not Found")


def test_vcrpy_skips_failures_without_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    with running() as server:
        url = server.url
    with Recorder(path) as recorder, ntapi.Client(url, recorder=recorder) as client:
        assert client.perform("gone").error
    assert "fault: no_connection" in path.read_text()
    with vcr.use_cassette(str(path), record_mode="none") as cassette:
        assert len(cassette) == 0
    with Recorder(path, mode="none") as recorder, ntapi.Client(url, recorder=recorder) as client:
        error = client.perform("gone").error
        assert error
        assert error.failure is ntapi.NetworkFailure.REFUSED
