"""Responses that are read as they arrive: chunks, JSON lines and server-sent events."""

from __future__ import annotations

import asyncio
import ctypes
import json
import warnings
import weakref
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Optional, TypeVar, cast

from . import _registry
from ._bridge.cpython import INTERPRETER, json_value
from ._bridge.library import is_over, lib
from ._bridge.signatures import DataFormat, ServerEvent
from ._checks import named, refuse_copy
from ._json_method import json_method
from ._mailbox import current_mailbox
from ._places import running_mailbox, stream_mailbox
from ._request import build
from ._response import Headers

if TYPE_CHECKING:
    from typing import Callable, NoReturn

    from ._bridge.library import Handle
    from ._client import BaseClient
    from ._request import Request
    from ._response import Response
    from ._types import JSON, Args, Observer, Place, Self


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

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "read it here, and pass on what was read")

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
        if _is_over or "_request" not in self.__dict__:
            return
        if not self._reader.is_closed and self._reader.response is None:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
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
        """The HTTP status; waits for it. 0 when there is no answer."""
        self._wait(lambda: self._has_head)
        return self._status()

    @property
    def headers(self) -> Headers:
        """The header lines; waits for them."""
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
        try:
            self._wait(lambda: self._has_head)
            self._check_head()
        except BaseException:
            self._cancel()
            raise
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
        # Here, as a stream of the blocking client does not need the other one.
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

        self._stream = weakref.ref(stream)

    def wake(self) -> None:
        """On the loop's thread, which drains the request's mailbox."""
        stream = self._stream()
        if stream is not None:
            stream._news()


# The pieces of a streaming request, one at a time, for the stream that reads them.


NOTHING: Any = object()
"""Not a value that a stream could have."""


class StreamReader:
    """Gets a body piece by piece.

    The next one comes when this one is freed: a reader who is behind holds up the network.

    One thread, the one that drains the request's mailbox, calls `receive` and `finish`; one, the
    same or another, everything else.
    """

    def __init__(self, data_format: int) -> None:
        self.format = data_format
        self.has_head: bool = False
        """Whether the head of an answer is there."""
        self.response: Optional[Response] = None
        """Set at the end, when nothing is left to read."""
        self.waiter: Optional[Observer] = None
        """Who is to be woken when there is news."""
        self._piece: Optional[tuple[Handle, int, int]] = None
        self._is_closed = False
        self._event = ServerEvent()
        read: dict[int, Callable[[Handle, int, int], Any]] = {
            DataFormat.BYTES: self._read_bytes,
            DataFormat.JSON_LINES: self._read_json,
            DataFormat.SERVER_EVENTS: self._read_event,
        }
        self._read = read[data_format]

    def receive(self, piece: Handle, address: int, length: int) -> None:
        """A piece of the body; the first one may be empty, and tells of the head alone."""
        self.has_head = True
        self._piece = (piece, address, length)
        # Who closes sets the flag first and frees what is there then: one of the two sees the
        # other.
        if self._is_closed:
            self._drop()
        self._wake()

    def finish(self, response: Response) -> None:
        """The end: there are no more pieces."""
        self.response = response
        self._wake()

    @property
    def has_news(self) -> bool:
        """Whether there is something to take, or the end has come."""
        return self._piece is not None or self.response is not None

    def take(self) -> Any:
        """The next of what has come; `NOTHING` when it has to be waited for."""
        piece = self._piece
        if piece is None:
            return NOTHING
        value = self._read(*piece)
        if value is NOTHING:
            self._drop()
        return value

    def close(self) -> None:
        """Nobody reads any more."""
        self._is_closed = True
        self._drop()

    @property
    def is_closed(self) -> bool:
        """Whether nobody reads any more."""
        return self._is_closed

    def _drop(self) -> None:
        piece, self._piece = self._piece, None
        if piece is not None:
            # From here on the next one may come, on another thread.
            piece[0].free()

    def _wake(self) -> None:
        waiter = self.waiter
        if waiter is not None:
            waiter.wake()

    def _read_bytes(self, piece: Handle, address: int, length: int) -> Any:
        content = ctypes.string_at(address, length) if length else NOTHING
        if content is not NOTHING:
            self._drop()
        return content

    def _read_json(self, piece: Handle, address: int, length: int) -> Any:
        value = lib.ntapi_data_next_json(piece.pointer)
        return json_value(value, INTERPRETER) if value else NOTHING

    def _read_event(self, piece: Handle, address: int, length: int) -> Any:
        event = self._event
        if not lib.ntapi_data_next_server_event(piece.pointer, ctypes.byref(event)):
            return NOTHING
        return ServerSentEvent(
            event.type.decode(),
            ctypes.string_at(event.data, event.length).decode(),
            event.last_event_id.decode(),
        )


# Server-sent events.


class ServerSentEvent:
    """One event of a stream of server-sent events (WHATWG HTML, 9.2)."""

    __slots__ = ("data", "last_event_id", "type")

    type: str
    """What kind of event it is; "message" where the server did not say."""
    data: str
    """Its lines of data, joined by line feeds."""
    last_event_id: str
    """The identifier of the last event that had one, this or an earlier one; or ""."""

    def __init__(self, type: str = "message", data: str = "", last_event_id: str = "") -> None:
        self.type = type
        self.data = data
        self.last_event_id = last_event_id

    @json_method("event")
    def json(self) -> JSON:
        """The data as JSON. Raises ValueError when it is not JSON."""
        value: JSON = json.loads(self.data)
        return value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ServerSentEvent):
            return NotImplemented
        return (self.type, self.data, self.last_event_id) == (
            other.type,
            other.data,
            other.last_event_id,
        )

    def __hash__(self) -> int:
        return hash((self.type, self.data, self.last_event_id))

    def __repr__(self) -> str:
        return (
            f"ServerSentEvent(type={self.type!r}, data={self.data!r}, "
            f"last_event_id={self.last_event_id!r})"
        )
