"""The asyncio client, and the fast start of its requests."""

from __future__ import annotations

import asyncio
from asyncio import get_running_loop
from types import TracebackType

from ._args import c_args, c_command, shown_url
from ._bridge.enums import Thread
from ._bridge.native import Worker, get_ident
from ._bridge.signatures import DataFormat
from ._build import Pages, build
from ._client import BaseClient
from ._response import Response
from ._runtime import registry
from ._runtime.checks import check_timeout
from ._runtime.ending import finishing
from ._runtime.loop_call import LoopCall
from ._runtime.loops import loop_mailbox, needed_loop, no_loop, running_mailbox, until
from ._runtime.threads import is_main_thread
from .arg import DELETE, GET, PATCH, POST, PUT
from .arg import method as method_arg

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from typing import Any, Callable, NoReturn, Optional, TypeVar, Union

    from typing_extensions import Unpack

    from ._args import Arg
    from ._runtime.mailbox import Mailbox
    from ._runtime.types import Place, PlaceLike
    from ._service import Service, ServiceCall
    from ._stream import AsyncStream, ServerSentEvent
    from ._types import Args, Handlers, Keywords, ProgressHandlers, Self

    T = TypeVar("T")


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

        `upload_progress` and `download_progress` get the bytes so far and the bytes expected, which
        are None while unknown. `data_handler` gets the body piece by piece. `decision_handler` gets
        a `Decision` to answer.

        Cancelling the task cancels the request. CancelledError is raised after the request has
        ended. If its download can be resumed, `ntapi.resume_data_of(error)` returns the data for
        that; `error` may also be the KeyboardInterrupt that `asyncio.run` raises after Ctrl-C.
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
        self, command: Union[str, Args] = "", *args: Args, **keywords: Unpack[Keywords]
    ) -> Response:
        """Sends a GET and returns its response: `send` with that method. Raises its ApiError.

            await client.get("find", params={"q": "London"}, timeout=5)

        The keywords of requests and httpx become args, which come after `args`: `params`,
        `headers`, `json`, `data`, `content`, `files`, `auth`, `timeout`.
        """
        if keywords:
            return await self._send_with(GET, command, args, keywords)
        return await self.send(command, *args, GET)

    async def post(
        self, command: Union[str, Args] = "", *args: Args, **keywords: Unpack[Keywords]
    ) -> Response:
        """As `get`, with POST."""
        if keywords:
            return await self._send_with(POST, command, args, keywords)
        return await self.send(command, *args, POST)

    async def put(
        self, command: Union[str, Args] = "", *args: Args, **keywords: Unpack[Keywords]
    ) -> Response:
        """As `get`, with PUT."""
        if keywords:
            return await self._send_with(PUT, command, args, keywords)
        return await self.send(command, *args, PUT)

    async def patch(
        self, command: Union[str, Args] = "", *args: Args, **keywords: Unpack[Keywords]
    ) -> Response:
        """As `get`, with PATCH."""
        if keywords:
            return await self._send_with(PATCH, command, args, keywords)
        return await self.send(command, *args, PATCH)

    async def delete(
        self, command: Union[str, Args] = "", *args: Args, **keywords: Unpack[Keywords]
    ) -> Response:
        """As `get`, with DELETE."""
        if keywords:
            return await self._send_with(DELETE, command, args, keywords)
        return await self.send(command, *args, DELETE)

    async def request(
        self,
        method: str,
        command: Union[str, Args] = "",
        *args: Args,
        **keywords: Unpack[Keywords],
    ) -> Response:
        """As `get`, with any method, such as "HEAD"."""
        return await self._send_with(method_arg(method), command, args, keywords)

    async def _send_with(
        self,
        method: Arg,
        command: Union[str, Args],
        args: tuple[Args, ...],
        keywords: Mapping[str, object],
    ) -> Response:
        """Sends a request whose keywords are args or handlers."""
        from ._method_keywords import split

        own, handlers = split(keywords)
        return await self.send(command, *args, *own, method, **handlers)

    async def call(
        self, service: Service[T], *args: Args, **handlers: Unpack[ProgressHandlers]
    ) -> T:
        """Calls a service and awaits its answer. `args` are applied after the service's own.

        Raises ApiError for any failure; its `domain` tells whether it is one of the network, HTTP,
        JSON or the service. Raises TypeError if the service's type cannot be made from JSON.
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
        """Performs every request that a coroutine awaits. `service_call` is the service call that
        the request belongs to, if any.
        """
        if registry.cancelled_downloads:
            registry.cancelled_downloads.pop(get_ident(), None)
        if (
            not handlers
            and self._may_start_fast
            and (service_call is None or service_call.may_start_fast)
        ):
            call = _begin(self, command, args)
            if call is not None:
                try:
                    response: Response = await call.waiter
                except BaseException as error:
                    await _end(call, error)
                    raise
                if response._error is not None:
                    self._refine_error(response, service_call)
                if service_call is not None:
                    service_call.judge(response)
                return response
        loop = needed_loop()
        waiter: asyncio.Future[Response] = loop.create_future()

        def resolve(response: Response) -> None:
            # The waiter may be done already, cancelled with its task. Nobody waits on a closed
            # loop.
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
                data = request._leave_resume_data(interrupt)
                if data is not None:
                    registry.cancelled_downloads.setdefault(get_ident(), data)
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
        **unknown: NoReturn,
    ) -> AsyncIterator[Response]:
        """Sends a request for each page of a list, one after the other, as `send` does.

            async for page in client.pages("issues", ntapi.url("per_page", 100)):
                titles += [issue["title"] for issue in page.json()]

        The header `Link` has the URL of the next page (RFC 8288, rel="next"), on the same origin.
        If the JSON names the next page, pass `following`: it gets the response of a page and
        returns the args to add to `args` for the next request. Args that are all None end the
        series:

            client.pages("items", following=lambda page: ntapi.url("cursor", page.json()["next"]))
        """
        if not isinstance(command, str):
            args, command = (command, *args), ""
        pages = Pages(command, args, following, unknown)
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

        The network waits until you ask for the next chunk, so memory use is bounded. Leaving the
        `async with` block, or dropping the stream, cancels the request. An HTTP error is raised as
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

        Otherwise as `stream`. A line that is not JSON ends the stream with "invalid JSON". A line
        longer than "maximum_response_size", or than 16 MiB, ends it with "response too large".
        """
        return self._open(command, args, unknown, DataFormat.JSON_LINES)

    def events(
        self, command: Union[str, Args] = "", *args: Args, **unknown: NoReturn
    ) -> AsyncStream[ServerSentEvent]:
        """Sends a request for server-sent events (WHATWG HTML, 9.2) and reads them as they arrive.
        Connects again whenever a connection ends.

            async with client.events("updates") as events:
                async for event in events:
                    print(event.type, event.data)

        Otherwise as `stream`. The client connects again with Last-Event-ID, after the time that the
        server asks for; after failures the pauses grow. The iteration ends when the server answers
        with 204. It raises an ApiError for an HTTP error other than 5xx, for an answer that is not
        an event stream, and, with the option "maximum_failures", after that many failures in a row.
        A POST is not sent again unless the option "reconnect" allows it. To continue after an event
        of an earlier run, send the header Last-Event-ID.
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
            from ._keywords import keyword_error

            raise keyword_error(unknown, (), of_client=False)
        if not isinstance(command, str):
            args, command = (command, *args), ""
        from ._stream import AsyncStream

        return AsyncStream(self, command, args, data_format)

    async def drain(self, timeout: Optional[float] = None) -> int:
        """Waits until every request has called its handler, or for `timeout` seconds. Returns how
        many requests are left.
        """
        check_timeout(timeout)
        mine = self._running_here()
        await until(lambda: len(self._pending) <= mine, timeout)
        await self._beside_loop(self._save)
        return max(0, len(self._pending) - mine)

    async def close(self) -> None:
        """Cancels the running requests, waits for their end, and refuses new ones.

        A background session keeps its transfers ("detached"). A second call does nothing. Waits
        only for handlers on this loop or in the background.
        """
        if self._is_session and not self._is_background:
            # At once. What follows waits for files.
            self.finish_and_invalidate()
            self.cancel_all()
        await self._beside_loop(self._close)
        await self._until_ended(running_mailbox())

    async def _beside_loop(self, write: Callable[[], None]) -> None:
        """Calls a function that may wait for the files or the store of a session. It is called even
        if this task is cancelled.
        """
        if not self._is_session:
            write()
            return
        loop = get_running_loop()
        has_written = loop.create_future()

        def run() -> None:
            try:
                write()
            finally:
                try:
                    loop.call_soon_threadsafe(_set, has_written)
                except RuntimeError:
                    # The loop is closed: nobody waits there.
                    pass

        try:
            Worker(run, "ntapi-closing").start()
        except RuntimeError:
            # The interpreter starts no thread any more.
            write()
        else:
            await has_written

    async def _until_ended(self, mailbox: Mailbox, timeout: Optional[float] = None) -> None:
        ending = self._ending_by_themselves(mailbox)
        await until(lambda: all(owed.outcome.is_done or owed.is_held for owed in ending), timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        """Waits for the running requests, for at most the seconds of the default "exitTimeout", and
        closes.

        Closes immediately after an exception, and for a background session.
        """
        if error is None and not self._is_background:
            mailbox = running_mailbox()
            for seconds in finishing(lambda: self._ending_by_themselves(mailbox)):
                await self._until_ended(mailbox, seconds)
        await self.close()

    def _resolve(self, place: PlaceLike) -> Place:
        # This thread runs its loop and does not drain its mailbox.
        is_main = is_main_thread()
        if place is Thread.CURRENT or (place is Thread.MAIN and is_main):
            return running_mailbox()
        return super()._resolve(place)

    def _usual_place(self, has_handler: bool) -> Place:
        return running_mailbox()


def _set(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


async def _end(call: LoopCall, error: BaseException) -> None:
    """Ends a call whose coroutine was cancelled or thrown away."""
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


def _begin(client: BaseClient, command: str, args: tuple[Args, ...]) -> Optional[LoopCall]:
    """The fast start: begins a request on this thread's loop. Returns None if the request cannot
    start fast.
    """
    if registry.is_exiting:
        return None
    try:
        loop = get_running_loop()
    except RuntimeError:
        raise no_loop() from None
    call = LoopCall(client._pending, loop_mailbox(loop), loop.create_future(), Response)
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
    if not call.begin(client._handle.pointer, text, pointer):
        raise ValueError(f"{shown_url(command)!r} cannot be a command")
    return call
