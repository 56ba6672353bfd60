"""Stands in for the network in tests: the stub."""

from __future__ import annotations

import ctypes
import itertools
import json as _json
import os
import weakref

from .._advice import unknown_keyword
from .._args import c_text, shown_url
from .._bridge import signatures
from .._bridge.callbacks import StubAnswerFunction, StubMatchFunction
from .._bridge.enums import StubFault
from .._bridge.json import to_c
from .._bridge.library import Handle, lib
from .._bridge.logging import from_c, report
from .._bridge.signatures import DestroyFunction, Status
from .._errors import take_error
from .._headers import Headers, lines_of
from .._json_method import json_method
from .._runtime.checks import (
    Copyable,
    NeedsInit,
    check_string,
    even_without_init,
    refuse_copy,
    type_name,
)
from .answers import MISSING, OF_ANSWERS, Answer
from .cassette_files import as_recording, is_cassette
from .clock import wait_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, NoReturn, Optional, Union

    from .._types import JSON, Self
    from .answers import Lines


_OF_RULES = dict.fromkeys(("body", "content", "data", "text"), "json= or contains=")
"""What to write in place of a keyword."""


class RequestBody:
    """How a received request shows its body."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def body(self) -> bytes: ...

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


class StubRequest(Copyable, RequestBody):
    """A request as a stub has received it."""

    __slots__ = ("_shown_url", "body", "headers", "is_matched", "method", "url")

    method: str
    url: str
    headers: Headers
    """The headers as they would be sent, except those that libcurl adds: Host, Content-Length,
    cookies.
    """
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
        self._shown_url = request.shown_url.decode()

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.testing.StubRequest {self.method} {self._shown_url}>"


class StubRule:
    """An expectation of a stub, and its answers.

    Answers are used in the order in which they were added. The last one is repeated, unless
    `used_up` was called. Without answers, the answer is 200 without a body.
    """

    def __init__(self, stub: Stub, pointer: int, shown: str) -> None:
        self._stub = stub
        self._handle = Handle(pointer, lib.ntapi_stub_rule_free)
        self._shown = shown

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "it belongs to its stub")

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.testing.StubRule {self._shown}, matched {self.call_count}>"

    def answer(
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
        **unknown: NoReturn,
    ) -> Self:
        """Adds an answer for one request. For the arguments see `Answer`."""
        if unknown:
            raise unknown_keyword(StubRule.answer, unknown, "an answer", OF_ANSWERS)
        return self.add(
            Answer(
                status,
                json=json,
                text=text,
                data=data,
                content_type=content_type,
                headers=headers,
                trailers=trailers,
                delay=delay,
                piece_size=piece_size,
                piece_delay=piece_delay,
            )
        )

    def add(self, answer: Answer) -> Self:
        """Adds an answer for one request that was made before, such as a `ServerAnswer`."""
        answer._give(self._handle.pointer)
        return self

    def answer_with(self, function: Callable[[StubRequest], Answer]) -> Self:
        """Adds an answer that a function makes for each request. The function runs on a background
        thread. If it raises, the answer is 500, and `verify` fails.
        """
        key = self._stub._keep(function)
        lib.ntapi_stub_rule_answer_with(self._handle.pointer, _make, key, DestroyFunction())
        return self

    def fail(self, fault: StubFault, *, delay: float = 0.0) -> Self:
        """Adds a failure for one request."""
        return self.add(Answer(fault=fault, delay=delay))

    def lose_connection(
        self,
        after: int,
        *,
        data: bytes,
        content_type: Optional[str] = None,
        headers: Optional[Lines] = None,
    ) -> Self:
        """Adds an answer whose connection breaks after this many bytes of its body."""
        return self.add(
            Answer(
                data=data,
                content_type=content_type,
                headers=headers,
                fault=StubFault.CONNECTION_LOST,
                fault_after=after,
            )
        )

    def used_up(self) -> Self:
        """The rule matches only as many requests as it has answers."""
        lib.ntapi_stub_rule_use_up(self._handle.pointer)
        return self

    @property
    def call_count(self) -> int:
        """The number of requests that it has matched."""
        return int(lib.ntapi_stub_rule_call_count(self._handle.pointer))


class Stub(NeedsInit):
    """Answers a client's requests in memory, in place of the network: for tests.

        stub = Stub()
        stub.on("GET", "find?q=London").answer(json={"list": [{"name": "London"}]})
        stub.on("POST", "notes", json={"title": "x"}).answer(503).answer(201)
        client = ntapi.Client("https://api.example.com", stub=stub)

    Everything else is as with a server: hooks, redirects, errors, downloads, streams, progress. No
    byte leaves the process. What libcurl does is missing: cookies, Digest, proxies, TLS,
    decompression, HTTP/2. If several rules match, the one added last answers. If none matches, the
    request fails with the code "no stub", and the message names the most similar rules. Several
    clients may share a stub. At the end of a `with Stub() as stub:` block that does not raise,
    `verify` is called.
    """

    def __init__(self) -> None:
        self._handle = Handle(lib.ntapi_stub_create(), lib.ntapi_stub_free)
        self._functions: list[_Function] = []

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "make one in each process; what it was sent, `stub.requests`, can be")

    @even_without_init
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
        """Replays what a `Recorder` in any of the languages has recorded, or a HAR, also one of a
        browser. A file with the suffix .yaml or .yml is a cassette of vcrpy.

        A request matches if its method, URL and body are the same. Redacted parts match anything,
        and headers are not compared. Equal requests get their answers in the order of the
        recording. One request too many is an error, unless `repeats_last`. With `any_origin`,
        scheme, host and port of the URLs do not matter. If the file is invalid, raises an ApiError
        that names the wrong exchange.
        """
        file = os.fspath(path)
        if is_cassette(file):
            with as_recording(file) as copy:
                return cls.from_recording(copy, any_origin=any_origin, repeats_last=repeats_last)
        error = ctypes.c_void_p()
        pointer = lib.ntapi_stub_open_recording(
            c_text(file), any_origin, repeats_last, ctypes.byref(error)
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
        """Adds an expectation, which answers 200 without a body until answers are added.

        The method None matches any. `/notes/*` is a path on any server, `notes/*` the end of a
        path, and `https://...` includes the server. * stands for any characters in a segment, ** at
        the end for the rest of the path. Pairs after a ? have to be in the query. The body has to
        equal `json`, or to contain a text. If all that matches, `where` decides. It is called on a
        background thread. An exception means no, and fails `verify`.
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
        """All requests, in order, including those that no rule has matched."""
        count = lib.ntapi_stub_request_count(self._handle.pointer)
        requests = []
        for index in range(count):
            pointer = lib.ntapi_stub_get_request(self._handle.pointer, index)
            if pointer:
                requests.append(StubRequest(pointer))
        return requests

    def wait_for_requests(
        self, count: int = 1, timeout: Optional[float] = 30.0
    ) -> list[StubRequest]:
        """Waits until this many requests have come, and returns all that have come, also those that
        no rule has matched.

        Raises TimeoutError after `timeout` seconds. Blocks the thread and runs no handlers
        meanwhile. In a coroutine it raises RuntimeError, because nothing else of the loop would go
        on: write `await asyncio.to_thread(stub.wait_for_requests)`.
        """
        wait = lib.ntapi_stub_wait_for_requests
        if not wait_for(wait, self._handle.pointer, count, timeout, "stub.wait_for_requests"):
            found = self.requests
            text = f"{len(found)} of {count} requests have come within {timeout} s"
            raise TimeoutError(f"{text}: {', '.join(map(repr, found))}" if found else text)
        return self.requests

    def verify(self) -> None:
        """Raises AssertionError if a rule was not requested, or, with `used_up`, less often than it
        has answers; if no rule has matched a request; and if a function has raised, for example by
        an `assert`. The message names these. The cause is the first exception of a function.
        """
        texts: list[str] = []
        raised = [function for function in self._functions if function.error is not None]
        problems = ctypes.c_void_p()
        status = lib.ntapi_stub_verify(self._handle.pointer, ctypes.byref(problems))
        if status != Status.OK:
            texts.append(take_error(problems.value, "").message)
        texts += (function.problem for function in raised)
        if texts:
            raise AssertionError("; ".join(texts)) from (raised[0].error if raised else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if error is None:
            self.verify()

    def forget_requests(self) -> None:
        """Forgets all requests, so that every rule begins again, and what functions have raised."""
        for function in self._functions:
            function.error = None
        lib.ntapi_stub_forget_requests(self._handle.pointer)

    def _keep(self, function: Any) -> int:
        kept = _Function(function)
        # Functions live as long as the stub. C may keep its own stub longer, and then finds
        # nothing.
        self._functions.append(kept)
        return kept.key


class _Function:
    """A function of the user, which C calls by a number."""

    __slots__ = ("__weakref__", "call", "error", "key")

    def __init__(self, call: Any) -> None:
        self.call = call
        self.error: Optional[BaseException] = None
        """The first exception that it has raised."""
        self.key = next(_keys)
        _functions[self.key] = self

    @property
    def problem(self) -> str:
        name = getattr(self.call, "__qualname__", None) or repr(self.call)
        return f"the function {name} has raised {type(self.error).__name__}: {self.error}"


_functions: weakref.WeakValueDictionary[int, _Function] = weakref.WeakValueDictionary()
_keys = itertools.count(1)


def _report(error: BaseException, key: int, *_: int) -> None:
    function = _functions.get(key)
    if function is not None and function.error is None:
        function.error = error
    report(error, function and function.call)


def _answer_error(error: BaseException, _key: int, _request: int, reply: int) -> None:
    Answer(500, text=f"the stub's function raised {error!r}")._give(reply)


@from_c(StubMatchFunction, _report, result=False)
def _match(key: int, pointer: int) -> bool:
    """ntapi_stub_match_fn for every rule. Runs on a background thread of the library."""
    function = _functions.get(key)
    return function is not None and bool(function.call(StubRequest(pointer)))


@from_c(StubAnswerFunction, _report, _answer_error)
def _make(key: int, pointer: int, reply: int) -> None:
    """ntapi_stub_answer_fn for every rule. Runs on a background thread of the library."""
    function = _functions.get(key)
    if function is None:
        return
    answer = function.call(StubRequest(pointer))
    if not isinstance(answer, Answer):
        raise TypeError(f"an Answer is expected, not {type_name(answer)}")
    answer._give(reply)
