"""Request bodies that come from Python: files, iterables, async iterables and functions."""

from __future__ import annotations

import ctypes
import io
import itertools
import os
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator

from .._bridge.callbacks import ReadFunction, RewindFunction
from .._bridge.logging import from_c, report
from .._bridge.native import allocate_lock
from .._bridge.signatures import DestroyFunction
from .checks import refuse_copy

# asyncio and concurrent.futures take several times as long to import as this package. Only the
# functions that need them import them.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from asyncio import AbstractEventLoop, Task
    from concurrent.futures import Future
    from typing import Any, Callable, NoReturn, Optional, Union

    from .types import Chunk, StreamContent


class Source:
    """Reads the content of a stream of any kind with one method, `read(size)`."""

    def __init__(self, content: StreamContent, length: Optional[int] = None) -> None:
        self._content: Any = content
        self.length = length
        """The number of bytes; None if unknown."""
        self.on_loop: Optional[OnLoop] = None
        """Awaits the chunks of an async iterable."""
        self._left: Optional[int] = None
        """The bytes of a file that still belong to the body. The file may grow meanwhile."""
        source: Any = content
        self._start: Optional[int] = None
        self._iterator: Optional[Iterator[Chunk]] = None
        self._rest = memoryview(b"")
        self.error: Optional[BaseException] = None
        """What reading or rewinding raised. It becomes the cause of the request's error."""
        if isinstance(content, AsyncIterable):
            self.on_loop = OnLoop(content)
            self._pull: Callable[[int], Chunk] = self.on_loop.next_chunk
        elif hasattr(content, "read"):
            self._pull = source.read
            seekable = getattr(source, "seekable", None)
            if seekable is not None and seekable():
                self._start = source.tell()
                if length is None and not isinstance(content, io.TextIOBase):
                    self._measure()
        elif isinstance(content, Iterable):
            self._pull = self._next_chunk
        elif callable(content):
            self._pull = content
        else:
            raise TypeError(
                f"a file, iterable or function is expected, not {type(content).__name__}"
            )

    def __reduce__(self) -> NoReturn:
        refuse_copy(
            self,
            "it can be read once, here; make the arg where it is sent, with `ntapi.stream(...)`",
        )

    def _measure(self) -> None:
        """The length of a seekable file from its position."""
        assert self._start is not None
        try:
            end = self._content.seek(0, os.SEEK_END)
            self._content.seek(self._start)
        except OSError:
            # Files of /proc cannot seek to an end.
            return
        # A device that reports 0 may have something to read.
        if end is not None and end > self._start:
            self.length = self._left = end - self._start

    @property
    def can_rewind(self) -> bool:
        """Whether the content can be read a second time."""
        if self._start is not None:
            return True
        if self.on_loop is not None:
            return self.on_loop.can_rewind
        is_iterable = self._pull == self._next_chunk
        return is_iterable and not isinstance(self._content, Iterator)

    def read(self, size: int) -> memoryview:
        """Returns at most `size` bytes; b"" at the end. Splits larger chunks."""
        if self._left is not None:
            size = min(size, self._left)
        if not self._rest:
            chunk = self._pull(size)
            if isinstance(chunk, str):
                raise TypeError("a stream has to give bytes, not str: open the file with mode 'rb'")
            self._rest = memoryview(chunk).cast("B")
        piece, self._rest = self._rest[:size], self._rest[size:]
        if self._left is not None:
            self._left -= len(piece)
        return piece

    def rewind(self) -> bool:
        """Goes back to where the content began."""
        if not self.can_rewind:
            return False
        self._rest = memoryview(b"")
        self._iterator = None
        if self.on_loop is not None:
            self.on_loop.rewind()
        if self._start is not None:
            self._content.seek(self._start)
            self._left = self.length if self._left is not None else None
        return True

    def fail(self, error: BaseException) -> None:
        """Handles what reading or rewinding has raised, on a worker."""
        self.error = error
        # If the iterable ran on a loop, the exception continues to the loop.
        if self.on_loop is None and not isinstance(error, Exception):
            report(error, self._content)

    def _next_chunk(self, _: int) -> Chunk:
        if self._iterator is None:
            self._iterator = iter(self._content)
        # An empty chunk in the middle is not the end.
        return next((chunk for chunk in self._iterator if len(chunk)), b"")


