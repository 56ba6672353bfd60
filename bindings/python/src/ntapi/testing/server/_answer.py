"""Answers of a server: those of a stub, with what only a wire can show."""

from __future__ import annotations

import json as _json
from collections.abc import Mapping

from ..._advice import unknown_keyword
from ..._bridge.enums import StubFault
from ..._runtime.checks import Copyable, even_without_init, type_name
from ..answers import MISSING, OF_ANSWERS, Answer
from ._latch import Latch, key_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal, NoReturn, Optional, Union

    from ..answers import Lines

    Kind = Literal["close", "half_close", "reset", "stall", "reset_stream", "goaway"]
    Place = Literal["before", "head", "body", "end"]

KINDS = ("close", "half_close", "reset", "stall", "reset_stream", "goaway")
PLACES = ("before", "head", "body", "end")
TAG = "NTApi-Server-Answer"
"""The header line with the script of an answer. It never leaves the process."""


class Fault(Copyable):
    """What goes wrong at a place of an answer."""

    __slots__ = ("after", "code", "kind", "last_stream", "place")

    def __init__(
        self,
        kind: Kind,
        place: Place = "before",
        *,
        after: int = 0,
        code: Optional[int] = None,
        last_stream: Optional[int] = None,
    ) -> None:
        """Makes a fault.

        The kinds:

        - "close": the connection is closed, with a FIN and, over TLS, a close_notify.
        - "half_close": the server sends nothing more, and continues to read.
        - "reset": the connection is closed with a RST.
        - "stall": nothing more comes, until the client hangs up.
        - "reset_stream": HTTP/2 only, RST_STREAM with `code`, by default 2 (INTERNAL_ERROR).
        - "goaway": HTTP/2 only, GOAWAY with `code`, by default 0 (NO_ERROR), and `last_stream`, by
          default the stream of the request. The answer continues if `last_stream` includes its
          stream. The connection is closed after the last answer.

        The places: "before" the head; in the "head", after `after` bytes of it; in the "body",
        after `after` bytes of it, and at its end if it is shorter; and at the "end" of the whole
        answer. "reset_stream" at the end comes in place of END_STREAM.
        """
        if kind not in KINDS:
            raise ValueError(f"the kind of a fault is one of {', '.join(KINDS)}, not {kind!r}")
        if place not in PLACES:
            raise ValueError(f"the place of a fault is one of {', '.join(PLACES)}, not {place!r}")
        if kind in ("reset_stream", "goaway") and place == "head":
            raise ValueError(
                f"no other frame may come inside a head: {kind} can be before it or in the body"
            )
        if code is not None and kind not in ("reset_stream", "goaway"):
            raise ValueError(f"{kind} has no code: only reset_stream and goaway have one")
        if last_stream is not None and kind != "goaway":
            raise ValueError(f"{kind} has no last_stream: only goaway has one")
        if after and place not in ("head", "body"):
            raise ValueError("after counts bytes of the head or the body: give one as the place")
        for name, number in (("after", after), ("code", code), ("last_stream", last_stream)):
            if number is None:
                continue
            if isinstance(number, bool) or not isinstance(number, int):
                raise TypeError(f"{name} has to be a whole number, not {type_name(number)}")
            if number < 0:
                raise ValueError(f"{name} has to be 0 or more, not {number}")
        self.kind = kind
        self.place = place
        self.after = after
        self.code = {"reset_stream": 2, "goaway": 0}.get(kind) if code is None else code
        self.last_stream = last_stream

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.testing.server.Fault {self.kind}, {self.place}>"


