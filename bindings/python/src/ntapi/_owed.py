"""What Python owes: the interface of everything in `_registry.pending`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Optional, Protocol

from ._enums import Handler
from ._events import Facts

if TYPE_CHECKING:
    from ._mailbox import Mailbox


class Ending(Protocol):
    """Whether a request has ended, and who runs a handler of it."""

    is_done: bool
    runner: Optional[int]


class Owed(Protocol):
    """A request that is not over: a `Delivery`, or one that its caller waits for."""

    @property
    def outcome(self) -> Ending:
        """How it ends."""

    def uses(self, mailbox: Mailbox) -> bool:
        """Whether one of its handlers may have to run there."""

    def place_mailboxes(self) -> set[Mailbox]:
        """Where its handlers may have to run."""

    def runs_in(self, mailboxes: Iterable[Mailbox]) -> bool:
        """Whether all of its handlers run when these are drained."""

    def take_response(self, event: Facts) -> None:
        """The last event from C, on the thread that took it."""

    def take_progress(self, handler: Handler, count: int, total: int) -> None:
        """An event from C, on the thread that took it."""

    def cancel(self) -> None:
        """Cancels in C, which answers with "request cancelled". Too late is no error."""
