"""HAR files: a recorder's, those of the environment variable, and their replay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import ntapi
from conftest import API_URL, REPOSITORY
from ntapi.testing import Recorder, Server, Stub

SCHEMA = REPOSITORY / "Tests" / "conformance" / "har.schema.json"
BROWSER = REPOSITORY / "Tests" / "conformance" / "browser.har"
RAW = ntapi.option("raw_data")


def entries(path: Path) -> list[Any]:
    """The entries of a HAR that follows the schema."""
    har = json.loads(path.read_text())
    import_module("jsonschema").validate(har, json.loads(SCHEMA.read_text()))
    all_entries: list[Any] = har["log"]["entries"]
    for entry in all_entries:
        times = entry["timings"]
        # TLS is a part of connecting.
        steps = [times[name] for name in ("blocked", "dns", "connect", "send", "wait", "receive")]
        assert entry["time"] == pytest.approx(sum(step for step in steps if step > 0), abs=1e-6)
        assert times["ssl"] <= times["connect"]
    starts = [entry["startedDateTime"] for entry in all_entries]
    assert starts == sorted(starts)
    return all_entries


def steps(client: ntapi.Client) -> None:
    """Requests of every kind."""
    client.perform("mirror", ntapi.json({"token": "hush", "open": "ä"}), RAW)
    client.perform("mirror", ntapi.data(b"\0\xff"), RAW)
    client.perform(
        "ok", ntapi.form("password", "hush"), ntapi.form("a b", "c"), ntapi.bearer("hush")
    )
    client.perform("ok", ntapi.multipart("part", "text"), ntapi.multipart("file", b"\0\xff"))
    client.perform("ok", ntapi.url("whole", "1"), ntapi.json(["hush"]).secret())
    client.perform("ok", ntapi.bearer("hush"), ntapi.header("Cookie", "c=hush"))
    client.perform("chain/1", ntapi.url("appid", "hush"))
    client.perform("headers", ntapi.url("Set-Cookie", "sid=1; Path=/; Secure"))
    client.perform("status/404")
    client.perform("close/in-body")


def test_a_har_follows_the_schema(servers: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "traffic.har"
    with Recorder(path, all_clients=True) as recorder:
        assert recorder.all_clients
        with ntapi.Client(servers["fault"]) as client:
            steps(client)
        # With connections of its own: a new one has a handshake.
        own = ntapi.SessionConfiguration(ntapi.SessionKind.EPHEMERAL)
        with ntapi.Client(servers["nginx_tls"], configuration=own) as client:
            client.set_default("caFile", servers["ca"])
            client.perform("nowhere", ntapi.data(b"x" * 100))
        with ntapi.Client("http://127.0.0.1:1") as client:
            client.perform("refused")
    assert not recorder.all_clients
    assert "hush" not in path.read_text()
    found = entries(path)
    assert len(found) == recorder.count == 13
    secure, refused = found[-2:]
    assert secure["response"]["httpVersion"] == "HTTP/2"
    assert secure["timings"]["ssl"] > 0
    assert secure["connection"] == servers["nginx_tls"].rpartition(":")[2]
    assert refused["response"]["status"] == 0
    assert refused["response"]["_error"] == "no_connection"


def test_a_mock_server_is_not_recorded_itself(tmp_path: Path) -> None:
    """It is not observed, either: an exchange with it counts once."""
    seen: list[object] = []
    stub = Stub()

    class Observer(ntapi.Observer):
        def begun(self, observed: ntapi.Observation) -> None:
            seen.append(observed.url)

    observer = Observer()
    ntapi.add_observer(observer)
    try:
        with (
            Recorder(tmp_path / "traffic.har", all_clients=True) as recorder,
            Server(stub) as url,
            ntapi.Client(url) as client,
        ):
            stub.on("GET", "x").answer(json={"a": 1})
            for _ in range(2):
                assert client.get("x").json() == {"a": 1}
    finally:
        ntapi.remove_observer(observer)
    assert recorder.count == 2
    assert seen == [f"{url}/x"] * 2


def test_a_har_is_replayed(servers: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "traffic.har"
    with (
        Recorder(path) as recorder,
        ntapi.Client(servers["fault"], recorder=recorder) as client,
    ):
        steps(client)
    stub = Stub.from_recording(path, any_origin=True)
    with ntapi.Client(API_URL.removesuffix("/v1"), stub=stub) as client:
        steps(client)
    stub.verify()


def test_a_har_of_a_browser_is_replayed() -> None:
    stub = Stub.from_recording(BROWSER)
    with ntapi.Client("https://www.test", stub=stub) as client:
        assert client.send("find", ntapi.url("q", "London"), ntapi.url("token", "x")).json() == {
            "name": "London"
        }
        assert client.perform("icon.png", RAW).data == b"\0\xff\1"


def test_new_exchanges_are_added_to_a_har(tmp_path: Path) -> None:
    path = tmp_path / "traffic.har"
    stub = Stub()
    for name in "a", "b":
        stub.on("GET", name).answer(text=name)

    def ask(*names: str) -> None:
        recorder = Recorder(path, mode="new_episodes")
        with recorder, ntapi.Client(API_URL, recorder=recorder, stub=stub) as client:
            for name in names:
                assert client.perform(name).text == name

    ask("a")
    ask("a", "b")
    urls = [entry["request"]["url"] for entry in entries(path)]
    assert urls == [f"{API_URL}/a", f"{API_URL}/b"]
    assert [file.name for file in tmp_path.iterdir()] == ["traffic.har"]


def test_a_har_keeps_trailers(tmp_path: Path) -> None:
    path = tmp_path / "traffic.har"
    server = Stub()
    lines = [("X-Sum", "7"), ("X-Sum", "8"), ("X-Mine", "hush"), ("X-Api-Key", "hush")]
    server.on("GET", "a").answer(json=[1], trailers=lines)
    server.on("GET", "b").answer(json=[1])
    with (
        Recorder(path, secrets=["x-mine"]) as recorder,
        ntapi.Client(API_URL, recorder=recorder, stub=server) as client,
    ):
        client.send("a")
        client.send("b")
    kept = [*lines[:2], ("X-Mine", "<redacted>"), ("X-Api-Key", "<redacted>")]
    first, second = (entry["response"] for entry in entries(path))
    assert first["_trailers"] == [{"name": name, "value": value} for name, value in kept]
    assert "_trailers" not in second
    assert "hush" not in path.read_text()
    stub = Stub.from_recording(path)
    with ntapi.Client(API_URL, stub=stub) as client:
        assert client.send("a").trailers.lines == tuple(kept)
        assert client.send("b").trailers.lines == ()
    path.write_text(path.read_text().replace('"value": "7"', '"value": 7'))
    with pytest.raises(ntapi.ApiError, match=r"entry 1, response\._trailers: .* no value"):
        Stub.from_recording(path)


def test_all_clients_are_only_recorded(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mode 'all'"):
        Recorder(tmp_path / "r.har", mode="none", all_clients=True)


CHILD = """
import os, sys
import ntapi

