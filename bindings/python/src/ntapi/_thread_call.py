"""A request that a thread waits for, the short way: one call into C does all of it.

The thread looks up from it for signals, and for what waits in its mailbox.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Optional

from . import _registry, _same_thread
from ._enums import Handler
from ._events import EventTuple, OutcomeTuple
from ._library import lib
from ._response import Response
from ._threads import Owner, current_owner

if TYPE_CHECKING:
    from ._client import BaseClient
    from ._mailbox import Mailbox

_perform_watching = lib.ntapi_client_perform_watching


class ThreadCall:
    """Owed to the thread that is in the middle of it."""

    __slots__ = ("_client", "_token", "is_done", "runner")

    def __init__(self, client: BaseClient, thread: int) -> None:
        self._client = client
        self._token = _registry.new_token()
        self.is_done = False
        self.runner: Optional[int] = thread
        """As in a handler of its own: what waits for every request on this thread meanwhile does
        not wait for this one.
        """
        _registry.pending[self._token] = self
        client._pending.add(self)

    @property
    def outcome(self) -> ThreadCall:
        return self

    def uses(self, mailbox: Mailbox) -> bool:
        return False

    def place_mailboxes(self) -> set[Mailbox]:
        return set()

    def runs_in(self, mailboxes: Iterable[Mailbox]) -> bool:
        return False

    def take_response(self, event: EventTuple) -> None:
        """It has no events."""

    def take_progress(self, handler: Handler, count: int, total: int) -> None:
        """It has no events."""

    def cancel(self) -> None:
        """At the end of the process: only its thread, which is in C, could tell the request."""
        self._client.cancel_all()

    def end(self) -> None:
        self.is_done = True
        self._client._pending.discard(self)
        _registry.ended(self._token)


def perform(client: BaseClient, command: Optional[bytes], args: Optional[int]) -> Response:
    """Performs a request on the calling thread and returns its response. Takes nothing over."""
    owner = current_owner()
    mailbox = owner.mailbox
    room = owner.room
    call = ThreadCall(client, owner.thread)
    mailbox._enter()
    try:
        # What waits here already, and would wake nobody, is not kept waiting: it may be what the
        # server waits for.
        timeout = 0.0 if mailbox.has_more else owner.first_wait
        status = _perform_watching(
            client._handle.pointer, command, args, timeout, owner.descriptor, room.pointer
        )
        outcome = room.take()
        if status:
            outcome = _go_on(outcome[6], owner)
        response = Response(*outcome[:6], None)
        # What a default's provider raised.
        _same_thread.raise_kept()
        return response
    finally:
        mailbox._leave()
        call.end()


def _go_on(request: int, owner: Owner) -> OutcomeTuple:
    """Runs what waits in the thread's mailbox until the response has come.

    Signal handlers have run before this, and run between any two lines of it.
    """
    if not request:
        raise ValueError("the command or the client cannot be used")
    room = owner.room
    try:
        while True:
            # Asked after each handler whether the response is there, as the handler may have been
            # what it waited for.
            timeout = 0.0 if owner.mailbox._step(take=True) else -1.0
            if not lib.ntapi_request_wait_watching(
                request, timeout, owner.descriptor, room.pointer
            ):
                return room.take()
    except BaseException:
        # Ctrl-C, say. Nobody will look at the response.
        lib.ntapi_request_cancel(request)
        raise
    finally:
        lib.ntapi_request_free(request)
