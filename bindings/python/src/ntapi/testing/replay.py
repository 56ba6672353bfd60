"""The interceptor of clients whose recorder only replays."""

from __future__ import annotations

from .. import codes
from .._bridge.enums import ErrorDomain
from .._errors import ApiError
from .._interceptors import attempt_interceptor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

    from .._http import HTTPRequest, HTTPResponse
    from .._interceptors import InterceptedCall, Interceptor

    Steps = Generator[HTTPRequest, HTTPResponse, None]


def explaining(path: str, is_there: bool) -> Interceptor:
    """For a client whose stub is the recording: the error of a request that is not in it says how
    to record.
    """
    if is_there:
        mode, purpose = "new_episodes", f"to add it to the recording {path}"
    else:
        mode, purpose = "once", f"to make the recording {path}"
    advice = f'{purpose}, run pytest with --record-mode={mode}, or give the recorder mode="{mode}"'

    @attempt_interceptor
    def explain(call: InterceptedCall) -> Steps:
        response = yield call.request
        error = response.error
        if error is not None and error.code is codes.NO_STUB:
            message = f"{error.message}; {advice}"
            raise ApiError(codes.NO_STUB, message, domain=ErrorDomain.REQUEST)

    return explain
