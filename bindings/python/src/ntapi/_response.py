"""The response of a request."""

from __future__ import annotations

import ctypes
import json
from datetime import datetime, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import _deep_json, codes
from ._checks import refuse_coroutine
from ._enums import ErrorDomain
from ._errors import ApiError, read_error
from ._handles import Handle
from ._headers import Headers
from ._library import lib
from ._metrics import Metrics, read_metrics

if TYPE_CHECKING:
    from ._request import Request

_UNSET: Any = object()


class Response:
    """What came back, or what went wrong. Everything is read when it is first asked for."""

    def __init__(
        self, handle: Optional[Handle], request: Optional[Handle], error: Optional[ApiError] = None
    ) -> None:
        # Without a handle it is the response to a request that could not be built: C answers NULL
        # with nothing.
        self._handle = handle
        self._request = request
        self._pointer = handle.pointer if handle else None
        self._error: Optional[ApiError] = _UNSET if error is None else error
        self._parsed: Any = _UNSET
        if error is not None:
            error.response = self

    @property
    def error(self) -> Optional[ApiError]:
        """What went wrong, or None."""
        if self._error is _UNSET:
            pointer = lib.ntapi_response_error(self._pointer)
            self._set_error(read_error(pointer) if pointer else None)
        return self._error

    def _set_error(self, error: Optional[ApiError]) -> None:
        self._error = error
        if error is not None:
            error.response = self
            error.http_status = error.http_status or self.status or None

    def raise_for_error(self) -> Response:
        """Raises the error, if there is one; else returns the response itself."""
        if self.error is not None:
            raise self.error
        return self

    @cached_property
    def data(self) -> bytes:
        """The body as it was received, decompressed. Copied once, when first asked for."""
        length = ctypes.c_size_t()
        address = lib.ntapi_response_data(self._pointer, ctypes.byref(length))
        return ctypes.string_at(address, length.value) if address else b""

    @property
    def text(self) -> str:
        """The body as text, in the charset that Content-Type names, else UTF-8; what does not fit
        is replaced.
        """
        _, _, charset = self.headers.get("content-type", "").partition("charset=")
        name = charset.split(";")[0].strip().strip("\"'") or "utf-8"
        try:
            return self.data.decode(name, "replace")
        except (LookupError, ValueError):
            return self.data.decode("utf-8", "replace")

    @property
    def has_json(self) -> bool:
        """Whether the body is JSON; tells a JSON null from no JSON."""
        if self._parsed is not _UNSET:
            return True
        return bool(lib.ntapi_response_json(self._pointer))

    @property
    def json(self) -> Any:
        """The body as JSON, parsed when first asked for; None when there is none, and with the
        option "raw_data".

        What is JSON and where it starts is the core's decision; the values are made by Python's own
        parser, so that integers of any size are exact.
        """
        if self._parsed is _UNSET:
            document = lib.ntapi_response_json(self._pointer)
            if not document:
                return None
            self._parsed = self._parse(document)
        return self._parsed

    def _parse(self, document: int) -> Any:
        prefix = lib.ntapi_response_prefix_text(self._pointer) or b""
        if self.data.startswith(prefix):
            text = self.data[len(prefix) :].decode("utf-8-sig")
        else:
            # The core had to mend the prefix to make it UTF-8, so that its length says nothing.
            text = lib.ntapi_json_text(document).decode()
        try:
            return json.loads(text)
        except RecursionError:
            return _deep_json.parse(text)
        except ValueError:
            # The two parsers disagree about this document; the core's reading is the one that
            # counts.
            return json.loads(lib.ntapi_json_text(document))

    def _parse_with(self, parse: Callable[[bytes], object]) -> None:
        """Parses the body with the client's hook."""
        try:
            parsed = parse(self.data)
            refuse_coroutine(parsed)
            self._parsed = parsed
        except Exception as error:
            # An HTTP error says more than a body that is not JSON.
            if self.error is None:
                failure = error
                if not isinstance(failure, ApiError):
                    failure = ApiError(codes.INVALID_JSON, str(error), domain=ErrorDomain.JSON)
                    failure.__cause__ = error
                self._set_error(failure)

    @cached_property
    def headers(self) -> Headers:
        """The header lines."""
        count = lib.ntapi_response_header_count(self._pointer)
        return Headers(
            (
                lib.ntapi_response_header_name(self._pointer, index).decode("utf-8", "replace"),
                lib.ntapi_response_header_value(self._pointer, index).decode("utf-8", "replace"),
            )
            for index in range(count)
        )

    @property
    def status(self) -> int:
        """The HTTP status; 0 when there was no answer."""
        return int(lib.ntapi_response_status(self._pointer))

    @property
    def url(self) -> str:
        """The URL that answered, after redirects; "" when the request could not be built."""
        return (lib.ntapi_response_url(self._pointer) or b"").decode("utf-8", "replace")

    @property
    def prefix_text(self) -> Optional[str]:
        """The text that came before the JSON (a PHP warning, say), or None."""
        text = lib.ntapi_response_prefix_text(self._pointer)
        return None if text is None else text.decode("utf-8", "replace")

    @property
    def start(self) -> datetime:
        """When the request started, in UTC."""
        return datetime.fromtimestamp(lib.ntapi_response_start_time(self._pointer), timezone.utc)

    @property
    def end(self) -> datetime:
        """When the request ended, in UTC."""
        return datetime.fromtimestamp(lib.ntapi_response_end_time(self._pointer), timezone.utc)

    @property
    def elapsed(self) -> float:
        """Seconds that the request took, by a clock that never jumps."""
        return float(lib.ntapi_response_elapsed(self._pointer))

    @cached_property
    def metrics(self) -> Metrics:
        """What the request cost."""
        return read_metrics(self._pointer)

    @property
    def request(self) -> Request:
        """The request that this answers; equal to the handle that `begin` returned."""
        from ._delivery import Outcome
        from ._request import Request

        return Request(self._request, Outcome(response=self))

    def __repr__(self) -> str:
        problem = f", {self.error!r}" if self.error else ""
        return f"<ntapi.Response {self.status} {self.url}, {len(self.data)} bytes{problem}>"
