"""The asyncio client, and the fast start of its requests."""

from __future__ import annotations

import asyncio
from asyncio import get_running_loop
from types import TracebackType

from . import _registry
from ._bridge.args import c_args, c_command, shown_url
from ._bridge.cpython import quick
from ._bridge.library import lib
from ._bridge.native import kept, raise_kept
from ._bridge.signatures import DataFormat, Facts
from ._checks import check_timeout, keyword_error
from ._client import BaseClient
from ._enums import Thread
from ._mailbox import is_main_thread
from ._places import loop_mailbox, needed_loop, no_loop, running_mailbox
from ._registry import finishing, observers, pending, wake_observers
from ._request import Pages, build
from ._response import Response
from .arg import DELETE, GET, PATCH, POST, PUT

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import AsyncIterator, Iterable, Mapping
    from typing import Any, Callable, NoReturn, Optional, TypeVar, Union

    from typing_extensions import Unpack

    from ._mailbox import Mailbox
    from ._service import Service, ServiceCall
    from ._stream import AsyncStream, ServerSentEvent
    from ._types import Args, Handlers, Place, PlaceLike, ProgressHandlers, Self

    T = TypeVar("T")


class _LoopObserver:
    """Wakes a coroutine from whatever thread a request ends on."""

    def __init__(self) -> None:
        self._loop = needed_loop()
        self.event = asyncio.Event()

    def wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self.event.set)
        except RuntimeError:
            # The loop is closed: nobody waits there any more.
            pass


