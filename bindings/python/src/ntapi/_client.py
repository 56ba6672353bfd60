"""What the blocking client and the asyncio client share."""

from __future__ import annotations

import os

from . import _registry
from ._bridge import native
from ._bridge.library import Handle, lib
from ._bridge.native import RLock, import_all, is_cooperative
from ._bridge.signatures import Status
from ._checks import check_handler, check_string, named, type_name
from ._defaults import GetDefaultMethod, SetDefaultMethod
from ._hooks import Hooks
from ._interceptors import InterceptorsAttribute, inherit, replace
from ._session import BackgroundSession, SessionEnd, TestDoubles

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Callable, NoReturn, Optional, TypeVar
    from weakref import WeakValueDictionary

    from typing_extensions import Unpack

    from ._arg import Arg
    from ._authenticator import Authenticator
    from ._bridge.interceptions import Use
    from ._configuration import SessionConfiguration
    from ._delivery import Delivery
    from ._enums import LogFlags
    from ._interceptors import Interceptor
    from ._request import Request
    from ._retry import RateLimiter
    from ._service import CallResult, Service
    from ._storage import Cache, Cookies, CredentialStorage
    from ._types import Args, Handlers, Owed, Place, PlaceLike, ProgressHandlers, ResponseHandler
    from .testing.clock import ManualClock
    from .testing.recorder import Recorder
    from .testing.stub import Stub

    T = TypeVar("T")

_OWN = frozenset(
    {
        "_handle",
        "_is_background",
        "_base_url",
        "_invalidations",
        "_pending",
        "_args",
        "_overridden",
        "_authenticator",
        "_doubles",
        "_rate_limiter",
        "_interceptors",
        "_inherited_interceptors",
        "_uses",
        "_deliveries",
        "_is_plain",
        "_calls_build_request",
    }
)
"""What BaseClient.__init__ sets."""


def _keyword_error(unknown: Mapping[str, object]) -> TypeError:
    from ._hints import keyword_error

    code = BaseClient.__init__.__code__
    return keyword_error(
        unknown, code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount], True
    )


def _scope(owner: type, instance: Any) -> Any:
    """The C defaults of a client, or of a class."""
    if instance is None:
        return class_scope(owner, BaseClient)
    return lib.ntapi_client_defaults(instance._handle.pointer)


