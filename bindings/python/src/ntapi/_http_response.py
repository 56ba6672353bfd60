"""An answer as interceptors see it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping

from ._arg_values import bytes_of
from ._checks import check_string, type_name
from ._headers import Headers, lines_of
from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Union

    from ._aliases import BytesLike
    from ._errors import ApiError
    from ._handles import Handle


class HTTPResponse:
    """An answer as interceptors see it: the server's, or one of their own. It never changes.

    return ntapi.HTTPResponse(200, {"Content-Type": "application/json"}, b'{"name": "x"}')
    """

    __slots__ = ("_body", "_handle", "_headers", "error", "status")

    status: int
    """The HTTP status; 0 when there was no answer."""
    error: Optional[ApiError]
    """Why there is no whole answer; None where there is one, whatever its status."""

    def __init__(
        self,
        status: int,
        headers: Union[Mapping[str, str], Iterable[tuple[str, str]]] = (),
        body: Union[BytesLike, str] = b"",
    ) -> None:
        """Makes an answer. A body that is text is sent as UTF-8."""
        if isinstance(status, bool) or not isinstance(status, int):
            raise TypeError(f"a status has to be a number, not {type_name(status)}")
        if not 200 <= status <= 999:
            raise ValueError(f"{status} is no status of a response: 200 to 999")
        lines = list(headers.items() if isinstance(headers, Mapping) else headers)
        for name, value in lines:
            check_string(name, "the name of a header")
            check_string(value, f"the header {name}")
        self.status = status
        self.error = None
        self._handle: Optional[Handle] = None
        self._headers: Optional[Headers] = Headers(lines)
        self._body = bytes_of(body)

    @classmethod
    def _of(cls, handle: Handle) -> HTTPResponse:
        """What a C interception shows."""
        response = cls.__new__(cls)
        pointer = handle.pointer
        response.status = int(lib.ntapi_interception_status(pointer))
        error = lib.ntapi_interception_error(pointer)
        response.error = None
        if error:
            from ._errors import read_error

            response.error = read_error(error)
        response._handle = handle
        # Copied when somebody asks: most interceptors look at the status alone.
        response._headers = None
        response._body = None
        return response

    @property
    def headers(self) -> Headers:
        """The header lines."""
        if self._headers is None:
            self._headers = Headers(self._lines())
        return self._headers

    def _lines(self) -> Iterable[tuple[str, str]]:
        pointer = self._handle.pointer if self._handle else None
        return lines_of(lib.ntapi_interception_headers(pointer))

    @property
    def body(self) -> bytes:
        """The body; empty where it went elsewhere: to a data handler, or into a file."""
        if self._body is None:
            length = ctypes.c_size_t()
            pointer = self._handle.pointer if self._handle else None
            start = lib.ntapi_interception_body(pointer, ctypes.byref(length))
            self._body = ctypes.string_at(start, length.value) if start else b""
        return self._body

    def __repr__(self) -> str:
        return f"<ntapi.HTTPResponse {self.status}>"
