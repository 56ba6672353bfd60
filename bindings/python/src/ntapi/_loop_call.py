"""A request that a coroutine waits for, the short way: one call into C begins it, and nothing but
the response is owed, to nobody but the coroutine.
"""

from __future__ import annotations

from . import _registry
from ._events import Facts
from ._library import lib
from ._registry import pending
from ._response import Response
from ._same_thread import kept, raise_kept
from ._short import c_args, c_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Iterable
    from typing import Optional

    from ._aliases import Args
    from ._client import BaseClient
    from ._mailbox import Mailbox

_begin_event = lib.ntapi_client_begin_event


class LoopCall:
    """Owed to the future `waiter`, by way of the loop's mailbox."""

    __slots__ = ("_pointer", "_token", "client", "is_done", "mailbox", "runner", "waiter")

    def __init__(self, client: BaseClient, mailbox: Mailbox, waiter: Future[Response]) -> None:
        self.client = client
        self.mailbox = mailbox
        self.waiter = waiter
        self._token = _registry.new_token()
        self._pointer: Optional[int] = None
        """The C request, lent until its event has been taken."""
        self.is_done = False
        self.runner: Optional[int] = None

    def begin(self, command: str, args: tuple[Args, ...]) -> bool:
        """From here on the response is owed; False when the request has to go the long way."""
        if _registry.is_exiting:
            return False
        client = self.client
        pointer: Optional[int] = 0
        try:
            text = c_command(command)
            if args or client._authenticator is not None:
                pointer = c_args(client, args)
        except Exception as error:
            self.is_done = True
            self.waiter.set_result(Response._refused(error))
            return True
        if pointer is None:
            return False
        token = self._token
        pending[token] = self
        client._pending.add(self)
        try:
            self._pointer = _begin_event(
                client._handle.pointer, text, pointer, self.mailbox.pointer, token
            )
            if not self._pointer:
                raise ValueError(f"{command!r} cannot be a command")
            if kept:
                # What a default's provider raised.
                raise_kept()
        except BaseException:
            self.cancel()
            self.is_done = True
            client._pending.discard(self)
            _registry.ended(token)
            raise
        finally:
            if pointer:
                lib.ntapi_args_free(pointer)
        return True

    @property
    def outcome(self) -> LoopCall:
        return self

    def uses(self, mailbox: Mailbox) -> bool:
        return mailbox is self.mailbox

    def place_mailboxes(self) -> set[Mailbox]:
        return {self.mailbox}

    def runs_in(self, mailboxes: Iterable[Mailbox]) -> bool:
        return self.mailbox in mailboxes

    def take_response(self, event: Facts) -> None:
        """On the loop's thread; in the background when the loop has ended."""
        response = Response(event[2], event)
        self.is_done = True
        self.client._pending.discard(self)
        _registry.ended(self._token)
        # The waiter may be done, cancelled with its task.
        waiter = self.waiter
        if not waiter.done() and not waiter.get_loop().is_closed():
            waiter.set_result(response)

    def take_decision(self, event: Facts) -> None:
        """Nobody asked for it."""

    def take_data(self, event: Facts) -> None:
        """Nobody asked for it."""

    def take_progress(self, handler: int, count: int, total: int) -> None:
        """Nobody asked for it."""

    def cancel(self) -> None:
        lib.ntapi_request_cancel(self._pointer)
