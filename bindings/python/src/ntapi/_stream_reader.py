"""What a streaming request hands to whoever reads it, one piece at a time."""

from __future__ import annotations

import ctypes

from ._library import lib
from ._numbers import DataFormat
from ._python_calls import INTERPRETER, json_value
from ._server_event import ServerSentEvent
from ._signatures import ServerEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from ._handles import Handle
    from ._protocols import Observer
    from ._response import Response

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
        self.has_head = False
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
