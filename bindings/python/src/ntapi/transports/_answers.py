"""Answers, and their heads."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from .._bridge.enums import ErrorDomain
from .._bridge.library import lib
from .._errors import ApiError
from .._headers import lines_of
from .._pull import AsyncPull, Pull, received_message

if TYPE_CHECKING:
    from typing import Callable, NoReturn

    from .._response import Response
    from .._stream import AsyncStream, Stream

    Line = tuple[bytes, bytes]
    SyncAnswer = Union[Stream[bytes], Pull, "Whole"]
    AsyncAnswer = Union[AsyncStream[bytes], AsyncPull, "AsyncWhole"]
    Answer = Union[SyncAnswer, AsyncAnswer]


class Head(NamedTuple):
    """The head of an answer, as it came."""

    status: int
    version: float
    """1.0, 1.1, 2.0 or 3.0."""
    reason: bytes
    lines: list[Line]


def head_of(answer: Answer) -> Head:
    """Reads the head with few calls: the properties of streams and responses make objects that no
    library wants.
    """
    if not isinstance(answer, _Whole):
        if isinstance(answer, (Pull, AsyncPull)):
            text = answer.head
        else:
            text = received_message(answer.request._pointer)
        if text:
            first, *lines = text.split(b"\r\n")[:-1]
            version, status, reason = first.split(b" ", 2)
            pairs = [line.partition(b": ")[::2] for line in lines]
            return Head(int(status), float(version[5:]) or 1.1, reason, pairs)
    response = answer.response
    assert response is not None
    numbers = lib.ntapi_request_metrics(response.request._pointer)
    try:
        version = lib.ntapi_json_double(numbers, b"httpVersion", 0.0)
    finally:
        lib.ntapi_json_free(numbers)
    headers = lib.ntapi_response_headers(response._pointer)
    reason = lib.ntapi_headers_reason_phrase(headers) or b""
    return Head(response.status, version or 1.1, reason, list(lines_of(headers)))


def with_head(response: Response) -> Response:
    """The response, if it has a head; else raises its error. An error in the body is raised where
    the body is read, as by a stream.
    """
    error = response.error
    if error is not None and (not response.status or error.domain is not ErrorDomain.NETWORK):
        raise error
    return response


class _Whole:
    """An answer that has come as a whole, with the members of a stream."""

    def __init__(self, response: Response) -> None:
        self.response = response


class Whole(_Whole):
    """A whole answer, as a stream that is read on a thread."""

    def __iter__(self) -> Iterator[bytes]:
        if self.response.data:
            yield self.response.data
        self.response.raise_for_error()

    def close(self) -> None:
        """Does nothing: it is complete."""


class AsyncWhole(_Whole):
    """A whole answer, as a stream that is read on a loop."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self.response.data:
            yield self.response.data
        self.response.raise_for_error()

    async def close(self) -> None:
        """Does nothing: it is complete."""


class AnswerFile(io.RawIOBase):
    """The body of an answer as a file. `fail` raises the library's exception for an error."""

    def __init__(self, answer: SyncAnswer, fail: Callable[[ApiError], NoReturn]) -> None:
        self._answer = answer
        self._fail = fail
        self._chunks = iter(answer)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills the buffer with what has come; waits only if nothing has."""
        if not self._rest:
            try:
                self._rest = memoryview(next(self._chunks, b""))
            except ApiError as error:
                self._fail(error)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def read1(self, size: Optional[int] = None) -> bytes:
        """As `read`, which never waits for more than there is."""
        return self.read(BLOCK if size is None or size < 0 else size) or b""

    def close(self) -> None:
        """Ends the exchange, if the body is not complete."""
        if not self.closed:
            self._answer.close()
        super().close()


BLOCK = 65_536
"""Bytes that are read at once where a library does not say how many."""
