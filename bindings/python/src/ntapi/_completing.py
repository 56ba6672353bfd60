"""What hooks do with a response before its handler."""

from __future__ import annotations

from . import codes
from ._checks import refuse_coroutine
from ._enums import ErrorDomain
from ._errors import ApiError
from ._logging import log_verdict
from ._report import call_reporting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional

    from ._hook_methods import Hooks
    from ._response import Response


def complete(
    client: Hooks,
    response: Response,
    parses: bool,
    interpret: Optional[Callable[[Response], None]],
) -> None:
    """On the handler's thread. `interpret` is the hook of a service."""
    hooks = client._overridden
    before = response.error
    # What an HTTP error says is wanted also where the answer itself is not.
    wants_json = parses or ("parse_json" in hooks and response.error is not None)
    if wants_json and answered(response) and response.data:
        response._parse_with(client.parse_json)
    if "map_service_error" in hooks and response.has_json and answered(response):
        error = mapped_error(client.map_service_error, response)
        if error is not None:
            response._set_error(error)
    if interpret is not None:
        interpret(response)
    log_verdict(response, before)
    if "metrics_collected" in hooks:
        call_reporting(client.metrics_collected, response.request, response.request_metrics)
    if "request_completed" in hooks:
        call_reporting(client.request_completed, response.request, response)


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
