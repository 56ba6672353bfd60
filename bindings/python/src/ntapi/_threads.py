"""The mailboxes of the main thread and of each other thread, and running them."""

from __future__ import annotations

import os

from . import _registry
from ._bridge.args import c_args, c_command
from ._bridge.cpython import quick
from ._bridge.library import lib
from ._bridge.native import RLock, get_ident, kept, local, main_ident, raise_kept
from ._bridge.signatures import Facts, Status, Watching, read_watch
from ._mailbox import Mailbox
from ._registry import observers, pending, wake_observers
from ._response import Response

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Optional

    from ._client import BaseClient
    from ._types import Args


_FIRST_WAIT = 0.05
"""Seconds until the main thread looks up for the first time from a request that it waits for.

A signal that comes while the thread waits interrupts the wait. One that comes before, while the
request is built and sent, interrupts nothing, and would not be seen until the server answers.
"""


class Owner:
    """What a thread has for itself. It lives in the thread's own storage and dies with it; the
    mailbox may outlive both.
    """

    __slots__ = ("__weakref__", "call", "first_wait", "mailbox", "thread")

    def __init__(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox
        self.call: Optional[ThreadCall] = None
        """The request that the thread waits for in C, or has waited for last."""
        self.thread = get_ident()
        self.first_wait = _FIRST_WAIT if is_main_thread() else -1.0


class Mailboxes:
    """What a forked child has to make anew."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.local = local()
        """Its `owner` is the thread's, if it has one: see `current_owner`."""
        self.lock = RLock()
        self.main: Optional[Mailbox] = None


mailboxes = Mailboxes()


def is_main_thread() -> bool:
    """Whether the caller is the main thread, on which signals are handled."""
    return get_ident() == main_ident()


def main_mailbox() -> Mailbox:
    """The main thread's. Only the main thread may drain it."""
    mailbox = mailboxes.main
    if mailbox is None:
        with mailboxes.lock:
            if mailboxes.main is None:
                mailboxes.main = Mailbox._of_thread(lib.ntapi_mailbox_main(), main_ident())
            mailbox = mailboxes.main
    return mailbox


def current_mailbox() -> Mailbox:
    """The calling thread's, made on first use.

    It is one of ntapi_mailbox_create and not C's own of the thread, so that the background thread
    can go on with it when this thread ends before its requests do.
    """
    return current_owner().mailbox


def current_owner() -> Owner:
    """What the calling thread has for itself, made on first use."""
    owner: Optional[Owner] = getattr(mailboxes.local, "owner", None)
    if owner is not None:
        return owner
    if is_main_thread():
        owner = mailboxes.local.owner = Owner(main_mailbox())
        return owner
    import weakref

    # Here and not in the finaliser, which may run in a forked child while the lock of an import is
    # held by a thread of the parent: it would wait for ever.
    from . import _background

    mailbox = Mailbox._of_thread(lib.ntapi_mailbox_create(), get_ident())
    owner = mailboxes.local.owner = Owner(mailbox)
    weakref.finalize(owner, _background.adopt, mailbox).atexit = False
    return owner


def adopt_as_current(mailbox: Mailbox) -> None:
    """Makes a mailbox the calling thread's own."""
    mailboxes.local.owner = Owner(mailbox)


def mailbox() -> Mailbox:
    """The calling thread's mailbox: `fileno()` for an event loop of your own, `drain()` when it is
    readable.
    """
    return current_mailbox()


def drain_mailbox() -> int:
    """Runs every handler that waits for the calling thread; returns at once when none does."""
    return current_mailbox().drain()


def run(timeout: Optional[float] = None) -> bool:
    """Runs the calling thread's handlers as they arrive, for `timeout` seconds or until `stop`.

    Returns whether it was stopped.
    """
    return current_mailbox().run(timeout)


def stop() -> None:
    """Ends the calling thread's innermost `run` after its current handler.

    For another thread's: `mailbox.stop()`.
    """
    current_mailbox().stop()


def _reset_in_child() -> None:
    """In a forked child: the parent's threads are gone, and their mailboxes are the parent's."""
    mailboxes.reset()


os.register_at_fork(after_in_child=_reset_in_child)


# The fast start of a request that a thread waits for: one call into C sends it and waits. The
# thread leaves the wait for signals, and for events in its mailbox.


_perform_watching = quick("ntapi_client_perform_watching")


class ThreadCall:
    """The request that a thread waits for; the thread uses the object again for its next one."""

    __slots__ = ("client", "is_done", "runner", "taken", "token", "watching")

    def __init__(self, owner: Owner) -> None:
        self.client: Optional[BaseClient] = None
        self.token = _registry.new_token()
        self.is_done = True
        self.watching = Watching(owner.mailbox.fileno(), owner.first_wait)
        self.taken = 0
        """The response that was taken last, which may still be in the room of `watching`."""
        self.runner: Optional[int] = owner.thread
        """The thread, as in a handler: a wait for all requests that a handler starts meanwhile
        does not wait for this one.
        """

    @property
    def outcome(self) -> ThreadCall:
        return self

    def uses(self, mailbox: Mailbox) -> bool:
        return False

    def place_mailboxes(self) -> set[Mailbox]:
        return set()

    def runs_in(self, mailboxes: Iterable[Mailbox]) -> bool:
        return False

    def take_response(self, event: Facts) -> None:
        """It has no events."""

    def take_decision(self, event: Facts) -> None:
        """Nobody asked for it."""

    def take_data(self, event: Facts) -> None:
        """Nobody asked for it."""

    def take_progress(self, handler: int, count: int, total: int) -> None:
        """It has no events."""

    def stop_reading(self) -> None:
        """Its body is no stream."""

    @property
    def exit_timeout(self) -> float:
        """None: who waits for it is a daemon thread, which the process's end stops."""
        return 0.0

    def cancel(self) -> None:
        """At the end of the process: only its thread, which is in C, could tell the request."""
        client = self.client
        if client is not None:
            client.cancel_all()


def perform(client: BaseClient, command: str, args: tuple[Args, ...]) -> Optional[Response]:
    """Performs a request on the calling thread; None when it has no fast start."""
    if _registry.is_exiting:
        return None
    pointer: Optional[int] = 0
    try:
        text = c_command(command)
        if args or client._authenticator is not None:
            pointer = c_args(client, args)
    except Exception as error:
        return Response._refused(error)
    if pointer is None:
        return None
    try:
        try:
            owner: Owner = mailboxes.local.owner
        except AttributeError:
            owner = current_owner()
        mailbox = owner.mailbox
        call = owner.call
        if call is None or not call.is_done:
            # In a handler that runs while this thread waits for another request, that one has it.
            call = owner.call = ThreadCall(owner)
        watching = call.watching
        token = call.token
        if not mailbox.acquire(False):
            # It says why.
            mailbox.enter()
        try:
            call.is_done = False
            call.client = client
            pending[token] = call
            client._pending.add(call)
            hurries = mailbox.has_more
            if hurries:
                # What waits here, and would wake nobody, may be what the server waits for.
                watching.set_timeout(0)
            status = _perform_watching(client._handle.pointer, text, pointer, watching.address)
            facts = read_watch(watching.room)
            if hurries:
                watching.set_timeout(owner.first_wait)
            if status:
                facts = _go_on(facts[2], call, owner)
            response = Response(facts[3], facts)
            call.taken = facts[3]
            if kept:
                # What a default's provider raised.
                raise_kept()
            return response
        except BaseException:
            _abandon(call)
            raise
        finally:
            mailbox.leave()
            call.is_done = True
            call.client = None
            client._pending.discard(call)
            # As `ended` does it.
            pending.pop(token, None)
            if observers:
                wake_observers()
    finally:
        if pointer:
            lib.ntapi_args_free(pointer)


def _abandon(call: ThreadCall) -> None:
    """After Ctrl-C, say, which a thread gets when C has returned and before it has read the result.
    Frees what C has left in the room.
    """
    _, _, request, response, *_ = read_watch(call.watching.room)
    # What is over, or was freed before, is not there any more: these do nothing then.
    lib.ntapi_request_cancel(request)
    lib.ntapi_request_free(request)
    if response != call.taken:
        lib.ntapi_response_free(response)


def _go_on(request: int, call: ThreadCall, owner: Owner) -> Facts:
    """Runs what waits in the thread's mailbox until the response has come.

    Signal handlers have run before this, and run between any two lines of it.
    """
    if not request:
        raise ValueError("the command or the client cannot be used")
    watching = call.watching
    try:
        while True:
            # A handler may perform a request of its own.
            watching.set_timeout(owner.first_wait)
            has_run = owner.mailbox.step(take=True)
            # A handler may have forked: what comes over the sockets is the parent's.
            owner.mailbox.check_process()
            # Asked after each handler whether the response is there, as the handler may have been
            # what it waited for.
            watching.set_timeout(0 if has_run else -1)
            status = lib.ntapi_request_wait_watching(request, watching.address)
            if status == Status.OK:
                return read_watch(watching.room)
            if status != Status.TIMED_OUT:
                raise RuntimeError("a callback forked this process: the request is the parent's")
    except BaseException:
        # Ctrl-C, say. Nobody will look at the response.
        lib.ntapi_request_cancel(request)
        raise
    finally:
        watching.set_timeout(owner.first_wait)
        lib.ntapi_request_free(request)
