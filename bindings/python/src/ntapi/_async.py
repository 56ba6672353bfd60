"""The asyncio client."""

from __future__ import annotations

import asyncio
from types import TracebackType

from . import _registry
from ._building import build
from ._checks import check_timeout
from ._client import BaseClient
from ._ending import finishing
from ._enums import LogFlags, Thread
from ._loop_call import LoopCall, begin
from ._loops import loop_mailbox, running_mailbox
from ._numbers import DataFormat
from ._response import Response
from ._threads import is_main_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Callable, Optional, TypeVar, Union

    from ._aliases import Args, DataHandler, DecisionHandler, PlaceLike, ProgressHandler
    from ._authenticator import Authenticator
    from ._clock import ManualClock
    from ._configuration import SessionConfiguration
    from ._interceptor import Interceptor
    from ._mailbox import Mailbox
    from ._protocols import Place
    from ._recorder import Recorder
    from ._retry import RateLimiter
    from ._server_event import ServerSentEvent
    from ._service import Service, ServiceCall
    from ._stream import AsyncStream
    from ._stub import Stub
    from ._typing import Self

    T = TypeVar("T")


class _LoopObserver:
    """Wakes a coroutine from whatever thread a request ends on."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
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
            print((await client.send("data/2.5/find", ntapi.url("q", "London"))).json)

    Everything runs on the caller's loop: progress and data handlers, the handlers of `begin`, the
    hooks. One client may be used from several loops.
    """

    _has_loop = True

    def __init__(
        self,
        base_url: Optional[str] = None,
        *,
        configuration: Optional[SessionConfiguration] = None,
        args: Args = (),
        log_flags: Optional[LogFlags] = None,
        authenticator: Optional[Authenticator] = None,
        rate_limiter: Optional[RateLimiter] = None,
        interceptors: Iterable[Interceptor] = (),
        clock: Optional[ManualClock] = None,
        stub: Optional[Stub] = None,
        recorder: Optional[Recorder] = None,
    ) -> None:
        """Makes a client. Without `base_url` the default "baseUrl" is looked up at each request.

        A `configuration`, which is copied, makes it a session. `args`, `log_flags`,
        `authenticator`, `rate_limiter` and `interceptors` can be changed later. `clock`, `stub` and
        `recorder` are for tests, see `ntapi.testing`.
        """
        super().__init__(
            base_url,
            configuration=configuration,
            args=args,
            log_flags=log_flags,
            authenticator=authenticator,
            rate_limiter=rate_limiter,
            interceptors=interceptors,
            clock=clock,
            stub=stub,
            recorder=recorder,
        )

    async def perform(
        self,
        command: Union[str, Args] = "",
        *args: Args,
        upload_progress: Optional[ProgressHandler] = None,
        download_progress: Optional[ProgressHandler] = None,
        data_handler: Optional[DataHandler] = None,
        decision_handler: Optional[DecisionHandler] = None,
    ) -> Response:
        """Performs a request; the response's `error` says what went wrong. Raises nothing for that.

        When the task is cancelled, the request is cancelled too, and has ended when CancelledError
        is raised, which for a download has what it can be gone on with as an attribute,
        `resume_data`, if there is something.
        """
        if not isinstance(command, str):
            command, args = "", (command, *args)
        if (
            upload_progress is None
            and download_progress is None
            and data_handler is None
            and decision_handler is None
            and self._may_be_short
        ):
            call = begin(self, command, args)
            if call is not None:
                try:
                    return await call.waiter
                except BaseException as error:
                    await _end(call, error)
                    raise
        return await self._perform_long(
            command, args, upload_progress, download_progress, data_handler, decision_handler
        )

    async def _perform_long(
        self,
        command: str,
        args: tuple[Args, ...],
        upload_progress: Optional[ProgressHandler],
        download_progress: Optional[ProgressHandler],
        data_handler: Optional[DataHandler],
        decision_handler: Optional[DecisionHandler],
        call: Optional[ServiceCall[Any]] = None,
    ) -> Response:
        loop = asyncio.get_running_loop()
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
            usual_place=mailbox,
            response_place=mailbox,
            handler=resolve,
            upload_progress=upload_progress,
            download_progress=download_progress,
            data_handler=data_handler,
            decision_handler=decision_handler,
            call=call,
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

    async def send(
        self,
        command: Union[str, Args] = "",
        *args: Args,
        upload_progress: Optional[ProgressHandler] = None,
        download_progress: Optional[ProgressHandler] = None,
        data_handler: Optional[DataHandler] = None,
        decision_handler: Optional[DecisionHandler] = None,
    ) -> Response:
        """As `perform`, but raises the response's error, an ApiError."""
        if not isinstance(command, str):
            command, args = "", (command, *args)
        # Not by way of `perform`: one coroutine costs less than one in another.
        if (
            upload_progress is None
            and download_progress is None
            and data_handler is None
            and decision_handler is None
            and self._may_be_short
        ):
            call = begin(self, command, args)
            if call is not None:
                try:
                    response = await call.waiter
                except BaseException as error:
                    await _end(call, error)
                    raise
                if response._error is not None:
                    raise response._error
                return response
        response = await self._perform_long(
            command, args, upload_progress, download_progress, data_handler, decision_handler
        )
        return response.raise_for_error()

    async def call(
        self,
        service: Service[T],
        *args: Args,
        upload_progress: Optional[ProgressHandler] = None,
        download_progress: Optional[ProgressHandler] = None,
    ) -> T:
        """Calls a service and awaits what it answers. `args` are applied after its own.

        Raises the error of the network, of HTTP, of JSON or of the service, an ApiError: its domain
        tells which. Raises TypeError for a service whose answer cannot be made of JSON.
        """
        from ._service import ServiceCall

        call = ServiceCall(service, args)
        has_none = upload_progress is None and download_progress is None
        if has_none and self._may_be_short and call.may_be_short:
            response = await self.perform(call.command, *call.args)
            call.judge(response)
        else:
            response = await self._perform_long(
                call.command, call.args, upload_progress, download_progress, None, None, call
            )
        return call.result(response).get()

    def stream(self, command: Union[str, Args] = "", *args: Args) -> AsyncStream[bytes]:
        """Sends a request whose response is read chunk by chunk, as bytes.

            async with client.stream("export") as chunks:
                print(chunks.status, chunks.headers["content-type"])
                async for chunk in chunks:
                    total += len(chunk)

        While nobody asks for a chunk the network waits, so that memory stays bounded. Leaving the
        `async with` block, or dropping the stream, cancels the request. Of an HTTP error the body
        is not streamed, unless the option "ignore_http_errors" is set: it is raised, an ApiError.
        """
        if not isinstance(command, str):
            command, args = "", (command, *args)
        from ._stream import AsyncStream

        return AsyncStream(self, command, args, DataFormat.BYTES)

    def lines(self, command: Union[str, Args] = "", *args: Args) -> AsyncStream[Any]:
        """Sends a request whose response has a JSON value in each line (JSON Lines, NDJSON, RFC
        7464), which are read as they arrive.

            async with client.lines("changes") as changes:
                async for change in changes:
                    print(change["id"])

        As `stream`. A line that is no JSON ends it with "invalid JSON", one that is longer than
        "maximum_response_size", or 16 MiB, with "response too large".
        """
        if not isinstance(command, str):
            command, args = "", (command, *args)
        from ._stream import AsyncStream

        return AsyncStream(self, command, args, DataFormat.JSON_LINES)

    def events(self, command: Union[str, Args] = "", *args: Args) -> AsyncStream[ServerSentEvent]:
        """The events of a stream of server-sent events (WHATWG HTML, 9.2), over as many connections
        as it takes.

            async with client.events("updates") as events:
                async for event in events:
                    print(event.type, event.data)

        As `stream`. When a connection ends, another is made with Last-Event-ID, after the time that
        the server asks for, and after ever longer pauses while it fails. The iteration ends when
        the server answers with 204; it fails on an HTTP error other than 5xx, on something that is
        no stream of events, and with the option "maximum_failures" after so many failures in a row.
        What a POST began is not gone on with unless the option "reconnect" says so. To go on from
        an event of an earlier time, send the header Last-Event-ID.
        """
        if not isinstance(command, str):
            command, args = "", (command, *args)
        from ._stream import AsyncStream

        return AsyncStream(self, command, args, DataFormat.SERVER_EVENTS)

    async def drain(self, timeout: Optional[float] = None) -> int:
        """Waits until every begun request has called its handler; returns how many are left after
        `timeout` seconds.
        """
        check_timeout(timeout)
        mine = self._running_here()
        await _until(lambda: len(self._pending) <= mine, timeout)
        self._save()
        return max(0, len(self._pending) - mine)

    async def close(self) -> None:
        """Cancels what runs, waits until it has ended, and refuses new requests.

        The transfers of a background session are kept ("detached"). A second call does nothing. A
        handler that runs neither on this loop nor in the background is not waited for.
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
        """Lets what was begun finish, for as long as the default "exitTimeout" says, and closes.

        After an exception it closes at once, and so does a background session.
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
    """Waits although the task is cancelled again: the request's end is near, and callbacks must not
    come after it.
    """
    while not waiter.done():
        try:
            await asyncio.shield(waiter)
        except asyncio.CancelledError:
            continue