file = sys.argv[2]
def count():
    return open(file).read().count("startedDateTime") if os.path.exists(file) else None

client = ntapi.Client(sys.argv[1])
client.send("ok", ntapi.url("token", "hush"))
assert count() is None
client.close()
assert count() == 1, count()
other = ntapi.Client(sys.argv[1])
other.send("ok")
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        other.send("chain/1")
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    print(child)
assert count() == 1, count()
"""


@pytest.mark.parametrize("args", [[], ["fork"]])
def test_the_file_of_the_environment(
    servers: dict[str, str], tmp_path: Path, args: list[str]
) -> None:
    path = tmp_path / "all.har"
    result = subprocess.run(
        [sys.executable, "-c", CHILD, servers["fault"], str(path), *args],
        env={**os.environ, "NTAPI_HAR": str(path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert "hush" not in path.read_text()
    # The second client was not closed: its exchange was written at the exit.
    assert [entry["request"]["url"][-2:] for entry in entries(path)][1:] == ["ok"]
    if args:
        child = tmp_path / f"all.{result.stdout.strip()}.har"
        assert [entry["response"]["status"] for entry in entries(child)] == [302, 200]


def test_a_file_that_cannot_be_written_is_logged(servers: dict[str, str], tmp_path: Path) -> None:
    program = (
        "import logging, ntapi, sys; logging.basicConfig()\n"
        "with ntapi.Client(sys.argv[1]) as client: client.send('ok')"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, servers["fault"]],
        env={**os.environ, "NTAPI_HAR": str(tmp_path / "none" / "all.har")},
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert "NTAPI_HAR: the recording" in result.stderr
    assert "No such file" in result.stderr
