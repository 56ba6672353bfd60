"""The blocking client, and the fast start of its requests."""

from __future__ import annotations

from ._args import c_args, c_command
from ._bridge.library import lib
from ._bridge.signatures import DataFormat
from ._client import BaseClient
from ._response import Response
from ._runtime import registry
from ._runtime.ending import finishing
from ._runtime.thread_call import perform
from ._runtime.threads import current_mailbox, main_mailbox
from .arg import DELETE, GET, PATCH, POST, PUT
from .arg import method as method_arg

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType
    from typing import Any, Callable, NoReturn, Optional, TypeVar, Union

    from typing_extensions import Unpack

    from ._args import Arg
    from ._request import Request
    from ._runtime.mailbox import Mailbox
    from ._runtime.types import Place
    from ._service import Service, ServiceCall
    from ._stream import ServerSentEvent, Stream
    from ._types import Args, Handlers, Keywords, ProgressHandlers, Self

    T = TypeVar("T")


class Client(BaseClient):
    """A client with blocking methods, for any number of threads.

        with ntapi.Client("https://api.example.com") as client:
            print(client.send("data/2.5/find", ntapi.url("q", "London")).json())

    By default a handler of `begin` runs on the main thread, while that thread waits for a request
    or runs its mailbox (`ntapi.run`).
    """

    def perform(
        self, command: Union[str, Args] = "", *args: Args, **handlers: Unpack[Handlers]
    ) -> Response:
        """Performs a request and waits for its response. An error is not raised: the response's
        `error` says what went wrong.

        Runs the calling thread's handlers meanwhile; other threads continue. `upload_progress` and
        `download_progress` get the bytes so far and the bytes expected, which are None while
        unknown. `data_handler` gets the body piece by piece. `decision_handler` gets a `Decision`
        to answer.

        If Ctrl-C ends the wait, the request is cancelled and its handlers are not called any more.
        If its download can be resumed, `ntapi.resume_data_of(error)` returns the data for that.
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
        self, command: Union[str, Args] = "", *args: Args, **keywords: Unpack[Keywords]
    ) -> Response:
        """Sends a GET and returns its response: `send` with that method. Raises its ApiError.

            client.get("find", params={"q": "London"}, timeout=5)

        The keywords of requests and httpx become args, which come after `args`: `params`,
        `headers`, `json`, `data`, `content`, `files`, `auth`, `timeout`.
        """
        if keywords:
            return self._send_with(GET, command, args, keywords)
        return self.send(command, *args, GET)

    def post(
        self, command: Union[str, Args] = "", *args: Args, **keywords: Unpack[Keywords]
    ) -> Response:
        """As `get`, with POST."""
        if keywords:
            return self._send_with(POST, command, args, keywords)
        return self.send(command, *args, POST)

    def put(
        self, command: Union[str, Args] = "", *args: Args, **keywords: Unpack[Keywords]
    ) -> Response:
        """As `get`, with PUT."""
        if keywords:
            return self._send_with(PUT, command, args, keywords)
        return self.send(command, *args, PUT)

    def patch(
        self, command: Union[str, Args] = "", *args: Args, **keywords: Unpack[Keywords]
    ) -> Response:
        """As `get`, with PATCH."""
        if keywords:
            return self._send_with(PATCH, command, args, keywords)
        return self.send(command, *args, PATCH)

    def delete(
        self, command: Union[str, Args] = "", *args: Args, **keywords: Unpack[Keywords]
    ) -> Response:
        """As `get`, with DELETE."""
        if keywords:
            return self._send_with(DELETE, command, args, keywords)
        return self.send(command, *args, DELETE)

    def request(
        self,
        method: str,
        command: Union[str, Args] = "",
        *args: Args,
        **keywords: Unpack[Keywords],
    ) -> Response:
        """As `get`, with any method, such as "HEAD"."""
        return self._send_with(method_arg(method), command, args, keywords)

    def _send_with(
        self,
        method: Arg,
        command: Union[str, Args],
        args: tuple[Args, ...],
        keywords: Mapping[str, object],
    ) -> Response:
        """Sends a request whose keywords are args or handlers."""
        from ._method_keywords import split

        own, handlers = split(keywords)
        return self.send(command, *args, *own, method, **handlers)

    def call(self, service: Service[T], *args: Args, **handlers: Unpack[ProgressHandlers]) -> T:
        """Calls a service and waits for its answer. `args` are applied after the service's own.

        Runs the calling thread's handlers meanwhile, including progress handlers.

        Raises ApiError for any failure; its `domain` tells whether it is one of the network, HTTP,
        JSON or the service. Raises TypeError if the service's type cannot be made from JSON.
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
        """Performs every request that a thread waits for. `call` is the service call that the
        request belongs to, if any.
        """
        if not handlers and self._may_start_fast and (call is None or call.may_start_fast):
            response = _perform(self, command, args)
            if response is not None:
                if response._error is not None:
                    self._refine_error(response, call)
                if call is not None:
                    call.judge(response)
                return response
        from ._build import build

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
        **unknown: NoReturn,
    ) -> Iterator[Response]:
        """Sends a request for each page of a list, one after the other, as `send` does.

            for page in client.pages("issues", ntapi.url("per_page", 100)):
                titles += [issue["title"] for issue in page.json()]

        The header `Link` has the URL of the next page (RFC 8288, rel="next"), on the same origin.
        If the JSON names the next page, pass `following`: it gets the response of a page and
        returns the args to add to `args` for the next request. Args that are all None end the
        series:

            client.pages("items", following=lambda page: ntapi.url("cursor", page.json()["next"]))
        """
        from ._build import Pages

        if not isinstance(command, str):
            args, command = (command, *args), ""
        pages = Pages(command, args, following, unknown)
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

        The network waits until you ask for the next chunk, so memory use is bounded. Leaving the
        `with` block, or dropping the stream, cancels the request. An HTTP error is raised as an
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

        Otherwise as `stream`. A line that is not JSON ends the stream with "invalid JSON". A line
        longer than "maximum_response_size", or than 16 MiB, ends it with "response too large".
        """
        return self._open(command, args, unknown, DataFormat.JSON_LINES)

    def events(
        self, command: Union[str, Args] = "", *args: Args, **unknown: NoReturn
    ) -> Stream[ServerSentEvent]:
        """Sends a request for server-sent events (WHATWG HTML, 9.2) and reads them as they arrive.
        Connects again whenever a connection ends.

            with client.events("updates") as events:
                for event in events:
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
    ) -> Stream[Any]:
        if unknown:
            from ._keywords import keyword_error

            raise keyword_error(unknown, (), of_client=False)
        if not isinstance(command, str):
            args, command = (command, *args), ""
        from ._stream import Stream

        return Stream(self, command, args, data_format)

    def drain(self, timeout: Optional[float] = None) -> int:
        """Waits until every request has called its handler, or for `timeout` seconds. Returns how
        many requests are left.

        Runs the calling thread's handlers meanwhile. If a handler calls this, its own request is
        not waited for. If 16 handlers wait inside one another, this returns at once.
        """
        mine = self._running_here()
        mailbox = current_mailbox()
        with registry.observing(mailbox):
            mailbox.run_until(lambda: mailbox.is_deep or len(self._pending) <= mine, timeout)
        if not self._pending:
            # A closed client closes its connections after its last handler.
            lib.ntapi_client_drain(self._handle.pointer, 1.0)
        self._save()
        return max(0, len(self._pending) - mine)

    def close(self) -> None:
        """Cancels the running requests and refuses new ones. Each handler gets "request cancelled".

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
        """Waits for the running requests, for at most the seconds of the default "exitTimeout", and
        closes.

        Closes immediately after an exception, and for a background session. Requests that other
        threads wait for are cancelled. When this returns, the handlers on this thread and in the
        background have returned. A stream whose body has arrived can still be read.
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
            with registry.observing(mailbox):
                mailbox.run_until(
                    lambda: all(owed.outcome.is_done or owed.is_held for owed in ending),
                    timeout,
                    [owed.token for owed in ending],
                )

    def _usual_place(self, has_handler: bool) -> Place:
        # Without a handler any thread will do: the background does not depend on a thread of the
        # program.
        if has_handler:
            return main_mailbox()
        from ._runtime.threads import background_mailbox

        return background_mailbox()


def _wait(request: Request, mailbox: Mailbox) -> Response:
    """Resumes a request whose response comes to this thread's mailbox, and waits for it."""
    outcome = request._outcome
    try:
        request.resume()
        tokens = (outcome.delivery.token,) if outcome.delivery is not None else ()
        mailbox.run_until(lambda: outcome.is_done, waits_for=tokens)
    except BaseException as interrupt:
        # Ctrl-C, for example. The caller does not get the response and needs no progress.
        if outcome.delivery is not None:
            outcome.delivery.silence()
        request._leave_resume_data(interrupt)
        request.cancel()
        raise
    response: Optional[Response] = outcome.response
    assert response is not None
    return response


def _perform(client: BaseClient, command: str, args: tuple[Args, ...]) -> Optional[Response]:
    """The fast start: performs a request on the calling thread. Returns None if the request cannot
    start fast.
    """
    if registry.is_exiting:
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
        return perform(client._handle.pointer, client._pending, text, pointer, Response)
    finally:
        if pointer:
            lib.ntapi_args_free(pointer)
