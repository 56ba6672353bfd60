"""The structs that C fills, read as tuples: a field of a ctypes structure costs as much as ten of
these.
"""

from __future__ import annotations

import ctypes
from struct import Struct

from ._numbers import Handler
from ._signatures import Event, Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

Facts = tuple[int, ...]
"""A C struct that ends with an ntapi_summary: error, data, length, status and contents are the last
five.
"""

RESPONSE = Handler.RESPONSE
DATA = Handler.DATA
DECISION = Handler.DECISION

_EVENT = Struct("@iPPqqPPPPNii")
_WATCH = Struct("@diPPPPNii")
BATCH = 64
_Batch = Event * BATCH

read_watch = _WATCH.unpack
"""Of the room of a `Watching`: timeout, descriptor, request, response and the summary."""


def new_batch() -> tuple[Any, Iterator[Facts]]:
    """Room for a batch of ntapi_event, and what will be there: handler, user_data, response, bytes,
    total, data, decision and the summary. Each is read when asked for, and a handler of 0 is the
    end.
    """
    room = _Batch()
    return room, _EVENT.iter_unpack(room)


class Watching:
    """An ntapi_watch, for one wait at a time."""

    __slots__ = ("address", "room")

    def __init__(self, descriptor: int, timeout: float) -> None:
        self.room = Watch(timeout, descriptor)
        """For `read_watch`."""
        self.address = ctypes.addressof(self.room)

    def set_timeout(self, seconds: float) -> None:
        """Negative is for ever."""
        self.room.timeout = seconds
