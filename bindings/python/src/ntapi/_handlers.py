"""Delivers the events of a client's request to its handlers and hooks: progress, pieces, decisions,
the response.
"""

from __future__ import annotations

import ctypes
from collections.abc import Awaitable
from functools import partial

from . import codes
from ._bridge.enums import ErrorDomain
from ._bridge.events import Facts
from ._bridge.library import Handle, lib
from ._bridge.logging import call_reporting, report, run_on_this_loop
from ._bridge.native import get_ident
from ._bridge.signatures import Handler
from ._decision import Decision
from ._errors import ApiError
from ._hooks import log_verdict
from ._request import Request
from ._response import Response
from ._runtime import delivery, registry
from ._runtime.bodies import source_error
from ._runtime.delivery import nothing
from ._runtime.threads import background_mailbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from contextvars import Context
    from typing import Any, Callable, Optional

    from ._client import BaseClient
    from ._interceptions import Use
    from ._runtime.types import Place
    from ._service import ServiceCall
    from ._stream import StreamReader

PROGRESS_HOOKS = {
    Handler.UPLOAD_PROGRESS: "upload_progressed",
    Handler.DOWNLOAD_PROGRESS: "download_progressed",
}


class Delivery(delivery.Delivery):
    """Delivers the events of a client's request, and also calls the client's hooks."""

    def __init__(
        self,
        client: BaseClient,
        handlers: dict[int, tuple[Place, Callable[..., object]]],
        reader: Optional[StreamReader] = None,
    ) -> None:
        super().__init__(client._pending, handlers)
        self.client = client
        self.failure: Optional[ApiError] = None
        """Why there is no C request, if an arg could not be passed to C."""
        self.parses = False
        """Whether the client's hook parses the body."""
        self.call: Optional[ServiceCall[Any]] = None
        """The service call that the request is made for, if any."""
        self.reader = reader
        """Reads the body piece by piece, in place of a data handler."""
        self.keeps_body = False
        """Whether only the client's hook gets the pieces of the body, so that it stays in the
        response.
        """
        self.progress_places: dict[int, Place] = {}
        """The places of progress handlers that are set before the request is sent."""
        self._piece: Optional[Handle] = None
        """The piece of the body that is being shown."""
        self._is_answered = False
        """Whether the response handler was called."""
        self._undecided: Optional[ApiError] = None
        """What a decision handler raised, if that ended the request."""
        self.interceptor_failure: Optional[ApiError] = None
        """The last exception of an interceptor."""
        self.interceptor_uses: dict[int, Use] = {}
        """The request's own interceptors."""
        self.home: Optional[tuple[AbstractEventLoop, Context]] = None
        """Where async interceptors run: their loop and context."""
        if client._has_loop:
            from contextvars import copy_context

            self.context = copy_context()

    def set_progress(self, kind: int, function: Optional[Callable[..., object]]) -> bool:
        """Sets or removes a progress handler; False once the request is sent."""
        if function is None and PROGRESS_HOOKS[kind] not in self.client._overridden:
            return self.set_handler(kind, None)
        return self.set_handler(kind, (self.progress_places[kind], function or nothing))

    def fail(self) -> None:
        """Delivers the failure of a request that C never saw.

        Calls no handler before it returns.
        """
        assert self.failure is not None
        self._post_response(self._finish, Response._failed(self.failure))

    def take_progress(self, handler: int, count: int, total: int) -> None:
        """Takes an event from C, on the thread that took it from the mailbox."""
        known = None if total < 0 else total
        # The first progress is reported even if more has come before the handler is called.
        job = partial(self._call_with_progress, handler, count, known)
        self._submit(handler, job, yields=count != 0)

    def take_data(self, event: Facts) -> None:
        """Takes a piece of the body from C, on the thread that took it from the mailbox."""
        piece = Handle(event[5], lib.ntapi_data_free)
        if self.reader is not None:
            try:
                self._in_context(partial(self._show, event[-4], event[-3]))()
            finally:
                self.reader.receive(piece, event[-4], event[-3])
        else:
            self._submit(Handler.DATA, partial(self._call_with_data, piece, event[-4], event[-3]))

    def take_decision(self, event: Facts) -> None:
        """Takes a decision from C, on the thread that took it from the mailbox."""
        decision = Decision(event[6], self._request())
        self._submit(Handler.DECISION, partial(self._decide, decision))

    def take_response(self, event: Facts) -> None:
        """Takes the last event from C, on the thread that took it from the mailbox."""
        response = Response(event[2], event, self.handle)
        self._submit(Handler.RESPONSE, partial(self._finish, response))

    def recover(self, has_response: bool) -> None:
        if self._is_mixed:
            # Its events are taken on a thread of the library, where no signal handlers run.
            return
        if self._queue.restart():
            return
        response = self.outcome.response
        if response is not None:
            self._post_response(self._answer_and_end, response)
        elif self.failure is not None:
            self.fail()
        elif self.handle is not None and (has_response or self._queue.is_over):
            pointer = lib.ntapi_request_response(self.handle.pointer)
            if pointer:
                response = Response._owning(pointer)
                response._request = self.handle
                self._post_response(self._finish, response)

    def _post_response(self, deliver: Callable[[Response], None], response: Response) -> None:
        job = self._in_context(partial(deliver, response))
        self.place(Handler.RESPONSE).post(job, self.token)

    @property
    def is_held(self) -> bool:
        reader = self.reader
        return reader is not None and reader.holds_piece and not self.is_cancelled

    def _call_with_progress(self, handler: int, count: int, total: Optional[int]) -> None:
        hook = PROGRESS_HOOKS[handler]
        try:
            if hook in self.client._overridden:
                self._call(getattr(self.client, hook), self._request(), count, total)
        finally:
            self._call(self._handlers[handler][1], count, total)

    def _call_with_data(self, piece: Handle, address: int, length: int) -> None:
        content: Optional[bytes] = None
        self._piece = piece
        try:
            if not self.is_cancelled:
                content = ctypes.string_at(address, length) if length else b""
                self._show_content(content)
        finally:
            # From now on C may deliver the next piece, while the handler works.
            piece.free()
            if content is not None and not self.is_cancelled:
                self._call(self._handlers[Handler.DATA][1], content)

    def _show(self, address: int, length: int) -> None:
        """Calls the client's hook with a piece of the body."""
        if length and "data_received" in self.client._overridden:
            self._show_content(ctypes.string_at(address, length))

    def _show_content(self, content: bytes) -> None:
        # The first piece of a stream may have no bytes.
        if content and "data_received" in self.client._overridden:
            self._call(self.client.data_received, self._request(), content)

    def _request(self) -> Request:
        return Request(self.handle, self.outcome)

    def _decide(self, decision: Decision) -> None:
        function = self._handlers[Handler.DECISION][1]
        self.outcome.runner = get_ident()
        try:
            answer = function(decision)
            if isinstance(answer, Awaitable):
                run_on_this_loop(answer, partial(self._end_undecided, decision))
        except BaseException as error:
            self._end_undecided(decision, error)
            if not isinstance(error, Exception):
                raise
        finally:
            self.outcome.runner = None

    def _end_undecided(self, decision: Decision, error: BaseException) -> None:
        """Ends a request whose decision handler raised. It must not continue as if the handler had
        agreed.
        """
        function = self._handlers[Handler.DECISION][1]
        who = "hook decide" if function == self.client.decide else "decision handler"
        failure = ApiError(
            codes.GENERIC, f"the {who} failed: {error!r}", domain=ErrorDomain.REQUEST
        )
        failure.__cause__ = error
        # Set before the answer: after it the response may come on another thread.
        self._undecided = failure
        if not decision.cancel():
            # The decision was answered before, or the request has ended: the exception did not end
            # it.
            self._undecided = None
            if isinstance(error, Exception):
                report(error, function)

    def _finish(self, response: Response) -> None:
        outcome = self.outcome
        try:
            try:
                outcome.runner = get_ident()
                outcome.response = response
                if self.client._is_background:
                    # Not earlier: many responses may be taken from C at once, and each is delivered
                    # when its turn comes.
                    lib.ntapi_response_begin_delivery(response._pointer)
                self._complete(response)
            finally:
                # Whatever was raised there, also Ctrl-C, the handler is called exactly once.
                self._answer(response)
        finally:
            outcome.runner = None
            if self.client._is_background:
                lib.ntapi_response_acknowledge(response._pointer)
            self._end()

    def _answer(self, response: Response) -> None:
        with self._lock:
            if self._is_answered:
                return
            self._is_answered = True
        call_reporting(self._handlers[Handler.RESPONSE][1], response)

    def _answer_and_end(self, response: Response) -> None:
        try:
            self._answer(response)
        finally:
            self._end()

    def go_on_without(self, thread: int) -> None:
        response = self.outcome.response
        if self.outcome.runner != thread or response is None:
            super().go_on_without(thread)
            if self._piece is not None:
                # The response comes only after the piece is freed.
                self._piece.free()
        elif not self._is_answered:
            # A hook has not returned: do not wait for it.
            background_mailbox().post(partial(self._answer_and_end, response), self.token)

    def _complete(self, response: Response) -> None:
        """Runs what comes before the response handler."""
        try:
            before = response.error
            if self._undecided is not None and _is_cancelled(before):
                response._set_error(self._undecided)
                log_verdict(response, before)
            if self.interceptor_failure is not None:
                _blame_interceptor(self.interceptor_failure, response)
            cause = source_error(self.source_tokens)
            if cause is not None and response.error is not None:
                response.error._blame_stream(cause)
            self.client._complete(response, self.parses, self.call)
        except Exception as error:
            # For example, a subclass of ApiError that raises when an attribute is set.
            report(error, self.client)

    def _end(self) -> None:
        super()._end()
        self.client._tell_invalidated()

    @property
    def exit_timeout(self) -> float:
        """Seconds for which it may continue when the process exits or its client's block is
        left.
        """
        if self.handle is None or self.client._is_background:
            return 0.0
        return float(lib.ntapi_request_exit_timeout(self.handle.pointer))

    def cancel(self) -> None:
        """Cancels in C, which answers with "request cancelled". Does nothing if the request has
        ended.

        At the end of the process, a background session is closed instead: the next process
        continues its transfers.
        """
        if self.handle is None:
            return
        if registry.is_exiting and self.client._is_background:
            self.client._close()
        else:
            lib.ntapi_request_cancel(self.handle.pointer)
            self.stop_reading()
            if registry.is_exiting and self.reader is not None:
                # Nobody reads on.
                self.reader.close()


def _blame_interceptor(failure: ApiError, response: Response) -> None:
    """Sets the exception of an interceptor as the cause. C has only its text."""
    error = response.error
    if error is None or (error.code, error.message) != (failure.code, failure.message):
        return
    if failure.response is None:
        response._set_error(failure)
    else:
        # Another response already has this error.
        error.__cause__ = failure


def _is_cancelled(error: Optional[ApiError]) -> bool:
    return error is not None and error.domain is ErrorDomain.CANCELLED
