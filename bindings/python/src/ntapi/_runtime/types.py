"""The types without a class. Type checkers import this, and programs that use one of the names."""

from __future__ import annotations

import concurrent.futures
from collections.abc import AsyncIterable, Iterable
from typing import IO, Callable, Optional, Protocol, Union

from .._bridge.enums import Thread
from .mailbox import Mailbox

Job = Callable[[], object]
Submit = Callable[[Job], object]
PlaceLike = Union[Thread, Mailbox, concurrent.futures.Executor, Submit]
"""A `Thread`, a mailbox, an executor, or any function that takes a job, such as
loop.call_soon_threadsafe.
"""

Chunk = Union[bytes, bytearray, memoryview]
StreamContent = Union[IO[bytes], Iterable[Chunk], AsyncIterable[Chunk], Callable[[int], Chunk]]


class Ending(Protocol):
    """Whether a request has ended, and which thread is running one of its handlers."""

    is_done: bool
    runner: Optional[int]


class Waiter(Protocol):
    """Something that waits for requests that end on another thread."""

    def wake(self) -> None: ...


class Place(Protocol):
    """Where a handler runs."""

    @property
    def mailbox(self) -> Mailbox:
        """Where C delivers its events."""

    @property
    def runs_inline(self) -> bool:
        """Whether the thread that drains that mailbox is the right one for its handlers."""

    def post(self, job: Job, token: int = 0) -> None:
        """Runs a job in this place: of the request with this token, or of none. Called from any
        thread.
        """
