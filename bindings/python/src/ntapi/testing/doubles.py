"""What stands in for the network and for time in a test: the stub, the recorder and the clock."""

from __future__ import annotations

import ctypes
import itertools
import json as _json
import math
import os
import time
import weakref
from collections.abc import Mapping

from .._bridge import signatures
from .._bridge.args import c_text, shown_url
from .._bridge.callbacks import StubAnswerFunction, StubMatchFunction
from .._bridge.json import to_c
from .._bridge.library import Handle, lib
from .._bridge.signatures import DestroyFunction, Status
from .._checks import check_string, check_timeout, refuse_copy, type_name, unknown_keyword
from .._enums import StubFault
from .._errors import take_error
from .._json_method import json_method
from .._logging import report
from .._response import Headers, lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Any, Callable, NoReturn, Optional, Union

    from .._types import JSON, Self


MISSING: Any = object()
"""What was not given: None is JSON's null."""
_BODY = "json=, text= or data="
_OF_ANSWERS = {
    "body": _BODY,
    "content": _BODY,
    "fault": "rule.fail(fault), or rule.lose_connection(after, data=...) for a part of the body",
    "fault_after": "rule.lose_connection(after, data=...)",
    "status_code": "status=",
}
_OF_RULES = dict.fromkeys(("body", "content", "data", "text"), "json= or contains=")
"""What to write in place of a keyword."""


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
        **unknown: NoReturn,
    ) -> None:
        """Makes an answer, with one of `json`, `text` and `data` as its body, or none.

        `headers` may set another Content-Type than the usual one of the body. The answer comes
        after `delay` seconds of the client's clock, its body in pieces of `piece_size` bytes, each
        `piece_delay` seconds after the one before. `fault` is what goes wrong instead; with
        CONNECTION_LOST, `fault_after` is how many bytes of the body come before.
        """
        if unknown:
            raise unknown_keyword(Answer.__init__, unknown, "an answer", _OF_ANSWERS)
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
        wrong = f", {StubFault(fault).name.lower()}" if fault is not StubFault.NONE else ""
        self._shown = f"{status}{body}{wrong}"
        given_lines: Iterable[tuple[str, str]] = (
            headers.items() if isinstance(headers, Mapping) else headers or ()
        )
        texts: list[Optional[bytes]] = []
        for name, value in given_lines:
            check_string(name, "the name of a header")
            check_string(value, f"the header {name}")
            texts.append(c_text(f"{name}: {value}"))
        lines = (ctypes.c_char_p * (len(texts) + 1))(*texts, None)
        self._body, kind = _body(json, text, data)
        self._content = signatures.StubAnswer(
            ctypes.sizeof(signatures.StubAnswer),
            # In C 0 is 200.
            status or -1,
            lines,
            ctypes.addressof(self._body),
            len(self._body) - 1,
            None,
            kind,
            delay,
            piece_size,
            piece_delay,
            StubFault(fault).value,
            -1 if fault_after is None else fault_after,
        )
        # A mistake shows here, not where the answer is used.
        stub = Handle(lib.ntapi_stub_create(), lib.ntapi_stub_free)
        rule = Handle(lib.ntapi_stub_on(stub.pointer, None, None), lib.ntapi_stub_rule_free)
        self._give(rule.pointer)

    def _give(self, rule: Optional[int]) -> None:
        """Adds it to a C rule."""
        error = ctypes.c_void_p()
        status = lib.ntapi_stub_rule_answer(rule, ctypes.byref(self._content), ctypes.byref(error))
        if status != Status.OK:
            raise ValueError(take_error(error.value, "this cannot be an answer").message)

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "make it where a stub gives it")

    def __repr__(self) -> str:
        return f"<ntapi.testing.Answer {self._shown}>"


def _body(
    json: Any, text: Optional[str], data: Optional[bytes]
) -> tuple[ctypes.Array[ctypes.c_char], Optional[bytes]]:
    """The bytes of a body with a NUL behind them, and their content type."""
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


class StubRequest:
    """A request as a stub has received it."""

    __slots__ = ("body", "headers", "is_matched", "method", "url")

    method: str
    url: str
    headers: Headers
    """As they would be sent, but for what libcurl adds: Host, Content-Length, cookies."""
    body: bytes
    is_matched: bool
    """Whether a rule has matched it."""

    def __init__(self, pointer: int) -> None:
        request = signatures.StubRequest.from_address(pointer)
        self.method = request.method.decode()
        self.url = request.url.decode()
        self.headers = Headers(lines_of(request.headers))
        self.body = ctypes.string_at(request.body, request.length)
        self.is_matched = request.is_matched

    @property
    def text(self) -> str:
        """The body as text; bytes that are not UTF-8 are replaced."""
        return self.body.decode("utf-8", "replace")

    @json_method("request")
    def json(self) -> JSON:
        """The body as JSON; None when it is not JSON."""
        try:
            value: JSON = _json.loads(self.body)
        except ValueError:
            return None
        return value

    def __repr__(self) -> str:

        return f"<ntapi.testing.StubRequest {self.method} {shown_url(self.url).partition('?')[0]}>"


