"""Exchanges that are recorded here and replayed by every language."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Optional

import pytest

import ntapi
from conftest import REPOSITORY
from ntapi import codes
from ntapi.testing import Answer, Recorder, Server, Stub, StubFault, StubRequest
from ntapi.testing.server import ServerAnswer

FIXTURE = REPOSITORY / "Tests" / "conformance" / "recording.json"
"""The recording of the steps below. Swift and C replay it, too."""


def steps(client: ntapi.Client) -> list[Any]:
    """The recorded requests, the same as in the tests of Swift and C."""
    client.send("token/expire", ntapi.url("name", "recorded"))
    first = client.perform("token/use", ntapi.url("name", "recorded"), ntapi.bearer("old"))
    issued = client.send("token/issue", ntapi.url("name", "recorded"))
    posted = client.send("ok", ntapi.json({"city": "Zürich", "password": "hush"}))
    form = client.send("ok", ntapi.form("q", "a b"), ntapi.form("token", "hush"))
    client.send("ok", ntapi.url("appid", "hush"))
    redirected = client.send("chain/2")
    missing = client.perform("status/404")
    return [
        first.status,
        issued.status,
        posted.status,
        form.status,
        redirected.metrics.redirects,
        missing.error and missing.error.code,
    ]


def record(url: str, path: Path) -> list[Any]:
    with Recorder(path) as recorder, ntapi.Client(url, recorder=recorder) as client:
        assert client.recorder is recorder
        results = steps(client)
        assert recorder.count == 10
    return results


def stable(text: str) -> str:
    """Removes what differs between runs: the port, the time, the number of a connection."""
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    text = re.sub(r'"(request_of_connection|connection)": \d+', r'"\1": 0', text)
    return re.sub(r'\["(Date|Server)", "[^"]*"\]', r'["\1", "-"]', text)


EXPECTED = [401, 200, 200, 200, 2, codes.HTTP_ERROR]


def test_a_recording_is_replayed(servers: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "recording.json"
    assert record(servers["fault"], path) == EXPECTED
    text = path.read_text()
    assert "hush" not in text
    assert json.loads(text)["format"] == "ntapi-recording"
    assert stable(text) == stable(FIXTURE.read_text())
    stub = Stub.from_recording(path)
    with ntapi.Client(servers["fault"], stub=stub) as client:
        assert steps(client) == EXPECTED
        stub.verify()
        with pytest.raises(ntapi.ApiError, match="all its answers are used up"):
            client.send("ok", ntapi.url("appid", "other"))


@pytest.mark.parametrize("name", ["recording.json", "traffic.har"])
def test_numbers_keep_their_digits(servers: dict[str, str], tmp_path: Path, name: str) -> None:
    integers = [2**64 + 1, 2**64 + 3]
    texts = ["[1.123456789012345678]", "[1.123456789012345679]"]
    args = [ntapi.json([number]) for number in integers]
    args += [ntapi.data(text, "application/json") for text in texts]
    bodies = [f"[{number}]" for number in integers] + texts
    with (
        Recorder(tmp_path / name) as recorder,
        ntapi.Client(servers["fault"], recorder=recorder) as client,
    ):
        assert [client.send("mirror", arg).text for arg in args] == bodies
    stub = Stub.from_recording(tmp_path / name)
    with ntapi.Client(servers["fault"], stub=stub) as client:
        # Exchanges are not found by their order.
        found = [client.send("mirror", arg).text for arg in reversed(args)]
        assert found == bodies[::-1]
        stub.verify()


@pytest.mark.parametrize("name", ["recording.json", "traffic.har", "cassette.yaml"])
def test_what_describes_no_body_is_kept(servers: dict[str, str], tmp_path: Path, name: str) -> None:
    def lengths(client: ntapi.Client) -> list[Optional[str]]:
        length = ntapi.url("length", 12)
        answers = [
            client.perform("no-body", ntapi.method("HEAD"), length),
            client.perform("no-body", ntapi.url("status", 304), length),
        ]
        assert [answer.data for answer in answers] == [b"", b""]
        return [answer.headers.get("content-length") for answer in answers]

    path = tmp_path / name
    with Recorder(path) as recorder, ntapi.Client(servers["fault"], recorder=recorder) as client:
        assert lengths(client) == ["12", "12"]
    with ntapi.Client(servers["fault"], stub=Stub.from_recording(path)) as client:
        assert lengths(client) == ["12", "12"]


def test_the_recording_that_all_replay() -> None:
    stub = Stub.from_recording(FIXTURE, any_origin=True)
    with ntapi.Client("http://elsewhere.test", stub=stub) as client:
        assert steps(client) == EXPECTED
    stub.verify()
    again = Stub.from_recording(FIXTURE, any_origin=True, repeats_last=True)
    with ntapi.Client("http://elsewhere.test", stub=again) as client:
        assert steps(client) == EXPECTED
        assert steps(client) == EXPECTED


def test_secrets_of_ones_own(tmp_path: Path) -> None:
    stub = Stub()
    stub.on(None).answer(json={"session": "hush"}, headers={"X-Session": "hush", "session": "hush"})
    path = tmp_path / "r.json"
    with (
        Recorder(path, secrets=["session", "x-session"]) as recorder,
        ntapi.Client("http://api.test", stub=stub, recorder=recorder) as client,
    ):
        client.send("a", ntapi.url("session", "hush"), ntapi.json({"mine": "hush"}).secret())
    text = path.read_text()
    assert "hush" not in text
    assert '"redacted": true' in text


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"format":"ntapi-recording","version":1,"exchanges":[{}]}')
    with pytest.raises(ntapi.ApiError, match=r"bad\.json.*exchange 1, .request. is missing"):
        Stub.from_recording(path)
    with pytest.raises(ntapi.ApiError, match="no such file"):
        Stub.from_recording(tmp_path / "none.json")
    with pytest.raises(ntapi.ApiError, match="was not written"):
        Recorder(tmp_path / "none" / "x.json").save()
    with pytest.raises(RuntimeError), Recorder(path):
        raise RuntimeError
    assert path.read_text().startswith('{"format"')


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (rb'{"pass\u0077ord":"hush","open":"shown"}', "application/json"),
        (b'{"token":"hush","open":"shown"}', "text/plain"),
        (b'{"open":"shown"}\n{"token":"hush"}\n', "application/x-ndjson"),
        (b'data: {"open":"shown","token":"hush"}\n\n', "text/event-stream"),
        (b"token=hush\nopen=shown\n", "text/plain"),
    ],
)
def test_secrets_of_every_kind_of_body_stay_out(
    servers: dict[str, str], tmp_path: Path, body: bytes, kind: str
) -> None:
    path = tmp_path / "recording.json"
    with Recorder(path) as recorder, ntapi.Client(servers["fault"], recorder=recorder) as client:
        client.perform("mirror", ntapi.data(body, kind), ntapi.option("raw_data"))
        part = ntapi.multipart("part", body.decode())
        client.perform("headers", part, ntapi.url("X-Next", "http://u:hush@h.test/"))
    assert "hush" not in path.read_text()
    assert path.read_text().count("shown") == 3


# Recorders that replay.

POST = ntapi.method("POST")


def numbering() -> Stub:
    """Numbers its answers, and repeats the body of the request in them."""
    stub = Stub()

    def answer(request: StubRequest) -> Answer:
        return Answer(json=[len(stub.requests), request.text])

    stub.on(None).answer_with(answer)
    return stub


def client_of(path: Path, mode: Any, server: Stub | None = None) -> ntapi.Client:
    """A client with a recorder. Without a server it has a stub that answers nothing."""
    recorder = Recorder(path, mode=mode)
    return ntapi.Client("http://api.test", stub=server or Stub(), recorder=recorder)


def save(client: ntapi.Client) -> None:
    assert client.recorder is not None
    client.recorder.save()


def exchanges(path: Path) -> list[str]:
    """The URLs of a recording."""
    return urls(path.read_text())


def urls(text: str) -> list[str]:
    return [exchange["request"]["url"] for exchange in json.loads(text)["exchanges"]]


def test_a_mode_is_one_of_four(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="none, once, new_episodes, all, not 'twice'"):
        Recorder(tmp_path / "r.json", mode="twice")  # type: ignore[arg-type]


def test_the_keywords_of_vcrpy(tmp_path: Path) -> None:
    for keyword, advice in {
        "record_mode": "write mode=",
        "filter_headers": "write secrets=",
        "serializer": "write a path that ends in .json or .yaml",
        "moed": "did you mean mode=",
    }.items():
        with pytest.raises(TypeError, match=f"a recorder has no keyword '{keyword}'. {advice}"):
            Recorder(tmp_path / "r.json", **{keyword: "once"})  # type: ignore[arg-type]


def test_a_request_that_is_not_in_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    with client_of(path, "none", numbering()) as client:
        error = client.perform("a").error
        assert error
        assert error.code is codes.NO_STUB
        assert f"make the recording {path}, run pytest with --record-mode=once, or" in error.message
        save(client)
        assert not path.exists()
    with client_of(path, "once", numbering()) as client:
        client.send("a")
        save(client)
    with client_of(path, "once", numbering()) as client:
        assert client.send("a").json() == [1, ""]
        error = client.perform("b").error
        assert error
        assert error.code is codes.NO_STUB
        assert "no stub matches GET http://api.test/b; the nearest: " in error.message
        assert 'give the recorder mode="new_episodes"' in error.message
        assert client.recorder
        assert client.recorder.count == 0


def test_without_its_recorder_a_client_is_as_before(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    calls: list[str] = []

    @ntapi.attempt_interceptor
    def own(call: ntapi.InterceptedCall) -> None:
        calls.append(call.request.url)

    with client_of(path, "none") as client:
        # The client's own interceptors do not replace the recorder's.
        client.interceptors = [own]
        error = client.perform("a").error
        assert error
        assert "--record-mode" in error.message
        assert calls == ["http://api.test/a"]
        assert list(client.interceptors) == [own]
        client.recorder = None
        assert client.stub is None
        client.stub = Stub()
        error = client.perform("a").error
        assert error
        assert error.code is codes.NO_STUB
        assert "--record-mode" not in error.message


def test_new_episodes_replays_every_kind_of_request(tmp_path: Path) -> None:
    path, upload = tmp_path / "r.json", tmp_path / "upload"
    upload.write_text("from a file")
    server = Stub()
    server.on("GET", "old").answer(302, headers={"Location": "/moved"})
    server.on("GET", "moved").answer(text="here", headers={"X-Mine": "1"})
    server.on("GET", "lost").fail(StubFault.NO_CONNECTION)
    server.on("GET", "missing").answer(404, json={"error": "gone"})
    server.on("POST", "echo").answer_with(lambda request: Answer(text=request.text))

    def steps(client: ntapi.Client) -> list[Any]:
        raw = ntapi.option("raw_data")
        moved = client.perform("old", raw)
        lost = client.perform("lost")
        missing = client.perform("missing")
        bodies = [
            ntapi.data(b"bytes"),
            ntapi.json({"password": "hush", "x": 1}),
            ntapi.form("q", "a b"),
            ntapi.multipart("part", "text"),
            ntapi.file(upload),
            ntapi.stream(iter([b"one ", b"two"])),
        ]
        echoes = [client.perform("echo", POST, raw, body) for body in bodies]
        return [
            (moved.status, moved.data, moved.headers["X-Mine"], moved.metrics.redirects),
            lost.error and (lost.error.code, lost.error.message, lost.error.retryable),
            missing.error and (missing.error.http_status, str(missing.error)),
            [echo.data.replace(b"hush", b"<redacted>") for echo in echoes],
        ]

    with client_of(path, "new_episodes", server) as client:
        first = steps(client)
        save(client)
    assert b"one two" in first[-1]
    before = path.read_text()
    server.forget_requests()
    with client_of(path, "new_episodes", server) as client:
        assert steps(client) == first
        assert not server.requests
        # A second request of each kind is new.
        assert steps(client)[-1] == first[-1]
        assert len(server.requests) == len(exchanges(path)) == 10
        save(client)
    assert path.read_text().startswith(before.removesuffix("\n    ]\n}\n"))
    assert exchanges(path) == 2 * urls(before)
    assert sorted(os.listdir(tmp_path)) == ["r.json", "upload"]
    with client_of(path, "none") as client:
        assert steps(client) == steps(client) == first


def test_interceptors_of_all_clients_see_a_request_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    @ntapi.attempt_interceptor
    def of_all(call: ntapi.InterceptedCall) -> None:
        calls.append(call.request.url)

    monkeypatch.setattr(ntapi.Client, "interceptors", [of_all])
    path = tmp_path / "r.json"
    for _ in range(2):
        with client_of(path, "new_episodes", numbering()) as client:
            client.send("a")
            save(client)
    assert calls == ["http://api.test/a"] * 2


def test_new_episodes_of_many_threads(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    names = [f"n{number}" for number in range(100)]
    with client_of(path, "all", numbering()) as client:
        recorded = {name: client.send(name).json() for name in names[:50]}
        save(client)
    server = numbering()
    with client_of(path, "new_episodes", server) as client, ThreadPoolExecutor(32) as pool:
        answers = dict(zip(names, pool.map(lambda name: client.send(name).json(), names)))
        save(client)
    assert {name: answers[name] for name in recorded} == recorded
    assert len(server.requests) == 50
    assert len(exchanges(path)) == 100


def test_asyncio(tmp_path: Path) -> None:
    path = tmp_path / "r.json"

    async def ask(mode: Any, server: Stub) -> list[Any]:
        async def pieces() -> AsyncIterator[bytes]:
            yield b"one "
            yield b"two"

        with Recorder(path, mode=mode) as recorder:
            async with ntapi.AsyncClient(
                "http://api.test", stub=server, recorder=recorder
            ) as client:
                responses = await asyncio.gather(
                    *(client.send("a", ntapi.url("n", number)) for number in range(20)),
                    client.send("b", POST, ntapi.stream(pieces())),
                )
            return [response.json() for response in responses]

    first = asyncio.run(ask("new_episodes", numbering()))
    assert first[-1][1] == "one two"
    server = numbering()
    assert asyncio.run(ask("new_episodes", server)) == first
    assert not server.requests
    assert asyncio.run(ask("none", Stub())) == first


def test_new_episodes_keeps_what_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    digits = "1234567890" * 3
    by_hand = (
        '{"note":{"exchanges":[]}, "version":1,"exchanges" :[{"request":{"method":"GET",'
        '"url":"http://api.test/a"},"response":{"status":200,"body":{"json":[1.50,'
        + digits
        + ']}}}\n] ,"format":"ntapi-recording"}'
    )
    path.write_text(by_hand)
    with client_of(path, "new_episodes", numbering()) as client:
        client.send("b")
        save(client)
        # A second time changes nothing.
        save(client)
    text = path.read_text()
    assert text.count("http://api.test/b") == 1
    assert text.startswith(by_hand[: by_hand.rindex("\n")])
    assert text.endswith(' ,"format":"ntapi-recording"}')
    with client_of(path, "none") as client:
        assert client.send("b").json() == [1, ""]
    # Nothing was recorded, and nothing is written.
    before = path.stat()
    with client_of(path, "new_episodes") as client:
        save(client)
    assert path.stat() == before
    path.write_text('{"format":"ntapi-recording","version":1,"exchanges":[]}')
    with client_of(path, "new_episodes", numbering()) as client:
        client.send("c")
        save(client)
    assert exchanges(path) == ["http://api.test/c"]


def test_a_file_that_cannot_be_replaced_stays(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    with client_of(path, "all", numbering()) as client:
        client.send("a")
        save(client)
    with client_of(path, "new_episodes", numbering()) as client:
        client.send("b")
        path.unlink()
        # No file can have the name of a folder.
        path.mkdir()
        with pytest.raises(ntapi.ApiError, match="was not written"):
            save(client)
    assert os.listdir(tmp_path) == ["r.json"]


def test_a_cassette_that_cannot_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.yaml"
    written: list[str] = []

    def refuse(source: str, _: str) -> None:
        written.append(Path(source).read_text())
        raise OSError("the disk is full")

    with client_of(path, "all", numbering()) as client:
        client.send("a")
        save(client)
    before = path.read_text()
    monkeypatch.setattr(os, "replace", refuse)
    with client_of(path, "new_episodes", numbering()) as client:
        client.send("b", ntapi.bearer("hush"), ntapi.url("x", "hush").secret())
        with pytest.raises(ntapi.ApiError, match="was not written: the disk is full"):
            save(client)
    assert path.read_text() == before
    assert os.listdir(tmp_path) == ["r.yaml"]
    # Also the file that waits beside it has no secret.
    assert "redacted" in written[0]
    assert "hush" not in written[0]


@pytest.mark.parametrize("suffix", ["json", "har", "yaml"])
def test_new_episodes_replays_trailers_and_the_version(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"r.{suffix}"
    server = Server(tls=True)
    server.enqueue(ServerAnswer(json=[1], trailers={"X-Trailer": "end"}))
    with server as url, Recorder(path, mode="new_episodes") as recorder:
        client = ntapi.Client(url, recorder=recorder)
        client.set_default("caFile", str(server.ca_path))
        assert client.send("a").metrics.http_version == 2.0
        client.close()
    with ntapi.Client(url, recorder=Recorder(path, mode="new_episodes")) as client:
        response = client.send("a")
    assert response.trailers["X-Trailer"] == "end"
    assert response.metrics.http_version == 2.0
