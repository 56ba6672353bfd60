"""The blocking client."""

from __future__ import annotations

from . import _registry
from ._client import BaseClient
from ._ending import finishing
from ._library import lib
from ._numbers import DataFormat
from ._thread_call import perform
from ._threads import current_mailbox, main_mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Any, Optional, TypeVar, Union

    from ._aliases import Args, DataHandler, DecisionHandler, ProgressHandler
    from ._authenticator import Authenticator
    from ._clock import ManualClock
    from ._configuration import SessionConfiguration
    from ._enums import LogFlags
    from ._interceptor import Interceptor
    from ._mailbox import Mailbox
    from ._protocols import Place
    from ._recorder import Recorder
    from ._request import Request
    from ._response import Response
    from ._retry import RateLimiter
    from ._server_event import ServerSentEvent
    from ._service import Service, ServiceCall
    from ._stream import Stream
    from ._stub import Stub
    from ._typing import Self

    T = TypeVar("T")


class Client(BaseClient):
    """A client for programs with threads, or with only one.

        with ntapi.Client("https://api.example.com") as client:
            print(client.send("data/2.5/find", ntapi.url("q", "London")).json)

    A handler of `begin` runs on the main thread by default, while that runs its mailbox
    (`ntapi.run`) or waits.
    """

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

    def perform(
        self,
        command: Union[str, Args] = "",
        *args: Args,
        upload_progress: Optional[ProgressHandler] = None,
        download_progress: Optional[ProgressHandler] = None,
        data_handler: Optional[DataHandler] = None,
        decision_handler: Optional[DecisionHandler] = None,
    ) -> Response:
        """Performs a request and waits for its response, whose `error` says what went wrong.

        Raises nothing for that.

        Runs the calling thread's handlers meanwhile; other threads run too. When Ctrl-C ends the
        wait, the request is cancelled and none of its handlers is called any more; the exception
        that a download leaves by has what it can be gone on with as an attribute, `resume_data`,
        if there is something.
        """
        if not isinstance(command, str):
            command, args = "", (command, *args)
        # One after the other and not in a loop: nearly every request goes this way.
        if (
            upload_progress is None
            and download_progress is None
            and data_handler is None
            and decision_handler is None
            and self._may_be_short
        ):
            response = perform(self, command, args)
            if response is not None:
                return response
        return self._perform_long(
            command, args, upload_progress, download_progress, data_handler, decision_handler
        )

    def _perform_long(
        self,
        command: str,
        args: tuple[Args, ...],
        upload_progress: Optional[ProgressHandler],
        download_progress: Optional[ProgressHandler],
        data_handler: Optional[DataHandler],
        decision_handler: Optional[DecisionHandler],
        call: Optional[ServiceCall[Any]] = None,
    ) -> Response:
        from ._building import build

        mailbox = current_mailbox()
        request = build(
            self,
            command,
            args,
            usual_place=mailbox,
            response_place=mailbox,
            upload_progress=upload_progress,
            download_progress=download_progress,
            data_handler=data_handler,
            decision_handler=decision_handler,
            call=call,
        )
        return _wait(request, mailbox)

    def send(
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
        # Not by way of `perform`, for the same reason.
        if (
            upload_progress is None
            and download_progress is None
            and data_handler is None
            and decision_handler is None
            and self._may_be_short
        ):
            response = perform(self, command, args)
            if response is not None:
                if response._error is not None:
                    raise response._error
                return response
        response = self._perform_long(
            command, args, upload_progress, download_progress, data_handler, decision_handler
        )
        return response.raise_for_error()

    def call(
        self,
        service: Service[T],
        *args: Args,
        upload_progress: Optional[ProgressHandler] = None,
        download_progress: Optional[ProgressHandler] = None,
    ) -> T:
        """Calls a service and waits for what it answers. `args` are applied after its own.

        Runs the calling thread's handlers meanwhile, the progress handlers among them.

        Raises the error of the network, of HTTP, of JSON or of the service, an ApiError: its domain
        tells which. Raises TypeError for a service whose answer cannot be made of JSON.
        """
        from ._service import ServiceCall

        call = ServiceCall(service, args)
        has_none = upload_progress is None and download_progress is None
        if has_none and self._may_be_short and call.may_be_short:
            response = perform(self, call.command, call.args)
            if response is not None:
                call.judge(response)
                return call.result(response).get()
        response = self._perform_long(
            call.command, call.args, upload_progress, download_progress, None, None, call
        )
        return call.result(response).get()

    def stream(self, command: Union[str, Args] = "", *args: Args) -> Stream[bytes]:
        """Sends a request whose response is read chunk by chunk, as bytes.

            with client.stream("export") as chunks:
                print(chunks.status, chunks.headers["content-type"])
                for chunk in chunks:
                    total += len(chunk)

        While nobody asks for a chunk the network waits, so that memory stays bounded. Leaving the
        `with` block, or dropping the stream, cancels the request. Of an HTTP error the body is not
        streamed, unless the option "ignore_http_errors" is set: it is raised, an ApiError.
        """
        if not isinstance(command, str):
            command, args = "", (command, *args)
        from ._stream import Stream

        return Stream(self, command, args, DataFormat.BYTES)

    def lines(self, command: Union[str, Args] = "", *args: Args) -> Stream[Any]:
        """Sends a request whose response has a JSON value in each line (JSON Lines, NDJSON, RFC
        7464), which are read as they arrive.

            with client.lines("changes") as changes:
                for change in changes:
                    print(change["id"])

        As `stream`. A line that is no JSON ends it with "invalid JSON", one that is longer than
        "maximum_response_size", or 16 MiB, with "response too large".
        """
        if not isinstance(command, str):
            command, args = "", (command, *args)
        from ._stream import Stream

        return Stream(self, command, args, DataFormat.JSON_LINES)

    def events(self, command: Union[str, Args] = "", *args: Args) -> Stream[ServerSentEvent]:
        """The events of a stream of server-sent events (WHATWG HTML, 9.2), over as many connections
        as it takes.

            with client.events("updates") as events:
                for event in events:
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
        from ._stream import Stream

        return Stream(self, command, args, DataFormat.SERVER_EVENTS)

    def drain(self, timeout: Optional[float] = None) -> int:
        """Waits until every begun request has called its handler; returns how many are left after
        `timeout` seconds.

        Runs the calling thread's handlers meanwhile. A calling handler's own request is not waited
        for.
        """
        mine = self._running_here()
        with _registry.observing(current_mailbox()):
            current_mailbox().run_until(lambda: len(self._pending) <= mine, timeout)
        if not self._pending:
            # A client that was closed closes its connections after its last handler.
            lib.ntapi_client_drain(self._handle.pointer, 1.0)
        self._save()
        return max(0, len(self._pending) - mine)

    def close(self) -> None:
        """Cancels what runs, each handler is called with "request cancelled", and refuses new
        requests.

        The transfers of a background session are kept instead ("detached"). Does not wait: see
        `drain`. A second call does nothing.
        """
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        """Lets what was begun finish, for as long as the default "exitTimeout" says, and closes.

        After an exception it closes at once, and so does a background session. The handlers that
        this thread or the background run have run then.
        """
        mailbox = current_mailbox()
        if error is None and not self._is_background:
            for seconds in finishing(lambda: self._ending_by_themselves(mailbox)):
                self._wait_for_ending(mailbox, seconds)
        self.close()
        self._wait_for_ending(mailbox)

    def _wait_for_ending(self, mailbox: Mailbox, timeout: Optional[float] = None) -> None:
        ending = self._ending_by_themselves(mailbox)
        if ending:
            with _registry.observing(mailbox):
                mailbox.run_until(lambda: all(owed.outcome.is_done for owed in ending), timeout)

    def _usual_place(self, has_handler: bool) -> Place:
        # Without a handler no thread was asked for; the background always gets on.
        if has_handler:
            return main_mailbox()
        from ._background import background_mailbox

        return background_mailbox()


def _wait(request: Request, mailbox: Mailbox) -> Response:
    """Resumes a request whose response comes to this thread's mailbox, and waits for it."""
    outcome = request._outcome
    try:
        request.resume()
        mailbox.run_until(lambda: outcome.is_done)
    except BaseException as interrupt:
        # Ctrl-C, say. Nobody will look at the response, nor at how far it is.
        if outcome.delivery is not None:
            outcome.delivery.silence()
        request._leave_resume_data(interrupt)
        request.cancel()
        raise
    assert outcome.response is not None
    return outcome.response
