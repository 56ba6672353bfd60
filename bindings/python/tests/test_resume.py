"""Resumed downloads: byte for byte the server's file, and never a mix of two versions."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Optional
from uuid import uuid4

import pytest

import ntapi
from conftest import PATIENCE, run_python
from ntapi import codes
from transfers import PATTERN, begun

SIZE = 100_000
AGAIN = ntapi.header("X-Again", 1)
"""Stops the server from breaking the download off again."""


def version(number: int) -> bytes:
    """The file of the scenario `range` in a version."""
    return b"".join((place * 16 + number).to_bytes(4, "big") for place in range(SIZE // 4))


def broken_off(fault: ntapi.Client, how: str, path: Path, *args: ntapi.Arg) -> ntapi.Response:
    """A download that breaks after 40,000 bytes."""
    response = fault.perform(f"range/{how}", ntapi.url("cut", 40_000), *args, ntapi.download(path))
    assert response.error is not None
    assert response.error.code is codes.NETWORK
    assert response.file is None
    return response


def test_a_download_goes_on_where_it_was_broken_off(fault: ntapi.Client, tmp_path: Path) -> None:
    path = tmp_path / "f"
    broken = broken_off(fault, "", path)
    data = broken.resume_data
    assert data is not None
    assert "\n" not in data
    assert broken.request.resume_data is None or isinstance(broken.request.resume_data, str)
    (part,) = tmp_path.iterdir()
    assert part.stat().st_size == 40_000
    seen: list[tuple[int, Any]] = []
    with ntapi.Client() as other:
        whole = other.send(
            "",
            ntapi.resume(data),
            AGAIN,
            download_progress=lambda *now: seen.append(now),
        )
    assert (whole.status, whole.file, whole.resume_data) == (206, path, None)
    assert os.listdir(tmp_path) == ["f"]
    assert path.read_bytes() == version(1)
    assert seen[-1] == (SIZE, SIZE)


@pytest.mark.parametrize(
    ("how", "part", "status"),
    [
        ("", 25_000, 206),
        ("date", SIZE, 206),
        ("latin-1", SIZE, 206),
        ("utf-8", SIZE, 206),
        ("ignored", SIZE, 200),
        ("shifted", SIZE, 200),
        ("other-total", SIZE, 200),
        ("no-range", SIZE, 200),
        ("encoded", SIZE, 200),
    ],
)
def test_what_the_server_says_decides(
    fault: ntapi.Client, tmp_path: Path, how: str, part: int, status: int
) -> None:
    path = tmp_path / "f"
    broken = broken_off(fault, how, path, ntapi.url("part", part))
    whole = fault.send("", ntapi.resume(broken.resume_data), AGAIN)
    assert (whole.status, whole.resume_data) == (status, None)
    assert path.read_bytes() == version(1)
    assert os.listdir(tmp_path) == ["f"]


def test_a_changed_file_is_fetched_whole(fault: ntapi.Client, tmp_path: Path) -> None:
    path = tmp_path / "f"
    changes = [ntapi.url("token", f"py-{uuid4()}"), ntapi.url("changes", 1)]
    broken = broken_off(fault, "", path, *changes)
    assert fault.send("", ntapi.resume(broken.resume_data), AGAIN).status == 200
    assert path.read_bytes() == version(2)


@pytest.mark.parametrize("how", ["weak", "fresh-date", "none", "no-ranges"])
def test_what_cannot_be_trusted_is_not_kept(fault: ntapi.Client, tmp_path: Path, how: str) -> None:
    assert broken_off(fault, how, tmp_path / "f").resume_data is None
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("extra", "status"), [(0, 416), (1, 200)])
def test_nothing_is_missing(fault: ntapi.Client, tmp_path: Path, extra: int, status: int) -> None:
    """All bytes had arrived before the exchange ended. The file may have been cut since."""
    path = tmp_path / "f"
    data: dict[str, Any] = json.loads(broken_off(fault, "", path).resume_data or "")
    Path(data["temporaryFile"]).write_bytes(version(1) + bytes(extra))
    data["offset"] = data["totalLength"] = SIZE + extra
    whole = fault.send("", ntapi.resume(json.dumps(data)), AGAIN)
    assert whole.status == status
    assert path.read_bytes() == version(1)
    assert os.listdir(tmp_path) == ["f"]


def test_an_error_keeps_what_is_there(fault: ntapi.Client, tmp_path: Path) -> None:
    data = broken_off(fault, "error", tmp_path / "f").resume_data
    refused = fault.perform("", ntapi.resume(data), AGAIN)
    assert (refused.status, refused.resume_data) == (503, data)
    assert len(os.listdir(tmp_path)) == 1
    assert data is not None
    ntapi.discard_resume_data(data)
    assert os.listdir(tmp_path) == []


WAYS = {
    "Ctrl-C while blocked": """
        client.perform(*download, download_progress=progress)""",
    "Ctrl-C under asyncio.run": """
        async def main():
            async with ntapi.AsyncClient(sys.argv[1]) as client:
                await client.perform(*download, download_progress=progress)
        asyncio.run(main())""",
    "Ctrl-C under gather": """
        async def main():
            async with ntapi.AsyncClient(sys.argv[1]) as client:
                await asyncio.gather(first(client), last())
        asyncio.run(main())""",
    "Ctrl-C under TaskGroup": """
        async def main():
            async with ntapi.AsyncClient(sys.argv[1]) as client:
                async with asyncio.TaskGroup() as group:
                    group.create_task(first(client))
                    group.create_task(last())
        asyncio.run(main())""",
    "Ctrl-C under wait_for": """
        async def main():
            async with ntapi.AsyncClient(sys.argv[1]) as client:
                await asyncio.wait_for(first(client), 600)
        asyncio.run(main())""",
    "a cancelled task": """
        async def main():
            async with ntapi.AsyncClient(sys.argv[1]) as client:
                task = asyncio.ensure_future(
                    client.perform(*download, download_progress=when_moved(lambda: task.cancel()))
                )
                await task
        asyncio.run(main())""",
    "wait_for": """
        async def main():
            async with ntapi.AsyncClient(sys.argv[1]) as client:
                begun = asyncio.Event()
                task = asyncio.ensure_future(
                    client.perform(*download, download_progress=when_moved(begun.set))
                )
                await begun.wait()
                await asyncio.wait_for(task, 0)
        asyncio.run(main())""",
    "an exception of its own": """
        async def main():
            async with ntapi.AsyncClient(sys.argv[1]) as client:
                task = asyncio.ensure_future(
                    client.perform(*download, download_progress=when_moved(lambda: task.cancel()))
                )
                try:
                    await task
                except asyncio.CancelledError:
                    raise LookupError from ValueError()
        asyncio.run(main())""",
}
CAUGHT = {
    "Ctrl-C while blocked": "KeyboardInterrupt",
    "Ctrl-C under asyncio.run": "KeyboardInterrupt",
    "Ctrl-C under gather": "KeyboardInterrupt",
    "Ctrl-C under TaskGroup": "KeyboardInterrupt",
    "Ctrl-C under wait_for": "KeyboardInterrupt",
    "a cancelled task": "CancelledError",
    "wait_for": "TimeoutError",
    "an exception of its own": "LookupError",
}


@pytest.mark.parametrize("way", WAYS)
def test_what_the_program_catches_has_the_resume_data(
    servers: dict[str, str], tmp_path: Path, way: str
) -> None:
    """The resume data is in each exception that may have it, and is found after a run of asyncio in
    which it was dropped.
    """
    if "TaskGroup" in way and not hasattr(asyncio, "TaskGroup"):
        pytest.skip("no TaskGroup")
    code = f"""
