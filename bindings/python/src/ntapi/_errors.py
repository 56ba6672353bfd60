"""The one error type."""

from __future__ import annotations

from sys import modules

from . import codes
from ._bridge.enums import Clock, ErrorDomain, NetworkFailure
from ._bridge.library import lib
from ._bridge.native import get_ident
from ._bridge.signatures import ErrorDetails
from ._runtime.checks import check_member
from ._runtime.registry import cancelled_downloads
from .codes import ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._problem import ProblemDetails
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
"""Escapes characters that control a terminal, as the library does in its own messages."""


class ApiError(Exception):
    """What went wrong with a request. `send` raises it; otherwise it is in `Response.error`.

    `str(error)` is `message`; for an HTTP error, the server's message from its JSON or plain text
    follows, if `message` does not have it.
    """

    # The name that tracebacks show and programs use.
    __module__ = "ntapi"

    domain: ErrorDomain
    """Where the error comes from."""
    code: ErrorCode
    """What kind of error it is. Compare codes with `is`: `error.code is ntapi.codes.TIMEOUT`."""
    message: str
    """What happened and what to do about it, for people."""
    http_status: Optional[int]
    """The HTTP status of the answer; None if there was no answer."""
    transport_code: Optional[int]
    """The CURLcode; None if the transport did not fail."""
    retryable: bool
    """Whether sending the same request again may help."""
    retry_after: Optional[float]
    """The seconds to wait before another request (Retry-After), counted from the answer; None if
    the server did not say.
    """
    clock: Optional[Clock]
    """Which of the five clocks ran out; None if none did."""
    failure: Optional[NetworkFailure]
    """The kind of network failure; None for other errors."""
    problem: Optional[ProblemDetails]
    """What the server said in application/problem+json (RFC 9457); None for other answers."""
    response: Optional[Response]
    """The response, whose data and JSON stay readable."""
    args: tuple[Any, ...]
    __cause__: Optional[BaseException]
    _said: Optional[str]
    """The server's message, if `message` does not have it; None until it is looked up."""

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        # A subclass may forget super().__init__(): its errors work nevertheless.
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
        self.problem = None
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
        problem: Optional[ProblemDetails] = None,
        response: Response | None = None,
    ) -> None:
        super().__init__(code, message)
        check_member(domain, ErrorDomain)
        if clock is not None:
            check_member(clock, Clock)
        if failure is not None:
            check_member(failure, NetworkFailure)
        self.code = ErrorCode(code)
        self.message = (str(self.code) if message is None else str(message)).translate(_CONTROLS)
        self.domain = domain
        self.http_status = http_status
        self.transport_code = transport_code
        self.retryable = retryable
        self.retry_after = retry_after
        self.clock = clock
        self.failure = failure
        self.problem = problem
        self.response = response

    def _blame_stream(self, cause: BaseException) -> None:
        """Sets the exception of the body's stream as the cause."""
        self.__cause__ = cause
        if self.domain is not ErrorDomain.CANCELLED:
            self.message = f"the body stream failed: {cause!r}"
            self.args = (self.code, self.message)

    def __str__(self) -> str:
        said = self._said
        if said is None and self.response is not None and self.code is codes.HTTP_ERROR:
            problem = self.problem
            is_told = problem is not None and (problem.title or problem.detail)
            # The library has put a problem's words into the message.
            said = self._said = "" if is_told else server_message(self.response)
        return f"{self.message}: {said}" if said else self.message

    def __repr__(self) -> str:
        status = f", http_status={self.http_status}" if self.http_status else ""
        name = type(self).__name__
        return f"{name}({str(self.code)!r}, {str(self)!r}, domain={self.domain.name}{status})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Do not call `__init__`: a subclass may have other parameters.
        return _blank, (type(self), self.args), self.__dict__


def _blank(kind: type[ApiError], args: tuple[Any, ...]) -> ApiError:
    """An error without attributes; pickle and copy then set them."""
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
"""JSON members in which services put messages for people: RFC 9457, OAuth, and common names."""


def server_message(response: Response) -> str:
    """The server's message about an error, in one line; empty if there is none."""
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
    """Copies the error behind a C pointer."""
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
        clock=Clock(details.clock) if details.clock else None,
        failure=NetworkFailure(details.failure) if details.failure else None,
        problem=_problem(details.problem) if details.problem else None,
    )


def _problem(pointer: int) -> Optional[ProblemDetails]:
    # Few answers are problems, and the module takes a while to import.
    from ._problem import problem_of_c

    return problem_of_c(pointer)


def c_error(error: BaseException) -> int:
    """A new C error with the same content."""
    if isinstance(error, ApiError):
        domain, code, message, retryable = error.domain, error.code, error.message, error.retryable
    else:
        domain, code, message, retryable = ErrorDomain.REQUEST, codes.GENERIC, repr(error), False
    texts = (str(code), message)
    encoded = [text.replace("\0", " ").encode("utf-8", "replace") for text in texts]
    pointer: int = lib.ntapi_error_create(domain.value, *encoded, retryable)
    return pointer


def take_error(pointer: int | None, fallback: str) -> ApiError:
    """Copies and frees the error that a C call put into its out parameter; without one, returns
    "invalid request".
    """
    if not pointer:
        return ApiError(codes.INVALID_REQUEST, fallback, domain=ErrorDomain.REQUEST)
    try:
        return read_error(pointer)
    finally:
        lib.ntapi_error_free(pointer)


def resume_data_of(error: Optional[BaseException]) -> Optional[str]:
    """The resume data of a download that ended with this exception, for the arg `resume`; or None.

    The exception may be an ApiError, the CancelledError of an `await`, or one that replaces it: the
    KeyboardInterrupt of `asyncio.run` after Ctrl-C, or the TimeoutError of `asyncio.timeout`. It
    may also be an ExceptionGroup with one of these. If several downloads ended, the data of the
    first one is returned.
    """
    data, is_of_run = _found_resume_data(error)
    # Remove the data, so that no other exception gets it.
    cancelled = cancelled_downloads.pop(get_ident(), None) if data or is_of_run else None
    if data is None and cancelled is not None and error is not None:
        # asyncio has dropped the exception that had the data, for example in `gather`.
        data = cancelled
        error.resume_data = data  # type: ignore[attr-defined]
    return data


def _found_resume_data(error: Optional[BaseException]) -> tuple[Optional[str], bool]:
    """The resume data in an exception or in one that has led to it. If there is none: whether the
    exception may come from a loop that was interrupted.
    """
    asyncio = modules.get("asyncio")
    is_of_run = False
    seen: set[int] = set()
    left = [error]
    while left:
        error = left.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        response = getattr(error, "response", None)
        data = getattr(error, "resume_data", None) or getattr(response, "resume_data", None)
        if isinstance(data, str):
            return data, False
        members = _exceptions_in(error)
        if asyncio is not None and asyncio._get_running_loop() is None:
            stops = (KeyboardInterrupt, asyncio.CancelledError)
            is_of_run = is_of_run or bool(members) or isinstance(error, stops)
        left += (error.__context__, error.__cause__, *reversed(members))
    return None, is_of_run


def _exceptions_in(error: BaseException) -> list[BaseException]:
    """The exceptions of an ExceptionGroup, which Python 3.9 and 3.10 have only as a package."""
    members = getattr(error, "exceptions", None)
    if not isinstance(members, (tuple, list)):
        return []
    return [each for each in members if isinstance(each, BaseException)]
