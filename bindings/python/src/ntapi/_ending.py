"""A client's end: what runs is finished or cancelled, and then its session is invalid."""

from __future__ import annotations

import time

from ._library import lib
from ._native import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Callable

    from ._handles import Handle
    from ._mailbox import Mailbox
    from ._protocols import Owed


def finishing(pending: Callable[[], Iterable[Owed]]) -> Iterator[float]:
    """Lets begun requests finish, each for as long as its `exitTimeout` says, and cancels what is
    left then.

    Yields seconds to wait for them, until there is nothing to wait for.
    """
    begun = time.monotonic()
    this_thread = get_ident()
    while True:
        elapsed = time.monotonic() - begun
        timeouts = []
        for owed in pending():
            # To wait for the request whose handler calls this would never end.
            if owed.outcome.runner == this_thread:
                continue
            timeout = owed.exit_timeout
            if timeout > elapsed:
                timeouts.append(timeout)
            else:
                owed.cancel()
        if not timeouts:
            return
        yield max(0.0, begun + min(timeouts) - time.monotonic())


class SessionEnd:
    """The part of a client that ends it."""

    _handle: Handle
    _pending: set[Owed]
    _invalidations: list[None]
    """Holds something from the end of the core's session until the hook is called."""

    def session_invalidated(self) -> None:
        """The hook, see `Hooks`."""
        raise NotImplementedError

    def cancel_all(self) -> None:
        """Cancels every request of the client; new ones may be begun."""
        lib.ntapi_client_cancel_all(self._handle.pointer)
        self._stop_reading()

    def finish_and_invalidate(self) -> None:
        """Refuses new requests and lets those that were made go on.

        When the last handler has returned, the session is invalid: `session_invalidated` is called.
        A suspended request may be resumed until then. Does not wait: see `drain`.
        """
        lib.ntapi_client_finish_and_invalidate(self._handle.pointer)

    def invalidate_and_cancel(self) -> None:
        """Cancels what runs and refuses new requests, as `close`.

        Of a background session all transfers are given up, those that were restored and not resumed
        yet, too. Does not wait: see `drain`.
        """
        lib.ntapi_client_invalidate_and_cancel(self._handle.pointer)
        self._stop_reading()

    def _stop_reading(self) -> None:
        for owed in tuple(self._pending):
            owed.stop_reading()

    def _core_is_over(self) -> None:
        """The core has handed over its last response."""
        self._invalidations.append(None)
        self._tell_invalidated()

    def _tell_invalidated(self) -> None:
        """Calls the hook, once, when the last handler has returned."""
        if not self._invalidations or self._pending:
            return
        try:
            # Of two threads that come here, one gets it.
            self._invalidations.pop()
        except IndexError:
            return
        from ._report import call_reporting

        call_reporting(self.session_invalidated)

    def _close(self) -> None:
        """Cancels what runs and refuses new requests; a second time does nothing."""
        lib.ntapi_client_close(self._handle.pointer)
        self._stop_reading()

    def _ending_by_themselves(self, own: Mailbox) -> list[Owed]:
        """The requests whose handlers run when this thread drains its own mailbox, or in the
        background.

        A closing client waits for these. Others need a thread or an executor that may be waiting
        for this one.
        """
        pending = tuple(self._pending)
        if not pending:
            return []
        from ._background import worker_mailboxes

        mailboxes = (own, *worker_mailboxes())
        return [
            delivery
            for delivery in pending
            if delivery.outcome.runner is None and delivery.runs_in(mailboxes)
        ]

    def _running_here(self) -> int:
        """How many requests' handlers are on this thread's stack: to wait for those would never
        end.
        """
        this_thread = get_ident()
        return sum(delivery.outcome.runner == this_thread for delivery in tuple(self._pending))
