"""A request that a coroutine waits for, the short way: one call into C begins it, and nothing but
the response is owed, to nobody but the coroutine.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Optional

from . import _registry, _same_thread
from ._enums import Handler
from ._events import EventTuple
from ._library import lib
from ._response import Response

if TYPE_CHECKING:
    from ._client import BaseClient
    from ._mailbox import Mailbox

_begin_event = lib.ntapi_client_begin_event


class LoopCall:
    """Owed to the future `waiter`, by way of the loop's mailbox."""

    __slots__ = ("_pointer", "_token", "client", "is_done", "mailbox", "runner", "waiter")

    def __init__(self, client: BaseClient, mailbox: Mailbox, waiter: Any) -> None:
        self.client = client
        self.mailbox = mailbox
        self.waiter = waiter
        self._token = _registry.new_token()
        self._pointer: Optional[int] = None
        """The C request, lent until its event has been taken."""
        self.is_done = False
        self.runner: Optional[int] = None

    def begin(self, command: Optional[bytes], args: Optional[int]) -> None:
        """From here on the response is owed. Takes nothing over."""
        client = self.client
        _registry.pending[self._token] = self
        client._pending.add(self)
        try:
            self._pointer = _begin_event(
                client._handle.pointer, command, args, self.mailbox.pointer, self._token
            )
            if not self._pointer:
                raise ValueError(f"{command!r} cannot be a command")
            # What a default's provider raised.
            _same_thread.raise_kept()
        except BaseException:
            self.cancel()
            self._end()
            raise

    @property
    def outcome(self) -> LoopCall:
        return self

    def uses(self, mailbox: Mailbox) -> bool:
        return mailbox is self.mailbox

    def place_mailboxes(self) -> set[Mailbox]:
        return {self.mailbox}

    def runs_in(self, mailboxes: Iterable[Mailbox]) -> bool:
        return self.mailbox in mailboxes

    def take_response(self, event: EventTuple) -> None:
        """On the loop's thread; in the background when the loop has ended."""
        response = Response(event[2], *event[5:], None)
        self._end()
        # The waiter may be done, cancelled with its task.
        waiter = self.waiter
        if not waiter.done() and not waiter.get_loop().is_closed():
            waiter.set_result(response)

    def take_progress(self, handler: Handler, count: int, total: int) -> None:
        """Nobody asked for it."""

    def cancel(self) -> None:
        lib.ntapi_request_cancel(self._pointer)

    def _end(self) -> None:
        self.is_done = True
        self.client._pending.discard(self)
        _registry.ended(self._token)
