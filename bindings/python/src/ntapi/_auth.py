"""Tokens that expire. One refresh gets a new token for all requests that wait."""

from __future__ import annotations

import contextvars
import ctypes
import itertools
import weakref
from collections.abc import Awaitable, Iterable
from functools import partial

from ._advice import missing_attribute
from ._args import Arg, c_text
from ._bridge import signatures
from ._bridge.callbacks import RefreshFunction
from ._bridge.library import Handle, lib, take_text
from ._bridge.logging import from_c, report
from ._bridge.native import Worker
from ._bridge.signatures import DestroyFunction, Status
from ._errors import ApiError, c_error, take_error
from ._rate_limits import SUBSTITUTES
from ._response import Response
from ._runtime import registry
from ._runtime.checks import (
    Copyable,
    check_string,
    even_without_init,
    named,
    refuse_copy,
    type_name,
)
from ._runtime.loops import running_loop, running_mailbox
from ._runtime.threads import refresh_mailbox
from ._stores import Store, check_sharing

# asyncio and concurrent.futures take several times as long to import as this package. Only the
# functions that need them import them.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any, Callable, Generic, Literal, NoReturn, Optional, Union

    from typing_extensions import TypeVar

    from ._client import BaseClient
    from ._runtime.mailbox import Mailbox
    from ._sync_client import Client
    from ._types import Args

    ClientT = TypeVar("ClientT", bound=BaseClient, default=Client)
    NewToken = Union["Token", str, None]

_BYPASS = Arg("option", ("bypass_authentication",))
_authenticators: weakref.WeakValueDictionary[int, Authenticator] = weakref.WeakValueDictionary()
_keys = itertools.count(1)
_refreshing: contextvars.ContextVar[Optional[Authenticator]] = contextvars.ContextVar(
    "ntapi_refreshing", default=None
)
"""The authenticator whose refresh runs in this context. Requests that are made in this context are
sent without the authenticator's token.
"""


class Token(Copyable):
    """A token for a server, for how many seconds it is valid, and its refresh token."""

    __slots__ = ("lifetime", "refresh_token", "text")

    text: str
    lifetime: Optional[float]
    refresh_token: Optional[str]
    """The next refresh gets it as `Refresh.refresh_token`. If a refresh returns None here, the
    previous one stays; `set_token` replaces it even by None.
    """

    def __init__(
        self, text: str, lifetime: Optional[float] = None, refresh_token: Optional[str] = None
    ) -> None:
        check_string(text, "a token")
        if refresh_token is not None:
            check_string(refresh_token, "a refresh token")
        self.text = text
        self.lifetime = None if lifetime is None else float(lifetime)
        self.refresh_token = refresh_token

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Token):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def _values(self) -> tuple[str, Optional[float], Optional[str]]:
        return (self.text, self.lifetime, self.refresh_token)

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.Token <redacted>, lifetime {self.lifetime}>"


if TYPE_CHECKING:

    class _OfClient(Generic[ClientT]):
        pass

else:

    class _OfClient:
        """At run time `Refresh[AsyncClient]` is `Refresh`. A TypeVar with a default would need
        typing_extensions.
        """

        __slots__ = ()
        __class_getitem__ = classmethod(type(list[int]))


class Refresh(Copyable, _OfClient["ClientT"]):
    """Why a new token is needed, and for which client.

    For a type checker, `Refresh` has a `Client`. Write `Refresh[ntapi.AsyncClient]`, or your own
    class, for another one.
    """

    __slots__ = ("client", "expired_token", "refresh_token", "response")

    expired_token: Optional[str]
    """The token that has expired or will expire soon; None if there was none."""
    refresh_token: Optional[str]
    """The refresh token that came with the last new token, whichever process got it; None if there
    was none.
    """
    response: Optional[Response]
    """The answer by which the server rejected the token. None if no server was asked, because there
    was no token or its time was over.
    """
    client: ClientT
    """The client whose request needs the token. The refresh may use it to send requests."""

    def __init__(
        self,
        expired_token: Optional[str],
        response: Optional[Response],
        client: Optional[ClientT] = None,
        refresh_token: Optional[str] = None,
    ) -> None:
        self.expired_token = expired_token
        self.refresh_token = refresh_token
        self.response = response
        # A test may make one without a client. A refresh function always gets one.
        self.client = client  # type: ignore[assignment]

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.Refresh, response {self.response!r}>"