class BaseClient(Hooks, BackgroundSession, SessionEnd, TestDoubles):
    """A base URL, log flags, defaults and args, for requests. Made to be subclassed."""

    set_default = SetDefaultMethod(_scope)
    get_default = GetDefaultMethod(_scope)

    if TYPE_CHECKING:
        interceptors: Sequence[Interceptor]
    else:
        interceptors = InterceptorsAttribute()
    """The client's interceptors; see `Interceptor`.

    The first is the outermost. Those that a class names in its body come first, then those of the
    configuration, of the client, and of the request: `ntapi.interceptor`. For requests begun from
    now on.
    """
    _has_loop = False
    """Whether its requests are made on an event loop."""

    def __init__(
        self,
        base_url: Optional[str] = None,
        *surplus: NoReturn,
        configuration: Optional[SessionConfiguration] = None,
        args: Args = (),
        log_flags: Optional[LogFlags] = None,
        authenticator: Optional[Authenticator] = None,
        rate_limiter: Optional[RateLimiter] = None,
        interceptors: Iterable[Interceptor] = (),
        clock: Optional[ManualClock] = None,
        stub: Optional[Stub] = None,
        recorder: Optional[Recorder] = None,
        **unknown: NoReturn,
    ) -> None:
        """Makes a client. Without `base_url` the default "baseUrl" is looked up at each request.

        A `configuration`, which is copied, makes it a session. `args`, `log_flags`,
        `authenticator`, `rate_limiter` and `interceptors` can be changed later. `clock`, `stub` and
        `recorder` are for tests, see `ntapi.testing`.
        """
        if surplus:
            name = type(self).__name__
            raise TypeError(f"{name}.__init__() takes the base URL and keywords, nothing else")
        if unknown:
            raise _keyword_error(unknown)
        import_all()
        if base_url is not None:
            check_string(base_url, "base_url")
        text = None if base_url is None else base_url.encode()
        settings = None if configuration is None else configuration._make()
        try:
            pointer = lib.ntapi_client_create_with_configuration(
                class_handle(type(self), BaseClient).pointer, text, settings
            )
        finally:
            lib.ntapi_configuration_free(settings)
        if not pointer:
            from ._bridge.args import shown_url

            raise ValueError(f"{shown_url(base_url or '')!r} cannot be a base URL")
        self._handle = Handle(pointer, lib.ntapi_client_free)
        self._is_background = configuration is not None and configuration._is_background
        self._base_url = base_url
        self._pending: set[Owed] = set()
        self._invalidations: list[None] = []
        self._args: tuple[Arg, ...] = ()
        self._authenticator: Optional[Authenticator] = None
        self._doubles: dict[str, Any] = {}
        self._rate_limiter: Optional[RateLimiter] = None
        self._calls_build_request = False
        self._interceptors: tuple[Interceptor, ...] = ()
        self._inherited_interceptors: tuple[Interceptor, ...] = ()
        self._uses: dict[int, Use] = {}
        self._deliveries: Optional[WeakValueDictionary[int, Delivery]] = None
        """By identifiers, where interceptors ask whose request it is."""
        self._find_overridden()
        if self._is_background or is_cooperative():
            # Those ways do not say when the response has been dealt with, and wait in C, where no
            # other greenlet runs.
            self._may_be_short = False
        self._is_plain = self._may_be_short
        """Whether only interceptors keep its requests from the short way."""
        inherit(self, configuration)
        if self._overridden:
            from ._bridge.hooks import install

            install(self, pointer, self._overridden)
        if args:
            self.args = args
        if log_flags is not None:
            self.log_flags = log_flags
        if authenticator is not None:
            self.authenticator = authenticator
        if rate_limiter is not None:
            self.rate_limiter = rate_limiter
        if interceptors:
            replace(self, interceptors)
        self._use_doubles(clock, stub, recorder)

    def __repr__(self) -> str:
        name = named(self)
        if self._base_url is None:
            return f'<{name} base URL by default "baseUrl">'
        from ._bridge.args import shown_url

        return f"<{name} {shown_url(self._base_url)}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            cls = type(self)
            if name in _OWN:
                raise RuntimeError(f"{cls.__qualname__}.__init__ has to call super().__init__()")
            from ._hints import instead

            problem = f"{cls.__qualname__!r} object has no attribute {name!r}"
            raise AttributeError(problem + instead("client", name))

    @property
    def args(self) -> tuple[Arg, ...]:
        """The client's own args, which come before those of each request."""
        return self._args

    @args.setter
    def args(self, args: Args) -> None:
        from ._arg import flatten
        from ._bridge.args import append_args

        flat = tuple(flatten([args]))
        if any(arg.kind == "stream" for arg in flat):
            raise ValueError(
                "a stream can be sent once: it is an arg of a request, not of a client"
            )
        if any(arg.kind == "interceptor" for arg in flat):
            raise ValueError("the interceptors of a client are its attribute `interceptors`")
        pointer = lib.ntapi_args_create()
        try:
            append_args(pointer, flat, [])
            lib.ntapi_client_set_args(self._handle.pointer, pointer)
        finally:
            lib.ntapi_args_free(pointer)
        self._args = flat

    @property
    def cache(self) -> Optional[Cache]:
        """The cache of the session; None for a client that was made without a configuration, and
        for a background session.
        """
        pointer = lib.ntapi_client_cache(self._handle.pointer)
        if not pointer:
            return None
        from ._storage import Cache

        return Cache._lent(self, pointer)

    @property
    def credential_storage(self) -> Optional[CredentialStorage]:
        """Where the session finds credentials before its program is asked; None for a client that
        was made without a configuration, or with one that has none.
        """
        pointer = lib.ntapi_client_credential_storage(self._handle.pointer)
        if not pointer:
            return None
        from ._bridge.library import Handle
        from ._storage import CredentialStorage

        return CredentialStorage._of(Handle(pointer), self)

    @property
    def cookies(self) -> Optional[Cookies]:
        """The cookies of the session; None for a client that was made without a configuration."""
        pointer = lib.ntapi_client_cookies(self._handle.pointer)
        if not pointer:
            return None
        from ._storage import Cookies

        return Cookies(self, pointer)

    @property
    def log_flags(self) -> LogFlags:
        """What is logged: what was set here, the default "logFlags", or what the level of the
        logger `ntapi` asks for.
        """
        from ._enums import LogFlags
        from ._logging import follow_levels

        follow_levels()
        return LogFlags(lib.ntapi_client_log_flags(self._handle.pointer))

    @log_flags.setter
    def log_flags(self, flags: LogFlags) -> None:
        from ._enums import LogFlags

        lib.ntapi_client_set_log_flags(self._handle.pointer, int(LogFlags(flags)))

    @property
    def authenticator(self) -> Optional[Authenticator]:
        """Gives the client's requests credentials that expire; None, as at first, does not.

        For requests begun from now on.
        """
        return self._authenticator

    @authenticator.setter
    def authenticator(self, authenticator: Optional[Authenticator]) -> None:
        if authenticator is not None:
            from ._authenticator import Authenticator

            if not isinstance(authenticator, Authenticator):
                # The type alone: it may be a token.
                kind = type_name(authenticator)
                raise TypeError(f"an Authenticator or None is expected, not a {kind}")
        pointer = None if authenticator is None else authenticator._handle.pointer
        lib.ntapi_client_set_authenticator(self._handle.pointer, pointer)
        self._authenticator = authenticator

    @property
    def rate_limiter(self) -> Optional[RateLimiter]:
        """How many requests go in how much time; None, as at first, looks up the default
        `rateLimit`.

        For requests made from now on.
        """
        return self._rate_limiter

    @rate_limiter.setter
    def rate_limiter(self, limiter: Optional[RateLimiter]) -> None:
        if limiter is not None:
            from . import _retry

            if not isinstance(limiter, _retry.RateLimiter):
                raise TypeError(f"a RateLimiter or None is expected, not {limiter!r}")
        pointer = None if limiter is None else limiter._handle.pointer
        lib.ntapi_client_set_rate_limiter(self._handle.pointer, pointer)
        self._rate_limiter = limiter

    def begin(
        self,
        command: str = "",
        args: Args = (),
        handler: Optional[ResponseHandler] = None,
        **handlers: Unpack[Handlers],
    ) -> Request:
        """Begins a request and returns at once.

        `handler` gets the response, exactly once, also when it fails.

        Progress handlers get bytes so far and bytes expected, None while unknown. `data_handler`
        gets the body of a successful response as bytes, piece by piece, instead of the response:
        while it is behind, the network waits, so that memory stays bounded. The args
        `response_thread` and the like say where handlers run.
        """
        request = self.create_request(command, args, handler, **handlers)
        request.resume()
        return request

    def create_request(
        self,
        command: str = "",
        args: Args = (),
        handler: Optional[ResponseHandler] = None,
        **handlers: Unpack[Handlers],
    ) -> Request:
        """As `begin`, but the request waits for `Request.resume`."""
        from ._request import build

        return build(
            self,
            command,
            (args,),
            handlers,
            usual_place=self._usual_place(
                handler is not None or handlers.get("data_handler") is not None
            ),
            handler=handler,
        )

    def begin_call(
        self,
        service: Service[T],
        handler: Optional[Callable[[CallResult[T]], object]] = None,
        args: Args = (),
        **handlers: Unpack[ProgressHandlers],
    ) -> Request:
        """Begins a call of a service and returns its request at once, which can be cancelled.

        `handler` gets what the call came to, exactly once: `result.get()` is the response object,
        or raises the error. `args` are applied after the service's own; `response_thread` and the
        like say where handlers run.
        """
        from ._request import build
        from ._service import ServiceCall

        check_handler(handler)
        call = ServiceCall(service, (args,))
        request = build(
            self,
            call.command,
            call.args,
            handlers,
            usual_place=self._usual_place(handler is not None),
            handler=None if handler is None else lambda response: handler(call.result(response)),
            call=call,
        )
        request.resume()
        return request

    def _usual_place(self, has_handler: bool) -> Place:
        """Where handlers run when no arg says."""
        raise NotImplementedError

    def _start(self, delivery: Delivery, request: Request) -> bool:
        """Resumes a request: from here on its handler is owed. False when another thread did."""
        try:
            if not delivery.begin():
                return False
            if "request_started" in self._overridden:
                self.request_started(request)
            delivery.seal()
            if delivery.handle is None or delivery.failure is not None:
                delivery.fail()
            elif (
                lib.ntapi_request_resume(delivery.handle.pointer) != Status.OK
                # Else another thread has cancelled it meanwhile, and its handler is called.
                and delivery.is_suspended
            ):
                raise RuntimeError("the request cannot be resumed")
            if _registry.is_exiting:
                delivery.cancel()
            native.raise_kept()
            return True
        except BaseException:
            # The caller gets an exception (Ctrl-C, say) instead of a request, so nobody is owed a
            # call.
            delivery.abandon()
            raise

    def _save(self) -> None:
        """Writes to disk what has changed; nothing for a client that has nothing there."""
        lib.ntapi_cookie_storage_save(lib.ntapi_client_cookies(self._handle.pointer), None)
        lib.ntapi_cache_save(lib.ntapi_client_cache(self._handle.pointer), None)

    def _resolve(self, place: PlaceLike) -> Place:
        """The place that an arg names."""
        from ._background import resolve

        return resolve(place)


# Python's client classes as C's: each is a named place for defaults that inherits its parent's.


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
