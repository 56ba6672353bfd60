"""Parts of a client: its end, the transfers of a background session, the test doubles, and the
errors by status.
"""

from __future__ import annotations

from . import codes
from ._bridge.library import Handle, lib
from ._bridge.native import get_ident

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, Union

    from typing_extensions import Unpack

    from ._auth import Authenticator
    from ._errors import ApiError
    from ._request import Request
    from ._response import Response
    from ._runtime.mailbox import Mailbox
    from ._runtime.registry import Owed
    from ._runtime.types import Place
    from ._service import ServiceCall
    from ._types import Args, ProgressHandlers, ResponseHandler, StatusErrors
    from .testing import ManualClock, Recorder, Stub


# The end: running requests finish or are cancelled, and then the session is invalid.


_ending: dict[int, SessionEnd] = {}
"""The clients whose hook `session_invalidated` is still to be called."""


class SessionEnd:
    """The part of a client that ends it."""

    _handle: Handle
    _overridden: frozenset[str]
    _pending: set[Owed]
    _is_open = False
    """Whether it was made, and the program has not closed or invalidated it."""
    _invalidations: list[None]
    """Not empty from the end of the core's session until the hook is called."""

    def session_invalidated(self) -> None:
        """The hook, see `Hooks`."""
        raise NotImplementedError

    def cancel_all(self) -> None:
        """Cancels every request of the client. The client still accepts new ones.

        A request that was not resumed yet ends when it is resumed.
        """
        lib.ntapi_client_cancel_all(self._handle.pointer)
        self._stop_reading()

    def finish_and_invalidate(self) -> None:
        """Refuses new requests; those that were made continue.

        When the last handler has returned, the session is invalid and `session_invalidated` is
        called. A request that was made before may still be resumed; the session ends after it, or
        when it is released. Does not wait: see `drain`.
        """
        self._will_tell_invalidated()
        lib.ntapi_client_finish_and_invalidate(self._handle.pointer)

    def invalidate_and_cancel(self) -> None:
        """Cancels running requests and refuses new ones, as `close` does.

        A background session gives up all its transfers, also restored ones that were not resumed
        yet. Does not wait: see `drain`.
        """
        self._will_tell_invalidated()
        lib.ntapi_client_invalidate_and_cancel(self._handle.pointer)
        self._stop_reading()

    def _stop_reading(self) -> None:
        for owed in tuple(self._pending):
            owed.stop_reading()

    def _will_tell_invalidated(self) -> None:
        """Keeps the client until its hook was called: the program may drop it."""
        if self._is_open and "session_invalidated" in self._overridden:
            _ending[id(self)] = self
        self._is_open = False

    def _core_is_over(self) -> None:
        """The core has handed over its last response."""
        self._invalidations.append(None)
        self._tell_invalidated()

    def _tell_invalidated(self) -> None:
        """Calls the hook once, when the last handler has returned."""
        if not self._invalidations or self._pending:
            return
        try:
            # Two threads may come here at once: only one of them calls the hook.
            self._invalidations.pop()
        except IndexError:
            return
        from ._bridge.logging import call_reporting

        try:
            call_reporting(self.session_invalidated)
        finally:
            _ending.pop(id(self), None)

    def _close(self) -> None:
        """Cancels running requests and refuses new ones. A second call does nothing."""
        self._will_tell_invalidated()
        lib.ntapi_client_close(self._handle.pointer)
        self._stop_reading()

    def _ending_by_themselves(self, own: Mailbox) -> list[Owed]:
        """The requests whose handlers run in the background, or when this thread drains its own
        mailbox.

        A closing client waits for these only. The others need a thread or an executor that may be
        waiting for this thread.
        """
        pending = tuple(self._pending)
        if not pending:
            return []
        from ._runtime.threads import worker_mailboxes

        mailboxes = (own, *worker_mailboxes())
        return [
            delivery
            for delivery in pending
            if delivery.outcome.runner is None
            and delivery.runs_in(mailboxes)
            and not delivery.is_held
        ]

    def _running_here(self) -> int:
        """The number of requests whose handlers are on this thread's stack. Waiting for them would
        never end.
        """
        this_thread = get_ident()
        return sum(delivery.outcome.runner == this_thread for delivery in tuple(self._pending))


# The transfers that an earlier process has left in a background session.


