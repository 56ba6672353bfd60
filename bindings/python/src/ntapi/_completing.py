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
    from typing import Any, Callable, Optional

    from ._hook_methods import Hooks
    from ._response import Response
    from ._service import ServiceCall


_MAPPING = ("map_error", "map_service_error")


def complete(
    client: Hooks,
    response: Response,
    parses: bool,
    call: Optional[ServiceCall[Any]],
) -> None:
    """On the handler's thread. `call` is what the request was made for, if that is a service."""
    hooks = client._overridden
    before = response.error
    # What an HTTP error says is wanted also where the answer itself is not.
    wants_json = parses or ("parse_json" in hooks and response.error is not None)
    if wants_json and answered(response) and response.data:
        response._parse_with(client.parse_json)
    if "map_service_error" in hooks and response.has_json and answered(response):
        error = mapped_error("map_service_error", client.map_service_error, response)
        if error is not None:
            response._set_error(error)
    if call is not None:
        call.interpret(response)
    if "map_error" in hooks:
        replace_error(client.map_error, response)
    if call is not None and call.maps_errors:
        replace_error(call.service.map_error, response)
    log_verdict(response, None if may_replace_error(client, call) else before)
    if "metrics_collected" in hooks:
        call_reporting(client.metrics_collected, response.request, response.request_metrics)
    if "request_completed" in hooks:
        call_reporting(client.request_completed, response.request, response)


def may_replace_error(client: Hooks, call: Optional[ServiceCall[Any]]) -> bool:
    """Whether a hook may replace the error of the core, which then does not log it."""
    return not client._overridden.isdisjoint(_MAPPING) or (call is not None and call.may_map)


def replace_error(
    hook: Callable[[ApiError, Response], Optional[ApiError]], response: Response
) -> None:
    """Shows a map error hook the error that a response has, if it has one."""
    before = response.error
    if before is None:
        return
    error = mapped_error("map_error", hook, before, response)
    if error is None or error is before:
        return
    if error.__cause__ is None:
        error.__cause__ = before
    response._set_error(error)


def mapped_error(
    name: str, hook: Callable[..., Optional[ApiError]], *arguments: Any
) -> Optional[ApiError]:
    """What a hook that maps errors says, raised or returned; the last argument is the response."""
    response: Response = arguments[-1]
    response._is_judged = True
    try:
        error: object = hook(*arguments)
        refuse_coroutine(error)
        if error is not None and not isinstance(error, ApiError):
            raise TypeError(f"it has to return an ApiError or None, not {error!r}")
        return error
    except ApiError as raised:
        return raised
    except Exception as raised:
        # A response that could not be judged must not pass for a good one.
        failure = ApiError(codes.GENERIC, f"the hook {name} failed: {raised!r}")
        failure.__cause__ = raised
        return failure
    finally:
        response._is_judged = False


def answered(response: Response) -> bool:
    """Whether there is a whole answer: no error, or only one that the answer's status made."""
    return response.error is None or response.error.domain is ErrorDomain.HTTP
