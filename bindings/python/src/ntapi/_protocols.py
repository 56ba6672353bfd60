"""The interfaces inside of the package. Only type checkers import this."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Optional, Protocol

from ._aliases import Job
from ._client import BaseClient
from ._events import Facts
from ._mailbox import Mailbox


class Ending(Protocol):
    """Whether a request has ended, and who runs a handler of it."""

    is_done: bool
    runner: Optional[int]


class Owed(Protocol):
    """A request that is not over: a `Delivery`, or one that its caller waits for."""

    @property
    def client(self) -> Optional[BaseClient]:
        """Whose request it is; None between two requests."""

    @property
    def outcome(self) -> Ending:
        """How it ends."""

    @property
    def exit_timeout(self) -> float:
        """Seconds that it may go on when the process exits or its client's block is left."""

    def uses(self, mailbox: Mailbox) -> bool:
        """Whether one of its handlers may have to run there."""

    def place_mailboxes(self) -> set[Mailbox]:
        """Where its handlers may have to run."""

    def runs_in(self, mailboxes: Iterable[Mailbox]) -> bool:
        """Whether all of its handlers run when these are drained."""

    def take_response(self, event: Facts) -> None:
        """The last event from C, on the thread that took it."""

    def take_decision(self, event: Facts) -> None:
        """A question from C, on the thread that took it."""

    def take_data(self, event: Facts) -> None:
        """A piece of a body from C, on the thread that took it."""

    def take_progress(self, handler: int, count: int, total: int) -> None:
        """An event from C, on the thread that took it."""

    def stop_reading(self) -> None:
        """It is cancelled: a body that is awaited is not awaited any more."""

    def cancel(self) -> None:
        """Cancels in C, which answers with "request cancelled". Too late is no error."""


class Observer(Protocol):
    """Somebody who waits for requests that end on another thread."""

    def wake(self) -> None: ...


class Place(Protocol):
    """Where a handler runs."""

    @property
    def mailbox(self) -> Mailbox:
        """Where C delivers its events."""

    @property
    def runs_inline(self) -> bool:
        """Whether the thread that drains that mailbox is already the right one."""

    def post(self, job: Job) -> None:
        """Runs a job there. From any thread."""


class SetDefault(Protocol):
    """Sets a default, any JSON value; None removes it, a function of the key is asked at each
    look-up.
    """

    def __call__(self, key: str, value: Any) -> None: ...


class GetDefault(Protocol):
    """Looks a default up: in the client, its class, the classes it derives from, then globally."""

    def __call__(self, key: str, fallback: Any = None) -> Any: ...


class Scope(Protocol):
    """Finds the C defaults of a client, or of its class."""

    def __call__(self, owner: type, instance: Any) -> Optional[int]: ...