import asyncio, os, signal, sys, ntapi
client = ntapi.Client(sys.argv[1])
download = ["slow/{PATTERN}", ntapi.download(sys.argv[2])]
def progress(count, total):
    if count:
        os.kill(os.getpid(), signal.SIGINT)
def when_moved(stop):
    return lambda count, total: count and stop()
over = None
async def first(client):
    global over
    over = asyncio.Event()
    try:
        await client.perform(*download, download_progress=progress)
    finally:
        over.set()
async def last():
    try:
        await asyncio.sleep(600)
    finally:
        await over.wait()
try:
    try:{WAYS[way]}
    finally:
        pass
except BaseException as stop:
    print(type(stop).__name__)
    data = ntapi.resume_data_of(stop)
    assert data is not None
    assert ntapi.drain(60) == 0
    assert ntapi.resume_data_of(ValueError()) is None
    assert ntapi.resume_data_of(None) is None
    ntapi.discard_resume_data(data)
"""
    result = run_python(code, servers["nginx"], str(tmp_path / "f"))
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [CAUGHT[way]]
    assert os.listdir(tmp_path) == []


class Grouped(Exception):  # noqa: N818 - as ExceptionGroup, which Python 3.9 does not have
    """Several exceptions in one, as a TaskGroup raises."""

    def __init__(self, *exceptions: BaseException) -> None:
        super().__init__("several")
        self.exceptions = exceptions


def test_the_resume_data_in_a_group_and_in_chains() -> None:
    stop: Any = asyncio.CancelledError()
    stop.resume_data = "data"
    several = Grouped(ValueError(), Grouped(KeyError(), stop))
    with_both = RuntimeError()
    with_both.__cause__, with_both.__context__ = ValueError(), several
    assert ntapi.resume_data_of(several) == "data"
    assert ntapi.resume_data_of(with_both) == "data"
    group: Any = getattr(builtins, "BaseExceptionGroup", None)
    if group is not None:
        assert ntapi.resume_data_of(group("", [KeyError(), stop])) == "data"
    stop.resume_data, stop.__context__ = None, with_both
    assert ntapi.resume_data_of(several) is None
    odd: Any = ValueError()
    for odd.exceptions in (asyncio, None, (5, None)):
        assert ntapi.resume_data_of(odd) is None


async def _fails_with(begun: asyncio.Event) -> None:
    await begun.wait()
    raise LookupError


async def _gathered(download: Any, begun: asyncio.Event) -> None:
    await asyncio.gather(asyncio.sleep(PATIENCE), download)


async def _beside_one_that_fails(download: Any, begun: asyncio.Event) -> None:
    async with asyncio.TaskGroup() as group:  # type: ignore[attr-defined, unused-ignore]
        group.create_task(download)
        group.create_task(_fails_with(begun))


async def _waited_for(download: Any, begun: asyncio.Event) -> None:
    await asyncio.wait_for(download, PATIENCE)


def test_the_resume_data_that_asyncio_drops_is_given_once(
    servers: dict[str, str], tmp_path: Path
) -> None:
    async def main() -> None:
        async with ntapi.AsyncClient(servers["nginx"]) as client:
            begun = asyncio.Event()

            async def download() -> None:
                try:
                    await client.send(
                        f"slow/{PATTERN}",
                        ntapi.download(tmp_path / "f"),
                        download_progress=lambda count, _: count and begun.set(),
                    )
                except asyncio.CancelledError:
                    raise asyncio.CancelledError from None

            task = asyncio.ensure_future(download())
            await begun.wait()
            task.cancel()
            await asyncio.wait([task])

    async def another() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            await client.send("ok")

    asyncio.run(main())
    stop = KeyboardInterrupt()
    assert ntapi.resume_data_of(ValueError()) is None
    data = ntapi.resume_data_of(stop)
    assert data is not None
    assert ntapi.resume_data_of(stop) == data
    assert ntapi.resume_data_of(KeyboardInterrupt()) is None
    ntapi.discard_resume_data(data)
    # After another request, the data is gone.
    asyncio.run(main())
    asyncio.run(another())
    assert ntapi.resume_data_of(KeyboardInterrupt()) is None


@pytest.mark.parametrize("wait", [_gathered, _beside_one_that_fails, _waited_for])
def test_the_resume_data_where_asyncio_drops_the_exception(
    servers: dict[str, str], tmp_path: Path, wait: Any
) -> None:
    """As docs/downloads.md says: the task of the download catches its own CancelledError."""
    if wait is _beside_one_that_fails and not hasattr(asyncio, "TaskGroup"):
        pytest.skip("no TaskGroup")

    kept: list[Optional[str]] = []

    async def main() -> None:
        async with ntapi.AsyncClient(servers["nginx"]) as client:
            begun = asyncio.Event()

            async def download() -> None:
                try:
                    await client.send(
                        f"slow/{PATTERN}",
                        ntapi.download(tmp_path / "f"),
                        download_progress=lambda count, _: count and begun.set(),
                    )
                except asyncio.CancelledError as stop:
                    kept.append(ntapi.resume_data_of(stop))
                    raise

            task = asyncio.ensure_future(wait(download(), begun))
            await begun.wait()
            if wait is not _beside_one_that_fails:
                task.cancel()
            with pytest.raises(BaseException):  # noqa: B017, PT011 - which one depends on the way
                await task

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    (data,) = kept
    assert data is not None
    ntapi.discard_resume_data(data)
    assert os.listdir(tmp_path) == []


def test_an_api_error_has_the_resume_data(fault: ntapi.Client, tmp_path: Path) -> None:
    broken = broken_off(fault, "", tmp_path / "f")
    assert ntapi.resume_data_of(broken.error) == broken.resume_data
    assert broken.resume_data is not None
    ntapi.discard_resume_data(broken.resume_data)


def test_resume_data_of_a_running_download(nginx: ntapi.Client, tmp_path: Path) -> None:
    moved, progress = begun()
    request = nginx.create_request(
        f"slow/{PATTERN}", ntapi.download(tmp_path / "f"), download_progress=progress
    )
    assert request.resume_data is None
    request.resume()
    assert moved.wait(PATIENCE)
    assert request.suspend()
    assert request.resume_data is not None
    request.cancel()
    assert request.wait(PATIENCE)
    assert request.response is not None
    data = request.response.resume_data
    assert data is not None
    ntapi.discard_resume_data(data)
    assert os.listdir(tmp_path) == []
    ntapi.discard_resume_data(data)


@pytest.mark.parametrize("wrong", ["", "{}", "nonsense", '{"ntapiResumeData": 99}', "a\0b"])
def test_what_is_no_resume_data(fault: ntapi.Client, wrong: str) -> None:
    error = fault.perform("", ntapi.resume(wrong)).error
    assert error is not None
    assert error.code is codes.INVALID_REQUEST
    with pytest.raises(ValueError, match="is not resume data"):
        ntapi.discard_resume_data(wrong)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_that_lives_on_holds_no_file(
    nginx: ntapi.Client, pattern: bytes, tmp_path: Path
) -> None:
    moved, progress = begun()
    request = nginx.create_request(
        f"slow/{PATTERN}", ntapi.download(tmp_path / "f"), download_progress=progress
    )
    request.resume()
    assert moved.wait(PATIENCE)
    theirs, ours = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(int(PATIENCE))
        os.write(ours, b"x")
        signal.pause()
        os._exit(0)
    try:
        # Only now has it closed what it has inherited.
        assert os.read(theirs, 1) == b"x"
        request.cancel()
        assert request.wait(PATIENCE)
        assert request.response is not None
        whole = nginx.send("", ntapi.resume(request.response.resume_data))
        assert whole.status == 206
        assert (tmp_path / "f").read_bytes() == pattern
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(theirs)
        os.close(ours)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("precious", "file"),
        (".f.part", "file"),
        (".f.UPPER.part", "file"),
        (".g.1a.part", "file"),
        ("sub/.f.1a.part", "file"),
        ("sub/../.f.1a.part", "file"),
        (".f.1a.part", "link"),
        (".f.1a.part", "hard link"),
        (".f.1a.part", "pipe"),
        (".f.1a.part", "folder"),
    ],
)
def test_only_files_of_our_own_are_touched(
    servers: dict[str, str], fault: ntapi.Client, tmp_path: Path, name: str, kind: str
) -> None:
    """`resume` and `discard_resume_data` touch no file that they should not, whatever the text
    names.
    """
    (tmp_path / "sub").mkdir()
    precious = tmp_path / "precious"
    precious.write_text("precious")
    path = tmp_path / name
    if kind == "file":
        path.write_text("precious")
    elif kind == "link":
        path.symlink_to(precious)
    elif kind == "hard link":
        os.link(precious, path)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    data = {
        "ntapiResumeData": 1,
        "url": f"{servers['fault']}/range",
        "destination": str(tmp_path / "f"),
        "temporaryFile": f"{tmp_path}/{name}",
        "etag": '"v1"',
    }
    error = fault.perform("", ntapi.resume(json.dumps(data))).error
    assert error is not None
    assert error.domain is ntapi.ErrorDomain.REQUEST
    with contextlib.suppress(ValueError):
        ntapi.discard_resume_data(json.dumps(data))
    assert os.path.lexists(path)
    assert precious.read_text() == "precious"
    if kind == "file":
        assert path.read_text() == "precious"
    assert not (tmp_path / "f").exists()


def test_no_resume_data(fault: ntapi.Client) -> None:
    assert fault.send("echo", ntapi.resume(None)).resume_data is None
    with pytest.raises(TypeError, match="resume data has to be a string, not bytes"):
        ntapi.resume(b"{}")  # type: ignore[arg-type]


def test_ctrl_c_leaves_what_to_go_on_with(nginx: ntapi.Client, tmp_path: Path) -> None:
    def interrupt(count: int, _: Any) -> None:
        if count > 0:
            raise KeyboardInterrupt

    path = tmp_path / "f"
    for perform in (nginx.perform, nginx.send):
        with pytest.raises(KeyboardInterrupt) as caught:
            perform(f"slow/{PATTERN}", ntapi.download(path), download_progress=interrupt)
        assert nginx.drain(PATIENCE) == 0
        data = caught.value.resume_data  # type: ignore[attr-defined]
        (part,) = tmp_path.iterdir()
        ntapi.discard_resume_data(data)
        assert not part.exists()
    with pytest.raises(KeyboardInterrupt) as caught:
        nginx.perform(f"slow/{PATTERN}", download_progress=interrupt)
    assert not hasattr(caught.value, "resume_data")


OWNER = """
import os, sys, ntapi
def moved(count, total):
    if count > 0 and not child:
        child.append(os.fork())
        if child[0] == 0:
            print(os.getpid(), flush=True)  # it has begun to run
            sys.stdin.read()  # until the test ends
            os._exit(0)
