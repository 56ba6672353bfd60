"""What a stub answers with."""

from __future__ import annotations

from collections.abc import Mapping

from ._arg_list import c_text
from ._checks import check_string, type_name
from ._enums import StubFault
from ._handles import Handle
from ._json import to_c
from ._library import lib
from ._numbers import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Optional, Union

MISSING: Any = object()
"""What None cannot say, because it is JSON's null."""


class Answer:
    """What a stub answers a request with."""

    def __init__(
        self,
        status: int = 200,
        *,
        json: Any = MISSING,
        text: Optional[str] = None,
        data: Optional[bytes] = None,
        headers: Union[Mapping[str, str], Iterable[tuple[str, str]], None] = None,
        delay: float = 0.0,
        piece_size: int = 0,
        piece_delay: float = 0.0,
        fault: StubFault = StubFault.NONE,
        fault_after: Optional[int] = None,
    ) -> None:
        """Makes an answer, with one of `json`, `text` and `data` as its body, or none.

        `headers` may say another Content-Type than the usual one of the body. The answer comes
        after `delay` seconds of the client's clock, its body in pieces of `piece_size` bytes, each
        `piece_delay` seconds after the one before. `fault` goes wrong in its place; with
        CONNECTION_LOST, `fault_after` is how many bytes of the body come before.
        """
        given = [name for name, value in (("text", text), ("data", data)) if value is not None]
        if json is not MISSING:
            given.append("json")
        if len(given) > 1:
            raise ValueError(f"an answer has one body, not {' and '.join(given)}")
        pointer = lib.ntapi_stub_answer_create(status)
        if not pointer:
            raise ValueError(f"{status!r} is no status of a response: 200 to 999")
        self._handle = Handle(pointer, lib.ntapi_stub_answer_free)
        body = f" with {given[0]}" if given else ""
        wrong = f", {StubFault(fault).name.lower()}" if fault is not StubFault.NONE else ""
        self._shown = f"{status}{body}{wrong}"
        lines: Iterable[tuple[str, str]] = (
            headers.items() if isinstance(headers, Mapping) else headers or ()
        )
        for name, value in lines:
            check_string(name, "the name of a header")
            check_string(value, f"the header {name}")
            _check(
                lib.ntapi_stub_answer_add_header(pointer, c_text(name), c_text(value)),
                f"{name!r} with {value!r} cannot be a header",
            )
        self._set_body(pointer, json, text, data)
        _check(lib.ntapi_stub_answer_delay(pointer, delay), f"{delay} is no delay in seconds")
        _check(
            lib.ntapi_stub_answer_pieces(pointer, piece_size, piece_delay),
            f"{piece_size} bytes every {piece_delay} s are no pieces",
        )
        after = -1 if fault_after is None else fault_after
        lib.ntapi_stub_answer_set_fault(pointer, StubFault(fault).value, after)

    def __repr__(self) -> str:
        return f"<ntapi.testing.Answer {self._shown}>"

    @staticmethod
    def _set_body(pointer: int, json: Any, text: Optional[str], data: Optional[bytes]) -> None:
        if json is not MISSING:
            value = to_c(json)
            lib.ntapi_stub_answer_json(pointer, value)
            lib.ntapi_json_free(value)
        elif text is not None:
            check_string(text, "the text of an answer")
            content = text.encode()
            lib.ntapi_stub_answer_data(pointer, content, len(content), b"text/plain; charset=utf-8")
        elif data is not None:
            if not isinstance(data, (bytes, bytearray, memoryview)):
                raise TypeError(f"data has to be bytes, not {type_name(data)}")
            content = bytes(data)
            lib.ntapi_stub_answer_data(pointer, content, len(content), b"application/octet-stream")


def _check(status: int, problem: str) -> None:
    if status != Status.OK:
        raise ValueError(problem)