class OnLoop:
    """Gets the chunks of an async iterable. A worker of the library waits for each."""

    def __init__(self, content: AsyncIterable[Chunk]) -> None:
        self._content = content
        self._loop: Optional[AbstractEventLoop] = None
        self._context: Any = None
        self._task: Optional[Task[None]] = None
        self._waiting: Optional[Future[Chunk]] = None
        self._wanted: Optional[Future[Chunk]] = None
        """The same, for the task."""
        self._demand: Optional[asyncio.Future[None]] = None
        """The task waits for this until the next chunk is wanted."""
        self._end: Union[Chunk, BaseException] = b""
        """What comes behind the last chunk: the end, or what the iterable has raised."""
        self._has_ended = False
        self._lock = allocate_lock()

    @property
    def can_rewind(self) -> bool:
        """Whether the chunks can be read a second time."""
        return not isinstance(self._content, AsyncIterator)

    def bind(self) -> None:
        """Remembers the running loop and the caller's context, in which the iterable runs. Called
        before the request is sent.
        """
        from asyncio import get_running_loop
        from contextvars import copy_context

        self._loop = get_running_loop()
        self._context = copy_context()

    def next_chunk(self, _: int) -> Chunk:
        """Waits for the next chunk, on a worker; b"" at the end."""
        from concurrent.futures import Future

        assert self._loop is not None
        with self._lock:
            if self._has_ended:
                raise EndedError
            waiting = self._waiting = Future()
        self._loop.call_soon_threadsafe(self._begin, waiting, context=self._context)
        return waiting.result()

    def rewind(self) -> None:
        """Begins again with the first chunk."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._close, context=self._context)

    def end(self) -> None:
        """Ends a wait and runs the iterable's finally blocks, because the request is cancelled or
        over.

        Called from any thread; a second call does nothing.
        """
        with self._lock:
            if self._has_ended:
                return
            self._has_ended = True
            waiting, self._waiting = self._waiting, None
        if waiting is not None:
            _settle(waiting, EndedError())
        if self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(self._close, context=self._context)
            except RuntimeError:
                # The loop is closed.
                pass

    # The code below runs on the loop.

    def _begin(self, waiting: Future[Chunk]) -> None:
        assert self._loop is not None
        if self._has_ended:
            return
        self._wanted = waiting
        if self._task is None:
            self._end = b""
            self._task = self._loop.create_task(self._feed())
        elif self._task.done():
            self._give(self._end)
        elif self._demand is not None and not self._demand.done():
            self._demand.set_result(None)

    async def _feed(self) -> None:
        """Gives chunk after chunk, each when it is wanted. One task for all of them, because the
        iterable may have a timeout around several chunks, or set context variables.
        """
        from asyncio import current_task

        task = current_task()
        iterator: Optional[AsyncIterator[Chunk]] = None
        end: Union[Chunk, BaseException] = b""
        try:
            iterator = self._content.__aiter__()
            async for chunk in iterator:
                # An empty chunk in the middle is not the end.
                if len(chunk):
                    await self._hand_over(chunk)
        except BaseException as error:
            # Also between two chunks: a scope of the iterable has cancelled the task, for example.
            end = error
            if not isinstance(error, Exception):
                raise
        finally:
            try:
                close = getattr(iterator, "aclose", None)
                if close is not None:
                    await close()
            finally:
                if self._task is task or self._task is None:
                    self._end = end
                    self._give(end)

    async def _hand_over(self, chunk: Chunk) -> None:
        """Gives a chunk, and waits until the next one is wanted."""
        assert self._loop is not None
        self._demand = self._loop.create_future()
        self._give(chunk)
        await self._demand

    def _give(self, outcome: Union[Chunk, BaseException]) -> None:
        wanted, self._wanted = self._wanted, None
        if wanted is not None:
            _settle(wanted, outcome)

    def _close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()


class EndedError(Exception):
    """Nobody waits for the body any more."""


def _settle(waiting: Future[Chunk], outcome: Union[Chunk, BaseException]) -> None:
    from concurrent.futures import InvalidStateError

    try:
        if isinstance(outcome, BaseException):
            waiting.set_exception(outcome)
        else:
            waiting.set_result(outcome)
    except InvalidStateError:
        # The chunk and the end of the request came at the same time: the first counts.
        pass


# C knows a source by a token. This table has it while its request runs, so that a late call finds
# nothing instead of garbage.
_sources: dict[int, Source] = {}
_tokens = itertools.count(1)


def register_source(source: Source) -> int:
    """Registers a source, and returns the token by which C knows it."""
    token = next(_tokens)
    _sources[token] = source
    return token


def forget_source(token: int) -> None:
    """Removes a source."""
    source = _sources.pop(token, None)
    if source is not None and source.on_loop is not None:
        source.on_loop.end()


def stop_reading(tokens: Iterable[int]) -> None:
    """Ends the wait for the next chunk of an async iterable, because the request is cancelled."""
    for token in tokens:
        source = _sources.get(token)
        if source is not None and source.on_loop is not None:
            source.on_loop.end()


def source_error(tokens: Iterable[int]) -> Optional[BaseException]:
    """What one of these sources has raised, or None."""
    for token in tokens:
        source = _sources.get(token)
        if source is not None and source.error is not None:
            return source.error
    return None


def _reset_in_child() -> None:
    """In a forked child: requests that were begun in the parent belong to the parent."""
    _sources.clear()


os.register_at_fork(after_in_child=_reset_in_child)


def _fail(error: BaseException, token: int, *_: int) -> None:
    """Makes an exception the cause of the request's error: nobody on a worker can catch it."""
    source = _sources.get(token)
    if source is not None and not isinstance(error, EndedError):
        source.fail(error)


@from_c(ReadFunction, _fail, result=-1)
def read_function(token: int, buffer: int, capacity: int) -> int:
    """ntapi_read_fn for every source."""
    source = _sources.get(token)
    if source is None:
        return -1
    piece = bytes(source.read(capacity))
    ctypes.memmove(buffer, piece, len(piece))
    return len(piece)


@from_c(RewindFunction, _fail, result=False)
def rewind_function(token: int) -> bool:
    """ntapi_rewind_fn for every source."""
    source = _sources.get(token)
    return source is not None and source.rewind()


NO_REWIND = RewindFunction()
NO_DESTROY = DestroyFunction()
