"""The fast start on a thread: one call into C sends the request and waits.

The wait is interrupted for signals, and for events in the thread's mailbox.
"""

from __future__ import annotations

from .._bridge.cpython import quick
from .._bridge.events import Facts, Watching, read_watch
from .._bridge.library import lib
from .._bridge.native import kept, raise_kept
from .._bridge.signatures import Status
from .registry import Call, Owed, new_token, observers, pending, wake_observers
from .threads import mailboxes, owner_for_request

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional, TypeVar

    from .threads import Owner

    Answer = TypeVar("Answer")

_perform_watching = quick("ntapi_client_perform_watching")


class ThreadCall(Call):
    """The request that a thread waits for. The thread reuses the object for its next request."""

    __slots__ = ("client", "taken", "token", "watching")

    def __init__(self, owner: Owner) -> None:
        super().__init__(set())
        self.client: Optional[int] = None
        """The C client."""
        self.token = new_token()
        self.is_done = True
        self.watching = Watching(owner.mailbox.fileno(), owner.first_wait)
        self.taken = 0
        """The response that was taken last, which may still be in the memory of `watching`."""
        # This thread counts as one in a handler. A handler that runs here meanwhile, and waits for
        # all requests, does not wait for this one.
        self.runner = owner.thread

    def cancel(self) -> None:
        """At the end of the process: cancels all requests of the client, because only the waiting
        thread knows which one is its own.
        """
        if self.client is not None:
            lib.ntapi_client_cancel_all(self.client)
            for owed in tuple(self.siblings):
                owed.stop_reading()


def perform(
    client: Optional[int],
    siblings: set[Owed],
    command: bytes,
    args: int,
    answer: Callable[[int, Facts], Answer],
) -> Answer:
    """Performs a request of a C client on the calling thread; `answer` makes the owner of the C
    response.
    """
    try:
        owner: Owner = mailboxes.local.owner
    except AttributeError:
        owner = owner_for_request()
    mailbox = owner.mailbox
    call = owner.call
    if call is None or not call.is_done:
        # A handler is running while the thread waits for another request, which uses the object.
        call = owner.call = ThreadCall(owner)
    watching = call.watching
    token = call.token
    if not mailbox.acquire(False):
        # This raises the error that says why.
        mailbox.enter()
    try:
        call.is_done = False
        call.client = client
        call.siblings = siblings
        pending[token] = call
        siblings.add(call)
        hurries = mailbox.has_more
        if hurries:
            # Events that already wait in the mailbox do not wake the thread, and the server may be
            # waiting for their handlers.
            watching.set_timeout(0)
        status = _perform_watching(client, command, args, watching.address)
        facts = read_watch(watching.room)
        if hurries:
            watching.set_timeout(owner.first_wait)
        if status:
            facts = _go_on(facts[2], call, owner)
        result = answer(facts[3], facts)
        call.taken = facts[3]
        if kept:
            # Raises what a default's provider raised.
            raise_kept()
        return result
    except BaseException:
        _abandon(call)
        raise
    finally:
        mailbox.leave()
        call.is_done = True
        call.client = None
        siblings.discard(call)
        # The same as `ended`, without the call.
        pending.pop(token, None)
        if observers:
            wake_observers()


def _abandon(call: ThreadCall) -> None:
    """Frees what C has left in the memory. Called, for example, if Ctrl-C came after C had returned
    and before the result was read.
    """
    _, _, request, response, *_ = read_watch(call.watching.room)
    # These do nothing if the request is over or freed already.
    lib.ntapi_request_cancel(request)
    lib.ntapi_request_free(request)
    if response != call.taken:
        lib.ntapi_response_free(response)


def _go_on(request: int, call: ThreadCall, owner: Owner) -> Facts:
    """Runs what waits in the thread's mailbox until the response has come. Runs nothing if the
    mailbox `is_deep`.

    A signal handler may run before this and between any two lines of it.
    """
    if not request:
        raise ValueError("the command or the client cannot be used")
    watching = call.watching
    mailbox = owner.mailbox
    is_deep = mailbox.is_deep
    if is_deep:
        watching.room.descriptor = -1
    try:
        while True:
            # A handler may perform a request of its own.
            watching.set_timeout(owner.first_wait)
            has_run = not is_deep and mailbox.step(take=True)
            # A handler may have forked: what the sockets receive is the parent's.
            mailbox.check_process()
            # Check after each handler whether the response has come: the server may have waited for
            # that handler.
            watching.set_timeout(0 if has_run else -1)
            status = lib.ntapi_request_wait_watching(request, watching.address)
            if status == Status.OK:
                return read_watch(watching.room)
            if status != Status.TIMED_OUT:
                raise RuntimeError("a callback forked this process: the request is the parent's")
    except BaseException:
        # Ctrl-C, for example. Nobody will read the response.
        lib.ntapi_request_cancel(request)
        raise
    finally:
        watching.room.descriptor = mailbox.fileno()
        watching.set_timeout(owner.first_wait)
        lib.ntapi_request_free(request)
