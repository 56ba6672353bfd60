"""Typed services: a class describes a call's path, its parameters and its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Optional, TypeVar, cast

from . import codes
from ._args import Arg
from ._bridge.enums import ErrorDomain
from ._client_parts import NO_ERRORS
from ._errors import ApiError
from ._hooks import log_verdict, mapped_error
from ._runtime.checks import Copyable, check_hooks, even_without_init, named, shown
from .decoding.annotations import arguments
from .decoding.decoder import decoder
from .decoding.options import DecodingOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._http import HTTPRequest
    from ._response import Response
    from ._types import Args, StatusErrors

T_co = TypeVar("T_co", covariant=True)
"""Covariant: where an object is expected, as in `print(await client.call(…))`, mypy looks for a
`Service[object]`.
"""
_NONE = type(None)
_HOOKS = ("parameters", "configure", "map_service_error", "map_error", "make_response")
_WITH_ANSWER = (ErrorDomain.HTTP, ErrorDomain.SERVICE)


class Service(Generic[T_co]):
    """One call of a web service. The caller sees no JSON.

        @dataclass
        class FindCities(ntapi.Service[list[City]]):
            command = "data/2.5/find"
            response_path = "list"

            name: str
            count: Optional[int] = None

            def parameters(self) -> ntapi.Args:
                return [ntapi.url("q", self.name), ntapi.url("cnt", self.count)]

        cities = client.call(FindCities("London"))

    The type in the brackets is a dataclass, a TypedDict, a NamedTuple, a pydantic model, or
    composed of these, such as a list. `Service[None]` ignores the content of the answer. Put what
    the services of one API have in common into a base class.
    """

    if not TYPE_CHECKING:
        # Not declared for type checkers: a class may set it as an attribute, in __init__, or as a
        # property.
        command = None
        """The path below the client's base URL. It may contain `{name}` for path args."""
    method: Optional[str] = None
    """The HTTP method; None if the args decide it."""
    response_path: str = ""
    """The path of the response object in the JSON, such as `list`; "" is the whole JSON."""
    errors: StatusErrors = NO_ERRORS
    """What the `HTTP error` of a status becomes: `{404: NoSuchCity}`. Statuses that are not listed
    are looked up in the client's `errors`, which describes the values.
    """
    decoding: DecodingOptions = DecodingOptions()
    """How the service writes keys, dates and numbers."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_hooks(cls, _HOOKS)
        if "errors" in cls.__dict__:
            from ._status_errors import check_class

            check_class(cls)

    def __repr__(self) -> str:
        # A dataclass has its own `__repr__`.
        return f"<{named(self)}>"

    def parameters(self) -> Args:
        """The args of the call. An arg with the value None is left out."""
        return ()

    def configure(self, request: HTTPRequest) -> None:
        """Adjusts the built request, before the client's `build_request` does.

        Runs on the thread that begins the call.
        """

    def map_service_error(self, response: Response) -> Optional[ApiError]:
        """Turns the service's own error fields into an error, or returns None.

        Called for every response that has JSON, on the handler's thread, after the client's hook of
        this name.
        """
        return None

    def map_error(self, error: ApiError, response: Response) -> Optional[ApiError]:
        """Sees every error that ends the call. To replace it, return or raise another one.

        None, or the error itself, keeps it. Called for errors of the network, a cancel, the
        service's own errors, and what `make_response` raises. Runs on the handler's thread, after
        the client's hook of this name.
        """
        return None

    def make_response(self, response: Response) -> T_co:
        """Makes the response object from a response without an error. Runs on the handler's thread.

        An ApiError that it raises becomes the call's error; any other exception becomes an error
        with the code "generic".
        """
        form = self._response_form()
        if form is _NONE or form is None:
            return cast(T_co, None)
        made: T_co = response.decode(form, self.response_path, self.decoding)
        return made

    @classmethod
    def _response_form(cls) -> Any:
        """The type in the brackets of `Service[...]`."""
        known = cls.__dict__.get("_known_form", cls)
        if known is not cls:
            return known
        given = arguments(cls, Service)
        if not given or isinstance(given[0], TypeVar):
            raise TypeError(f"{cls.__name__} has to say what it answers: Service[City]")
        form = given[0]
        if isinstance(form, str):
            raise TypeError(f"{cls.__name__}: Service[{form!r}] has to name a class, not a string")
        cls._known_form = form
        return form

    @classmethod
    def _check(cls) -> None:
        """Raises TypeError for a type that cannot be made from JSON, before anything is sent."""
        if cls.make_response is Service.make_response:
            form = cls._response_form()
            if form is not _NONE and form is not None:
                decoder(form, cls.decoding)


def _command(service: Any) -> str:
    command = service.command
    if command is None:
        raise TypeError(
            f'{type(service).__name__} has to say its command: command = "users/{{id}}"'
        )
    if not isinstance(command, str):
        raise TypeError(
            f"the command of {type(service).__name__} has to be a string or a property that is "
            f"one, not {type(command).__name__}"
        )
    return command


class CallResult(Copyable, Generic[T_co]):
    """The result of a call: the response object or the error."""

    __slots__ = ("_value", "error", "response")

    error: Optional[ApiError]
    """What went wrong, or None."""
    response: Response
    """The response of the request."""

    def __init__(self, response: Response, value: Any) -> None:
        self.response = response
        self.error = response.error
        self._value = value

    def get(self) -> T_co:
        """The response object. Raises the error, if there is one."""
        if self.error is not None:
            raise self.error
        value: T_co = self._value
        return value

    @even_without_init
    def __repr__(self) -> str:
        shown = self._value if self.error is None else self.error
        return f"<ntapi.CallResult {shown!r}>"


class ServiceCall(Generic[T_co]):
    """A call in progress."""

    def __init__(self, service: Service[T_co], args: tuple[Args, ...]) -> None:
        if not isinstance(service, Service):
            raise TypeError(f"a Service is expected, not {shown(service)}")
        service._check()
        self.command: str = _command(service)
        method = Arg("method", (service.method,), is_suppressed=service.method is None)
        self.args: tuple[Args, ...] = (method, service.parameters(), *args)
        self.service = service
        self._value: Any = None

    @property
    def configure(self) -> Optional[Callable[[HTTPRequest], None]]:
        """The hook `configure`, if the service has one."""
        is_own = type(self.service).configure is not Service.configure
        return self.service.configure if is_own else None

    @property
    def maps_errors(self) -> bool:
        """Whether the service has the hook `map_error`."""
        return type(self.service).map_error is not Service.map_error

    @property
    def may_map(self) -> bool:
        """Whether the service may replace the core's error."""
        is_own = type(self.service).map_service_error is not Service.map_service_error
        return is_own or self.maps_errors

    @property
    def may_start_fast(self) -> bool:
        """Whether no code of the service has to run before the response object is made."""
        return self.configure is None and not self.maps_errors

    def judge(self, response: Response) -> None:
        """As `interpret`, and logs an error."""
        before = response.error
        self.interpret(response)
        log_verdict(response, before)

    def interpret(self, response: Response) -> None:
        """Turns a response into the service's response object, or sets the call's error."""

        # After a network error there is no complete answer; other errors come with one.
        is_whole = response.error is None or response.error.domain in _WITH_ANSWER
        if response.has_json and is_whole:
            error = mapped_error("map_service_error", self.service.map_service_error, response)
            if error is not None:
                response._set_error(error)
        if response.error is not None:
            return
        try:
            self._value = self.service.make_response(response)
        except ApiError as error:
            response._set_error(error)
        except BaseException as error:
            name = type(self.service).__name__
            text = f"{name} can make nothing of the response: {error!r}"
            failure = ApiError(codes.GENERIC, text)
            failure.__cause__ = error
            response._set_error(failure)
            if not isinstance(error, Exception):
                raise

    def result(self, response: Response) -> CallResult[T_co]:
        """The result."""
        return CallResult(response, self._value)