class ServerAnswer(Answer):
    """An answer of a server, with what a stub in memory cannot do.

    `Server.enqueue`, `StubRule.add` and `StubRule.answer_with` take it. A client whose own stub
    gives it in memory gets only what an `Answer` has, and a header line NTApi-Server-Answer.
    """

    def __init__(
        self,
        status: int = 200,
        *,
        json: Any = MISSING,
        text: Optional[str] = None,
        data: Optional[bytes] = None,
        content_type: Optional[str] = None,
        headers: Optional[Lines] = None,
        delay: float = 0.0,
        piece_size: int = 0,
        piece_delay: float = 0.0,
        informational: Iterable[tuple[int, Lines]] = (),
        trailers: Optional[Lines] = None,
        chunked: bool = False,
        before_body: bool = False,
        body_delay: float = 0.0,
        trailers_delay: float = 0.0,
        hold: Optional[Latch] = None,
        hold_body: Optional[Latch] = None,
        hold_trailers: Optional[Latch] = None,
        fault: Union[Fault, StubFault, None] = None,
        **unknown: NoReturn,
    ) -> None:
        """Makes an answer. The first arguments are those of `Answer`.

        - `informational`: the answers that come first, such as `[(103, {"Link": "</a.css>"})]`.
        - `chunked`: whether the body has no Content-Length, as with `trailers`.
        - `before_body`: whether to answer without reading the request's body; only in a queue.
        - `body_delay`, `trailers_delay`: seconds between head and body, and between body and end.
          A fault in the head or the body counts as the end. Unlike `delay` and `piece_delay`, these
          delays follow the system's clock.
        - `hold`, `hold_body`, `hold_trailers`: latches that hold the answer before its head, before
          its body and before its end. A reset discards what the client has not read yet: release
          `hold_trailers` when it has read enough.
        - `fault`: what goes wrong, a `Fault`, or one of a stub.
        """
        if unknown:
            raise unknown_keyword(ServerAnswer.__init__, unknown, "an answer", OF_ANSWERS)
        if fault is not None and not isinstance(fault, (Fault, StubFault)):
            raise TypeError(
                f"fault has to be a Fault or a StubFault, not {type_name(fault)}; "
                'write Fault("reset", "body", after=10)'
            )
        if isinstance(fault, StubFault) and (hold or informational):
            raise ValueError("a StubFault comes in place of the whole answer; give a Fault")
        self.is_before_body = before_body
        script = {
            "informational": [
                [_informational(number), _lines_of(given)] for number, given in informational
            ],
            "chunked": bool(chunked or trailers),
            "delays": [
                _seconds("body_delay", body_delay),
                _seconds("trailers_delay", trailers_delay),
            ],
            "holds": [
                _key("hold", hold),
                _key("hold_body", hold_body),
                _key("hold_trailers", hold_trailers),
            ],
            "fault": None,
        }
        if isinstance(fault, Fault):
            script["fault"] = {name: getattr(fault, name) for name in Fault.__slots__}
        # The latches have to live as long as the answer.
        self._latches = hold, hold_body, hold_trailers
        super().__init__(
            status,
            json=json,
            text=text,
            data=data,
            content_type=content_type,
            headers=[*_pairs(headers or ()), (TAG, _json.dumps(script))],
            trailers=trailers,
            delay=delay,
            piece_size=piece_size,
            piece_delay=piece_delay,
            fault=fault if isinstance(fault, StubFault) else StubFault.NONE,
        )

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.testing.server.ServerAnswer {self._shown}>"


class Script:
    """What the header line of an answer says; the defaults for an answer without one."""

    def __init__(self, text: Optional[str] = None) -> None:
        given = _json.loads(text) if text else {}
        self.informational: list[tuple[int, list[tuple[str, str]]]] = [
            (status, [(name, value) for name, value in lines])
            for status, lines in given.get("informational", ())
        ]
        self.is_chunked: bool = given.get("chunked", False)
        self.body_delay, self.trailers_delay = given.get("delays", (0.0, 0.0))
        self.hold, self.hold_body, self.hold_trailers = given.get("holds", (None, None, None))
        self.fault: Optional[Fault] = None
        fault = given.get("fault")
        if fault is not None:
            self.fault = Fault(**fault)


def _pairs(given: Lines) -> list[tuple[str, str]]:
    return list(given.items()) if isinstance(given, Mapping) else list(given)


def _lines_of(given: Lines) -> list[tuple[str, str]]:
    pairs = _pairs(given)
    # This raises an error for a line that cannot be a header.
    Answer(headers=pairs)
    return pairs


def _informational(status: int) -> int:
    if status not in range(100, 200) or status == 101:
        raise ValueError(f"the status {status} is not informational: 100, or 102 to 199")
    return status


def _key(name: str, latch: Optional[Latch]) -> Optional[int]:
    if latch is not None and not isinstance(latch, Latch):
        raise TypeError(f"{name} has to be a Latch, not {type_name(latch)}")
    return key_of(latch)


def _seconds(name: str, seconds: float) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} has to be a number of seconds, not {type_name(seconds)}")
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"{name} has to be 0 or more seconds, not {seconds}")
    return float(seconds)
