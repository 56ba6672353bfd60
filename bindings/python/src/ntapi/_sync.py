"""The blocking client, and the fast start of its requests."""

from __future__ import annotations

from . import _registry
from ._bridge.args import c_args, c_command
from ._bridge.cpython import quick
from ._bridge.library import lib
from ._bridge.native import kept, raise_kept
from ._bridge.signatures import DataFormat, Facts, Status, Watching, read_watch
from ._checks import keyword_error
from ._client import BaseClient
from ._mailbox import Owner, current_mailbox, current_owner, mailboxes, main_mailbox
from ._registry import finishing, observers, pending, wake_observers
from ._response import Response
from .arg import DELETE, GET, PATCH, POST, PUT

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import TracebackType
    from typing import Any, Callable, NoReturn, Optional, TypeVar, Union

    from typing_extensions import Unpack

    from ._mailbox import Mailbox
    from ._request import Request
    from ._service import Service, ServiceCall
    from ._stream import ServerSentEvent, Stream
    from ._types import Args, Handlers, Place, ProgressHandlers, Self

    T = TypeVar("T")


class Client(BaseClient):
    """A client with blocking methods, for any number of threads.

        with ntapi.Client("https://api.example.com") as client:
            print(client.send("data/2.5/find", ntapi.url("q", "London")).json())

    A handler of `begin` runs on the main thread by default, when that thread waits or runs its
    mailbox (`ntapi.run`).
    """

    def perform(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """Performs a request and waits for its response. An error is not raised: the response's
        `error` says what went wrong.

        Runs the calling thread's handlers meanwhile; other threads run too. `upload_progress` and
        `download_progress` get bytes so far and bytes expected, None while unknown; `data_handler`
        gets the body piece by piece, `decision_handler` is asked what to do (see `Decision`).

        When Ctrl-C ends the wait, the request is cancelled and none of its handlers is called any
        more. If a download can go on later, `ntapi.resume_data_of` the exception says how.
        """
        if not isinstance(command, str):
            args, command = (command, *args), ""
        return self._perform(command, args, handlers)

    def send(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """As `perform`, but raises the response's error, an ApiError."""
        if not isinstance(command, str):
            args, command = (command, *args), ""
        response = self._perform(command, args, handlers)
        if response._error is not None:
            raise response._error
        return response

    def get(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """Sends a GET and returns its response: `send` with that method. Raises its ApiError."""
        return self.send(command, *args, GET, **handlers)

    def post(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """As `get`, with POST."""
        return self.send(command, *args, POST, **handlers)

    def put(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """As `get`, with PUT."""
        return self.send(command, *args, PUT, **handlers)

    def patch(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """As `get`, with PATCH."""
        return self.send(command, *args, PATCH, **handlers)

    def delete(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """As `get`, with DELETE."""
        return self.send(command, *args, DELETE, **handlers)

    def call(self, service: Service[T], *args: Args, **handlers: Unpack[ProgressHandlers]) -> T:
        """Calls a service and waits for its answer. `args` are applied after its own.

        Runs the calling thread's handlers meanwhile, the progress handlers among them.

        Raises the error of the network, of HTTP, of JSON or of the service, an ApiError: its domain
        tells which. Raises TypeError for a service whose answer cannot be made of JSON.
        """
        from ._service import ServiceCall

        call = ServiceCall(service, args)
        return call.result(self._perform(call.command, call.args, handlers, call)).get()

    def _perform(
        self,
        command: str,
        args: tuple[Args, ...],
        handlers: Mapping[str, Any],
        call: Optional[ServiceCall[Any]] = None,
    ) -> Response:
        """The way of every request that a thread waits for. `call` is what it is made for, if that
        is a service.
        """
        if not handlers and self._may_start_fast and (call is None or call.may_start_fast):
            response = perform(self, command, args)
            if response is not None:
                if call is not None:
                    call.judge(response)
                return response
        from ._request import build

        mailbox = current_mailbox()
        request = build(
            self,
            command,
            args,
            handlers,
            usual_place=mailbox,
            response_place=mailbox,
            call=call,
        )
        return _wait(request, mailbox)

    def pages(
        self,
        command: Union[str, Args] = "",
        *args: Args,
        following: Optional[Callable[[Response], Args]] = None,
    ) -> Iterator[Response]:
        """Sends a request for each page of a list, one after the other, as `send` does.

            for page in client.pages("issues", ntapi.url("per_page", 100)):
                titles += [issue["title"] for issue in page.json()]

        The header `Link` has the URL of the next page (RFC 8288, rel="next"), on the same origin.
        If the JSON says what comes next, pass `following`: it gets the response of a page, and
        returns the args of the next request beside `args`. Args without a value end the series:

            client.pages("items", following=lambda page: ntapi.url("cursor", page.json()["next"]))
        """
        from ._request import Pages

        if not isinstance(command, str):
            args, command = (command, *args), ""
        pages = Pages(command, args, following)
        while True:
            page = self.send(pages.command, pages.args)
            yield page
            if not pages.go_on(page):
                return

    def stream(
        self, command: Union[str, Args] = "", *args: Args, **unknown: NoReturn
    ) -> Stream[bytes]:
        """Sends a request whose response is read chunk by chunk, as bytes.

            with client.stream("export") as chunks:
                print(chunks.status, chunks.headers["content-type"])
                for chunk in chunks:
                    total += len(chunk)

        The network waits until the next chunk is asked for, so memory use is bounded. To leave the
        `with` block, or to drop the stream, cancels the request. An HTTP error is raised as an
        ApiError, and its body is not streamed, unless the option "ignore_http_errors" is set.
        """
        return self._open(command, args, unknown, DataFormat.BYTES)

    def lines(
        self, command: Union[str, Args] = "", *args: Args, **unknown: NoReturn
    ) -> Stream[Any]:
        """Sends a request whose response has a JSON value in each line (JSON Lines, NDJSON, RFC
        7464), and reads the values as they arrive.

            with client.lines("changes") as changes:
                for change in changes:
                    print(change["id"])

        As `stream`. A line that is not JSON ends it with "invalid JSON". A line longer than
        "maximum_response_size", or than 16 MiB, ends it with "response too large".
        """
        return self._open(command, args, unknown, DataFormat.JSON_LINES)

    def events(
        self, command: Union[str, Args] = "", *args: Args, **unknown: NoReturn
    ) -> Stream[ServerSentEvent]:
        """Sends a request for server-sent events (WHATWG HTML, 9.2) and reads them as they arrive,
        over as many connections as it takes.

            with client.events("updates") as events:
                for event in events:
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
    ) -> Stream[Any]:
        if unknown:
            raise keyword_error(unknown, (), of_client=False)
        if not isinstance(command, str):
            args, command = (command, *args), ""
        from ._stream import Stream

        return Stream(self, command, args, data_format)

    def drain(self, timeout: Optional[float] = None) -> int:
        """Waits until every request has called its handler; returns how many have not after
        `timeout` seconds.

        Runs the calling thread's handlers meanwhile. If a handler calls it, it does not wait for
        the handler's own request.
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
        """Cancels the requests that run and refuses new ones. Each handler is called with "request
        cancelled".

        A background session keeps its transfers ("detached"). Does not wait: see `drain`. A second
        call does nothing.
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
        """Waits for the requests that run, at most as long as the default "exitTimeout" says, and
        closes.

        After an exception, and for a background session, it closes at once. The handlers that run
        on this thread or in the background have returned then.
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
        # Without a handler, no thread was asked for, and the background never waits for one.
        if has_handler:
            return main_mailbox()
        from ._places import background_mailbox

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
        """None: a daemon thread waits for it, which ends with the process."""
        return 0.0

    def cancel(self) -> None:
        """At the end of the process. Only its thread, which is in C, knows which request it is."""
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
            # This is a handler that runs while the thread waits for another request, which uses it.
            call = owner.call = ThreadCall(owner)
        watching = call.watching
        token = call.token
        if not mailbox.acquire(False):
            # This raises the error that says why.
            mailbox.enter()
        try:
            call.is_done = False
            call.client = client
            pending[token] = call
            client._pending.add(call)
            hurries = mailbox.has_more
            if hurries:
                # What waits here does not wake the thread, and the server may be waiting for it.
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
