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

from ._bridge.cpython import INTERPRETER, json_value
from ._bridge.library import is_over, lib
from ._bridge.signatures import DataFormat, ServerEvent
from ._build import build
from ._headers import Headers
from ._json_method import json_method
from ._runtime import registry
from ._runtime.checks import Copyable, even_without_init, named, refuse_copy
from ._runtime.loops import running_mailbox, until
from ._runtime.threads import current_mailbox, stream_mailbox

if TYPE_CHECKING:
    from typing import Callable, NoReturn

    from ._bridge.library import Handle
    from ._client import BaseClient
    from ._request import Request
    from ._response import Response
    from ._runtime.types import Place, Waiter
    from ._types import JSON, Args, Self


Element = TypeVar("Element")


class _BaseStream(Generic[Element]):
    """The base class of both kinds of streams."""

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

    @even_without_init
    def __repr__(self) -> str:
        return f"<{named(self)} {self._status()} of {self._request!r}>"

    @property
    def request(self) -> Request:
        """The request. Its `response` has the error and the metrics after the end of the stream."""
        return self._request

    @property
    def response(self) -> Optional[Response]:
        """The error and the metrics, at the end of the stream; None before."""
        return self._reader.response

    def _status(self) -> int:
        response = self._reader.response
        return self._request.received_status or (response.status if response else 0)

    def _headers(self) -> Headers:
        response = self._reader.response
        if self._request.received_status is None and response is not None:
            return response.headers
        return self._request.received_headers

    def _reason_phrase(self) -> str:
        response = self._reader.response
        if self._request.received_status is None and response is not None:
            return response.reason_phrase
        return self._request.received_reason_phrase

    def _http_version(self) -> Optional[float]:
        response = self._reader.response
        if self._request.received_status is None and response is not None:
            return response.metrics.http_version or None
        return self._request.received_http_version

    @property
    def _has_head(self) -> bool:
        return self._reader.has_head or self._reader.response is not None

    def _check_head(self) -> None:
        """Raises the error of a request that failed before there was a body to read."""
        response = self._reader.response
        if response is not None and not self._reader.has_head:
            response.raise_for_error()

    def _take(self) -> Any:
        """The next element; `NOTHING` if it has not come yet, or at the end."""
        value = self._reader.take()
        if value is NOTHING and self._reader.response is not None and not self._reader.is_closed:
            self._reader.response.raise_for_error()
        return value

    @property
    def _is_over(self) -> bool:
        return self._reader.is_closed or self._reader.response is not None

    def _cancel(self) -> None:
        self._request.cancel()
        # It may be too late to cancel. Then only the unread piece delays the end, so drop it.
        self._reader.close()

    def __del__(self, _is_over: list[bool] = is_over) -> None:
        # Dropped, for example by leaving a `for` loop. Also runs after an error in __init__.
        if _is_over or "_request" not in self.__dict__:
            return
        try:
            if not self._reader.is_closed and self._reader.response is None:
                warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
        finally:
            self._cancel()


class Stream(_BaseStream[Element], Iterator[Element]):
    """A response that you read as it arrives, by iterating: `Client.stream`, `lines`, `events`.

    The network waits until you ask for the next element. Leaving the `with` block, or dropping the
    stream, cancels the request.
    """

    def __init__(
        self, client: BaseClient, command: str, args: tuple[Args, ...], data_format: int
    ) -> None:
        super().__init__(client, command, args, data_format, stream_mailbox())

    @property
    def status(self) -> int:
        """The HTTP status; blocks until it has come. 0 if there is no answer."""
        self._wait(lambda: self._has_head)
        return self._status()

    @property
    def headers(self) -> Headers:
        """The header lines; blocks until they have come."""
        self._wait(lambda: self._has_head)
        return self._headers()

    @property
    def reason_phrase(self) -> str:
        """The text behind the status in the status line, such as "Not Found"; blocks until it has
        come. "" if there is none, as over HTTP/2.
        """
        self._wait(lambda: self._has_head)
        return self._reason_phrase()

    @property
    def http_version(self) -> Optional[float]:
        """The version of HTTP of the answer: 1.0, 1.1, 2 or 3; blocks until it has come. None if
        there is no answer.
        """
        self._wait(lambda: self._has_head)
        return self._http_version()

    def close(self) -> None:
        """Ends the request, and waits until it has ended. A second call does nothing."""
        self._cancel()
        outcome = self._request._outcome
        if not outcome.is_done:
            mailbox = current_mailbox()
            with registry.observing(mailbox):
                mailbox.run_until(lambda: outcome.is_done, waits_for=())

    def __enter__(self) -> Self:
        """Waits for the head of the answer. Raises the response's error if there is no body to
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
        """Waits for the next element. Runs the calling thread's handlers meanwhile."""
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
            mailbox.run_until(is_over, waits_for=())
        finally:
            self._reader.waiter = None


