"""The one error type."""

from __future__ import annotations

from . import codes
from ._bridge.library import lib
from ._bridge.signatures import ErrorDetails
from ._enums import Clock, ErrorDomain, NetworkFailure
from .codes import ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._response import Response
    from ._types import Self


_CONTROLS = {
    number: f"\\u{{{number:x}}}"
    for numbers in (
        *(range(0x09), range(0x0B, 0x20), range(0x7F, 0xA0), range(0x61C, 0x61D)),
        *(range(0x200E, 0x2010), range(0x2028, 0x202F), range(0x2066, 0x206A)),
    )
    for number in numbers
}
"""What a terminal acts on, as the library escapes it in the messages of its own errors."""


class ApiError(Exception):
    """What went wrong with a request. Raised by `send`, found in `Response.error` otherwise.

    Its text is `message`, for an HTTP error with what the server says in its JSON or plain text.
    """

    # As tracebacks name it, and programs.
    __module__ = "ntapi"

    domain: ErrorDomain
    """Where it comes from."""
    code: ErrorCode
    """What it is; compare with `is`: `error.code is ntapi.codes.TIMEOUT`."""
    message: str
    """What happened and what to do about it, for people."""
    http_status: Optional[int]
    """The HTTP status that came with it; None when there was no answer."""
    transport_code: Optional[int]
    """The transport's own code, a CURLcode; None when the transport did not fail."""
    retryable: bool
    """Whether sending the same request again may help."""
    retry_after: Optional[float]
    """The seconds after which the server asks to come again (Retry-After), counted from its answer;
    None when it did not say.
    """
    clock: Optional[Clock]
    """Which of the five clocks ran out; None when none did."""
    failure: Optional[NetworkFailure]
    """What kind of failure of the network it was; None when it was none."""
    response: Optional[Response]
    """The response, whose data and JSON stay readable."""
    args: tuple[Any, ...]
    __cause__: Optional[BaseException]
    _said: Optional[str]
    """What the server says; None before anybody has asked."""

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        # A subclass may forget super().__init__(): its errors are errors all the same.
        self = super().__new__(cls, *arguments)
        self.domain = ErrorDomain.SERVICE
        self.code = codes.GENERIC
        self.message = Exception.__str__(self) or str(codes.GENERIC)
        self.http_status = None
        self.transport_code = None
        self.retryable = False
        self.retry_after = None
        self.clock = None
        self.failure = None
        self.response = None
        self._said = None
        return self

    def __init__(
        self,
        code: str,
        message: str | None = None,
        *,
        domain: ErrorDomain = ErrorDomain.SERVICE,
        http_status: Optional[int] = None,
        transport_code: Optional[int] = None,
        retryable: bool = False,
        retry_after: Optional[float] = None,
        clock: Optional[Clock] = None,
        failure: Optional[NetworkFailure] = None,
        response: Response | None = None,
    ) -> None:
        super().__init__(code, message)
        self.code = ErrorCode(code)
        self.message = (str(self.code) if message is None else str(message)).translate(_CONTROLS)
        self.domain = domain
        self.http_status = http_status
        self.transport_code = transport_code
        self.retryable = retryable
        self.retry_after = retry_after
        self.clock = clock
        self.failure = failure
        self.response = response

    def _blame_stream(self, cause: BaseException) -> None:
        """Says what the body's stream raised, when that is why the request failed."""
        self.__cause__ = cause
        if self.domain is not ErrorDomain.CANCELLED:
            self.message = f"the body stream failed: {cause!r}"
            self.args = (self.code, self.message)

    def __str__(self) -> str:
        said = self._said
        if said is None and self.response is not None and self.code is codes.HTTP_ERROR:
            said = self._said = server_message(self.response)
        return f"{self.message}: {said}" if said else self.message

    def __repr__(self) -> str:
        status = f", http_status={self.http_status}" if self.http_status else ""
        return f"ApiError({str(self.code)!r}, {self.message!r}, domain={self.domain.name}{status})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Without a call of `__init__`, whose parameters in a subclass are its own.
        return _blank, (type(self), self.args), self.__dict__


def _blank(kind: type[ApiError], args: tuple[Any, ...]) -> ApiError:
    """An error whose attributes follow: that of a pickle, or of a copy."""
    return ApiError.__new__(kind, *args)


_LONGEST_MESSAGE = 200
_MEMBERS = (
    "detail",
    "message",
    "error_message",
    "error_description",
    "error",
    "errors",
    "msg",
    "title",
    "reason",
)
"""Where services put what they say to people: RFC 9457, OAuth, and what most others do."""


def server_message(response: Response) -> str:
    """What the server says about an error to people, in one line; empty when it says nothing."""
    if response.has_json:
        text = _message_in(response.json(), depth=3)
    elif response.headers.get("Content-Type", "").startswith("text/plain"):
        text = response.text
    else:
        return ""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= _LONGEST_MESSAGE else line[: _LONGEST_MESSAGE - 1] + "…"


def _message_in(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return value
    if depth and isinstance(value, list) and value:
        return _message_in(value[0], depth - 1)
    if depth and isinstance(value, dict):
        for name in _MEMBERS:
            found = _message_in(value.get(name), depth - 1)
            if found:
                return found
    return ""


def read_error(pointer: int) -> ApiError:
    """The error behind a C pointer, copied."""
    code = lib.ntapi_error_code_name(pointer)
    message = lib.ntapi_error_message(pointer)
    details = ErrorDetails.from_address(lib.ntapi_error_get_details(pointer))
    return ApiError(
        codes.GENERIC if code is None else code.decode(),
        None if message is None else message.decode("utf-8", "replace"),
        domain=ErrorDomain(details.domain),
        http_status=details.http_status or None,
        transport_code=details.transport_code or None,
        retryable=details.is_retryable,
        retry_after=None if details.retry_after < 0 else details.retry_after,
        clock=None if details.clock < 0 else Clock(details.clock),
        failure=NetworkFailure(details.failure) if details.failure else None,
    )


def c_error(error: BaseException) -> int:
    """A new C error that says the same."""
    if isinstance(error, ApiError):
        domain, code, message, retryable = error.domain, error.code, error.message, error.retryable
    else:
        domain, code, message, retryable = ErrorDomain.REQUEST, codes.GENERIC, repr(error), False
    texts = (str(code), message)
    encoded = [text.replace("\0", " ").encode("utf-8", "replace") for text in texts]
    pointer: int = lib.ntapi_error_create(domain.value, *encoded, retryable)
    return pointer


def take_error(pointer: int | None, fallback: str) -> ApiError:
    """The error that a call put into its out parameter, freed; an "invalid request" one when there
    is none.
    """
    if not pointer:
        return ApiError(codes.INVALID_REQUEST, fallback, domain=ErrorDomain.REQUEST)
    try:
        return read_error(pointer)
    finally:
        lib.ntapi_error_free(pointer)


def resume_data_of(error: Optional[BaseException]) -> Optional[str]:
    """The resume data of the download that an exception has ended, for the arg `resume`; or None.

    An `await` that is cancelled ends with a CancelledError. `asyncio.run` makes a KeyboardInterrupt
    of that after Ctrl-C, and `asyncio.timeout` a TimeoutError: those are understood, too, and so is
    an ApiError.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        response = getattr(error, "response", None)
        data = getattr(error, "resume_data", None) or getattr(response, "resume_data", None)
        if isinstance(data, str):
            return data
        error = error.__cause__ or error.__context__
    return None
