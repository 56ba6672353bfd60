"""The interceptors of clients whose recorder replays."""

from __future__ import annotations

from .. import codes
from .._bridge.enums import BodyKind, ErrorDomain
from .._errors import ApiError
from .._http import HTTPResponse
from .._interceptors import attempt_interceptor
from .._sync_client import Client
from ..arg import interceptor, option
from .doubles import Stub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Optional

    from .._http import HTTPRequest
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


def adding(recording: Stub) -> Interceptor:
    """For a client that uses the network: the recording answers what it has."""

    @attempt_interceptor
    def replay(call: InterceptedCall) -> Optional[HTTPResponse]:
        if call.request.body_kind is BodyKind.STREAM:
            call.request.body = _read(call.request)
        answer = _ask(recording, call.request)
        if answer.error is None:
            return answer
        if answer.error.code is codes.NO_STUB:
            return None
        raise answer.error

    return replay


def _read(request: HTTPRequest) -> bytes:
    """The bytes of a stream, which may be readable only once: a comparison would leave nothing for
    the server.
    """
    reader = Stub()
    answer = _ask(reader, request)
    if not reader.requests and answer.error is not None:
        raise answer.error
    return reader.requests[0].body


class _Player(Client):
    """Passes requests of another client on to a stub."""

    # No interceptors that a program has given to all clients.
    interceptors = ()


def _ask(stub: Stub, request: HTTPRequest) -> HTTPResponse:
    """What a stub answers to the request of another client."""
    answers = []

    @attempt_interceptor
    def swap(_: InterceptedCall) -> Steps:
        answers.append((yield request))

    with _Player("http://recording.invalid", stub=stub) as player:
        player.perform("", option("plain_exchange"), interceptor(swap))
    return answers[0]
