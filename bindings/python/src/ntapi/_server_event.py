"""Server-sent events."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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

    @property
    def json(self) -> Any:
        """The data as JSON. Raises ValueError when it is none."""
        import json

        return json.loads(self.data)

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
