"""Bodies that go to a handler or into a file, and requests that are suspended on the way."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import pathlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

import ntapi
from conftest import PATIENCE, Unraisable, run_python
from ntapi import codes

PATTERN = "pattern-8M.bin"
LARGEST = 320 * 1024


@pytest.fixture
def nginx(servers: dict[str, str]) -> Iterator[ntapi.Client]:
    with ntapi.Client(servers["nginx"]) as client:
        yield client


@pytest.fixture
def pattern(servers: dict[str, str]) -> bytes:
    return (Path(servers["nginx_root"]) / PATTERN).read_bytes()


class Pieces:
    """A data handler that keeps what it is given, and may wait in its first call."""

    def __init__(self, holds: bool = False) -> None:
        self.pieces: list[bytes] = []
        self.threads: set[str] = set()
        self.moved = threading.Event()
        self.go_on = threading.Event()
        if not holds:
            self.go_on.set()

    def __call__(self, piece: bytes) -> None:
        self.threads.add(threading.current_thread().name)
        self.pieces.append(piece)
        self.moved.set()
        assert self.go_on.wait(PATIENCE)

    @property
    def content(self) -> bytes:
        return b"".join(self.pieces)


def test_a_body_goes_to_its_handler_in_order(nginx: ntapi.Client, pattern: bytes) -> None:
    pieces = Pieces()
    responses: list[ntapi.Response] = []
    request = nginx.create_request(PATTERN, (), responses.append, data_handler=pieces)
    assert request.received_status is None
    assert dict(request.received_headers) == {}
    request.resume()
    assert request.wait(PATIENCE)
    assert pieces.content == pattern
    assert all(type(piece) is bytes and 0 < len(piece) <= LARGEST for piece in pieces.pieces)
    (response,) = responses
    assert response.error is None
    assert response.data == b""
    assert response.file is None
    assert response.metrics.bytes_decoded == request.bytes_decoded == len(pattern)
    assert request.received_status == 200
    assert request.received_headers == response.headers
    assert request.received_headers["content-LENGTH"] == str(len(pattern))
    assert request.received_headers.lines == response.headers.lines


def test_what_is_compressed_arrives_decompressed(
    nginx: ntapi.Client, servers: dict[str, str]
) -> None:
    pieces = Pieces()
    request = nginx.begin("gzip/big-100k.json", data_handler=pieces)
    assert request.wait(PATIENCE)
    assert pieces.content == (Path(servers["nginx_root"]) / "big-100k.json").read_bytes()
    assert request.bytes_received < request.bytes_decoded == len(pieces.content)


def test_the_body_of_an_error_is_in_the_response(nginx: ntapi.Client) -> None:
    pieces = Pieces()
    response = nginx.perform("404", data_handler=pieces)
    assert response.error is not None
    assert response.error.code is codes.HTTP_ERROR
    assert response.json == {"error": "none"}
    assert pieces.pieces == []


def test_what_came_before_a_break_is_told(fault: ntapi.Client) -> None:
    pieces = Pieces()
    error = fault.perform("close/in-body", data_handler=pieces).error
    assert error is not None
    assert error.code is codes.NETWORK
    assert len(pieces.content) == 100


def test_perform_and_send_run_it_on_their_thread(nginx: ntapi.Client, pattern: bytes) -> None:
    for method in (nginx.perform, nginx.send):
        pieces = Pieces()
        assert method(PATTERN, data_handler=pieces).status == 200
        assert pieces.content == pattern
        assert pieces.threads == {"MainThread"}


EVERYWHERE = ["main", "background", "current", "executor", "mailbox"]


@pytest.mark.parametrize("response_place", EVERYWHERE)
@pytest.mark.parametrize("data_place", [*EVERYWHERE, None])
def test_every_pair_of_places(
    nginx: ntapi.Client, pattern: bytes, response_place: str, data_place: str | None
) -> None:
    """Pieces in order, each in its place, never beside or after the response."""
    log: list[tuple[str, str]] = []
    pieces: list[bytes] = []
    running = threading.Semaphore()

    def note(kind: str) -> None:
        assert running.acquire(blocking=False), "two handlers of one request at once"
        log.append((kind, threading.current_thread().name))
        running.release()

    def take(piece: bytes) -> None:
        note("data")
        pieces.append(piece)

    def work() -> None:
        mailbox = ntapi.Mailbox()
        places: dict[str | None, Any] = {
            "main": ntapi.MAIN,
            "background": ntapi.BACKGROUND,
            "current": ntapi.CURRENT,
            "executor": pool,
            "mailbox": mailbox,
            None: None,
        }
        request = nginx.begin(
            PATTERN,
            [ntapi.response_thread(places[response_place]), ntapi.data_thread(places[data_place])],
            lambda _: note("response"),
            data_handler=take,
        )
        while not request.wait(0.001):
            mailbox.drain()

    with concurrent.futures.ThreadPoolExecutor(2, thread_name_prefix="pool") as pool:
        thread = threading.Thread(target=work, name="worker")
        thread.start()
        while thread.is_alive():
            ntapi.run(0.001)
        thread.join()
    names = {
        "main": "MainThread",
        "background": "ntapi-background",
        "current": "worker",
        "executor": "pool",
        "mailbox": "worker",
    }
    assert b"".join(pieces) == pattern
    assert [kind for kind, _ in log] == ["data"] * len(pieces) + ["response"]
    for kind, name in log:
        place = response_place if kind == "response" else data_place or response_place
        assert name.startswith(names[place])


@pytest.mark.parametrize("place", ["background", "executor"])
@pytest.mark.parametrize("response_place", ["background", "main"])
def test_a_handler_that_is_behind_holds_up_the_network(
    nginx: ntapi.Client, fault: ntapi.Client, place: str, response_place: str
) -> None:
    """The mailboxes are drained meanwhile; what is taken from them must not pile up elsewhere."""
    pieces = Pieces(holds=True)
    responses: list[ntapi.Response] = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        request = nginx.begin(
            "256M.bin",
            [
                ntapi.data_thread(pool if place == "executor" else ntapi.BACKGROUND),
                ntapi.response_thread(ntapi.MAIN if response_place == "main" else ntapi.BACKGROUND),
                ntapi.timeout(0.5),
            ],
            responses.append,
            data_handler=pieces,
        )
        assert pieces.moved.wait(PATIENCE)
        # Longer than the idle timeout: a handler that takes its time is no fault of the server's.
        assert fault.send("late", ntapi.url("ms", 800)).status == 200
        assert len(pieces.pieces) == 1
        assert request.bytes_received < 2 << 20
        request.cancel()
        assert responses == []
        pieces.go_on.set()
        assert request.wait(PATIENCE)
    assert len(pieces.pieces) == 1
    (response,) = responses
    assert response.error is not None
    assert response.error.code is codes.CANCELLED
    assert response.metrics.bytes_received < 2 << 20


def test_a_mailbox_that_nobody_drains_holds_up_the_network(
    nginx: ntapi.Client, fault: ntapi.Client
) -> None:
    mailbox = ntapi.Mailbox()
    request = nginx.begin(
        "256M.bin", ntapi.response_thread(mailbox), lambda _: None, data_handler=Pieces()
    )
    assert fault.send("late", ntapi.url("ms", 300)).status == 200
    assert 0 < request.bytes_received < 2 << 20
    request.cancel()
    while request.is_running:
        mailbox.run(0.01)


def test_a_large_body_through_a_handler_needs_little_memory(servers: dict[str, str]) -> None:
    code = """
