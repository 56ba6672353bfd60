"""Bodies that come piece by piece, with as few calls of C as possible. The calling thread receives
the body of a `Pull` itself: if C can do without, no other thread takes part.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from ctypes import string_at
from typing import TYPE_CHECKING, Any, Optional
from weakref import ref

from ._bridge.cpython import quick
from ._bridge.events import Facts, Watching, read_watch
from ._bridge.library import endings, is_over, lib
from ._bridge.logging import follow_levels
from ._bridge.native import kept, raise_kept
from ._bridge.signatures import Status
from ._response import Response
from ._runtime.loop_call import LoopCall
from ._runtime.loops import loop_mailbox, until
from ._runtime.registry import Call, Owed, new_token, observers, pending, wake_observers
from ._runtime.threads import current_owner

if TYPE_CHECKING:
    from typing import Callable

    from ._client import BaseClient


def pull(client: BaseClient, args: int) -> Pull:
    """Sends a request whose body the calling thread reads. Takes C args, which this frees. The
    client must have no hooks, and the args no functions.
    """
    follow_levels()
    try:
        return Pull(client._handle.pointer, client._pending, args)
    finally:
        _free_args(args)


def received_message(request: Optional[int]) -> bytes:
    """The head of the answer to a C request, as HTTP/1.1 writes it; b"" before it has come."""
    address = _received_message(request)
    return string_at(address) if address else b""


_begin = quick("ntapi_client_pull_watching")
_next = quick("ntapi_request_pull_watching")
_begin_stream = quick("ntapi_client_begin_stream")
_received_message = quick("ntapi_request_received_message")
_free_args = quick("ntapi_args_free")
_free_data = quick("ntapi_data_free")
_free_request = quick("ntapi_request_free")


class Pull(Call, Iterator[bytes]):
    """A request whose answer is read by iterating. Between two reads, nothing is received.

    Only one thread at a time uses it. It need not always be the same thread.
    """

    __slots__ = ("_client", "_is_closed", "_piece", "_token", "_watching", "pointer", "response")

    def __init__(self, client: Optional[int], siblings: set[Owed], args: int) -> None:
        """Sends a request of a C client. Waits for the head of the answer, or for the end."""
        super().__init__(siblings)
        self.response: Optional[Response] = None
        """Set at the end: there are no more pieces."""
        self.pointer: Optional[int] = None
        """The C request, which this owns; None until C has made it."""
        self._client = client
        self._is_closed = False
        self._piece: Optional[bytes] = None
        self._token = new_token()
        self._watching = Watching(-1, 0)
        _open[self._token] = ref(self)
        self._step(_begin, client, b"", args)

    @property
    def head(self) -> bytes:
        """The head of the answer, as HTTP/1.1 writes it."""
        return received_message(self.pointer)

    def __next__(self) -> bytes:
        while True:
            piece, self._piece = self._piece, None
            if piece:
                return piece
            response = self.response
            if response is not None:
                response.raise_for_error()
                raise StopIteration
            if self._is_closed:
                raise StopIteration
            self._step(_next, self.pointer)

    def close(self) -> None:
        """Ends the request, and waits until it has ended. A second call does nothing."""
        if self._is_closed or self.response is not None or is_over:
            return
        self._is_closed = True
        self._piece = None
        self.cancel()
        while self.response is None:
            self._step(_next, self.pointer)

    def cancel(self) -> None:
        """Cancels in C. Before C has made the request, cancels all requests of the client."""
        if self.pointer is not None:
            lib.ntapi_request_cancel(self.pointer)
        else:
            lib.ntapi_client_cancel_all(self._client)

    def __del__(self, _is_over: list[bool] = is_over) -> None:
        if _is_over:
            return
        _open.pop(self._token, None)
        if self.pointer is not None:
            if self.response is None:
                lib.ntapi_request_cancel(self.pointer)
            _free_request(self.pointer)

    def _step(self, function: Callable[..., int], *arguments: Any) -> None:
        """Waits for the next piece or the end. Runs the thread's handlers meanwhile."""
        owner = current_owner()
        mailbox = owner.mailbox
        watching = self._watching
        is_deep = mailbox.is_deep
        watching.room.descriptor = -1 if is_deep else mailbox.fileno()
        if not mailbox.acquire(False):
            # This raises the error that says why.
            mailbox.enter()
        # Count the thread as in a handler: see `ThreadCall`.
        self.runner = owner.thread
        pending[self._token] = self
        self.siblings.add(self)
        try:
            # Events that already wait in the mailbox do not wake the thread.
            watching.set_timeout(0 if mailbox.has_more and not is_deep else owner.first_wait)
            status = function(*arguments, watching.address)
            while status == _TIMED_OUT:
                self._own(read_watch(watching.room))
                has_run = not is_deep and mailbox.step(take=True)
                mailbox.check_process()
                watching.set_timeout(0 if has_run else -1)
                status = _next(self.pointer, watching.address)
            self._read(status, read_watch(watching.room))
            if kept:
                # Raises what a default's provider raised.
                raise_kept()
        except BaseException:
            # Ctrl-C, for example.
            self._abandon()
            raise
        finally:
            mailbox.leave()
            self.siblings.discard(self)
            pending.pop(self._token, None)
            if observers:
                wake_observers()

    def _own(self, facts: Facts) -> None:
        """Takes the request that C has made, if it is new."""
        if facts[2]:
            self.pointer = facts[2]

    def _abandon(self) -> None:
        """Takes what C has left in the memory, and cancels this request if C has made it. Cancels
        no other request.
        """
        facts: Facts = read_watch(self._watching.room)
        self._own(facts)
        if facts[3] and self.response is None:
            self.response = Response(facts[3], facts)
        if self.pointer is not None:
            lib.ntapi_request_cancel(self.pointer)

    def _read(self, status: int, facts: Facts) -> None:
        self._own(facts)
        if facts[3]:
            self.is_done = True
            self.response = Response(facts[3], facts)
        elif status == _OK:
            # C keeps the piece until the next call.
            self._piece = string_at(facts[5], facts[6])
        elif self.pointer is None:
            raise ValueError("the command or the client cannot be used")
        else:
            raise RuntimeError("a callback forked this process: the request is the parent's")


