"""Bodies that a handler gets piece by piece."""

from __future__ import annotations

import asyncio
import concurrent.futures
import select
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import ntapi
from conftest import IDLE_TIMEOUT, LONGER_THAN_IDLE, PATIENCE, Unraisable, run_python
from ntapi import codes
from transfers import PATTERN, Pieces

LARGEST = 320 * 1024


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
    assert response.json() == {"error": "none"}
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
    """Pieces come in order, in their place, and never during or after the response handler."""
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
    """The mailboxes are drained meanwhile; what is taken from them must not pile up."""
    pieces = Pieces(holds=True)
    responses: list[ntapi.Response] = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        request = nginx.begin(
            "256M.bin",
            [
                ntapi.data_thread(pool if place == "executor" else ntapi.BACKGROUND),
                ntapi.response_thread(ntapi.MAIN if response_place == "main" else ntapi.BACKGROUND),
                ntapi.timeout(IDLE_TIMEOUT),
            ],
            responses.append,
            data_handler=pieces,
        )
        assert pieces.moved.wait(PATIENCE)
        # A slow handler does not cause a timeout of the server.
        assert fault.send("late", ntapi.url("ms", int(LONGER_THAN_IDLE * 1000))).status == 200
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
    assert select.select([mailbox.fileno()], [], [], PATIENCE)[0]
    assert fault.send("late", ntapi.url("ms", 300)).status == 200
    assert 0 < request.bytes_received < 2 << 20
    request.cancel()
    while request.is_running:
        mailbox.run(0.01)


def test_a_large_body_through_a_handler_needs_little_memory(servers: dict[str, str]) -> None:
    code = """
import resource, sys, ntapi

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

counted = []
def handler(piece):
    counted.append(len(piece))
    sum(piece[::8])  # slower than the network

with ntapi.Client(sys.argv[1]) as client:
    client.send("pattern-8M.bin", data_handler=lambda _: None)
    before = peak()
    request = client.begin("256M.bin", ntapi.data_thread(ntapi.BACKGROUND), data_handler=handler)
    request.wait()
    assert request.response.error is None
print(sum(counted), peak() - before)
"""
    done = run_python(code, servers["nginx"])
    assert done.returncode == 0, done.stderr
    total, grown = done.stdout.split()
    assert int(total) == 256 << 20
    assert float(grown) < 8


@pytest.mark.parametrize("way", ["memory", "download", "stream"])
def test_what_becomes_gigabytes_holds_up_no_other_request(
    fault: ntapi.Client, tmp_path: Path, way: str
) -> None:
    """2 MB become 2 GB. Another request has its answer before all of that is decompressed. After a
    cancel, nothing more is decompressed.
    """
    args = [ntapi.url("mib", 2048), ntapi.response_thread(ntapi.BACKGROUND)]
    if way == "stream":
        chunks = fault.stream("gzip-bomb", args)
        assert next(chunks)
        request, cancel = chunks.request, chunks.close
    else:
        has_begun = threading.Event()
        file = [ntapi.download(tmp_path / "f")] if way == "download" else []
        request = fault.begin(
            "gzip-bomb", [args, file], download_progress=lambda *_: has_begun.set()
        )
        assert has_begun.wait(PATIENCE)
        cancel = request.cancel
    for action in (lambda: None, cancel):
        begun = time.process_time()
        action()
        other = fault.begin("ok", ntapi.response_thread(ntapi.BACKGROUND))
        assert other.wait(PATIENCE)
        assert other.response is not None
        assert other.response.status == 200
        if action is cancel:
            assert time.process_time() - begun < 1
        else:
            assert request.response is None


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


def test_no_handler_runs_after_ctrl_c_has_ended_the_wait(fault: ntapi.Client) -> None:
    counts: list[int] = []

    def progress(count: int, _: Any) -> None:
        counts.append(count)
        # The next progress already waits when the interrupt comes.
        assert select.select([ntapi.mailbox()], [], [], PATIENCE)[0]
        raise KeyboardInterrupt

    body = ntapi.data(bytes(100_000))
    with pytest.raises(KeyboardInterrupt):
        fault.perform("echo", body, upload_progress=progress, download_progress=progress)
    assert fault.drain(PATIENCE) == 0
    assert counts == [0]


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
