"""Requests that are suspended on the way."""

from __future__ import annotations

import hashlib
import random
import threading
from pathlib import Path
from typing import Optional

import pytest

import ntapi
from conftest import PATIENCE
from transfers import DRIP, Pieces


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
        ntapi.timeout(0.8),
        ntapi.upload_progress_thread(ntapi.BACKGROUND),
    ]
    request = weather.create_request("upload", args, upload_progress=progress)
    request.resume()
    assert moved.wait(PATIENCE)
    # Until that has taken effect.
    fault.send("late", ntapi.url("ms", 200))
    before = request.bytes_sent
    # Longer than the idle timeout.
    fault.send("late", ntapi.url("ms", 1000))
    assert request.is_running
    assert request.bytes_sent == before < len(content)
    request.resume()
    assert request.wait(PATIENCE)
    assert request.response is not None
    assert request.response.json["sha256"] == hashlib.sha256(content).hexdigest()


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
