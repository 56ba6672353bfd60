"""Exchanges that are recorded here, and given again by every language."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import ntapi
from conftest import REPOSITORY
from ntapi import codes
from ntapi.testing import Recorder, Stub

FIXTURE = REPOSITORY / "Tests" / "conformance" / "recording.json"
"""What the steps below have recorded; Swift and C replay it, too."""


def steps(client: ntapi.Client) -> list[Any]:
    """What is recorded: the same that the tests of Swift and C do."""
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
    """Without what differs from run to run: the port, the moment, the number of a connection."""
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