class AsyncStream(_BaseStream[Element], AsyncIterator[Element]):
    """A response that you read as it arrives, by iterating: `AsyncClient.stream`, `lines`,
    `events`.

    The network waits until you ask for the next element. Leaving the `async with` block, or
    dropping the stream, cancels the request; cancelling a task that waits for an element does not.
    """

    def __init__(
        self, client: BaseClient, command: str, args: tuple[Args, ...], data_format: int
    ) -> None:
        self._waiter: Optional[asyncio.Future[None]] = None
        super().__init__(client, command, args, data_format, running_mailbox())
        self._reader.waiter = _Waker(self)

    @property
    def status(self) -> int:
        """The HTTP status; 0 until it has come, and if there is no answer."""
        return self._status()

    @property
    def headers(self) -> Headers:
        """The header lines; empty until they have come."""
        return self._headers()

    @property
    def reason_phrase(self) -> str:
        """The text behind the status in the status line, such as "Not Found"; "" until it has come,
        and if there is none, as over HTTP/2.
        """
        return self._reason_phrase()

    @property
    def http_version(self) -> Optional[float]:
        """The version of HTTP of the answer: 1.0, 1.1, 2 or 3; None until it has come."""
        return self._http_version()

    async def close(self) -> None:
        """Ends the request, and waits until it has ended. A second call does nothing."""
        self._cancel()
        outcome = self._request._outcome
        await until(lambda: outcome.is_done)

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
    """Wakes a stream without keeping it alive: the program may have dropped it."""

    __slots__ = ("_stream",)

    def __init__(self, stream: AsyncStream[Any]) -> None:

        self._stream = weakref.ref(stream)

    def wake(self) -> None:
        """Runs on the loop's thread, which drains the request's mailbox."""
        stream = self._stream()
        if stream is not None:
            stream._news()


# Hands the pieces of a request, one at a time, to the stream that reads them.


NOTHING: Any = object()
"""Stands for no element."""


class StreamReader:
    """Gets a body piece by piece.

    The next piece comes when this one is freed, so the network waits for a slow reader.

    The thread that drains the request's mailbox calls `receive` and `finish`. One thread, the same
    or another, calls everything else.
    """

    def __init__(self, data_format: int) -> None:
        self.format = data_format
        self.has_head: bool = False
        """Whether the head of an answer has come."""
        self.response: Optional[Response] = None
        """Set at the end: there are no more pieces."""
        self.waiter: Optional[Waiter] = None
        """Wake this when something has come."""
        self._piece: Optional[tuple[Handle, int, int]] = None
        self._is_closed = False
        read: dict[int, Callable[[Handle, int, int], Any]] = {
            DataFormat.BYTES: self._read_bytes,
            DataFormat.JSON_LINES: self._read_json,
            DataFormat.SERVER_EVENTS: self._read_event,
        }
        self._read = read[data_format]

    def receive(self, piece: Handle, address: int, length: int) -> None:
        """Takes a piece of the body. The first one may be empty: then only the head has come."""
        self.has_head = True
        self._piece = (piece, address, length)
        # `close` sets the flag and then drops the piece; this sets the piece and then checks the
        # flag. So one of the two drops it.
        if self._is_closed:
            self._drop()
        self._wake()
        if registry.observers:
            # A task that waits for the end of the request sees that it `is_held`.
            registry.wake_observers()

    def finish(self, response: Response) -> None:
        """Takes the response: there are no more pieces."""
        self.response = response
        self._wake()

    @property
    def holds_piece(self) -> bool:
        """Whether a piece is here that the program has not read."""
        return self._piece is not None

    @property
    def has_news(self) -> bool:
        """Whether a piece or the end has come."""
        return self._piece is not None or self.response is not None

    def take(self) -> Any:
        """The next element of the piece that has come; `NOTHING` if there is none."""
        # Nobody else frees the piece while it is read.
        piece, self._piece = self._piece, None
        if piece is None:
            return NOTHING
        value = self._read(*piece)
        if value is NOTHING or self.format == DataFormat.BYTES:
            # From now on the next piece may come on another thread.
            piece[0].free()
        else:
            self._piece = piece
            if self._is_closed:
                self._drop()
        return value

    def close(self) -> None:
        """Drops this piece and all later ones."""
        self._is_closed = True
        self._drop()

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed

    def _drop(self) -> None:
        piece, self._piece = self._piece, None
        if piece is not None:
            piece[0].free()

    def _wake(self) -> None:
        waiter = self.waiter
        if waiter is not None:
            waiter.wake()

    def _read_bytes(self, piece: Handle, address: int, length: int) -> Any:
        return ctypes.string_at(address, length) if length else NOTHING

    def _read_json(self, piece: Handle, address: int, length: int) -> Any:
        value = lib.ntapi_data_next_json(piece.pointer)
        return json_value(value, INTERPRETER) if value else NOTHING

    def _read_event(self, piece: Handle, address: int, length: int) -> Any:
        pointer = lib.ntapi_data_next_server_event(piece.pointer)
        if not pointer:
            return NOTHING
        event = ServerEvent.from_address(pointer)
        return ServerSentEvent(
            event.type.decode(),
            ctypes.string_at(event.data, event.length).decode(),
            event.last_event_id.decode(),
        )


# Server-sent events.


class ServerSentEvent(Copyable):
    """One event of a stream of server-sent events (WHATWG HTML, 9.2)."""

    __slots__ = ("data", "last_event_id", "type")

    type: str
    """The type of the event; "message" if the server did not name one."""
    data: str
    """The lines of data, joined by line feeds."""
    last_event_id: str
    """The identifier of this event or, if it has none, of the last event that had one; else ""."""

    def __init__(self, type: str = "message", data: str = "", last_event_id: str = "") -> None:
        self.type = type
        self.data = data
        self.last_event_id = last_event_id

    @json_method("event")
    def json(self) -> JSON:
        """The data as JSON. Raises ValueError if it is not JSON."""
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

    @even_without_init
    def __repr__(self) -> str:
        return (
            f"ServerSentEvent(type={self.type!r}, data={self.data!r}, "
            f"last_event_id={self.last_event_id!r})"
        )