_OWN = frozenset(
    {"_clients", "_failure", "_function", "_handle", "_key", "_loop", "_mailbox", "_store"}
)
"""What Authenticator.__init__ sets."""


class Authenticator:
    """Adds a token to a client's requests, and refreshes it once for all requests that wait for it.

        def refresh(refresh):
            answer = refresh.client.send("token", ntapi.form("refresh_token", secret)).json()
            return ntapi.Token(answer["access_token"], answer["expires_in"])

        client.authenticator = ntapi.Authenticator(refresh, token=saved)

    A request that is rejected because its token has expired waits for the refresh and is sent once
    more. If the refresh fails, all requests that wait, and those of the next second, fail with its
    error. The token is sent to the origin of the client's base URL and to `origins`, but not with a
    request that sets the header itself. Several clients may share an authenticator.
    """

    def __init__(
        self,
        refresh: Optional[Callable[[Refresh[Any]], Union[NewToken, Awaitable[NewToken]]]] = None,
        *,
        token: Union[Token, str, None] = None,
        header: str = "Authorization",
        scheme: str = "Bearer",
        statuses: Iterable[int] = (401,),
        origins: Iterable[str] = (),
        timeout: float = 30.0,
    ) -> None:
        """Without `refresh`, a subclass overrides the method.

        `token` is the first token; without it, the first request starts a refresh. The token is
        sent in `header`, after `scheme`, which may be "". An answer with one of `statuses` means
        that it has expired, unless a challenge gives another reason (insufficient_scope,
        invalid_request). `origins` are URLs of other servers that get the token, too. A refresh may
        take `timeout` seconds.
        """
        if refresh is not None and not callable(refresh):
            raise TypeError(f"refresh has to be callable, not {type_name(refresh)}")
        if isinstance(origins, str):
            raise TypeError("origins has to be a list of URLs, not one string")
        self._function = refresh
        self._key = next(_keys)
        _authenticators[self._key] = self
        self._mailbox: Optional[Mailbox] = None
        self._store: Optional[Store] = None
        self._failure: Optional[tuple[str, BaseException]] = None
        """Why the last refresh has failed: the message and the exception."""
        self._clients: weakref.WeakValueDictionary[int, BaseClient] = weakref.WeakValueDictionary()
        """The clients that use it. The keys are their C defaults, because a refresh has a different
        handle to the same client.
        """
        self._loop: Optional[weakref.ref[asyncio.AbstractEventLoop]] = None
        for name, value in (("header", header), ("scheme", scheme)):
            check_string(value, name)
        numbers = list(statuses)
        urls = list(origins)
        for url in urls:
            check_string(url, "an origin")
        if not timeout > 0:
            raise ValueError(f"timeout has to be above 0 seconds, not {timeout}")
        number_array = (ctypes.c_int * max(1, len(numbers)))(*numbers)
        url_array = (ctypes.c_char_p * len(urls))(*map(c_text, urls))
        options = signatures.AuthenticatorOptions(
            ctypes.sizeof(signatures.AuthenticatorOptions),
            c_text(header),
            c_text(scheme),
            ctypes.addressof(number_array),
            len(numbers),
            url_array,
            len(urls),
            timeout,
        )
        error = ctypes.c_void_p()
        pointer = lib.ntapi_authenticator_create(
            ctypes.byref(options), _refresh, self._key, DestroyFunction(), ctypes.byref(error)
        )
        if not pointer:
            raise ValueError(take_error(error.value, "the options are wrong").message)
        self._handle = Handle(pointer, lib.ntapi_authenticator_free)
        if token is not None:
            self.set_token(token)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute(self, name, _OWN)

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "make one in each process, with `token=authenticator.token`")

    @even_without_init
    def __repr__(self) -> str:
        # Never show the token.
        held = "no token" if self.token is None else "a token"
        return f"<{named(self)} with {held}>"

    def refresh(self, refresh: Refresh[Any]) -> Union[NewToken, Awaitable[NewToken]]:
        """Makes a new token: returns a Token or a string, or raises what went wrong.

        Return None if the token has not expired: then the response is delivered. A plain function
        runs on a thread of its own, an async one on the event loop of the client's requests.
        Requests that it sends with a client of this authenticator carry no token.
        """
        if self._function is None:
            raise NotImplementedError("an Authenticator needs a refresh function or method")
        return self._function(refresh)

    @property
    def token(self) -> Optional[str]:
        """The present token, valid or not; None when there is none."""
        return take_text(lib.ntapi_authenticator_token(self._handle.pointer))

    def set_token(self, token: Union[Token, str, None]) -> None:
        """Uses a token from now on, also for the requests that wait. None makes the next request
        start a refresh. A token replaces the refresh token, too. A shared token is replaced for all
        processes.
        """
        known = Token(token) if isinstance(token, str) else token
        if known is None:
            status = lib.ntapi_authenticator_set_token(self._handle.pointer, None, -1.0)
        else:
            given = ctypes.byref(_c_token(known))
            status = lib.ntapi_authenticator_set_token_with(self._handle.pointer, given)
        _check(status, "the token cannot be used")

    def share(
        self,
        store: Store,
        key: str,
        *,
        store_timeout: float = 0.5,
        on_failure: Literal["local", "closed"] = "closed",
        lease: float = 10.0,
    ) -> None:
        """Shares the token with other processes, by a store. Call it before the first request.

            authenticator.share(ntapi.fleet.Redis("rediss://redis.example"), "partner")

        All authenticators with the same `key` of the same store have one token, in any language.
        When it expires, one process refreshes it; the others wait, and use the new one. A failed
        refresh fails the requests of all processes for a second. Unless the store fails, it has the
        newest refresh token before any request uses the token that came with it. In every process,
        `Refresh.refresh_token` is the newest one.

        A store that has not replied in `store_timeout` seconds fails. Until it answers again,
        `on_failure` says what happens: "closed", requests that need a new token fail with
        `codes.STORE_FAILED`; "local", each process refreshes the token alone, which is not for a
        server that takes each refresh token once.

        A process that goes silent during its refresh is replaced after `lease` seconds, from 0.1.
        """
        pointer = self._handle.pointer
        if on_failure not in SUBSTITUTES:
            raise ValueError(f"on_failure is local or closed, not {on_failure!r}")
        check_sharing(store, key, store_timeout, lease)
        sharing = signatures.TokenSharing(
            ctypes.sizeof(signatures.TokenSharing),
            store._pointer(),
            c_text(key),
            store_timeout,
            SUBSTITUTES[on_failure],
            lease,
        )
        error = ctypes.c_void_p()
        share = lib.ntapi_authenticator_share
        if share(pointer, ctypes.byref(sharing), ctypes.byref(error)) != Status.OK:
            raise ValueError(take_error(error.value, "the options are wrong").message)
        self._store = store

    def _set_for(self, client: BaseClient) -> None:
        """Remembers a client that uses it from now on."""
        self._clients[_key_of(client._handle.pointer)] = client

    def _adjust(self, args: tuple[Args, ...]) -> tuple[Args, ...]:
        """Adjusts the args of a request, on the thread that begins it, and remembers where
        refreshes run.
        """
        if _refreshing.get() is self:
            return (*args, _BYPASS)
        loop = running_loop()
        if loop is not None:
            self._loop = weakref.ref(loop)
        # Made at the first request, and again in a forked child.
        mailbox = refresh_mailbox()
        if mailbox is not self._mailbox:
            self._mailbox = mailbox
            lib.ntapi_authenticator_set_mailbox(self._handle.pointer, mailbox.pointer)
        return args

    def _start(self, handle: Handle, has_own_loop: bool = False) -> None:
        """Begins a refresh. Runs on the thread that drains the mailbox of refreshes."""
        try:
            run = partial(self._run, handle, has_own_loop)
            Worker(run, "ntapi-refreshing").start()
        except BaseException as error:
            # No thread can be started: the requests that wait fail with this error.
            self._fail(handle, error)

    def _run(self, handle: Handle, has_own_loop: bool) -> None:
        """Runs a refresh on a thread of its own, in a context that marks it."""
        _refreshing.set(self)
        try:
            token = lib.ntapi_refresh_token(handle.pointer)
            refresh_token = lib.ntapi_refresh_refresh_token(handle.pointer)
            pointer = lib.ntapi_refresh_response(handle.pointer)
            refresh = Refresh(
                None if token is None else token.decode(),
                Response._owning(pointer) if pointer else None,
                self._clients.get(_key_of(lib.ntapi_refresh_client(handle.pointer))),
                None if refresh_token is None else refresh_token.decode(),
            )
            result = self.refresh(refresh)
        except BaseException as error:
            self._fail(handle, error)
            return
        if isinstance(result, Awaitable):
            self._await(handle, result, has_own_loop)
        else:
            self._succeed(handle, result)

    def _await(self, handle: Handle, result: Awaitable[Any], has_own_loop: bool) -> None:
        """Runs an async refresh on the loop of the requests or, if there is none, on a loop of its
        own.
        """
        import asyncio

        async def drive() -> Any:
            return await result

        async def drive_on_loop_of_program() -> None:
            try:
                token = await result
            except asyncio.CancelledError as error:
                # This loop ends. It begins again only for others that wait: a server may take each
                # refresh token once.
                if self._is_awaited_elsewhere():
                    self._start(handle, has_own_loop=True)
                else:
                    self._fail(handle, error)
                raise
            except BaseException as error:
                self._fail(handle, error)
                # SystemExit and the like continue to the program's loop.
                if not isinstance(error, Exception):
                    raise
            else:
                self._succeed(handle, token)

        loop = None if self._loop is None or has_own_loop else self._loop()
        if loop is not None and loop.is_running():
            driving = drive_on_loop_of_program()
            try:
                asyncio.run_coroutine_threadsafe(driving, loop)
                return
            except RuntimeError:
                # The loop has just been closed.
                driving.close()
        try:
            token = asyncio.run(drive())
        except BaseException as error:
            self._fail(handle, error)
        else:
            self._succeed(handle, token)

    def _is_awaited_elsewhere(self) -> bool:
        """Whether a request of another loop, or of a thread, may be waiting for a token."""
        here = running_mailbox()
        return not registry.is_exiting and any(
            not owed.runs_in((here,))
            for client in tuple(self._clients.values())
            for owed in tuple(client._pending)
        )

    def _succeed(self, handle: Handle, token: Any) -> None:
        pointer, handle.pointer = handle.pointer, None
        if token is None:
            lib.ntapi_refresh_decline(pointer)
            return
        try:
            known = Token(token) if isinstance(token, str) else token
            if not isinstance(known, Token):
                # Only the type is shown: the value may be the server's answer, with the token in
                # it.
                kind = type_name(known)
                raise TypeError(f"refresh has to return a Token, a str or None, not {kind}")
            given = ctypes.byref(_c_token(known))
        except (TypeError, ValueError, ApiError) as error:
            handle.pointer = pointer
            self._fail(handle, error)
            return
        self._failure = None
        lib.ntapi_refresh_succeed_with(pointer, given)

    def _explain(self, error: ApiError) -> None:
        """Gives a request's error the exception of the refresh as its cause, and its status."""
        failure = self._failure
        if failure is None or failure[0] not in error.message:
            return
        cause = error.__cause__ = failure[1]
        if isinstance(cause, ApiError) and cause.http_status is not None:
            error.http_status = cause.http_status

    def _fail(self, handle: Handle, error: BaseException) -> None:
        if not isinstance(error, ApiError):
            # A mistake in the program. The error of the requests shows only its text.
            report(error, self.refresh)
        reason = c_error(error)
        message = lib.ntapi_error_message(reason) or b""
        self._failure = (message.decode("utf-8", "replace"), error)
        pointer, handle.pointer = handle.pointer, None
        lib.ntapi_refresh_fail(pointer, reason)
        lib.ntapi_error_free(reason)


def _key_of(client: Optional[int]) -> int:
    """A key that is the same for all handles of a C client."""
    return int(lib.ntapi_client_defaults(client))


def _c_token(token: Token) -> signatures.Token:
    # In C, 0 seconds are an unknown lifetime.
    lifetime = 0.0 if token.lifetime is None else max(1e-9, token.lifetime)
    size = ctypes.sizeof(signatures.Token)
    return signatures.Token(size, c_text(token.text), lifetime, c_text(token.refresh_token))


def _check(status: int, problem: str) -> None:
    if status != Status.OK:
        raise ValueError(problem)


def _fail_refresh(error: BaseException, key: int, handle: Handle) -> None:
    authenticator = _authenticators.get(key)
    if authenticator is not None:
        authenticator._fail(handle, error)


@from_c(RefreshFunction, _fail_refresh, frees=lib.ntapi_refresh_free)
def _refresh(key: int, handle: Handle) -> None:
    """ntapi_refresh_fn for every authenticator. Usually runs where the mailbox of refreshes is
    drained.

    It is called inside a C call, so the user's code runs afterwards.
    """
    authenticator = _authenticators.get(key)
    if authenticator is None:
        handle.free()
    else:
        refresh_mailbox().post(partial(authenticator._start, handle))
