"""A request that a coroutine waits for, the short way: one call into C begins it, and nothing but
the response is owed, to nobody but the coroutine.
"""

from __future__ import annotations

from asyncio import get_running_loop

from . import _registry
from ._events import Facts
from ._library import lib
from ._loops import loop_mailbox
from ._python_calls import quick
from ._registry import observers, pending, wake_observers
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

_begin_event = quick("ntapi_client_begin_event")


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

    def _begin(self, command: str, text: bytes, args: int) -> None:
        """From here on the response is owed."""
        client = self.client
        token = self._token
        pending[token] = self
        client._pending.add(self)
        try:
            self._pointer = _begin_event(
                client._handle.pointer, text, args, self.mailbox.pointer, token
            )
            if not self._pointer:
                raise ValueError(f"{command.partition('?')[0]!r} cannot be a command")
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
            if args:
                lib.ntapi_args_free(args)

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
        # As `ended` does it.
        pending.pop(self._token, None)
        if observers:
            wake_observers()
        # The waiter may be done, cancelled with its task.
        if not self.waiter.done():
            try:
                self.waiter.set_result(response)
            except RuntimeError:
                # The loop is closed: nobody waits there any more.
                pass

    def take_decision(self, event: Facts) -> None:
        """Nobody asked for it."""

    def take_data(self, event: Facts) -> None:
        """Nobody asked for it."""

    def take_progress(self, handler: int, count: int, total: int) -> None:
        """Nobody asked for it."""

    def stop_reading(self) -> None:
        """Its body is no stream."""

    @property
    def exit_timeout(self) -> float:
        """None: who waits for it is a task of a loop that the process's end stops."""
        return 0.0

    def cancel(self) -> None:
        lib.ntapi_request_cancel(self._pointer)


def begin(client: BaseClient, command: str, args: tuple[Args, ...]) -> Optional[LoopCall]:
    """Begins a request on this thread's loop; None when it has to go the long way."""
    if _registry.is_exiting:
        return None
    loop = get_running_loop()
    call = LoopCall(client, loop_mailbox(loop), loop.create_future())
    pointer: Optional[int] = 0
    try:
        text = c_command(command)
        if args or client._authenticator is not None:
            pointer = c_args(client, args)
    except Exception as error:
        call.waiter.set_result(Response._refused(error))
        call.is_done = True
        return call
    if pointer is None:
        return None
    call._begin(command, text, pointer)
    return call