class StubRule:
    """One expectation of a stub, and what it is answered with.

    Answers are given in the order in which they were added, and the last one is repeated, unless
    `used_up` was called. Without any, the answer is 200 without a body.
    """

    def __init__(self, stub: Stub, pointer: int, shown: str) -> None:
        self._stub = stub
        self._handle = Handle(pointer, lib.ntapi_stub_rule_free)
        self._shown = shown

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "it belongs to its stub")

    def __repr__(self) -> str:
        return f"<ntapi.testing.StubRule {self._shown}, matched {self.call_count}>"

    def answer(
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
        **unknown: NoReturn,
    ) -> Self:
        """Adds an answer, for one request. For the arguments see `Answer`."""
        if unknown:
            raise unknown_keyword(StubRule.answer, unknown, "an answer", _OF_ANSWERS)
        return self._add(
            Answer(
                status,
                json=json,
                text=text,
                data=data,
                headers=headers,
                delay=delay,
                piece_size=piece_size,
                piece_delay=piece_delay,
            )
        )

    def answer_with(self, function: Callable[[StubRequest], Answer]) -> Self:
        """Adds an answer that a function makes for each request, on a background thread."""
        key = self._stub._keep(function)
        lib.ntapi_stub_rule_answer_with(self._handle.pointer, _make, key, DestroyFunction())
        return self

    def fail(self, fault: StubFault, *, delay: float = 0.0) -> Self:
        """Adds a failure, for one request."""
        return self._add(Answer(fault=fault, delay=delay))

    def lose_connection(self, after: int, *, data: bytes) -> Self:
        """Adds an answer whose connection breaks after so many bytes of its body."""
        return self._add(Answer(data=data, fault=StubFault.CONNECTION_LOST, fault_after=after))

    def used_up(self) -> Self:
        """Says that it matches no more requests than it has answers."""
        lib.ntapi_stub_rule_use_up(self._handle.pointer)
        return self

    @property
    def call_count(self) -> int:
        """How many requests it has matched."""
        return int(lib.ntapi_stub_rule_call_count(self._handle.pointer))

    def _add(self, answer: Answer) -> Self:
        answer._give(self._handle.pointer)
        return self


