"""Parts of a client: its end, what a background session has left, what stands in for the network in
a test, and the defaults, which are also those of its class and of all clients.
"""

from __future__ import annotations

import os

from ._bridge import native
from ._bridge.library import Handle, lib
from ._bridge.native import RLock, get_ident
from ._bridge.signatures import Status
from ._checks import check_string

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, Union

    from typing_extensions import Unpack

    from ._errors import ApiError
    from ._mailbox import Mailbox
    from ._request import Request
    from ._types import (
        Args,
        GetDefault,
        Owed,
        Place,
        ProgressHandlers,
        ResponseHandler,
        Scope,
        SetDefault,
    )
    from .testing.doubles import ManualClock, Recorder, Stub


# The end: what runs is finished or cancelled, and then the session is invalid.


class SessionEnd:
    """The part of a client that ends it."""

    _handle: Handle
    _pending: set[Owed]
    _is_open = False
    """Whether it was made and the program has not ended it."""
    _invalidations: list[None]
    """Holds something from the end of the core's session until the hook is called."""

    def session_invalidated(self) -> None:
        """The hook, see `Hooks`."""
        raise NotImplementedError

    def cancel_all(self) -> None:
        """Cancels every request of the client; new ones may be begun."""
        lib.ntapi_client_cancel_all(self._handle.pointer)
        self._stop_reading()

    def finish_and_invalidate(self) -> None:
        """Refuses new requests and lets those that were made go on.

        When the last handler has returned, the session is invalid: `session_invalidated` is called.
        A suspended request may be resumed until then. Does not wait: see `drain`.
        """
        self._is_open = False
        lib.ntapi_client_finish_and_invalidate(self._handle.pointer)

    def invalidate_and_cancel(self) -> None:
        """Cancels what runs and refuses new requests, as `close`.

        A background session gives up all its transfers, also those that were restored and not
        resumed yet. Does not wait: see `drain`.
        """
        self._is_open = False
        lib.ntapi_client_invalidate_and_cancel(self._handle.pointer)
        self._stop_reading()

    def _stop_reading(self) -> None:
        for owed in tuple(self._pending):
            owed.stop_reading()

    def _core_is_over(self) -> None:
        """The core has handed over its last response."""
        self._invalidations.append(None)
        self._tell_invalidated()

    def _tell_invalidated(self) -> None:
        """Calls the hook, once, when the last handler has returned."""
        if not self._invalidations or self._pending:
            return
        try:
            # Two threads may come here: one gets it.
            self._invalidations.pop()
        except IndexError:
            return
        from ._logging import call_reporting

        call_reporting(self.session_invalidated)

    def _close(self) -> None:
        """Cancels what runs and refuses new requests; a second time does nothing."""
        self._is_open = False
        lib.ntapi_client_close(self._handle.pointer)
        self._stop_reading()

    def _ending_by_themselves(self, own: Mailbox) -> list[Owed]:
        """The requests whose handlers run when this thread drains its own mailbox, or in the
        background.

        A closing client waits for these. Others need a thread or an executor that may be waiting
        for this one.
        """
        pending = tuple(self._pending)
        if not pending:
            return []
        from ._places import worker_mailboxes

        mailboxes = (own, *worker_mailboxes())
        return [
            delivery
            for delivery in pending
            if delivery.outcome.runner is None and delivery.runs_in(mailboxes)
        ]

    def _running_here(self) -> int:
        """How many requests' handlers are on this thread's stack: to wait for those would never
        end.
        """
        this_thread = get_ident()
        return sum(delivery.outcome.runner == this_thread for delivery in tuple(self._pending))


# What a background session found that a process before this one left.


class BackgroundSession:
    """The part of a client that takes up transfers again."""

    _handle: Handle

    def _usual_place(self, has_handler: bool) -> Place:
        """Where handlers run when no arg says."""
        raise NotImplementedError

    @property
    def background_error(self) -> Optional[ApiError]:
        """Why the background session cannot be used: another process has it open, which is named.

        None when it can, and for other clients. Every request fails with this error.
        """
        pointer = lib.ntapi_client_background_error(self._handle.pointer)
        if not pointer:
            return None
        from ._errors import take_error

        return take_error(pointer, "")

    def restored_requests(
        self,
        args: Args = (),
        handler: Optional[ResponseHandler] = None,
        **handlers: Unpack[ProgressHandlers],
    ) -> list[Request]:
        """The transfers that an earlier process has left in the background session, as far as they
        were not resumed yet.

        Higher priorities come first, then older ones. Each request is suspended, with its old
        identifier and description. A download continues where it was. An upload is sent again from
        its beginning if its method is idempotent; otherwise it ends with a network error that says
        that its result is unknown. If a transfer has ended, but its handler had not returned, the
        handler gets the recorded response. The args say where handlers run; other args have no
        effect.
        """
        from ._request import restore

        client: Any = self  # which this is a part of
        return restore(
            client,
            args,
            handlers,
            usual_place=self._usual_place(handler is not None),
            handler=handler,
        )

    def resume_restored_requests(
        self,
        args: Args = (),
        handler: Optional[ResponseHandler] = None,
        **handlers: Unpack[ProgressHandlers],
    ) -> int:
        """Resumes all `restored_requests`, in order, with one handler; returns how many there are.

        The response's `request` says which it is.
        """
        requests = self.restored_requests(args, handler, **handlers)
        for request in requests:
            request.resume()
        return len(requests)


