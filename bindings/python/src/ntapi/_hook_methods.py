"""The hooks: what a client's subclass may override."""

from __future__ import annotations

from collections.abc import Iterable

from . import codes
from ._arg import Arg
from ._checks import is_async, refuse_coroutine
from ._decision import Decision
from ._enums import DecisionKind, ErrorDomain, LogFlags
from ._errors import ApiError
from ._hooks import HTTPRequest
from ._logging import log_line
from ._report import call_reporting
from ._request import Request
from ._response import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from ._aliases import Args
    from ._metrics import RequestMetrics


class Hooks:
    """A subclass overrides the hooks that it needs; only those are ever called."""

    _overridden: frozenset[str]
    _may_be_short: bool
    """Whether nothing is overridden."""

    def build_args(self, command: str, args: list[Arg]) -> Optional[Iterable[Args]]:
        """Adjusts the args of a request: change the list, or return another.

        On the thread that begins it.
        """
        return None

    def build_request(self, request: HTTPRequest) -> None:
        """Adjusts the built request. On the thread that begins it."""

    def request_started(self, request: Request) -> None:
        """A request starts. On the thread that begins or resumes it."""

    def metrics_collected(self, request: Request, metrics: RequestMetrics) -> None:
        """What a request took is known, exchange by exchange; `request_completed` follows.

        On the handler's thread.
        """

    def session_invalidated(self) -> None:
        """The client was closed or invalidated, and the last of its handlers has returned.

        Called once, on the thread of the last handler or on a thread of the library.
        """

    def request_completed(self, request: Request, response: Response) -> None:
        """A request has its response; its handler follows. On the handler's thread."""

    def parse_json(self, data: bytes) -> Any:
        """Parses a body instead of the library; raises ValueError or ApiError when it cannot.

        On the handler's thread.
        """
        raise NotImplementedError

    def map_service_error(self, response: Response) -> Optional[ApiError]:
        """Turns a service's own error fields into an error, or returns None.

        On the handler's thread.

        Called for every response that has JSON and no error of the network.
        """
        return None

    decision_kinds: DecisionKind = DecisionKind.ALL
    """Which decisions `decide`, or a request's own decision handler, is asked for."""

    def decide(self, decision: Decision) -> Any:
        """Decides what a request does next, now or later; each request waits for the answer.

        Where the response handler runs. For asyncio it may be a coroutine function. A request's own
        `decision_handler` comes first. An exception cancels the request.
        """

    def write_log(self, level: LogFlags, message: str) -> None:
        """Receives the client's log lines instead of Python's logging. On any thread."""
        log_line(int(level), message.encode())

    def _find_overridden(self) -> None:
        names = (
            "build_args",
            "build_request",
            "request_started",
            "metrics_collected",
            "request_completed",
            "session_invalidated",
            "parse_json",
            "map_service_error",
            "decide",
            "write_log",
        )
        cls = type(self)
        self._overridden = frozenset(
            name for name in names if getattr(cls, name) is not getattr(Hooks, name)
        )
        self._may_be_short = not self._overridden
        for name in self._overridden:
            if name != "decide" and is_async(getattr(cls, name)):
                raise TypeError(f"hooks are plain functions, not async ones: {name}")

    def _complete(
        self,
        response: Response,
        parses: bool,
        interpret: Optional[Callable[[Response], None]] = None,
    ) -> None:
        """What hooks do with a response before its handler, on the handler's thread.

        `interpret` is the hook of a service.
        """
        hooks = self._overridden
        if not hooks and interpret is None:
            return
        # What an HTTP error says is wanted also where the answer itself is not.
        wants_json = parses or ("parse_json" in hooks and response.error is not None)
        if wants_json and answered(response) and response.data:
            response._parse_with(self.parse_json)
        if "map_service_error" in hooks and response.has_json and answered(response):
            error = mapped_error(self.map_service_error, response)
            if error is not None:
                response._set_error(error)
        if interpret is not None:
            interpret(response)
        if "metrics_collected" in hooks:
            call_reporting(self.metrics_collected, response.request, response.request_metrics)
        if "request_completed" in hooks:
            call_reporting(self.request_completed, response.request, response)


def mapped_error(
    hook: Callable[[Response], Optional[ApiError]], response: Response
) -> Optional[ApiError]:
    """What a map service error hook says of a response, raised or returned."""
    response._is_judged = True
    try:
        error: object = hook(response)
        refuse_coroutine(error)
        if error is not None and not isinstance(error, ApiError):
            raise TypeError(f"it has to return an ApiError or None, not {error!r}")
        return error
    except ApiError as raised:
        return raised
    except Exception as raised:
        # A response that could not be judged must not pass for a good one.
        failure = ApiError(codes.GENERIC, f"the hook map_service_error failed: {raised!r}")
        failure.__cause__ = raised
        return failure
    finally:
        response._is_judged = False


def answered(response: Response) -> bool:
    """Whether there is a whole answer: no error, or only one that the answer's status made."""
    return response.error is None or response.error.domain is ErrorDomain.HTTP