class Stub:
    """Answers a client's requests in memory, in place of the network: for tests.

        stub = Stub()
        stub.on("GET", "find?q=London").answer(json={"list": [{"name": "London"}]})
        stub.on("POST", "notes", json={"title": "x"}).answer(503).answer(201)
        client = ntapi.Client("https://api.example.com", stub=stub)

    Everything else is as with a server: hooks, redirects, errors, downloads, streams, progress. No
    byte leaves the process. What libcurl does is missing: cookies, Digest, proxies, TLS,
    decompression, HTTP/2. If several rules match, the last one that was added answers. If none
    matches, the request fails with the code "no stub", and the message names the nearest rules.
    Several clients may share a stub.
    """

    def __init__(self) -> None:
        self._handle = Handle(lib.ntapi_stub_create(), lib.ntapi_stub_free)
        self._functions: list[_Function] = []

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "make one in each process; what it was sent, `stub.requests`, can be")

    def __repr__(self) -> str:
        count = lib.ntapi_stub_request_count(self._handle.pointer)
        return f"<ntapi.testing.Stub, {count} requests>"

    @classmethod
    def from_recording(
        cls,
        path: Union[str, os.PathLike[str]],
        *,
        any_origin: bool = False,
        repeats_last: bool = False,
    ) -> Self:
        """Replays what a `Recorder` has recorded, in any of the languages.

        A request matches if its method, URL and body are the same; redacted parts may be anything,
        and headers are not compared. Equal requests get their answers in the order of the
        recording, and one request too many is an error, unless `repeats_last`. With `any_origin`
        scheme, host and port of the URLs do not matter. Raises an ApiError that names the exchange
        of the file that is wrong.
        """
        error = ctypes.c_void_p()
        pointer = lib.ntapi_stub_open_recording(
            c_text(os.fspath(path)), any_origin, repeats_last, ctypes.byref(error)
        )
        if not pointer:
            raise take_error(error.value, f"{path} is not a recording")
        stub = cls()
        stub._handle = Handle(pointer, lib.ntapi_stub_free)
        return stub

    def on(
        self,
        method: Optional[str],
        url: str = "**",
        *,
        json: Any = MISSING,
        contains: Optional[str] = None,
        where: Optional[Callable[[StubRequest], object]] = None,
        **unknown: NoReturn,
    ) -> StubRule:
        """Adds an expectation, which answers 200 without a body until it is told otherwise.

        None is any method. `/notes/*` is a path on any server, `notes/*` the end of a path, and
        `https://...` names the server, too. * stands for any characters in a segment, ** at the end
        for the rest of the path. Pairs after a ? have to be in the query. The body has to equal
        `json`, or to contain a text. If all that matches, `where` is asked, on a background thread;
        an exception is reported and counts as no.
        """
        if unknown:
            raise unknown_keyword(Stub.on, unknown, "a rule", _OF_RULES)
        if method is not None:
            check_string(method, "the method")
        check_string(url, "the URL")
        if where is not None and not callable(where):
            raise TypeError(f"where has to be callable, not {type_name(where)}")
        if json is not MISSING and contains is not None:
            raise ValueError("a rule compares the body with json= or with contains=, not with both")
        pointer = lib.ntapi_stub_on(self._handle.pointer, c_text(method), c_text(url))

        rule = StubRule(self, pointer, f"{method or 'any method'} {shown_url(url)}")
        if json is not MISSING:
            value = to_c(json)
            lib.ntapi_stub_rule_body_json(pointer, value)
            lib.ntapi_json_free(value)
        if contains is not None:
            check_string(contains, "contains")
            lib.ntapi_stub_rule_body_contains(pointer, c_text(contains))
        if where is not None:
            lib.ntapi_stub_rule_match(pointer, _match, self._keep(where), DestroyFunction())
        return rule

    @property
    def requests(self) -> list[StubRequest]:
        """All requests, in order, also those that no rule has matched."""
        count = lib.ntapi_stub_request_count(self._handle.pointer)
        requests = []
        for index in range(count):
            pointer = lib.ntapi_stub_get_request(self._handle.pointer, index)
            if pointer:
                requests.append(StubRequest(pointer))
        return requests

    def verify(self) -> None:
        """Raises an AssertionError that names the rules that were not requested, or, if they are
        used up, less often than they have answers, and the requests that no rule has matched.
        """
        problems = ctypes.c_void_p()
        status = lib.ntapi_stub_verify(self._handle.pointer, ctypes.byref(problems))
        if status != Status.OK:
            raise AssertionError(take_error(problems.value, "").message)

    def forget_requests(self) -> None:
        """Forgets the requests that came, so that every rule begins again."""
        lib.ntapi_stub_forget_requests(self._handle.pointer)

    def _keep(self, function: Any) -> int:
        kept = _Function(function)
        # As long as the stub. C, which may keep its own longer, finds nothing then.
        self._functions.append(kept)
        return kept.key


class _Function:
    """A function of the user's that C calls by a number."""

    __slots__ = ("__weakref__", "call", "key")

    def __init__(self, call: Any) -> None:
        self.call = call
        self.key = next(_keys)
        _functions[self.key] = self


_functions: weakref.WeakValueDictionary[int, _Function] = weakref.WeakValueDictionary()
_keys = itertools.count(1)


def _call_match(key: int, pointer: int) -> bool:
    """ntapi_stub_match_fn for every rule. On a background thread of the library."""
    function = _functions.get(key)
    if function is None:
        return False
    try:
        return bool(function.call(StubRequest(pointer)))
    except BaseException as error:
        report(error, function.call)
        return False


def _call_make(key: int, pointer: int, reply: int) -> None:
    """ntapi_stub_answer_fn for every rule. On a background thread of the library."""
    function = _functions.get(key)
    if function is None:
        return
    try:
        answer = function.call(StubRequest(pointer))
        if not isinstance(answer, Answer):
            raise TypeError(f"an Answer is expected, not {type_name(answer)}")
    except BaseException as error:
        report(error, function.call)
        answer = Answer(500, text=f"the stub's function raised {error!r}")
    answer._give(reply)


_match = StubMatchFunction(_call_match)
_make = StubAnswerFunction(_call_make)


# Recordings.


