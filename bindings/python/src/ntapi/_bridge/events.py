"""Reads the structs that C fills: events of a mailbox, and a wait's result. They are read as
tuples: a field of a ctypes structure costs ten times as much.
"""

from __future__ import annotations

import ctypes
from struct import Struct

from .signatures import Event, Handler, Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

Facts = tuple[int, ...]
"""A C struct that ends with error, body, length, status and contents."""

NO_EVENT: Facts = (0, 0)
"""What a batch ends with."""

RESPONSE = Handler.RESPONSE
DATA = Handler.DATA
DECISION = Handler.DECISION

_EVENT = Struct(f"@{ctypes.sizeof(ctypes.c_size_t)}xiPPqqPPPPNii")
"""The format of ntapi_event without `size`."""
_WATCH = Struct("@diPPPPNii")
BATCH = 64
EVENT_SIZE = ctypes.sizeof(Event)
_Batch = Event * BATCH

read_watch = _WATCH.unpack
"""Reads the memory of a `Watching`: timeout, descriptor, request, response and the last five."""


def new_batch() -> tuple[Any, Iterator[Facts]]:
    """Memory for a batch of ntapi_event, and an iterator that reads each event when it gets there:
    handler, user_data, response, bytes, total, data, decision and the last five. A handler of 0 is
    the end.
    """
    room = _Batch()
    return room, _EVENT.iter_unpack(room)


class Watching:
    """Owns an ntapi_watch, for one wait at a time."""

    __slots__ = ("address", "room")

    def __init__(self, descriptor: int, timeout: float) -> None:
        self.room = Watch(timeout, descriptor)
        """The memory, for `read_watch`."""
        self.address = ctypes.addressof(self.room)

    def set_timeout(self, seconds: float) -> None:
        """Seconds to wait; negative waits for ever."""
        self.room.timeout = seconds