import resource, sys, time, ntapi

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

counted = []
def handler(piece):
    counted.append(len(piece))
    if len(counted) % 100 == 0:
        time.sleep(0.005)

with ntapi.Client(sys.argv[1]) as client:
    client.send("pattern-8M.bin", data_handler=lambda _: None)
    before = peak()
    request = client.begin("256M.bin", ntapi.data_thread(ntapi.BACKGROUND), data_handler=handler)
    assert request.wait(50)
    assert request.response.error is None
print(sum(counted), peak() - before)
"""
    done = run_python(code, servers["nginx"])
    assert done.returncode == 0, done.stderr
    total, grown = done.stdout.split()
    assert int(total) == 256 << 20
    assert float(grown) < 8


def test_no_piece_comes_after_a_cancel(nginx: ntapi.Client) -> None:
    for place in (ntapi.MAIN, ntapi.BACKGROUND) * 10:
        order: list[str] = []
        requests: list[ntapi.Request] = []

        def take(_: bytes, order: list[str] = order, requests: list[Any] = requests) -> None:
            order.append("piece")
            requests[0].cancel()

        requests.append(
            nginx.create_request(
                PATTERN,
                ntapi.response_thread(place),
                lambda _, order=order: order.append("response"),
                data_handler=take,
            )
        )
        requests[0].resume()
        assert requests[0].wait(PATIENCE)
        assert order == ["piece", "response"]


def test_an_exception_in_the_handler_is_reported_and_harms_nothing(
    nginx: ntapi.Client, pattern: bytes, unraisable: Unraisable
) -> None:
    taken: list[bytes] = []

    def failing(piece: bytes) -> None:
        taken.append(piece)
        raise ValueError("boom")

    for place in (ntapi.MAIN, ntapi.BACKGROUND):
        taken.clear()
        request = nginx.begin(PATTERN, ntapi.data_thread(place), data_handler=failing)
        assert request.wait(PATIENCE)
        assert request.response is not None
        assert request.response.error is None
        assert b"".join(taken) == pattern
    assert {str(error) for error in unraisable.errors} == {"boom"}
    assert all("failing" in name for name in unraisable.objects)


def test_keyboard_interrupt_in_the_handler_passes_and_loses_no_piece(
    nginx: ntapi.Client, pattern: bytes
) -> None:
    taken: list[bytes] = []

    def interrupted(piece: bytes) -> None:
        taken.append(piece)
        if len(taken) == 1:
            raise KeyboardInterrupt

    request = nginx.begin(PATTERN, data_handler=interrupted)
    with pytest.raises(KeyboardInterrupt):
        request.wait(PATIENCE)
    assert request.wait(PATIENCE)
    assert b"".join(taken) == pattern


DRIP = [ntapi.url("size", 2_000_000), ntapi.url("bytes", 10_000), ntapi.url("ms", 5)]


def test_a_suspended_request_moves_no_byte_and_goes_on(fault: ntapi.Client) -> None:
    pieces = Pieces()
    args = [*DRIP, ntapi.timeout(0.8), ntapi.response_thread(ntapi.BACKGROUND)]
    request = fault.create_request("drip", args, data_handler=pieces)
    assert not request.suspend()
    request.resume()
    assert pieces.moved.wait(PATIENCE)
    assert request.suspend()
    assert request.state is ntapi.RequestState.SUSPENDED
    assert request.is_running
    assert not request.suspend()
    # Until that has taken effect.
    fault.send("late", ntapi.url("ms", 200))
    before = len(pieces.pieces)
    # Longer than the idle timeout.
    fault.send("late", ntapi.url("ms", 1000))
    assert len(pieces.pieces) == before
    request.resume()
    assert request.state is ntapi.RequestState.RUNNING
    with pytest.raises(RuntimeError, match="resumed before"):
        request.resume()
    assert request.wait(PATIENCE)
    assert request.response is not None
    assert request.response.error is None
    assert len(pieces.content) == 2_000_000
    assert not request.suspend()


def test_a_suspended_request_is_cancelled(fault: ntapi.Client) -> None:
    pieces = Pieces()
    request = fault.begin("drip", [*DRIP, ntapi.data_thread(ntapi.BACKGROUND)], data_handler=pieces)
    assert pieces.moved.wait(PATIENCE)
    assert request.suspend()
    request.cancel()
    assert request.wait(PATIENCE)
    assert request.state is ntapi.RequestState.CANCELLED
    # Too late is no error, once.
    request.resume()
    with pytest.raises(RuntimeError, match="resumed before"):
        request.resume()


def test_a_request_that_cannot_be_built_is_not_suspended(fault: ntapi.Client) -> None:
    request = fault.begin("echo", ntapi.multipart("a", b"", extension="\0"))
    assert request.identifier == 0
    assert not request.suspend()
    assert request.bytes_decoded == 0
    assert request.received_status is None
    assert request.wait(PATIENCE)


class InSomeFolder:
    """Not a Path, but what the standard library takes in place of one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return str(self._path)


