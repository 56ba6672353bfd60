"""Responses that are read as they arrive: chunks, JSON lines and server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Optional, TypeVar, cast

from . import _registry
from ._background import stream_mailbox
from ._building import build
from ._checks import named
from ._handles import is_over
from ._headers import Headers
from ._loops import running_mailbox
from ._stream_reader import NOTHING, StreamReader
from ._threads import current_mailbox

if TYPE_CHECKING:
    from typing import Callable

    from ._aliases import Args
    from ._client import BaseClient
    from ._protocols import Place
    from ._request import Request
    from ._response import Response
    from ._typing import Self

Element = TypeVar("Element")


class _BaseStream(Generic[Element]):
    """What the two kinds of streams share."""

    def __init__(
        self,
        client: BaseClient,
        command: str,
        args: tuple[Args, ...],
        data_format: int,
        place: Place,
    ) -> None:
        self._reader = StreamReader(data_format)
        self._request = build(
            client,
            command,
            args,
            {},
            usual_place=place,
            response_place=place,
            handler=self._reader.finish,
            reader=self._reader,
        )
        self._request.resume()

    def __repr__(self) -> str:
        state = self._request.state.name.lower()
        return f"<{named(self)} {self._status()} {state}>"

    @property
    def request(self) -> Request:
        """The request; its `response` has error and metrics when the stream has ended."""
        return self._request

    @property
    def response(self) -> Optional[Response]:
        """The end of the stream: error, metrics; None before."""
        return self._reader.response

    def _status(self) -> int:
        response = self._reader.response
        return self._request.received_status or (response.status if response else 0)

    def _headers(self) -> Headers:
        response = self._reader.response
        if self._request.received_status is None and response is not None:
            return response.headers
        return self._request.received_headers

    @property
    def _has_head(self) -> bool:
        return self._reader.has_head or self._reader.response is not None

    def _check_head(self) -> None:
        """Raises what went wrong before there was a body to read."""
        response = self._reader.response
        if response is not None and not self._reader.has_head:
            response.raise_for_error()

    def _take(self) -> Any:
        """The next element; `NOTHING` when it has to be waited for, or at the end."""
        value = self._reader.take()
        if value is NOTHING and self._reader.response is not None and not self._reader.is_closed:
            self._reader.response.raise_for_error()
        return value

    @property
    def _is_over(self) -> bool:
        return self._reader.is_closed or self._reader.response is not None

    def _cancel(self) -> None:
        self._request.cancel()
        # Too late to cancel, perhaps: then only this holds up the end.
        self._reader.close()

    def __del__(self, _is_over: list[bool] = is_over) -> None:
        # Dropped by who has left a loop, say; an error in __init__ comes here, too.
        if not _is_over and "_request" in self.__dict__:
            self._cancel()


class Stream(_BaseStream[Element], Iterator[Element]):
    """A response that is read as it arrives, by iterating: `Client.stream`, `lines`, `events`.

    While nobody asks for the next element the network waits. To leave the `with` block, or to drop
    the stream, cancels the request.
    """

    def __init__(
        self, client: BaseClient, command: str, args: tuple[Args, ...], data_format: int
    ) -> None:
        super().__init__(client, command, args, data_format, stream_mailbox())

    @property
    def status(self) -> int:
        """The HTTP status, which is waited for; 0 when there is no answer."""
        self._wait(lambda: self._has_head)
        return self._status()

    @property
    def headers(self) -> Headers:
        """The header lines, which are waited for."""
        self._wait(lambda: self._has_head)
        return self._headers()

    def close(self) -> None:
        """Ends the request, and waits until it has ended. A second call does nothing."""
        self._cancel()
        outcome = self._request._outcome
        if not outcome.is_done:
            mailbox = current_mailbox()
            with _registry.observing(mailbox):
                mailbox.run_until(lambda: outcome.is_done)

    def __enter__(self) -> Self:
        """Waits for the head of the answer. Raises the response's error where there is no body to
        read.
        """
        self._wait(lambda: self._has_head)
        self._check_head()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Element:
        """The next element. Runs the calling thread's handlers while it waits."""
        reader = self._reader
        while True:
            value = self._take()
            if value is not NOTHING:
                return cast("Element", value)
            if self._is_over:
                raise StopIteration
            self._wait(lambda: reader.has_news or reader.is_closed)

    def _wait(self, is_over: Callable[[], bool]) -> None:
        if is_over():
            return
        mailbox = current_mailbox()
        self._reader.waiter = mailbox
        try:
            mailbox.run_until(is_over)
        finally:
            self._reader.waiter = None


class AsyncStream(_BaseStream[Element], AsyncIterator[Element]):
    """A response that is read as it arrives, by iterating: `AsyncClient.stream`, `lines`, `events`.

    While nobody asks for the next element the network waits. To leave the `async with` block, or to
    drop the stream, cancels the request; to cancel a task that waits for an element does not.
    """

    def __init__(
        self, client: BaseClient, command: str, args: tuple[Args, ...], data_format: int
    ) -> None:
        self._waiter: Optional[asyncio.Future[None]] = None
        super().__init__(client, command, args, data_format, running_mailbox())
        self._reader.waiter = _Waker(self)

    @property
    def status(self) -> int:
        """The HTTP status; 0 before it is there, and when there is no answer."""
        return self._status()

    @property
    def headers(self) -> Headers:
        """The header lines; none before they are there."""
        return self._headers()

    async def close(self) -> None:
        """Ends the request, and waits until it has ended. A second call does nothing."""
        from ._async import _until

        self._cancel()
        outcome = self._request._outcome
        await _until(lambda: outcome.is_done)

    async def __aenter__(self) -> Self:
        """Waits for the head of the answer. Raises the response's error where there is no body to
        read.
        """
        try:
            await self._wait(lambda: self._has_head)
            self._check_head()
        except BaseException:
            self._cancel()
            raise
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Element:
        reader = self._reader
        while True:
            value = self._take()
            if value is not NOTHING:
                return cast("Element", value)
            if self._is_over:
                raise StopAsyncIteration
            await self._wait(lambda: reader.has_news or reader.is_closed)

    async def _wait(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            if self._waiter is not None:
                raise RuntimeError("another task waits for this stream")
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def _news(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


class _Waker:
    """Tells a stream that there is news, without keeping it alive: nobody may wait any more."""

    __slots__ = ("_stream",)

    def __init__(self, stream: AsyncStream[Any]) -> None:
        import weakref

        self._stream = weakref.ref(stream)

    def wake(self) -> None:
        """On the loop's thread, which drains the request's mailbox."""
        stream = self._stream()
        if stream is not None:
            stream._news()