child = []
ntapi.Client(sys.argv[1]).perform(sys.argv[2], ntapi.download(sys.argv[3]), download_progress=moved)
"""


def test_a_child_that_lives_on_does_not_keep_the_file(
    servers: dict[str, str], tmp_path: Path
) -> None:
    command = [sys.executable, "-c", OWNER, servers["nginx"], f"slow/{PATTERN}", tmp_path / "f"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout
        assert int(owner.stdout.readline()) > 0
        (part,) = tmp_path.iterdir()
        with part.open("r+b") as file:
            with pytest.raises(BlockingIOError):
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            owner.kill()
            os.waitid(os.P_PID, owner.pid, os.WEXITED | os.WNOWAIT)
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_cancelled_task_leaves_what_to_go_on_with(
    servers: dict[str, str], pattern: bytes, tmp_path: Path
) -> None:
    async def main() -> None:
        async with ntapi.AsyncClient(servers["nginx"]) as client:
            moved = asyncio.Event()

            async def download() -> str:
                try:
                    await client.send(
                        f"slow/{PATTERN}",
                        ntapi.download(tmp_path / "f"),
                        download_progress=lambda count, _: count and moved.set(),
                    )
                except asyncio.CancelledError as stop:
                    data: str = stop.resume_data  # type: ignore[attr-defined]
                    return data
                raise AssertionError("it was to be cancelled")

            task = asyncio.create_task(download())
            await moved.wait()
            task.cancel()
            data = await task
            response = await client.send("", ntapi.resume(data))
            assert response.status == 206
            assert response.file is not None
            assert response.file.read_bytes() == pattern

    asyncio.run(main())
