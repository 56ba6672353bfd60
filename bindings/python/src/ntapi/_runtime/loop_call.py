"""The fast start in a coroutine: one call into C begins the request, and the loop's mailbox gets
the response.
"""

from __future__ import annotations

from .._bridge.cpython import quick
from .._bridge.library import lib
from .._bridge.native import kept, raise_kept
from . import registry
from .registry import Call, Owed, ended, new_token, observers, pending, wake_observers

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Iterable
    from typing import Any, Callable, Optional

    from .._bridge.events import Facts
    from .mailbox import Mailbox

_begin_event = quick("ntapi_client_begin_event")
_free_args = quick("ntapi_args_free")


class LoopCall(Call):
    """A request whose response becomes the result of the future `waiter`."""

    __slots__ = ("_answer", "_begin", "_pointer", "_token", "mailbox", "response", "waiter")

    def __init__(
        self,
        siblings: set[Owed],
        mailbox: Mailbox,
        waiter: Future[Any],
        answer: Callable[[int, Facts], object],
        begin: Callable[..., Optional[int]] = _begin_event,
    ) -> None:
        """`answer` owns the C response. `begin` is the function of C that begins the request."""
        super().__init__(siblings)
        self.mailbox = mailbox
        self.waiter = waiter
        self._answer = answer
        self._begin = begin
        self.response: Any = None
        """What `answer` has returned; None before the end."""
        self._token = new_token()
        self._pointer: Optional[int] = None
        """The C request, borrowed until its event is taken."""

    def begin(self, client: Optional[int], command: bytes, args: int) -> bool:
        """Begins the request and registers it as pending. Returns False for a command that C
        refuses.
        """
        token = self._token
        pending[token] = self
        self.siblings.add(self)
        try:
            self._pointer = self._begin(client, command, args, self.mailbox.pointer, token)
            if kept:
                # Raises what a default's provider raised.
                raise_kept()
        except BaseException:
            self._give_up()
            raise
        finally:
            if args:
                _free_args(args)
        if not self._pointer:
            self._give_up()
            return False
        return True

    def _give_up(self) -> None:
        self.cancel()
        self.is_done = True
        self.siblings.discard(self)
        ended(self._token)

    def place_mailboxes(self) -> set[Mailbox]:
        return {self.mailbox}

    def runs_in(self, mailboxes: Iterable[Mailbox]) -> bool:
        return self.mailbox in mailboxes

    def take_response(self, event: Facts) -> None:
        """Runs on the loop's thread; in the background if the loop has ended."""
        self.response = self._answer(event[2], event)
        self.is_done = True
        self.siblings.discard(self)
        # The same as `ended`, without the call.
        pending.pop(self._token, None)
        if observers:
            wake_observers()
        self.wake()

    def recover(self, has_response: bool) -> None:
        if has_response:
            self._give_up()
            self.waiter.cancel()

    def wake(self) -> None:
        """Makes the response the result of the waiter. Before the end, the result is None."""
        # The waiter may be done already, cancelled with its task.
        if not self.waiter.done():
            try:
                self.waiter.set_result(self.response)
            except RuntimeError:
                # The loop is closed: nobody waits there.
                pass

    @property
    def exit_timeout(self) -> float:
        # At the end of the process, the loop that waits for it has ended.
        if registry.is_exiting:
            return 0.0
        return float(lib.ntapi_request_exit_timeout(self._pointer))

    def cancel(self) -> None:
        lib.ntapi_request_cancel(self._pointer)