@pytest.mark.parametrize("kind", [str, Path, InSomeFolder])
def test_a_download_is_the_file_and_nothing_else(
    nginx: ntapi.Client, pattern: bytes, tmp_path: Path, kind: Callable[[Any], Any]
) -> None:
    path = tmp_path / "ü b.bin"
    seen: list[tuple[int, Any]] = []
    response = nginx.send(
        PATTERN, ntapi.download(kind(path)), download_progress=lambda *now: seen.append(now)
    )
    assert response.file == path
    assert isinstance(response.file, pathlib.PurePath)
    assert response.data == b""
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == pattern
    assert (seen[0], seen[-1]) == ((0, len(pattern)), (len(pattern), len(pattern)))
    assert nginx.send(PATTERN, ntapi.download(path)).file == path


def test_a_file_is_replaced_only_when_the_new_one_is_whole(
    nginx: ntapi.Client, fault: ntapi.Client, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    broken = fault.perform("close/in-body", ntapi.download(path))
    assert broken.error is not None
    assert broken.error.code is codes.NETWORK
    missing = nginx.perform("404", ntapi.download(path))
    assert missing.error is not None
    assert missing.json == {"error": "none"}
    assert broken.file is missing.file is None
    request = fault.begin("drip", [*DRIP, ntapi.download(path)])
    while request.bytes_decoded == 0:
        time.sleep(0.001)
    assert request.received_status == 200
    assert len(os.listdir(tmp_path)) == 2
    assert path.read_text() == "old"
    request.cancel()
    assert request.wait(PATIENCE)
    assert os.listdir(tmp_path) == ["a"]
    assert path.read_text() == "old"
    assert nginx.send("ping", ntapi.download(path)).json is None
    assert path.read_text() == '{"ok":true}'


def test_bad_destinations_are_named(nginx: ntapi.Client, tmp_path: Path) -> None:
    for path, reason in (
        (tmp_path / "no" / "such", "no such folder"),
        (tmp_path, "no regular file"),
        ("", "names no file"),
        ("a\0b", "NUL"),
    ):
        error = nginx.perform("ping", ntapi.download(path)).error
        assert error is not None
        assert error.code is codes.INVALID_REQUEST
        assert reason in str(error)
    assert nginx.send("ping", ntapi.download(None)).json == {"ok": True}
    with pytest.raises(TypeError, match=r"path|PathLike"):
        ntapi.download(5)  # type: ignore[arg-type]
    assert repr(ntapi.download("a b")) == '<ntapi.Arg download(to: "a b")>'


def test_a_download_goes_on_where_it_was_broken_off(fault: ntapi.Client, tmp_path: Path) -> None:
    path = tmp_path / "f"
    broken = fault.perform("range", ntapi.url("cut", 40_000), ntapi.download(path))
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
            ntapi.header("X-Again", 1),
            download_progress=lambda *now: seen.append(now),
        )
    assert (whole.status, whole.file, whole.resume_data) == (206, path, None)
    assert os.listdir(tmp_path) == ["f"]
    words = (place * 16 + 1 for place in range(25_000))
    assert path.read_bytes() == b"".join(word.to_bytes(4, "big") for word in words)
    assert seen[-1] == (100_000, 100_000)


