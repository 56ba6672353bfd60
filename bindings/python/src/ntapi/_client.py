"""The base class of both clients: the hooks, and all methods that do not wait."""

from __future__ import annotations

import sys

from ._bridge import native
from ._bridge.library import Handle, is_over, lib
from ._bridge.native import import_all, is_cooperative
from ._bridge.signatures import Status
from ._client_parts import BackgroundSession, NamedErrors, SessionEnd, TestDoubles
from ._defaults import GetDefaultMethod, SetDefaultMethod, class_handle, class_scope
from ._interceptor_lists import InterceptorsAttribute, inherit, replace
from ._runtime import registry
from ._runtime.checks import (
    check_handler,
    check_hooks,
    check_member,
    check_string,
    even_without_init,
    is_async,
    keywords_of,
    named,
    refuse_copy,
    shown,
    similar,
    type_name,
)

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Callable, NoReturn, Optional, TypeVar, Union
    from weakref import WeakValueDictionary

    from typing_extensions import Unpack

    from ._args import Arg
    from ._auth import Authenticator
    from ._bridge.enums import DecisionKind, LogFlags
    from ._config import SessionConfiguration
    from ._decision import Decision
    from ._errors import ApiError
    from ._handlers import Delivery
    from ._headers import Headers
    from ._http import HTTPRequest, RequestMetrics
    from ._interceptions import Use
    from ._interceptors import Interceptor
    from ._observers import Observer
    from ._rate_limits import RateLimiter
    from ._request import Request
    from ._response import Response
    from ._runtime.registry import Owed
    from ._runtime.types import Place, PlaceLike
    from ._service import CallResult, Service, ServiceCall
    from ._storage import Cache, Cookies, CredentialStorage
    from ._types import Args, Handlers, ProgressHandlers, ResponseHandler, StatusErrors
    from .testing import ManualClock, Recorder, Stub

    T = TypeVar("T")


class _AllKinds:
    """DecisionKind.ALL; the enum is imported on first use."""

    def __get__(self, _: object, owner: type) -> DecisionKind:
        from ._bridge.enums import DecisionKind

        return DecisionKind.ALL


_HOOKS = (
    "build_args",
    "build_request",
    "request_started",
    "information_received",
    "upload_progressed",
    "download_progressed",
    "data_received",
    "metrics_collected",
    "request_completed",
    "session_invalidated",
    "parse_json",
    "map_service_error",
    "map_error",
    "decide",
    "write_log",
)