class AsyncClient(BaseClient):
    """A client for asyncio.

        async with ntapi.AsyncClient("https://api.example.com") as client:
            print((await client.send("data/2.5/find", ntapi.url("q", "London"))).json())

    Everything runs on the caller's loop: progress and data handlers, the handlers of `begin`, the
    hooks. One client may be used from several loops.
    """

    _has_loop: bool = True

    async def perform(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """Performs a request. An error is not raised: the response's `error` says what went wrong.

        `upload_progress` and `download_progress` get bytes so far and bytes expected, None while
        unknown; `data_handler` gets the body piece by piece, `decision_handler` is asked what to do
        (see `Decision`).

        When the task is cancelled, the request is cancelled too, and has ended when CancelledError
        is raised. If a download can go on later, `ntapi.resume_data_of` the exception says how; it
        also takes the KeyboardInterrupt that `asyncio.run` raises after Ctrl-C.
        """
        if not isinstance(command, str):
            args, command = (command, *args), ""
        return await self._perform(command, args, handlers)

    async def send(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """As `perform`, but raises the response's error, an ApiError."""
        if not isinstance(command, str):
            args, command = (command, *args), ""
        response = await self._perform(command, args, handlers)
        if response._error is not None:
            raise response._error
        return response

    async def get(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """Sends a GET and returns its response: `send` with that method. Raises its ApiError."""
        return await self.send(command, *args, GET, **handlers)

    async def post(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """As `get`, with POST."""
        return await self.send(command, *args, POST, **handlers)

    async def put(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """As `get`, with PUT."""
        return await self.send(command, *args, PUT, **handlers)

    async def patch(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """As `get`, with PATCH."""
        return await self.send(command, *args, PATCH, **handlers)

    async def delete(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """As `get`, with DELETE."""
        return await self.send(command, *args, DELETE, **handlers)

    async def call(
        self, service: Service[T], *args: Args, **handlers: Unpack[ProgressHandlers]
    ) -> T:
        """Calls a service and awaits its answer. `args` are applied after its own.

        Raises the error of the network, of HTTP, of JSON or of the service, an ApiError: its domain
        tells which. Raises TypeError for a service whose answer cannot be made of JSON.
        """
        from ._service import ServiceCall

        call = ServiceCall(service, args)
        response = await self._perform(call.command, call.args, handlers, call)
        return call.result(response).get()

    async def _perform(
        self,
        command: str,
        args: tuple[Args, ...],
        handlers: Mapping[str, Any],
        service_call: Optional[ServiceCall[Any]] = None,
    ) -> Response:
        """The way of every request that a coroutine awaits. `service_call` is what it is made for,
        if that is a service.
        """
        if (
            not handlers
            and self._may_start_fast
            and (service_call is None or service_call.may_start_fast)
        ):
            call = begin(self, command, args)
            if call is not None:
                try:
                    response = await call.waiter
                except BaseException as error:
                    await _end(call, error)
                    raise
                if service_call is not None:
                    service_call.judge(response)
                return response
        loop = needed_loop()
        waiter: asyncio.Future[Response] = loop.create_future()

        def resolve(response: Response) -> None:
            # The waiter may be done, cancelled with its task. A loop that is closed has no one to
            # tell.
            if not waiter.done() and not loop.is_closed():
                waiter.set_result(response)

        mailbox = loop_mailbox(loop)
        request = build(
            self,
            command,
            args,
            handlers,
            usual_place=mailbox,
            response_place=mailbox,
            handler=resolve,
            call=service_call,
        )
        request.resume()
        try:
            return await waiter
        except asyncio.CancelledError as interrupt:
            if not request._outcome.is_done:
                request._leave_resume_data(interrupt)
                waiter = loop.create_future()
                request.cancel()
                await _uninterrupted(waiter)
            raise
        except BaseException:
            # The coroutine is thrown away: there is no loop to wait on.
            request.cancel()
            raise

    async def pages(
        self,
        command: Union[str, Args] = "",
        *args: Args,
        following: Optional[Callable[[Response], Args]] = None,
    ) -> AsyncIterator[Response]:
        """Sends a request for each page of a list, one after the other, as `send` does.

            async for page in client.pages("issues", ntapi.url("per_page", 100)):
                titles += [issue["title"] for issue in page.json()]

        The header `Link` has the URL of the next page (RFC 8288, rel="next"), on the same origin.
        If the JSON says what comes next, pass `following`: it gets the response of a page, and
        returns the args of the next request beside `args`. Args without a value end the series:

            client.pages("items", following=lambda page: ntapi.url("cursor", page.json()["next"]))
        """
        if not isinstance(command, str):
            args, command = (command, *args), ""
        pages = Pages(command, args, following)
        while True:
            page = await self.send(pages.command, pages.args)
            yield page
            if not pages.go_on(page):
                return

    def stream(
        self, command: Union[str, Args] = "", *args: Args, **unknown: NoReturn
    ) -> AsyncStream[bytes]:
        """Sends a request whose response is read chunk by chunk, as bytes.

            async with client.stream("export") as chunks:
                print(chunks.status, chunks.headers["content-type"])
                async for chunk in chunks:
                    total += len(chunk)

        The network waits until the next chunk is asked for, so memory use is bounded. To leave the
        `async with` block, or to drop the stream, cancels the request. An HTTP error is raised as
        an ApiError, and its body is not streamed, unless the option "ignore_http_errors" is set.
        """
        return self._open(command, args, unknown, DataFormat.BYTES)

    def lines(
        self, command: Union[str, Args] = "", *args: Args, **unknown: NoReturn
    ) -> AsyncStream[Any]:
        """Sends a request whose response has a JSON value in each line (JSON Lines, NDJSON, RFC
        7464), and reads the values as they arrive.

            async with client.lines("changes") as changes:
                async for change in changes:
                    print(change["id"])

        As `stream`. A line that is not JSON ends it with "invalid JSON". A line longer than
        "maximum_response_size", or than 16 MiB, ends it with "response too large".
        """
        return self._open(command, args, unknown, DataFormat.JSON_LINES)

    def events(
        self, command: Union[str, Args] = "", *args: Args, **unknown: NoReturn
    ) -> AsyncStream[ServerSentEvent]:
        """Sends a request for server-sent events (WHATWG HTML, 9.2) and reads them as they arrive,
        over as many connections as it takes.

            async with client.events("updates") as events:
                async for event in events:
                    print(event.type, event.data)

        As `stream`. When a connection ends, the client connects again with Last-Event-ID: after the
        time that the server asks for, and after longer and longer pauses while that fails. The
        iteration ends when the server answers with 204. It fails on an HTTP error other than 5xx,
        on an answer that is not an event stream, and, with the option "maximum_failures", after
        that many failures in a row. A POST is not sent again unless the option "reconnect" allows
        it. To continue after an event of an earlier run, send the header Last-Event-ID.
        """
        return self._open(command, args, unknown, DataFormat.SERVER_EVENTS)

    def _open(
        self,
        command: Union[str, Args],
        args: tuple[Args, ...],
        unknown: Mapping[str, object],
        data_format: int,
    ) -> AsyncStream[Any]:
        if unknown:
            raise keyword_error(unknown, (), of_client=False)
        if not isinstance(command, str):
            args, command = (command, *args), ""
        from ._stream import AsyncStream

        return AsyncStream(self, command, args, data_format)

    async def drain(self, timeout: Optional[float] = None) -> int:
        """Waits until every request has called its handler; returns how many have not after
        `timeout` seconds.
        """
        check_timeout(timeout)
        mine = self._running_here()
        await _until(lambda: len(self._pending) <= mine, timeout)
        self._save()
        return max(0, len(self._pending) - mine)

    async def close(self) -> None:
        """Cancels the requests that run, waits for their end, and refuses new ones.

        A background session keeps its transfers ("detached"). A second call does nothing. It does
        not wait for a handler that runs elsewhere than on this loop or in the background.
        """
        self._close()
        await self._until_ended(running_mailbox())

    async def _until_ended(self, mailbox: Mailbox, timeout: Optional[float] = None) -> None:
        ending = self._ending_by_themselves(mailbox)
        await _until(lambda: all(owed.outcome.is_done for owed in ending), timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        """Waits for the requests that run, at most as long as the default "exitTimeout" says, and
        closes.

        After an exception, and for a background session, it closes at once.
        """
        if error is None and not self._is_background:
            mailbox = running_mailbox()
            for seconds in finishing(lambda: self._ending_by_themselves(mailbox)):
                await self._until_ended(mailbox, seconds)
        await self.close()

    def _resolve(self, place: PlaceLike) -> Place:
        # This thread runs its loop, not its mailbox.
        is_main = is_main_thread()
        if place is Thread.CURRENT or (place is Thread.MAIN and is_main):
            return running_mailbox()
        return super()._resolve(place)

    def _usual_place(self, has_handler: bool) -> Place:
        return running_mailbox()


async def _until(is_over: Callable[[], bool], timeout: Optional[float] = None) -> None:
    """Waits for something that the end of a request, on whatever thread, makes true."""

    async def watch() -> None:
        while not is_over():
            await observer.event.wait()
            observer.event.clear()

    observer = _LoopObserver()
    with _registry.observing(observer):
        try:
            await asyncio.wait_for(watch(), timeout)
        except asyncio.TimeoutError:
            pass


async def _end(call: LoopCall, error: BaseException) -> None:
    """Ends a call whose coroutine was ended."""
    if not isinstance(error, asyncio.CancelledError):
        # The coroutine is thrown away: there is no loop to wait on.
        call.cancel()
    elif not call.is_done:
        call.waiter = asyncio.get_running_loop().create_future()
        call.cancel()
        await _uninterrupted(call.waiter)


async def _uninterrupted(waiter: asyncio.Future[Response]) -> None:
    """Waits even if the task is cancelled again: the request ends soon, and its callbacks must not
    run after this.
    """
    while not waiter.done():
        try:
            await asyncio.shield(waiter)
        except asyncio.CancelledError:
            continue


# The fast start of a request that a coroutine waits for: one call into C begins it, and only the
# coroutine gets the response.


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
                raise ValueError(f"{shown_url(command)!r} cannot be a command")
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
        """None: a task waits for it, whose loop ends with the process."""
        return 0.0

    def cancel(self) -> None:
        lib.ntapi_request_cancel(self._pointer)


def begin(client: BaseClient, command: str, args: tuple[Args, ...]) -> Optional[LoopCall]:
    """Begins a request on this thread's loop; None when it has no fast start."""
    if _registry.is_exiting:
        return None
    try:
        loop = get_running_loop()
    except RuntimeError:
        raise no_loop() from None
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