_open: dict[int, ref[Pull]] = {}


def _cancel_open() -> None:
    """Cancels what nobody reads any more: the end of the process would wait for it."""
    for known in tuple(_open.values()):
        each = known()
        if each is not None and each.response is None and each.pointer is not None:
            each.cancel()


endings.insert(0, _cancel_open)


# With asyncio.


class AsyncPull(AsyncIterator[bytes]):
    """A request whose answer a task reads by iterating. One piece may wait here, and one in C: then
    the network waits, too.
    """

    def __init__(self, client: BaseClient, args: int) -> None:
        """Sends a request of the running loop. Takes C args, which this frees. The client must have
        no hooks, and the args no functions.
        """
        loop = asyncio.get_running_loop()
        self._call = _PullOnLoop(
            client._pending, loop_mailbox(loop), loop.create_future(), Response, _begin_stream
        )
        follow_levels()
        if not self._call.begin(client._handle.pointer, b"", args):
            raise ValueError("the command or the client cannot be used")

    @property
    def response(self) -> Optional[Response]:
        """Set at the end: there are no more pieces."""
        response: Optional[Response] = self._call.response
        return response

    @property
    def head(self) -> bytes:
        """The head of the answer, as HTTP/1.1 writes it; b"" if the answer has no body to read."""
        return self._call.head

    async def open(self) -> None:
        """Waits for the head of the answer, or for the end of the request."""
        try:
            await self._call.waiter
        except BaseException:
            self._cancel()
            raise

    async def __anext__(self) -> bytes:
        call = self._call
        while True:
            piece = call.take_piece()
            if piece:
                return piece
            if call.is_closed:
                raise StopAsyncIteration
            if call.response is not None:
                call.response.raise_for_error()
                raise StopAsyncIteration
            if not call.waiter.done():
                raise RuntimeError("another task waits for this stream")
            call.waiter = asyncio.get_running_loop().create_future()
            await call.waiter

    async def close(self) -> None:
        """Ends the request, and waits until it has ended. A second call does nothing."""
        call = self._call
        if not call.is_done:
            self._cancel()
            await until(lambda: call.is_done)

    def _cancel(self) -> None:
        self._call.close()
        if not self._call.is_done:
            self._call.cancel()

    def __del__(self, _is_over: list[bool] = is_over) -> None:
        if not _is_over and "_call" in self.__dict__:
            self._cancel()


class _PullOnLoop(LoopCall):
    """What C and an `AsyncPull` share. The program may drop the latter while this is pending."""

    __slots__ = ("_data", "_piece", "head", "is_closed")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.head: bytes = b""
        self.is_closed: bool = False
        self._piece: bytes = b""
        self._data: Optional[Facts] = None
        """The event of a piece that waits in C."""

    def take_data(self, event: Facts) -> None:
        if not self.head:
            self.head = received_message(self._pointer)
        self._data = event
        if not self._piece:
            self._copy()
        self.wake()
        if observers:
            wake_observers()

    @property
    def exit_timeout(self) -> float:
        # Nobody may read on.
        return 0.0

    @property
    def is_held(self) -> bool:
        return self._data is not None

    def take_piece(self) -> bytes:
        """The next piece; b"" if none has come."""
        piece, self._piece = self._piece, b""
        self._copy()
        return piece

    def close(self) -> None:
        """Drops this piece and all later ones."""
        self.is_closed = True
        self.take_piece()

    def _copy(self) -> None:
        """Copies the piece that waits in C, if there is one. Then the next one may come."""
        event, self._data = self._data, None
        if event is None:
            return
        if not self.is_closed:
            self._piece = string_at(event[-4], event[-3])
        _free_data(event[5])


_OK = Status.OK
_TIMED_OUT = Status.TIMED_OUT