class Hooks(NamedErrors):
    """A subclass overrides the hooks that it needs; only those are ever called."""

    _overridden: frozenset[str]
    _may_start_fast: bool
    """Whether nothing is overridden."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_hooks(cls, _HOOKS)

    def build_args(self, command: str, args: list[Arg]) -> Optional[Iterable[Args]]:
        """Adjusts the args of a request: change the list, or return another.

        Runs on the thread that begins the request.
        """
        return None

    def build_request(self, request: HTTPRequest) -> None:
        """Adjusts the built request. Runs on the thread that begins it."""

    def request_started(self, request: Request) -> None:
        """A request starts. Runs on the thread that begins or resumes it.

        May set progress handlers: `Request.set_upload_progress`.
        """

    def information_received(self, request: Request, status: int, headers: Headers) -> None:
        """An interim answer has come, such as 103 (early hints), before the answer itself.

        Not called for 100 and 101. Runs on a thread of the library; the response waits until it
        returns.
        """

    def upload_progressed(self, request: Request, count: int, total: Optional[int]) -> None:
        """Part of a request's body was sent: bytes so far, and in total (None while unknown).

        Runs just before the request's own upload progress handler, in the same place.
        """

    def download_progressed(self, request: Request, count: int, total: Optional[int]) -> None:
        """Part of a response's body was received: bytes so far, and in total (None while unknown).

        Runs just before the request's own download progress handler, in the same place.
        """

    def data_received(self, request: Request, data: bytes) -> None:
        """A piece of the body of a successful response has come, decompressed.

        Runs just before the request's own data handler, in the same place; the network waits
        meanwhile. The response has the body, too, unless the request has a data handler. If a
        request is sent again after its connection broke, its body comes again from the beginning.
        Not called for a body that is written to a file. As with a data handler, requests use
        HTTP/1.1 unless the option "http_version" says otherwise.
        """

    def metrics_collected(self, request: Request, metrics: RequestMetrics) -> None:
        """The metrics of a request are complete; `request_completed` follows.

        Runs on the handler's thread.
        """

    def session_invalidated(self) -> None:
        """The client was closed or invalidated, and the last of its handlers has returned.

        Runs once, on the thread of the last handler or on a thread of the library.
        """

    def request_completed(self, request: Request, response: Response) -> None:
        """A request has its response; its handler follows. Runs on the handler's thread."""

    def parse_json(self, data: bytes) -> Any:
        """Parses a body instead of the library; raises ValueError or ApiError if it cannot.

        Runs on the handler's thread.
        """
        raise NotImplementedError

    def map_service_error(self, response: Response) -> Optional[ApiError]:
        """Turns a service's own error fields into an error, or returns None.

        Called for every response that has JSON and no error of the network, on the handler's
        thread.
        """
        return None

    def map_error(self, error: ApiError, response: Response) -> Optional[ApiError]:
        """Sees every error that ends a request. To replace it, return or raise another one.

        None, or the error itself, keeps it. Runs on the handler's thread.

        Called once for each request that ends with an error of any domain, also for a cancelled
        one. It runs after retries, redirects and the service's `make_response`, and before the log,
        `request_completed` and the handler, which see the new error. If the new error has no HTTP
        status or Retry-After, it gets those of the old one.
        """
        return None

    if TYPE_CHECKING:
        decision_kinds: DecisionKind = DecisionKind.ALL
        """The kinds of decisions for which `decide` or a request's own decision handler is called.
        """
    else:
        decision_kinds = _AllKinds()

    def decide(self, decision: Decision) -> Any:
        """Decides what a request does next, now or later; each request waits for the answer.

        Runs where the response handler does. With `AsyncClient` it may be a coroutine function. A
        request's own `decision_handler` is called instead of it. An exception ends the request with
        an error that names the exception.
        """

    def write_log(self, level: LogFlags, message: str) -> None:
        """Receives the client's log lines instead of Python's logging. Runs on any thread."""
        from ._bridge.logging import log_line

        log_line(int(level), message.encode())

    def _find_overridden(self) -> None:
        cls = type(self)
        self._overridden = frozenset(
            name for name in _HOOKS if getattr(cls, name) is not getattr(Hooks, name)
        )
        self._may_start_fast = not self._overridden
        for name in self._overridden:
            if name != "decide" and is_async(getattr(cls, name)):
                raise TypeError(f"hooks are plain functions, not async ones: {name}")

    def _complete(
        self,
        response: Response,
        parses: bool,
        call: Optional[ServiceCall[Any]] = None,
    ) -> None:
        """Runs the hooks that see a response before its handler, on the handler's thread.

        `call` is the service call that the request was made for, if any.
        """
        if self._overridden or call is not None or response._error is not None:
            from ._hooks import complete

            complete(self, response, parses, call)


# The client.


_OWN = frozenset(
    {
        "_handle",
        "_is_background",
        "_is_open",
        "_is_session",
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
        "_observers",
        "_uses",
        "_deliveries",
        "_is_plain",
        "_may_start_fast",
        "_calls_build_request",
    }
)
"""The attributes that BaseClient.__init__ sets."""
_SETTABLE = (
    "args",
    "authenticator",
    "clock",
    "decision_kinds",
    "errors",
    "interceptors",
    "log_flags",
    "rate_limiter",
    "recorder",
    "stub",
)
"""The attributes that a program may set."""


def _scope(owner: type, instance: Any) -> Any:
    """The C defaults of a client, or of a class."""
    if instance is None:
        return class_scope(owner, BaseClient)
    return lib.ntapi_client_defaults(instance._handle.pointer)


