"""Forms that a program has written itself, as SDKs do, and what a server repeats of a request."""

from __future__ import annotations

from pathlib import Path

import pytest

import ntapi
from conftest import API_URL
from ntapi import codes
from ntapi.testing import Recorder, Stub

KINDS = [".json", ".yaml", ".har"]


def form(boundary: str, content: bytes) -> ntapi.Arg:
    """A body of multipart/form-data with a secret, a file and a name that needs quotes."""
    parts = (
        b'Content-Disposition: form-data; name="client_secret"\r\n\r\nhush',
        b'Content-Disposition: form-data; name="f"; filename="a;\\"b\\".bin"\r\n'
        b"Content-Type: application/octet-stream\r\n\r\n" + content,
        b"Content-Disposition: form-data; name*=utf-8''x; name=\"a b\"\r\n\r\nx\r\n\r\ny",
    )
    mark = b"--" + boundary.encode()
    body = b"".join(mark + b"\r\n" + part + b"\r\n" for part in parts) + mark + b"--\r\n"
    return ntapi.data(body, f'multipart/form-data; charset=utf-8; Boundary="{boundary}"')


@pytest.mark.parametrize("kind", KINDS)
def test_a_form_is_replayed_by_its_parts(tmp_path: Path, stub: Stub, kind: str) -> None:
    path = tmp_path / f"r{kind}"
    stub.on(None).answer(json={"ok": True})
    content = bytes(range(256))
    for boundary in ("first", "second"):
        with Recorder(path, mode="once") as recorder:
            client = ntapi.Client(API_URL, stub=stub, recorder=recorder)
            assert client.post("files", form(boundary, content)).json() == {"ok": True}
            if boundary == "second":
                assert recorder.count == 0
                other = client.perform("files", form(boundary, b"other"))
                assert other.error is not None
                assert other.error.code == codes.NO_STUB
    assert len(stub.requests) == 1
    assert "hush" not in path.read_text("utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_a_marked_secret_that_comes_back_stays_out(tmp_path: Path, stub: Stub, kind: str) -> None:
    path = tmp_path / f"r{kind}"
    stub.on(None, "find").answer(302, headers={"Location": "found?customer=hush"})
    stub.on(None, "found").answer(json={"customer": "hush", "n": 1})
    with Recorder(path) as recorder:
        client = ntapi.Client(API_URL, stub=stub, recorder=recorder)
        assert client.get("find", ntapi.url("customer", "hush").secret()).json()["n"] == 1
    assert "hush" not in path.read_text("utf-8")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["once", "new_episodes"])
def test_what_has_recorded_nothing_writes_nothing(
    tmp_path: Path, stub: Stub, kind: str, mode: ntapi.testing.RecordMode
) -> None:
    path = tmp_path / f"r{kind}"
    with Recorder(path, mode=mode):
        pass
    assert not path.exists()
    stub.on(None).answer(json=1)
    with Recorder(path, mode=mode) as recorder:
        assert ntapi.Client(API_URL, stub=stub, recorder=recorder).get("a").json() == 1
    assert path.exists()


def test_an_old_cassette_keeps_its_tuples(tmp_path: Path, stub: Stub) -> None:
    """aiohttp's forms in vcrpy's cassettes."""
    path = tmp_path / "r.yaml"
    path.write_text(
        f"""interactions:
- request:
    body:
    - !!python/tuple [a, b]
    headers: {{}}
    method: POST
    uri: {API_URL}/form
  response:
    body: {{string: '1'}}
    headers: {{Content-Type: [application/json]}}
    status: {{code: 200, message: OK}}
version: 1
""",
        "utf-8",
    )
    stub.on(None).answer(json=2)
    for _ in range(2):
        with Recorder(path, mode="new_episodes") as recorder:
            client = ntapi.Client(API_URL, stub=stub, recorder=recorder)
            assert client.post("form", ntapi.form("a", "b")).json() == 1
            assert client.get("other").json() == 2
    assert len(stub.requests) == 1
