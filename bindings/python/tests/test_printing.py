"""No refused secret and no control character reaches a terminal, a log or a message."""

from __future__ import annotations

import logging
import re
import traceback
from typing import Any, Callable

import pytest

import ntapi
from ntapi.testing import Stub

SECRET = "S3cretMark"

CONTROLS = [
    chr(number)
    for numbers in [
        *(range(0x20), range(0x7F, 0xA0), range(0x61C, 0x61D)),
        *(range(0x200E, 0x2010), range(0x2028, 0x202F), range(0x2066, 0x206A)),
    ]
    for number in numbers
]
"""C0, DEL, C1, the line separators and the bidirectional controls."""
BAD = re.compile("[" + "".join(map(re.escape, set(CONTROLS) - {"\t", "\n"})) + "]")


@pytest.fixture
def client(stub: Stub) -> ntapi.Client:
    class Quoting(ntapi.Client):
        def map_service_error(self, response: ntapi.Response) -> ntapi.ApiError | None:
            body = response.json()
            said = body.get("error") if isinstance(body, dict) else None
            return None if said is None else ntapi.ApiError(said, said)

    return Quoting("http://api.test", stub=stub, log_flags=ntapi.LogFlags.ALL)


def header(name: str) -> Callable[[str], dict[str, Any]]:
    return lambda text: {"headers": {name: text}, "text": "{}"}


PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "header": header("X-A"),
    "content type": header("Content-Type"),
    "cookie": lambda text: {"headers": {"Set-Cookie": f"{text}={text}; path=/{text}"}},
    "location": lambda text: {"status": 302, "headers": {"Location": f"/{text}?{text}"}},
    "service error": lambda text: {"json": {"error": text}},
    "body": lambda text: {"status": 404, "text": f"{text}\nntapi error: forged"},
    "JSON of an error": lambda text: {"status": 404, "json": {"message": text}},
    "text before JSON": lambda text: {"text": text + '{"a": 1}'},
    "invalid JSON": lambda text: {
        "text": '{"a": ' + text + "}",
        "headers": {"Content-Type": "application/json"},
    },
}


@pytest.mark.parametrize("place", PLACES)
def test_no_control_leaves_the_library(
    client: ntapi.Client, stub: Stub, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "ntapi")
    for control in CONTROLS:
        try:
            stub.on("GET", "a").answer(**PLACES[place](f"x{control}y"))
        except (ValueError, ntapi.ApiError):
            # No server can send it.
            continue
        caplog.clear()
        response = client.perform("a")
        texts = [repr(response), repr(response.headers), repr(response.request)]
        if response.error is not None:
            error = response.error
            texts += [str(error), repr(error), error.message]
            texts += traceback.format_exception_only(type(error), error)
        for text in texts:
            assert not BAD.search(text), (place, control, text)
        for record in caplog.records:
            line = record.getMessage()
            assert not BAD.search(line), (place, control, line)
            further = line.split("\n")[1:]
            assert all(text.startswith("  ") for text in further), (place, control, line)
            assert record.levelno == logging.DEBUG or not further, (place, control, line)


URLS = [
    f"http://ann:{SECRET}@h:port/",
    f"http://ann:{SECRET}@/",
    f"http://ann:{SECRET} x@h/",
    f"http://ann:{SECRET}\x7f@h/",
    f"http:/ann:{SECRET}@h/",
    f"http:ann:{SECRET}@h/",
    f"//ann:{SECRET}@h/",
    f"ann:{SECRET}@h",
    f"ftp://ann:{SECRET}@h/",
    f"https://ann:{SECRET}@[::1/",
    f"http://h h/?token={SECRET}",
    f"http://ann:pa/{SECRET}@h/",
]


def refused(action: Callable[[], Any]) -> list[str]:
    """The message of an exception, or of the error in a response."""
    try:
        result = action()
    except Exception as error:
        return [*traceback.format_exception_only(type(error), error), repr(error)]
    if isinstance(result, ntapi.Response) and result.error is None:
        # It was not refused: the text is a path.
        return []
    problem = getattr(result, "error", None)
    return [repr(result), str(problem), repr(problem)]


def in_hook(change: Callable[[ntapi.HTTPRequest], object], stub: Stub) -> Callable[[], Any]:
    class Client(ntapi.Client):
        def build_request(self, request: ntapi.HTTPRequest) -> None:
            change(request)

    return lambda: Client("http://api.test", stub=stub).perform("a")


def in_interceptor(change: Callable[[ntapi.HTTPRequest], object], stub: Stub) -> Callable[[], Any]:
    @ntapi.call_interceptor
    def interceptor(call: ntapi.InterceptedCall) -> Any:
        change(call.request)
        return (yield call.request)

    client = ntapi.Client("http://api.test", stub=stub, interceptors=[interceptor])
    return lambda: client.perform("a")


@pytest.mark.parametrize("way", [in_hook, in_interceptor])
def test_what_a_request_refuses_is_not_shown(
    stub: Stub, caplog: pytest.LogCaptureFixture, way: Any
) -> None:
    caplog.set_level(logging.DEBUG, "ntapi")
    stub.on("GET").answer(json={})

    changes: list[Callable[[ntapi.HTTPRequest], object]] = [
        lambda request: setattr(request, "method", f"Bearer {SECRET}"),
        lambda request: request.headers.update({f"Bearer {SECRET}": "x"}),
        lambda request: request.headers.update({"X-Key": f"{SECRET}\n"}),
    ]
    changes += [lambda request, url=url: setattr(request, "url", url) for url in URLS]  # type: ignore[misc]
    texts = [text for change in changes for text in refused(way(change, stub))]
    texts += [record.getMessage() for record in caplog.records]
    assert not [text for text in texts if SECRET in text]


def test_what_is_refused_elsewhere_is_not_shown(
    stub: Stub, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "ntapi")
    stub.on("GET").answer(json={})
    client: Any = ntapi.Client("http://api.test", stub=stub)
    token = f"Bearer {SECRET}"
    actions: list[Callable[[], Any]] = [
        lambda: client.perform("a", token),
        lambda: client.perform("a", token.encode()),
        lambda: client.perform("a", ntapi.method(token)),
        lambda: client.perform("a", ntapi.header(token, "x")),
        lambda: ntapi.header(token, "x"),
        lambda: ntapi.method(token),
        lambda: ntapi.response_thread(token),  # type: ignore[arg-type]
        lambda: setattr(client, "rate_limiter", token),
        lambda: client.call(token),
        lambda: ntapi.Client("http://api.test", interceptors=[token]),  # type: ignore[list-item]
    ]
    for url in URLS:
        actions += [
            lambda url=url: client.perform(url),  # type: ignore[misc]
            lambda url=url: client.perform("a", ntapi.base_url(url)),  # type: ignore[misc]
            lambda url=url: ntapi.base_url(url),  # type: ignore[misc]
            lambda url=url: ntapi.Client(url, stub=stub).perform("a"),  # type: ignore[misc]
            lambda url=url: ntapi.Client(url),  # type: ignore[misc]
        ]
    for action in actions:
        caplog.clear()
        texts = refused(action)
        if texts:
            texts += [record.getMessage() for record in caplog.records]
        assert not [text for text in texts if SECRET in text]