class BaseClient(Hooks, BackgroundSession, SessionEnd, TestDoubles):
    """What both clients share: a base URL, defaults, args and settings. Programs may subclass
    them.
    """

    set_default: SetDefaultMethod = SetDefaultMethod(_scope)
    """`set_default(key, value)` sets a default of the client or, called on a class, of the class.
    None removes it. A function is called with the key at each look-up.
    """
    get_default: GetDefaultMethod = GetDefaultMethod(_scope)
    """`get_default(key, fallback=None)` looks a default up: in the client, its class, the parent
    classes, and globally.
    """

    if TYPE_CHECKING:
        interceptors: Sequence[Interceptor]
        """The client's interceptors; see `Interceptor`.

        The first is the outermost. The order is: those in the body of the class, of the
        configuration, of the client, and of the request (`ntapi.interceptor`). A change affects
        later requests.
        """
    else:
        interceptors = InterceptorsAttribute()
    _has_loop: bool = False
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
        errors: Optional[StatusErrors] = None,
        clock: Optional[ManualClock] = None,
        stub: Optional[Stub] = None,
        recorder: Optional[Recorder] = None,
        **unknown: NoReturn,
    ) -> None:
        """Makes a client. Without `base_url`, each request looks up the default "baseUrl".

        With a `configuration`, which is copied, the client is a session. `args`, `log_flags`,
        `authenticator`, `rate_limiter`, `interceptors` and `errors` can be changed later. `clock`,
        `stub` and `recorder` are for tests; see `ntapi.testing`.
        """
        if surplus:
            name = type(self).__name__
            raise TypeError(f"{name}.__init__() takes the base URL and keywords, nothing else")
        if unknown:
            from ._keywords import keyword_error

            raise keyword_error(unknown, keywords_of(BaseClient.__init__), of_client=True)
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
            from ._args import shown_url

            raise ValueError(f"{shown_url(base_url or '')!r} cannot be a base URL")
        self._handle = Handle(pointer, lib.ntapi_client_free)
        self._is_background = configuration is not None and configuration._is_background
        self._is_session = configuration is not None
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
        self._observers: list[Observer] = []
        self._deliveries: Optional[WeakValueDictionary[int, Delivery]] = None
        """By the identifier of the request: interceptors look their request up."""
        self._find_overridden()
        if self._is_background or is_cooperative():
            # The fast start does not report when a response has been handled, and it waits in C,
            # where no other greenlet can run.
            self._may_start_fast = False
        self._is_plain = self._may_start_fast
        """Whether nothing but interceptors prevents the fast start."""
        inherit(self, configuration)
        if self._overridden:
            from ._hooks import install

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
        if errors is not None:
            self.errors = errors
        self._use_doubles(clock, stub, recorder)
        self._is_open = True

    def __reduce__(self) -> NoReturn:
        refuse_copy(
            self,
            "its connections and threads are this process's; make a client in each process, "
            "or give its class a `__reduce__` that does",
        )

    @even_without_init
    def __repr__(self) -> str:
        name = named(self)
        if self._base_url is None:
            return f'<{name} base URL by default "baseUrl">'
        from ._args import shown_url

        return f"<{name} {shown_url(self._base_url)}>"

    def __del__(self, _is_over: list[bool] = is_over) -> None:
        # No warning for a client that lives as long as the process: the names of this module may be
        # gone. A finaliser must not import, because another thread may hold the lock. A program
        # that wants warnings has imported their module.
        if _is_over or not self._is_open:
            return
        warnings = sys.modules.get("warnings")
        if warnings is not None:
            args = sys.modules.get("ntapi._args")
            url = f" {args.shown_url(self._base_url)}" if args and self._base_url else ""
            text = f"unclosed <{named(self)}{url}>"
            warnings.warn(text, ResourceWarning, source=self, stacklevel=2)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            from ._advice import missing_attribute

            raise missing_attribute(self, name, _OWN, "client")

        def __setattr__(self, name: str, value: object) -> None:
            # Nothing reads an unknown attribute: it is a mistake.
            if not name.startswith("_") and name not in self.__dict__:
                self._check_attribute(name)
            if name == "errors":
                from ._status_errors import check

                check(value)
            super().__setattr__(name, value)

    def _check_attribute(self, name: str) -> None:
        """Raises AttributeError for a misspelled name, and for a hook, which has to be a method."""
        cls = type(self)
        if name in _HOOKS and name not in self._overridden:
            raise AttributeError(f"{name} is a hook: override it in a subclass of {cls.__name__}")
        if hasattr(cls, name):
            return
        from ._advice import instead

        problem = f"{cls.__qualname__!r} object has no attribute {name!r}"
        found = similar(name, _SETTABLE)
        if found is not None:
            raise AttributeError(f"{problem}: did you mean {found!r}?")
        # A subclass may have attributes of its own.
        if cls.__module__.startswith("ntapi.") and instead("client", name):
            raise AttributeError(problem + instead("client", name))

    @property
    def args(self) -> tuple[Arg, ...]:
        """The client's own args, which come before those of each request."""
        return self._args

    @args.setter
    def args(self, args: Args) -> None:
        from ._args import append_args, flatten

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
        """The cache of the session; None for a client without a configuration, and for a background
        session.
        """
        pointer = lib.ntapi_client_cache(self._handle.pointer)
        if not pointer:
            return None
        from ._storage import Cache

        return Cache._lent(self, pointer)

    @property
    def credential_storage(self) -> Optional[CredentialStorage]:
        """Where the session looks for credentials before it asks the program. None for a client
        without a configuration, or whose configuration has none.
        """
        pointer = lib.ntapi_client_credential_storage(self._handle.pointer)
        if not pointer:
            return None
        from ._bridge.library import Handle
        from ._storage import CredentialStorage

        return CredentialStorage._of(Handle(pointer), self)

    @property
    def cookies(self) -> Optional[Cookies]:
        """The cookies of the session; None for a client without a configuration."""
        pointer = lib.ntapi_client_cookies(self._handle.pointer)
        if not pointer:
            return None
        from ._storage import Cookies

        return Cookies(self, pointer)

    @property
    def log_flags(self) -> LogFlags:
        """What is logged: as set here, else by the default "logFlags", else by the level of the
        logger `ntapi`.
        """
        from ._bridge.enums import LogFlags
        from ._bridge.logging import follow_levels

        follow_levels()
        return LogFlags(lib.ntapi_client_log_flags(self._handle.pointer))

    @log_flags.setter
    def log_flags(self, flags: LogFlags) -> None:
        from ._bridge.enums import LogFlags

        check_member(flags, LogFlags)
        lib.ntapi_client_set_log_flags(self._handle.pointer, int(LogFlags(flags)))

    @property
    def authenticator(self) -> Optional[Authenticator]:
        """Gives the client's requests a token that expires; None by default.

        A change affects later requests.
        """
        return self._authenticator

    @authenticator.setter
    def authenticator(self, authenticator: Optional[Authenticator]) -> None:
        if authenticator is not None:
            from ._auth import Authenticator

            if not isinstance(authenticator, Authenticator):
                # Only the type is shown: the value may be a token.
                kind = type_name(authenticator)
                raise TypeError(f"an Authenticator or None is expected, not a {kind}")
            authenticator._set_for(self)
        pointer = None if authenticator is None else authenticator._handle.pointer
        lib.ntapi_client_set_authenticator(self._handle.pointer, pointer)
        self._authenticator = authenticator

    @property
    def rate_limiter(self) -> Optional[RateLimiter]:
        """Limits how many requests start in a given time. With None, the initial value, the default
        `rateLimit` applies.

        A change affects later requests.
        """
        return self._rate_limiter

    @rate_limiter.setter
    def rate_limiter(self, limiter: Optional[RateLimiter]) -> None:
        if limiter is not None:
            from ._rate_limits import RateLimiter

            if not isinstance(limiter, RateLimiter):
                raise TypeError(f"a RateLimiter or None is expected, not {shown(limiter)}")
        pointer = None if limiter is None else limiter._handle.pointer
        lib.ntapi_client_set_rate_limiter(self._handle.pointer, pointer)
        self._rate_limiter = limiter

    def add_observer(self, observer: Observer) -> None:
        """Adds an observer of this client's requests, behind the others. It gets the events of
        requests that begin from now on.
        """
        from ._observers import add

        add(observer, self)

    def remove_observer(self, observer: Observer) -> None:
        """Removes an observer of this client. It still gets the events of requests that it has
        seen begin. Raises ValueError when the client does not have it.
        """
        from ._observers import remove

        remove(observer, self)

    def begin(
        self,
        command: Union[str, Args, ResponseHandler] = "",
        *args: Union[Args, ResponseHandler],
        handler: Optional[ResponseHandler] = None,
        **handlers: Unpack[Handlers],
    ) -> Request:
        """Begins a request and returns at once.

            client.begin("find", ntapi.url("q", "London"), handler=show)

        `handler` is called exactly once with the response, also if the request fails. It may also
        be passed as the last arg.

        Progress handlers get the bytes so far and the bytes expected, which are None while unknown.
        `data_handler` gets the body of a successful response piece by piece, as bytes; then the
        response has no body. The network waits for a slow data handler, so memory use is bounded.
        The args `response_thread` and the like say where handlers run.
        """
        request = self.create_request(command, *args, handler=handler, **handlers)
        request.resume()
        return request

    def create_request(
        self,
        command: Union[str, Args, ResponseHandler] = "",
        *args: Union[Args, ResponseHandler],
        handler: Optional[ResponseHandler] = None,
        **handlers: Unpack[Handlers],
    ) -> Request:
        """As `begin`, but the request starts only with `Request.resume`."""
        from ._build import build, split

        if not isinstance(command, str):
            args, command = (command, *args), ""
        own, handler = split(args, handler)
        return build(
            self,
            command,
            own,
            handlers,
            usual_place=self._usual_place(
                handler is not None or handlers.get("data_handler") is not None
            ),
            handler=handler,
        )

    def begin_call(
        self,
        service: Service[T],
        *args: Union[Args, Callable[[CallResult[T]], object]],
        handler: Optional[Callable[[CallResult[T]], object]] = None,
        **handlers: Unpack[ProgressHandlers],
    ) -> Request:
        """Begins a call of a service and immediately returns its request, which can be cancelled.

        `handler` is called exactly once with the result: `result.get()` returns the response object
        or raises the error. It may also be passed as the last arg. The args are applied after the
        service's own; `response_thread` and the like say where handlers run.
        """
        from ._build import build, split
        from ._service import ServiceCall

        own, handler = split(args, handler)
        check_handler(handler)
        call = ServiceCall(service, own)
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
        """Where handlers run without an arg for that."""
        raise NotImplementedError

    def _start(self, delivery: Delivery, request: Request) -> bool:
        """Resumes a request: from now on its handler will be called. False if another thread has
        resumed it.
        """
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
                # If it is not suspended, another thread has cancelled it meanwhile, and its handler
                # is called.
                and delivery.is_suspended
            ):
                raise RuntimeError("the request cannot be resumed")
            if registry.is_exiting:
                delivery.cancel()
            native.raise_kept()
            return True
        except BaseException:
            # The caller gets an exception, such as Ctrl-C, instead of a request, so no handler is
            # called.
            delivery.abandon()
            raise

    def _save(self) -> None:
        """Writes changed cookies and cache entries to disk, if the client has any."""
        lib.ntapi_cookie_storage_save(lib.ntapi_client_cookies(self._handle.pointer), None)
        lib.ntapi_cache_save(lib.ntapi_client_cache(self._handle.pointer), None)

    def _resolve(self, place: PlaceLike) -> Place:
        """The place that an arg names."""
        from ._runtime.places import resolve

        return resolve(place)