class BackgroundSession:
    """The part of a client that continues transfers of an earlier process."""

    _handle: Handle

    def _usual_place(self, has_handler: bool) -> Place:
        """Where handlers run without an arg for that."""
        raise NotImplementedError

    @property
    def background_error(self) -> Optional[ApiError]:
        """Why the background session cannot be used: the error names the process that has it open.

        None if it can be used, and for other clients. Every request fails with this error.
        """
        pointer = lib.ntapi_client_background_error(self._handle.pointer)
        if not pointer:
            return None
        from ._errors import take_error

        return take_error(pointer, "")

    def restored_requests(
        self,
        *args: Union[Args, ResponseHandler],
        handler: Optional[ResponseHandler] = None,
        **handlers: Unpack[ProgressHandlers],
    ) -> list[Request]:
        """The transfers that an earlier process has left in the background session and that were
        not resumed yet.

        They are in the order of priority, then of age. Each request is suspended, with its old
        identifier and description. A download continues where it stopped. An upload is sent again
        from its beginning if its method is idempotent; otherwise it ends with a network error which
        says that its result is unknown. If a transfer had ended before its handler returned, the
        handler gets the recorded response. The args say where handlers run; other args have no
        effect.
        """
        from ._build import restore, split

        own, handler = split(args, handler)
        client: Any = self  # this class is a part of it
        return restore(
            client,
            own,
            handlers,
            usual_place=self._usual_place(handler is not None),
            handler=handler,
        )

    def resume_restored_requests(
        self,
        *args: Union[Args, ResponseHandler],
        handler: Optional[ResponseHandler] = None,
        **handlers: Unpack[ProgressHandlers],
    ) -> int:
        """Resumes all `restored_requests`, in order, with one handler; returns their number.

        The handler finds the request in `response.request`.
        """
        requests = self.restored_requests(*args, handler=handler, **handlers)
        for request in requests:
            request.resume()
        return len(requests)


# Stands in for time and the network in tests.


class TestDoubles:
    """The part of a client for tests; see `ntapi.testing`."""

    __test__ = False  # not a test of pytest's

    _handle: Handle
    _doubles: dict[str, Any]

    def _use_doubles(
        self, clock: Optional[ManualClock], stub: Optional[Stub], recorder: Optional[Recorder]
    ) -> None:
        if clock is not None:
            self.clock = clock
        if stub is not None:
            self.stub = stub
        if recorder is not None:
            self.recorder = recorder

    def _set_double(self, name: str, double: Any, set_it: Callable[[Any, Any], Any]) -> None:
        pointer = None if double is None else double._handle.pointer
        set_it(self._handle.pointer, pointer)
        # Kept alive, because C calls its Python functions.
        self._doubles[name] = double

    @property
    def clock(self) -> Optional[ManualClock]:
        """A test's clock for the client's requests and its authenticator; None is the system's
        clock.

        A change affects later requests.
        """
        return self._doubles.get("clock")

    @clock.setter
    def clock(self, clock: Optional[ManualClock]) -> None:
        self._set_double("clock", clock, lib.ntapi_client_set_clock)

    @property
    def stub(self) -> Optional[Stub]:
        """Answers the client's requests in place of the network; None is the network.

        A change affects later requests.
        """
        return self._doubles.get("stub")

    @stub.setter
    def stub(self, stub: Optional[Stub]) -> None:
        self._set_double("stub", stub, lib.ntapi_client_set_stub)

    @property
    def recorder(self) -> Optional[Recorder]:
        """Records the client's exchanges, or replays them in place of the network; None does
        neither.

        A change affects later requests.
        """
        return self._doubles.get("recorder")

    @recorder.setter
    def recorder(self, recorder: Optional[Recorder]) -> None:
        before = self.recorder
        self._set_double("recorder", recorder, lib.ntapi_client_set_recorder)
        if recorder is not None and recorder._stub is not None:
            # It only replays.
            lib.ntapi_client_set_recorder(self._handle.pointer, None)
            self.stub = recorder._stub
        elif before is not None and self.stub is before._stub:
            self.stub = None
        if any(each is not None and each._interceptors for each in (before, recorder)):
            from ._interceptor_lists import replace

            client: Any = self  # this class is a part of it
            replace(client, client.interceptors)


# Errors by status.

NO_ERRORS: StatusErrors = {}


class NamedErrors:
    """The part of a client that has a table of errors."""

    _authenticator: Optional[Authenticator]
    errors: StatusErrors = NO_ERRORS
    """What the `HTTP error` of a status becomes: `{404: NotFound, 409: Conflict}`, in the body of a
    class, as a keyword of the client, or set later.

    The value is a subclass of ApiError, a function that gets the error and returns another one, or
    an `ErrorCode`. A subclass gets the attributes of the error. If it has an `__init__` of its own,
    that is called with the error instead. The table of a service comes before that of the client,
    and the hooks that map errors run afterwards. Errors with other codes, such as "too many
    redirects", stay.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "errors" in cls.__dict__:
            from ._status_errors import check_class

            check_class(cls)

    def _refine_error(self, response: Response, call: Optional[ServiceCall[Any]] = None) -> None:
        """Gives a response's error its cause and its name, before the hooks see it."""
        error = response.error
        if error is None:
            return
        if error.code is codes.AUTHENTICATION and self._authenticator is not None:
            self._authenticator._explain(error)
        if self.errors or (call is not None and call.service.errors):
            from ._status_errors import replace

            replace(self, None if call is None else call.service, response)
