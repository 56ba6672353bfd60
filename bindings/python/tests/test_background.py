"""Background sessions: the next process finishes what a killed one has left, once, without a wrong
byte.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional
from uuid import uuid4

import pytest

import ntapi
from conftest import PATIENCE, run_python
from ntapi import SessionConfiguration, codes
from transfers import ENDLESS, PATTERN, begun

KILLS = int(os.environ.get("NTAPI_KILLS", "15"))
SEED = int(os.environ.get("NTAPI_SEED", random.SystemRandom().randrange(1 << 32)))
LARGE = 256 * (4 + (1 << 20))
CHILD = Path(__file__).with_name("background_child.py")


class Sessions:
    """The sessions of one test, in a folder of its own."""

    def __init__(self, servers: dict[str, str], folder: Path) -> None:
        self.servers = servers
        self.folder = folder
        self.files = folder / "files"
        self.files.mkdir()
        self.journal = folder / "journal"
        self.journal.touch()
        self.state = folder / "state"
        self.environment = {
            **os.environ,
            "XDG_STATE_HOME": str(self.state),
            "XDG_DATA_HOME": str(folder / "data"),
        }

    def client(
        self, server: str = "fault", identifier: str = "photos", **settings: Any
    ) -> ntapi.Client:
        configuration = SessionConfiguration.background(identifier, proxy="", **settings)
        configuration["backgroundFolder"] = str(self.state / "ntapi" / "background")
        return ntapi.Client(
            self.servers[server], configuration=configuration, log_flags=ntapi.LogFlags.NONE
        )

    @property
    def records(self) -> list[str]:
        """The transfers that are kept on disk."""
        found = self.state.glob("ntapi/background/*/*.json*")
        # A file has another name until it is complete.
        other = ("session.json", ".new")
        return sorted(path.name for path in found if not path.name.endswith(other))

    def child(self, *urls: str) -> subprocess.Popen[str]:
        """Starts a process with a session. The session is open when the process has written its
        first line.
        """
        arguments = ["photos", str(self.journal), str(self.files), *urls]
        return subprocess.Popen(
            [sys.executable, str(CHILD), *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def sessions(servers: dict[str, str], tmp_path: Path) -> Sessions:
    return Sessions(servers, tmp_path)


@pytest.fixture
def served(servers: dict[str, str], tmp_path: Path) -> Iterator[dict[str, str]]:
    """The checksums of nginx's files, by the URLs that send them slowly."""
    rng = random.Random(SEED)
    folder = Path(servers["nginx_root"]) / f"background-{os.getpid()}"
    folder.mkdir()
    sums = {}
    for number in range(8 + KILLS // 2):
        # Most take a while, some are immediately complete.
        size = rng.choice([0, 1, 70_000, 1_500_000, 2_500_000, 3_500_000])
        content = rng.randbytes(size)
        (folder / str(number)).write_bytes(content)
        url = f"{servers['nginx']}/slow/{folder.name}/{number}"
        sums[url] = hashlib.sha256(content).hexdigest()
    yield sums
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


@pytest.fixture
def large(servers: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The URL and the checksum of a file of LARGE bytes at nginx, all of whose blocks differ."""
    path = Path(servers["nginx_root"]) / f"large-{os.getpid()}"
    block = random.Random(SEED).randbytes(1 << 20)
    checksum = hashlib.sha256()
    with path.open("wb") as file:
        for number in range(256):
            piece = number.to_bytes(4, "big") + block
            checksum.update(piece)
            file.write(piece)
    yield f"{servers['nginx']}/{path.name}", checksum.hexdigest()
    path.unlink()


def first_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def ends_within(child: subprocess.Popen[str], seconds: float) -> bool:
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


PAUSES = """
import json, os, pathlib, sys, threading, ntapi

folder, url, path = sys.argv[1:]
configuration = ntapi.SessionConfiguration.background("large", proxy="")
configuration["backgroundFolder"] = folder
client = ntapi.Client(configuration=configuration)
paused = threading.Event()
first = []

def progress(count, total):
    first.append(count)
    if count > first[0] + (16 << 20) and request.suspend():
        paused.set()

place = ntapi.download_progress_thread(ntapi.BACKGROUND)
restored = client.restored_requests(place, download_progress=progress)
args = [ntapi.base_url(url), ntapi.download(path), place]
request = restored[0] if restored else client.create_request(args, download_progress=progress)
request.resume()
paused.wait()
# A worker writes what has arrived, and a kill loses what is in memory.
[part] = pathlib.Path(path).parent.glob(".*.part")
while part.stat().st_size < json.loads(request.resume_data)["offset"]:
    os.sched_yield()
print("paused", request.bytes_received, flush=True)
sys.stdin.read()
"""


def test_paused_killed_and_gone_on_with(
    sessions: Sessions, large: tuple[str, str], tmp_path: Path
) -> None:
    url, checksum = large
    path = tmp_path / "large"
    folder = str(sessions.state / "ntapi" / "background")
    received = [0]
    for _ in range(2):
        command = [sys.executable, "-c", PAUSES, folder, url, str(path)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as child:
            word, count = first_line(child).split()
            assert word == "paused"
            received.append(int(count))
            child.kill()
    # The second process continued where the first one stopped.
    assert 0 < received[1] < received[2] < 256 << 20
    assert not path.exists()
    client = sessions.client(identifier="large")
    told: list[tuple[int, Optional[int]]] = []
    place = (
        ntapi.response_thread(ntapi.BACKGROUND),
        ntapi.download_progress_thread(ntapi.BACKGROUND),
    )
    [request] = client.restored_requests(
        *place, download_progress=lambda count, total: told.append((count, total))
    )
    request.resume()
    assert request.wait(PATIENCE)
    assert request.response is not None
    assert request.response.error is None
    assert request.response.status == 206
    # The first call already counts the bytes that earlier processes have received.
    assert told[0][0] > received[1]
    assert {total for _, total in told} == {LARGE}
    with path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == checksum
    client.drain()
    client.close()
    assert sessions.records == []


@pytest.mark.timeout(60 + KILLS * 15)
def test_killed_again_and_again(sessions: Sessions, served: dict[str, str]) -> None:
    rng = random.Random(SEED)
    print(f"NTAPI_SEED={SEED} NTAPI_KILLS={KILLS}")
    kills = 0
    while kills < KILLS:
        with sessions.child(*served) as child:
            # Kill it at moments from before it has opened its session until long after.
            if rng.random() < 0.1:
                kills += not ends_within(child, rng.uniform(0, 0.3))
            else:
                assert first_line(child) == "ready"
                kills += not ends_within(child, rng.choice([0.002, 0.03, 0.4, 0.9]) * rng.random())
            child.kill()
        if child.returncode == 0:
            break
    with sessions.child(*served) as child:
        assert first_line(child) == "ready"
        assert child.wait(3 * PATIENCE) == 0

    entries = [json.loads(line) for line in sessions.journal.read_text().splitlines()]
    ended: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        if entry["what"] == "ended":
            ended.setdefault(entry["name"], []).append(entry)
    assert sorted(ended, key=int) == [str(number) for number in range(len(served))]
    for number, sum_ in enumerate(served.values()):
        told = ended[str(number)]
        # A handler whose process was killed is called again, with was_delivered_before.
        assert all(entry["again"] for entry in told[1:]), told
        assert {(entry["error"], entry["sum"]) for entry in told} == {(None, sum_)}, told
        assert hashlib.sha256((sessions.files / str(number)).read_bytes()).hexdigest() == sum_
    assert len(list(sessions.files.iterdir())) == len(served)
    assert sessions.records == []
    statuses = Counter(told[0]["status"] for told in ended.values())
    print(f"{kills} kills, {statuses}, {sum(map(len, ended.values())) - len(ended)} told again")
    # 416: the process was killed when the file was complete.
    assert set(statuses) <= {200, 206, 416}
    if kills > 10:
        assert statuses[206] > 0


FORKS = """
import os, pathlib, signal, sys, threading, ntapi

folder, url, path = sys.argv[1:]
configuration = ntapi.SessionConfiguration.background("photos", proxy="")
configuration["backgroundFolder"] = folder
client = ntapi.Client(configuration=configuration)
written = threading.Event()

def progress(count, total):
    if any(part.stat().st_size for part in pathlib.Path(path).parent.glob(".*.part")):
        written.set()

args = [ntapi.base_url(url), ntapi.download(path), ntapi.download_progress_thread(ntapi.BACKGROUND)]
request = client.create_request(args, download_progress=progress)
request.resume()
written.wait()
child = os.fork()
if child == 0:
    signal.alarm(120)
    # Only now has it closed what it has inherited.
    print(os.getpid(), flush=True)
    signal.pause()
    os._exit(0)
signal.pause()
"""


def test_the_child_of_a_killed_process_keeps_nothing(
    sessions: Sessions, servers: dict[str, str], pattern: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "f"
    folder = str(sessions.state / "ntapi" / "background")
    url = f"{servers['nginx']}/slow/{PATTERN}"
    command = [sys.executable, "-c", FORKS, folder, url, str(path)]
    # The child inherits the pipe, so it does not end with the parent.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    child = int(first_line(process))
    try:
        process.kill()
        process.wait()
        with sessions.client() as client:
            assert client.background_error is None
            (request,) = client.restored_requests()
            request.resume()
            assert request.wait(PATIENCE)
            assert request.response is not None
            assert request.response.error is None
            assert request.response.status == 206
        assert path.read_bytes() == pattern
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        assert process.stdout is not None
        process.stdout.close()


def test_another_process_has_it(sessions: Sessions, servers: dict[str, str]) -> None:
    with sessions.child(f"{servers['nginx']}/slow/256M.bin") as child:
        assert first_line(child) == "ready"
        with sessions.client() as client:
            error = client.background_error
            assert error is not None
            assert error.code is codes.INVALID_REQUEST
            assert f"process {child.pid} " in error.message
            assert '"photos"' in error.message
            response = client.perform("range", ntapi.download(sessions.files / "f"))
            assert response.error is not None
            assert response.error.message == error.message
        child.kill()
    with sessions.client() as client:
        assert client.background_error is None


def test_an_orderly_end_keeps_what_runs(sessions: Sessions, servers: dict[str, str]) -> None:
    """A program that exits during a transfer loses nothing, and exits soon."""
    program = f"""
import ntapi
configuration = ntapi.SessionConfiguration.background("photos", proxy="")
client = ntapi.Client({servers["nginx"]!r}, configuration=configuration)
def ended(response):
    print(response.error.code, flush=True)
client.begin("slow/256M.bin", ntapi.download({str(sessions.files / "f")!r}), ended)
"""
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=sessions.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert run.stdout == "detached\n"
    assert len(sessions.records) == 1
    with sessions.client() as client:
        (request,) = client.restored_requests()
        request.cancel()
        assert client.drain(PATIENCE) == 0
    assert sessions.records == []


@pytest.mark.parametrize("end", ["kill", "close", "exit"])
def test_what_was_still_queued_begins_again(
    sessions: Sessions, servers: dict[str, str], fault: ntapi.Client, end: str
) -> None:
    """The server has seen nothing of uploads that wait for a connection."""
    body = sessions.files / "body"
    body.write_text("hello")
    name = f"queued-{end}-{os.getpid()}"
    program = f"""
import os, pathlib, signal, threading, ntapi
configuration = ntapi.SessionConfiguration.background("photos", proxy="")
configuration.maximum_connections_per_host = 1
is_sent = threading.Event()
def sent(bytes, total):
    if bytes > 0:
        is_sent.set()
client = ntapi.Client({servers["fault"]!r}, configuration=configuration)
args = [ntapi.file({str(body)!r}), ntapi.method("POST"), ntapi.url("token", {name!r})]
background = ntapi.upload_progress_thread(ntapi.BACKGROUND)
client.begin("stall/before", [*args, background], upload_progress=sent)
is_sent.wait()
folder = pathlib.Path({str(sessions.state / "ntapi" / "background" / "photos")!r})
assert '"running"' in (folder / "1.json").read_text()
for _ in range(3):
    client.begin("record", args)
if {end!r} == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
elif {end!r} == "close":
    client.close()
"""
    subprocess.run(
        [sys.executable, "-c", program],
        env=sessions.environment,
        timeout=PATIENCE,
        check=end != "kill",
    )
    assert len(sessions.records) == 4
    told: dict[int, Optional[ntapi.ApiError]] = {}
    with sessions.client() as client:
        for request in client.restored_requests(
            handler=lambda response: told.update({response.request.identifier: response.error})
        ):
            request.resume()
        assert client.drain(PATIENCE) == 0
    assert told[1] is not None
    assert "ambiguous" in told[1].message
    assert [told[number] for number in (2, 3, 4)] == [None] * 3
    assert len(fault.send("seen", ntapi.url("token", name)).json()["requests"]) == 3


def test_closing_keeps_what_runs(sessions: Sessions) -> None:
    told: list[Optional[ntapi.ApiError]] = []
    with sessions.client("nginx") as client:
        client.begin(
            "slow/256M.bin",
            ntapi.download(sessions.files / "f"),
            lambda response: told.append(response.error),
        )
        assert len(sessions.records) == 1
    assert [error and error.code for error in told] == [codes.DETACHED]
    assert len(sessions.records) == 1
    with sessions.client("nginx") as client:
        (request,) = client.restored_requests()
        assert request.identifier == 1
        request.cancel()
        assert client.drain(PATIENCE) == 0
        assert client.restored_requests() == []


def test_those_of_higher_priority_come_first(sessions: Sessions, fault: ntapi.Client) -> None:
    token = ntapi.url("token", uuid4().hex)
    with sessions.client(maximum_connections_per_host=1) as client:
        # The first request has the only connection: the others still wait when the session is
        # closed.
        moved, progress = begun()
        place = ntapi.download_progress_thread(ntapi.BACKGROUND)
        args = [*ENDLESS, place, ntapi.download(sessions.files / "endless")]
        client.begin("drip", args, download_progress=progress)
        assert moved.wait(PATIENCE)
        for number, priority in enumerate([0.2, 0.9, 0.5, 0.9]):
            path = sessions.files / str(number)
            args = [token, ntapi.url("n", number), ntapi.download(path)]
            request = client.create_request("record", args)
            request.description = path.name
            request.priority = priority
            request.resume()
    with sessions.client(maximum_connections_per_host=1) as client:
        restored = client.restored_requests()
        assert [request.description for request in restored] == ["1", "3", None, "2", "0"]
        restored[2].cancel()
        assert client.resume_restored_requests() == 4
        assert client.drain(PATIENCE) == 0
    seen = fault.send("seen", token).json()["requests"]
    assert [request["args"]["n"] for request in seen] == ["1", "3", "2", "0"]


def test_a_handler_that_runs_keeps_the_record(sessions: Sessions) -> None:
    seen: list[list[str]] = []
    with sessions.client() as client:
        client.begin(
            "range", ntapi.download(sessions.files / "f"), lambda _: seen.append(sessions.records)
        )
        assert client.drain(PATIENCE) == 0
        assert len(seen[0]) == 1
        assert sessions.records == []
        assert client.resume_restored_requests() == 0


TAKES_MANY = """
import os, sys, threading, ntapi

folder, url, files = sys.argv[1:]
configuration = ntapi.SessionConfiguration.background("many", proxy="")
configuration["backgroundFolder"] = folder
client = ntapi.Client(url, configuration=configuration)

def ended(response):
    print(response.request.description, response.was_delivered_before, flush=True)
    if files:
        os._exit(0)

if files:
    for number in range(5):
        request = client.create_request("range", ntapi.download(f"{files}/{number}"), ended)
        request.description = str(number)
        request.resume()
    # All outcomes wait for this thread, which takes them at once.
    def records():
        found = [os.path.join(path, name) for path, _, names in os.walk(folder) for name in names]
        return [open(name).read() for name in found if "record" in name or name.endswith(".json")]
    while sum('"finished"' in text for text in records()) < 5:
        threading.Event().wait(0.02)
    client.drain()
client.resume_restored_requests(handler=ended)
client.drain()
"""


def test_only_what_a_handler_was_called_with_was_delivered(
    servers: dict[str, str], tmp_path: Path
) -> None:
    """The process exits in the first handler. The other responses, which were taken in the same
    batch, are not lost.
    """
    folder, files = tmp_path / "sessions", tmp_path / "files"
    folder.mkdir()
    files.mkdir()
    first = run_python(TAKES_MANY, str(folder), servers["fault"], str(files))
    (called,) = first.stdout.splitlines()
    assert called.endswith("False"), first.stderr
    second = run_python(TAKES_MANY, str(folder), servers["fault"], "")
    lines = dict(line.split() for line in second.stdout.splitlines())
    assert sorted(lines) == list("01234"), second.stderr
    assert [name for name, before in lines.items() if before == "True"] == [called.split()[0]]


def test_other_requests_are_refused(sessions: Sessions) -> None:
    with sessions.client() as client:
        error = client.perform("echo").error
        assert error is not None
        assert error.code is codes.INVALID_REQUEST
        assert "background session" in error.message


def test_asyncio(sessions: Sessions, servers: dict[str, str]) -> None:
    configuration = SessionConfiguration.background("photos", proxy="")
    configuration["backgroundFolder"] = str(sessions.state / "ntapi" / "background")

    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"], configuration=configuration) as client:
            response = await client.send("range", ntapi.download(sessions.files / "f"))
            assert response.file == sessions.files / "f"
            assert not response.was_delivered_before
            assert sessions.records == []

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