def test_resume_data_of_a_running_download(nginx: ntapi.Client, tmp_path: Path) -> None:
    request = nginx.begin(f"slow/{PATTERN}", ntapi.download(tmp_path / "f"))
    assert request.resume_data is None
    while request.bytes_received == 0:
        time.sleep(0.001)
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
    with pytest.raises(ValueError, match="is no resume data"):
        ntapi.discard_resume_data(wrong)


def test_no_resume_data(fault: ntapi.Client) -> None:
    assert fault.send("echo", ntapi.resume(None)).resume_data is None
    with pytest.raises(TypeError, match="resume data has to be a string, not bytes"):
        ntapi.resume(b"{}")  # type: ignore[arg-type]


def test_on_a_loop(servers: dict[str, str], pattern: bytes) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        taken: list[bytes] = []

        def take(piece: bytes) -> None:
            assert asyncio.get_running_loop() is loop
            taken.append(piece)

        async with ntapi.AsyncClient(servers["nginx"]) as client:
            response = await client.send(PATTERN, data_handler=take)
            assert response.data == b""
            assert b"".join(taken) == pattern
            taken.clear()
            done = loop.create_future()
            client.begin(PATTERN, (), done.set_result, data_handler=take)
            assert (await done).error is None
            assert b"".join(taken) == pattern

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_a_loop_that_is_behind_holds_up_the_network(servers: dict[str, str]) -> None:
    async def main() -> None:
        async with ntapi.AsyncClient(servers["nginx"]) as client:
            taken: list[bytes] = []
            request = client.begin("256M.bin", data_handler=taken.append)
            while not taken:
                await asyncio.sleep(0)
            with ntapi.Client(servers["fault"]) as other:
                # Blocks the loop.
                other.send("late", ntapi.url("ms", 300))
            assert request.bytes_received < sum(map(len, taken)) + (2 << 20)
            request.cancel()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_a_cancelled_task_hears_of_no_piece_afterwards(servers: dict[str, str]) -> None:
    async def main() -> None:
        async with ntapi.AsyncClient(servers["nginx"]) as client:
            taken: list[bytes] = []
            task = asyncio.create_task(client.send("256M.bin", data_handler=taken.append))
            while not taken:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            before = len(taken)
            await asyncio.sleep(0.05)
            assert len(taken) == before

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
