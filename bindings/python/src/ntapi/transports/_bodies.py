"""Bodies of requests that come piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextvars import copy_context
from typing import Optional

from ._failures import refused


class Body:
    """A request's body that comes piece by piece, and its state."""

    error: Optional[BaseException] = None
    """What the library's iterable has raised."""
    given: int = 0
    """How many bytes it has given."""
    has_ended: bool = False

    def __init__(self, length: Optional[int]) -> None:
        self._length = length

    @property
    def _is_complete(self) -> bool:
        """Whether it has its length. NTApi does not ask for more, so it would not notice more."""
        return self._length is not None and self.given >= self._length

    def _check_end(self, surplus: bytes) -> None:
        if surplus:
            raise refused(f"the body has more than the {self._length} bytes of Content-Length")
        self.has_ended = True


class SyncBody(Body, Iterator[bytes]):
    """The body from an iterable. It runs on a worker thread, in the context of the caller."""

    def __init__(self, content: Iterable[bytes], length: Optional[int]) -> None:
        super().__init__(length)
        self._content = content
        self._context = copy_context()
        self._iterator: Optional[Iterator[bytes]] = None

    def __next__(self) -> bytes:
        try:
            return self._context.run(self._next)
        except StopIteration:
            self.has_ended = True
            raise
        except BaseException as error:
            self.error = error
            if isinstance(error, Exception):
                raise
            # The caller raises it, not this thread.
            raise refused("the body was interrupted") from error

    def _next(self) -> bytes:
        if self._iterator is None:
            self._iterator = iter(self._content)
        piece = next(self._iterator)
        self.given += len(piece)
        if self._is_complete:
            self._check_end(next(filter(len, self._iterator), b""))
        return piece


class AsyncBody(Body, AsyncIterator[bytes]):
    """The body from an async iterable. It runs on the caller's loop."""

    def __init__(self, content: AsyncIterable[bytes], length: Optional[int]) -> None:
        super().__init__(length)
        self._iterator = content.__aiter__()

    async def __anext__(self) -> bytes:
        try:
            piece = await self._iterator.__anext__()
            self.given += len(piece)
            if self._is_complete:
                self._check_end(await self._next_piece())
            return piece
        except StopAsyncIteration:
            self.has_ended = True
            raise
        except asyncio.CancelledError:
            # The request has ended, for its own reason.
            raise
        except BaseException as error:
            self.error = error
            raise

    async def _next_piece(self) -> bytes:
        async for piece in self._iterator:
            if piece:
                return piece
        return b""

    async def aclose(self) -> None:
        """Ends the iterable, if it can be ended."""
        close = getattr(self._iterator, "aclose", None)
        if close is not None:
            await close()
