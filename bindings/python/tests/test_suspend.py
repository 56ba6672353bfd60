"""Requests that are suspended on the way."""

from __future__ import annotations

import hashlib
import random
import threading
from pathlib import Path
from typing import Callable, Optional

import ntapi
from conftest import IDLE_TIMEOUT, LONGER_THAN_IDLE, PATIENCE
from transfers import DRIP, ENDLESS, Pieces


def settled(value: Callable[[], int], fault: ntapi.Client) -> int:
    """What does not change any more, once a command has taken effect."""
    before = -1
    while (now := value()) != before:
        before = now
        fault.send("late", ntapi.url("ms", 300))
    return now


def wait_longer_than_idle(fault: ntapi.Client) -> None:
    """An answer that takes longer than the idle timeout."""
    fault.send("late", ntapi.url("ms", int(LONGER_THAN_IDLE * 1000)))


def test_a_suspended_request_moves_no_byte_and_goes_on(fault: ntapi.Client) -> None:
    pieces = Pieces()

    def take(piece: bytes) -> None:
        # Here, or a busy machine might come to it when the body is over.
        if not pieces.pieces:
            assert request.suspend()
        pieces(piece)

    place = ntapi.response_thread(ntapi.BACKGROUND)
    args = [*DRIP, ntapi.url("size", 2_000_000), ntapi.timeout(IDLE_TIMEOUT), place]
    request = fault.create_request("drip", args, data_handler=take)
    assert not request.suspend()
    request.resume()
    assert pieces.moved.wait(PATIENCE)
    assert request.state is ntapi.RequestState.SUSPENDED
    assert request.is_running
    assert not request.suspend()
    before = settled(lambda: len(pieces.pieces), fault)
    wait_longer_than_idle(fault)
    assert len(pieces.pieces) == before
    request.resume()
    assert request.state is ntapi.RequestState.RUNNING
    assert not request.resume()
    assert request.wait(PATIENCE)
    assert request.response is not None
    assert request.response.error is None
    assert len(pieces.content) == 2_000_000
    assert not request.suspend()


def test_a_suspended_upload_sends_no_byte_and_goes_on(
    weather: ntapi.Client, fault: ntapi.Client, tmp_path: Path
) -> None:
    content = random.Random(5).randbytes(6 << 20)
    path = tmp_path / "body"
    path.write_bytes(content)
    moved = threading.Event()

    def progress(count: int, _: Optional[int]) -> None:
        if count > 0 and not moved.is_set() and request.suspend():
            moved.set()

    args = [
        ntapi.url("rate", 12 << 20),
        ntapi.file(path, "application/octet-stream"),
        ntapi.timeout(IDLE_TIMEOUT),
        ntapi.upload_progress_thread(ntapi.BACKGROUND),
    ]
    request = weather.create_request("upload", args, upload_progress=progress)
    request.resume()
    assert moved.wait(PATIENCE)
    before = settled(lambda: request.bytes_sent, fault)
    wait_longer_than_idle(fault)
    assert request.is_running
    assert request.bytes_sent == before < len(content)
    request.resume()
    assert request.wait(PATIENCE)
    assert request.response is not None
    assert request.response.json()["sha256"] == hashlib.sha256(content).hexdigest()


def test_a_suspended_request_is_cancelled(fault: ntapi.Client) -> None:
    pieces = Pieces()
    place = ntapi.data_thread(ntapi.BACKGROUND)
    request = fault.begin("drip", [*ENDLESS, place], data_handler=pieces)
    assert pieces.moved.wait(PATIENCE)
    assert request.suspend()
    request.cancel()
    assert request.wait(PATIENCE)
    assert request.state is ntapi.RequestState.CANCELLED
    # Too late is no error, once.
    request.resume()
    assert not request.resume()


def test_a_request_that_cannot_be_built_is_not_suspended(fault: ntapi.Client) -> None:
    request = fault.begin("echo", ntapi.multipart("a", b"", extension="\0"))
    assert request.identifier == 0
    assert not request.suspend()
    assert request.bytes_decoded == 0
    assert request.received_status is None
    assert request.wait(PATIENCE)
