"""The structs that C fills, read as tuples: a field of a ctypes structure costs as much as ten of
these.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from struct import Struct
from typing import Any

from ._enums import Handler
from ._signatures import Event, Outcome

OutcomeTuple = tuple[int, int, int, int, int, int, int]
"""response, error, data, length, status, contents, request."""
EventTuple = tuple[int, int, int, int, int, int, int, int, int, int]
"""handler, user_data, response, bytes, total, and of the summary: error, data, length, status,
contents.
"""

RESPONSE = int(Handler.RESPONSE)
"""A plain number: an enum's operators are calls."""

_EVENT = Struct("@iPPqqPPNii")
_OUTCOME = Struct("@PPPNiiP")
BATCH = 64
_Batch = Event * BATCH


def new_batch() -> tuple[Any, Iterator[EventTuple]]:
    """Room for a batch of events, and the events that will be there: each is read when asked for,
    and a handler of 0 is the end.
    """
    room = _Batch()
    events: Any = _EVENT.iter_unpack(room)
    return room, events


class OutcomeRoom:
    """Room for the outcome of one request at a time."""

    __slots__ = ("_room", "pointer")

    def __init__(self) -> None:
        self._room = Outcome()
        self.pointer = ctypes.pointer(self._room)

    def take(self) -> OutcomeTuple:
        """What C has put there; now the caller's."""
        outcome: OutcomeTuple = _OUTCOME.unpack_from(self._room)
        return outcome