class Recorder:
    """Records what a client and its servers say to each other, for a `Stub` to replay.

        with Recorder("tests/find.json") as recorder:
            client = ntapi.Client("https://api.example.com", recorder=recorder)
            client.send("find", ntapi.url("q", "London"))

    One entry for each exchange, redirects too, so that a replay takes the same way. Secrets do not
    get into the file: Authorization, the values of cookies and of headers with secret names, what
    args marked as secret, and what has a secret name in a query, a form, the parts of a multipart
    body or JSON, in answers too. A secret elsewhere, such as in plain text, is not found: look at
    the file before you share it. The `with` block writes the file at its end, unless it raises.
    """

    def __init__(self, path: Union[str, os.PathLike[str]], *, secrets: Iterable[str] = ()) -> None:
        """Makes a recorder.

        `secrets` are names of headers, pairs, parts and JSON members that are secret, too.
        """
        if isinstance(secrets, str):
            raise TypeError("secrets has to be a list of names, not one string")
        self.path: str = os.fspath(path)
        check_string(self.path, "the path")
        self._handle = Handle(lib.ntapi_recorder_create(c_text(self.path)), lib.ntapi_recorder_free)
        for name in secrets:
            check_string(name, "the name of a secret")
            lib.ntapi_recorder_add_secret(self._handle.pointer, c_text(name))

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "make one in each process, with a file of its own")

    def __repr__(self) -> str:
        return f"<ntapi.testing.Recorder {self.path!r}, {self.count} exchanges>"

    @property
    def count(self) -> int:
        """How many exchanges are whole."""
        return int(lib.ntapi_recorder_count(self._handle.pointer))

    def save(self) -> None:
        """Writes the file, in one step: it is the old one or the new one. Raises an ApiError."""
        error = ctypes.c_void_p()
        status = lib.ntapi_recorder_save(self._handle.pointer, ctypes.byref(error))
        if status != Status.OK:
            raise take_error(error.value, "the recording was not written")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if error is None:
            self.save()


# Time.


_SLICE = 0.5
"""Seconds after which a thread that waits in C looks up, for Ctrl-C."""


class ManualClock:
    """A clock for tests: time stands still until it is advanced, so that nothing is waited for.

        clock = ManualClock()
        client = ntapi.Client(url, clock=clock)
        request = client.begin("busy", handler=handler)
        clock.wait_for_sleepers()  # the request waits before its next attempt
        clock.advance(2)

    It times the waits of the library itself: between the attempts of a request and between the
    connections of a stream of events, the lifetime of tokens, and the timeouts of refreshes and
    decisions. What watches a socket goes by the system's time. Several clients may share a clock. A
    forked child makes one of its own.
    """

    def __init__(self, calendar: Optional[float] = None) -> None:
        """Makes a clock.

        `calendar` is the time of the calendar at the beginning, in seconds since 1970-01-01 00:00
        UTC; None is the system's time now.
        """
        start = -1.0 if calendar is None else _number(calendar, "calendar")
        self._handle = Handle(lib.ntapi_manual_clock_create(start), lib.ntapi_manual_clock_free)

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "make one in each process")

    def __repr__(self) -> str:
        return f"<ntapi.testing.ManualClock at {self.elapsed} s, {self.sleepers} sleepers>"

    @property
    def elapsed(self) -> float:
        """Seconds that it was advanced in all."""
        return float(lib.ntapi_manual_clock_elapsed(self._handle.pointer))

    @property
    def sleepers(self) -> int:
        """How many wait for time to pass, to go on then; what only waits to give up is not
        counted.
        """
        return int(lib.ntapi_manual_clock_sleepers(self._handle.pointer))

    @property
    def next_wake(self) -> Optional[float]:
        """In how many seconds the first of the sleepers goes on; None when there is none."""
        seconds = float(lib.ntapi_manual_clock_next_wake(self._handle.pointer))
        return None if seconds < 0 else seconds

    def advance(self, seconds: float) -> None:
        """Lets time pass. What is due by then goes on, in order, on background threads.

        Time jumps: what goes on sees the new time, and what it begins counts from that.
        """
        lib.ntapi_manual_clock_advance(self._handle.pointer, _number(seconds, "seconds"))

    def wait_for_sleepers(self, count: int = 1, timeout: Optional[float] = 30.0) -> bool:
        """Waits until so many sleepers wait for time to pass, so that an advance finds them.

        Returns False when `timeout` seconds of the system's time have passed before. Blocks the
        thread, and runs no handlers meanwhile; in asyncio, `await
        asyncio.to_thread(clock.wait_for_sleepers)`.
        """
        check_timeout(timeout)
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError(f"count has to be a number from 0, not {count!r}")
        end = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            rest = end - time.monotonic()
            status = lib.ntapi_manual_clock_wait_for_sleepers(
                self._handle.pointer, count, max(0.0, min(_SLICE, rest))
            )
            if status == Status.OK:
                return True
            if rest <= _SLICE:
                return False


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} has to be a number of seconds, not {type_name(value)}")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{what} has to be 0 or more seconds, not {value}")
    return float(value)
