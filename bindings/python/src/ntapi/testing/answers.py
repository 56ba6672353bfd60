"""Answers of a stub."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

from .._advice import unknown_keyword
from .._args import c_text
from .._bridge import signatures
from .._bridge.enums import StubFault
from .._bridge.json import to_c
from .._bridge.library import Handle, lib
from .._bridge.signatures import Status
from .._errors import take_error
from .._runtime.checks import (
    check_member,
    check_string,
    even_without_init,
    refuse_copy,
    type_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NoReturn, Optional, Union

    Lines = Union[Mapping[str, str], Iterable[tuple[str, str]]]


MISSING: Any = object()
"""Stands for a body that was not given: None means JSON null."""
_BODY = "json=, text= or data="
OF_ANSWERS = {
    "body": _BODY,
    "content": _BODY,
    "fault": "rule.fail(fault), or rule.lose_connection(after, data=...) for a part of the body",
    "fault_after": "rule.lose_connection(after, data=...)",
    "status_code": "status=",
}
"""What to write in place of a keyword."""


class Answer:
    """An answer of a stub."""

    def __init__(
        self,
        status: int = 200,
        *,
        json: Any = MISSING,
        text: Optional[str] = None,
        data: Optional[bytes] = None,
        content_type: Optional[str] = None,
        headers: Optional[Lines] = None,
        trailers: Optional[Lines] = None,
        delay: float = 0.0,
        piece_size: int = 0,
        piece_delay: float = 0.0,
        fault: StubFault = StubFault.NONE,
        fault_after: Optional[int] = None,
        **unknown: NoReturn,
    ) -> None:
        """Makes an answer, with one of `json`, `text` and `data` as its body, or none.

        `content_type` replaces the body's usual one, as does a header of that name. The `trailers`
        come after the body, which then has no Content-Length unless a header gives one. The answer
        comes after `delay` seconds of the client's clock, its body in pieces of `piece_size` bytes,
        each `piece_delay` seconds after the one before. With a `fault`, the request fails instead;
        for CONNECTION_LOST, `fault_after` bytes of the body come before.
        """
        if unknown:
            raise unknown_keyword(Answer.__init__, unknown, "an answer", OF_ANSWERS)
        if isinstance(status, bool) or not isinstance(status, int):
            raise TypeError(
                f"the status has to be a number, not {type_name(status)}; "
                "a body is written with json=, text= or data="
            )
        given = [name for name, value in (("text", text), ("data", data)) if value is not None]
        if json is not MISSING:
            given.append("json")
        if len(given) > 1:
            raise ValueError(f"an answer has one body, not {' and '.join(given)}")
        if not delay >= 0:
            raise ValueError(f"delay has to be 0 or more seconds, not {delay}")
        body = f" with {given[0]}" if given else ""
        check_member(fault, StubFault, "ntapi.testing")
        wrong = f", {fault.name.lower()}" if fault is not StubFault.NONE else ""
        self._shown = f"{status}{body}{wrong}"
        self._body, kind = _body(json, text, data)
        if content_type is not None:
            check_string(content_type, "content_type")
            kind = c_text(content_type)
        self._content = signatures.StubAnswer(
            ctypes.sizeof(signatures.StubAnswer),
            # C takes 0 for 200.
            status or -1,
            _lines(headers, "header"),
            ctypes.addressof(self._body),
            len(self._body) - 1,
            None,
            kind,
            delay,
            piece_size,
            piece_delay,
            fault.value,
            -1 if fault_after is None else fault_after,
            _lines(trailers, "trailer"),
        )
        # Report a mistake here, not where the answer is used.
        stub = Handle(lib.ntapi_stub_create(), lib.ntapi_stub_free)
        rule = Handle(lib.ntapi_stub_on(stub.pointer, None, None), lib.ntapi_stub_rule_free)
        self._give(rule.pointer)

    def _give(self, rule: Optional[int]) -> None:
        """Adds the answer to a C rule."""
        error = ctypes.c_void_p()
        status = lib.ntapi_stub_rule_answer(rule, ctypes.byref(self._content), ctypes.byref(error))
        if status != Status.OK:
            raise ValueError(take_error(error.value, "this cannot be an answer").message)

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "make it where a stub gives it")

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.testing.Answer {self._shown}>"


def _lines(given: Optional[Lines], what: str) -> ctypes.Array[ctypes.c_char_p]:
    """Header lines as C takes them."""
    pairs = given.items() if isinstance(given, Mapping) else given or ()
    texts: list[Optional[bytes]] = []
    for name, value in pairs:
        check_string(name, f"the name of a {what}")
        check_string(value, f"the {what} {name}")
        texts.append(c_text(f"{name}: {value}"))
    return (ctypes.c_char_p * (len(texts) + 1))(*texts, None)


def _body(
    json: Any, text: Optional[str], data: Optional[bytes]
) -> tuple[ctypes.Array[ctypes.c_char], Optional[bytes]]:
    """The bytes of a body with a NUL after them, and their content type."""
    content, kind = b"", None
    if json is not MISSING:
        value = to_c(json)
        content, kind = lib.ntapi_json_text(value), b"application/json"
        lib.ntapi_json_free(value)
    elif text is not None:
        check_string(text, "the text of an answer")
        content, kind = text.encode(), b"text/plain; charset=utf-8"
    elif data is not None:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data has to be bytes, not {type_name(data)}")
        content, kind = bytes(data), b"application/octet-stream"
    return ctypes.create_string_buffer(content), kind
