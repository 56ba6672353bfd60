"""The hooks: what a client's subclass may override."""

from __future__ import annotations

from ._checks import is_async

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Optional

    from ._arg import Arg
    from ._decision import Decision
    from ._enums import DecisionKind, LogFlags
    from ._errors import ApiError
    from ._http import HTTPRequest
    from ._metrics import RequestMetrics
    from ._request import Request
    from ._response import Headers, Response
    from ._service import ServiceCall
    from ._types import Args


class _AllKinds:
    """DecisionKind.ALL, whose enum is made when somebody asks for it."""

    def __get__(self, _: object, owner: type) -> DecisionKind:
        from ._enums import DecisionKind

        return DecisionKind.ALL


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
        """A request starts. On the thread that begins or resumes it.

        It may be given progress handlers here: `Request.set_upload_progress`.
        """

    def information_received(self, request: Request, status: int, headers: Headers) -> None:
        """An interim answer has come, such as 103 (early hints), before the answer itself.

        Not for 100 and 101. On a thread of the library; the response waits until it has returned.
        """

    def upload_progressed(self, request: Request, count: int, total: Optional[int]) -> None:
        """Some of a request's body was sent: bytes so far, and in all, None while unknown.

        Just before the request's own upload progress handler, and where that runs.
        """

    def download_progressed(self, request: Request, count: int, total: Optional[int]) -> None:
        """Some of a response's body was received: bytes so far, and in all, None while unknown.

        Just before the request's own download progress handler, and where that runs.
        """

    def data_received(self, request: Request, data: bytes) -> None:
        """A piece of the body of a successful response has come, decompressed.

        Just before the request's own data handler, and in the same place; the network waits
        meanwhile. The response has the body, too, unless the request has a data handler. A request
        that is sent again after its connection broke shows its body from the beginning. A body that
        is written into a file is not shown. As with a data handler, requests use HTTP/1.1 unless
        the option "http_version" says otherwise.
        """

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

    def map_error(self, error: ApiError, response: Response) -> Optional[ApiError]:
        """Sees every error that a request ends with, and may return another one, or raise it.

        None, or the error itself, keeps it. On the handler's thread.

        Called once for each request that ends with an error, of any domain, a cancelled request's
        too: after retries and redirects, after the service's `make_response`, and before the log,
        `request_completed` and the handler, which see the new error. An HTTP status and a
        Retry-After that it lacks are the old one's.
        """
        return None

    if TYPE_CHECKING:
        decision_kinds: DecisionKind = DecisionKind.ALL
    else:
        decision_kinds = _AllKinds()
    """Which decisions `decide`, or a request's own decision handler, is asked for."""

    def decide(self, decision: Decision) -> Any:
        """Decides what a request does next, now or later; each request waits for the answer.

        Where the response handler runs. For asyncio it may be a coroutine function. A request's own
        `decision_handler` comes first. An exception ends the request with an error that names it.
        """

    def write_log(self, level: LogFlags, message: str) -> None:
        """Receives the client's log lines instead of Python's logging. On any thread."""
        from ._logging import log_line

        log_line(int(level), message.encode())

    def _find_overridden(self) -> None:
        names = (
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
        call: Optional[ServiceCall[Any]] = None,
    ) -> None:
        """What hooks do with a response before its handler, on the handler's thread.

        `call` is what the request was made for, if that is a service.
        """
        if self._overridden or call is not None:
            from ._bridge.hooks import complete

            complete(self, response, parses, call)