# What stands in for time and the network in a test of a client.


class TestDoubles:
    """The part of a client that tests use; see `ntapi.testing`."""

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
        # Kept: its functions are Python's.
        self._doubles[name] = double

    @property
    def clock(self) -> Optional[ManualClock]:
        """A test's clock for the client's requests and its authenticator; None is the system's.

        For requests begun from now on.
        """
        return self._doubles.get("clock")

    @clock.setter
    def clock(self, clock: Optional[ManualClock]) -> None:
        self._set_double("clock", clock, lib.ntapi_client_set_clock)

    @property
    def stub(self) -> Optional[Stub]:
        """Answers the client's requests in place of the network; None is the network.

        For requests begun from now on.
        """
        return self._doubles.get("stub")

    @stub.setter
    def stub(self, stub: Optional[Stub]) -> None:
        self._set_double("stub", stub, lib.ntapi_client_set_stub)

    @property
    def recorder(self) -> Optional[Recorder]:
        """Records the client's exchanges; None records nothing.

        For requests begun from now on.
        """
        return self._doubles.get("recorder")

    @recorder.setter
    def recorder(self, recorder: Optional[Recorder]) -> None:
        self._set_double("recorder", recorder, lib.ntapi_client_set_recorder)


# Defaults: named values, set globally, for a class or for one client.


def set_in(scope: Optional[int], key: str, value: Any) -> None:
    """Sets a default in a C scope; None removes, a callable is asked at each look-up."""
    check_string(key, "the name of a default")
    name = key.encode()
    if value is None:
        status = lib.ntapi_defaults_set(scope, name, None)
    elif callable(value):
        # Few programs have one, and what C calls back takes 2 ms to import.
        from ._bridge.hooks import set_provider

        status = set_provider(scope, name, value)
    else:
        from ._bridge.json import to_c

        document = to_c(value)
        try:
            status = lib.ntapi_defaults_set(scope, name, document)
        finally:
            lib.ntapi_json_free(document)
    if status != Status.OK:
        raise ValueError(f"the default {key!r} cannot be set")


def get_in(scope: Optional[int], key: str, fallback: Any) -> Any:
    """Looks a default up, in a C scope and what it inherits from."""
    check_string(key, "the name of a default")
    pointer = lib.ntapi_defaults_get(scope, key.encode())
    native.raise_kept()
    if not pointer:
        return fallback
    from ._bridge.json import from_c

    return from_c(pointer)


class GlobalDefaults:
    """The defaults of every client: `ntapi.defaults`."""

    def __reduce__(self) -> str:
        # There is one in each process.
        return "defaults"

    def __repr__(self) -> str:
        return "<ntapi.defaults>"

    def set(self, key: str, value: Union[Callable[[str], Any], object]) -> None:
        """Sets a default, any JSON value; None removes it, a function of the key is asked at each
        look-up.
        """
        set_in(lib.ntapi_defaults_global(), key, value)

    def get(self, key: str, fallback: Any = None) -> Any:
        """The default's value, or `fallback` when it is not set."""
        return get_in(lib.ntapi_defaults_global(), key, fallback)


defaults: GlobalDefaults = GlobalDefaults()


class SetDefaultMethod:
    """A method of a class as well as of its instances: `Client.set_default(...)`,
    `client.set_default(...)`.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __get__(self, instance: Any, owner: type) -> SetDefault:
        def set_default(key: str, value: Any) -> None:
            set_in(self._scope(owner, instance), key, value)

        return set_default


class GetDefaultMethod:
    """As SetDefaultMethod, for look-ups."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __get__(self, instance: Any, owner: type) -> GetDefault:
        def get_default(key: str, fallback: Any = None) -> Any:
            return get_in(self._scope(owner, instance), key, fallback)

        return get_default


# Each client class of Python has one in C: a named place for defaults, which inherits its parent's.


_HANDLE = "_ntapi_class"
"""The attribute of a class that holds its C class, which so ends with it."""
_lock = RLock()


def class_handle(python_class: type, root: type) -> Handle:
    """The C class of a Python class, made on first use, and those that it derives from up to
    `root`.

    Its parent is the first class after it in the method resolution order that is a client class
    too; others, mix-ins, have no defaults of their own.
    """
    handle: Optional[Handle] = python_class.__dict__.get(_HANDLE)
    if handle is not None:
        return handle
    with _lock:
        handle = python_class.__dict__.get(_HANDLE)
        if handle is None:
            parents = (base for base in python_class.__mro__[1:] if issubclass(base, root))
            parent = next(parents, None)
            parent_pointer = None if parent is None else class_handle(parent, root).pointer
            name = f"{python_class.__module__}.{python_class.__qualname__}"
            pointer = lib.ntapi_class_create(name.encode("utf-8", "replace"), parent_pointer)
            handle = Handle(pointer, lib.ntapi_class_free)
            type.__setattr__(python_class, _HANDLE, handle)
    return handle


def class_scope(python_class: type, root: type) -> Any:
    """The C defaults of a Python class."""
    return lib.ntapi_class_defaults(class_handle(python_class, root).pointer)


def _reset_in_child() -> None:
    """In a forked child: another thread of the parent may have held the lock."""
    global _lock
    _lock = RLock()


os.register_at_fork(after_in_child=_reset_in_child)
