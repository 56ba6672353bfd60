"""Shared by tests of transfers: what to fetch, and handlers."""

from __future__ import annotations

import threading
from typing import Callable, Optional

import ntapi
from conftest import PATIENCE

PATTERN = "pattern-8M.bin"
"""A file at nginx in which no four bytes repeat."""

DRIP = [ntapi.url("bytes", 10_000), ntapi.url("ms", 5)]
"""A body of the fault server that takes a second for two million bytes."""
ENDLESS = [ntapi.url("size", 1_000_000), ntapi.url("bytes", 100)]
"""A body so long that it is still coming when a busy machine checks."""


def begun() -> tuple[threading.Event, Callable[[int, Optional[int]], None]]:
    """An event, and a progress handler that sets it at the first bytes."""
    moved = threading.Event()

    def progress(count: int, _: Optional[int]) -> None:
        if count > 0:
            moved.set()

    return moved, progress


class Pieces:
    """A data handler that keeps its pieces, and may wait in its first call."""

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
