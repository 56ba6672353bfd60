"""Every callback, in every place, raises every kind of exception: the request has one outcome, and
the exception gets where it belongs.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import io
import logging
import re
import select
import threading
import weakref
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any, Callable, ClassVar

import pytest

import ntapi
from conftest import API_URL, Unraisable, wait_for
from interception import Flow
from ntapi import InterceptedCall
from ntapi._bridge.library import lib
from ntapi.testing import Stub
from test_encrypted_stores import Encrypted
from test_shared_caches import running, shop

SOON = 120
"""Seconds to wait for something immediate. Only a failing test waits so long."""
BODY = 8 << 20
"""The size in bytes of nginx's pattern-8M.bin, which comes in many pieces."""


class ProblemError(Exception):
    """An unexpected exception of a program."""


class AnyService(ntapi.Service[Any]):
    """A service that answers any JSON."""


KINDS = [
    ProblemError,
    MemoryError,
    RecursionError,
    KeyboardInterrupt,
    SystemExit,
    GeneratorExit,
    asyncio.CancelledError,
]


PASSED = {
    "request": 1,
    "response": 2,
    "error": 5,
    "json": 6,
    "data": 13,
    "interception": 15,
    "decision": 16,
    "refresh": 19,
    "headers": 26,
    "store call": 30,
}
"""The kinds of handles that requests and callbacks get, by their numbers in ntapi_handle_kind."""


def live_handles() -> dict[str, int]:
    gc.collect()
    return {name: lib.ntapi_live_handles(kind) for name, kind in PASSED.items()}


@pytest.fixture(scope="module", autouse=True)
def handles_before() -> dict[str, int]:
    return live_handles()


class Raising:
    """A callback that raises in its first call, and returns a value in later ones."""

    made: ClassVar[list[Raising]] = []
    """The callbacks of this test."""

    def __init__(self, kind: type[BaseException], value: Any = None) -> None:
        self.made.append(self)
        self.error = kind("by a callback")
        self.calls: list[tuple[Any, ...]] = []
        self.value = value
        self.called = threading.Event()

    def __call__(self, *arguments: Any, **_: Any) -> Any:
        self.calls.append(arguments)
        self.called.set()
        if len(self.calls) == 1:
            raise self.error
        return self.value

    @property
    def is_exception(self) -> bool:
        return isinstance(self.error, Exception)


@pytest.fixture(autouse=True)
def nothing_is_held() -> Iterator[None]:
    """After each test, its exceptions do not keep the frames in which they were raised."""
    yield
    for raising in Raising.made:
        raising.error.__traceback__ = None
        raising.calls.clear()
    Raising.made.clear()


def hooks_of(name: str, raising: Raising) -> dict[str, Any]:
    """A class body with one hook."""
    return {name: lambda _, *arguments: raising(*arguments)}


def run_on_new_loop(main: Callable[[], Coroutine[Any, Any, None]]) -> list[BaseException]:
    """Runs a program that continues after every exception of its callbacks. Returns the exceptions
    that it saw.
    """
    raised: list[BaseException] = []
    loop = asyncio.new_event_loop()
    # asyncio lets only KeyboardInterrupt and SystemExit out of a callback.
    loop.set_exception_handler(lambda _, context: raised.append(context["exception"]))
    task = loop.create_task(main())
    while not task.done():
        try:
            loop.run_until_complete(task)
        except AssertionError:
            raise
        except BaseException as error:
            raised.append(error)
    # The last callback may not have raised yet.
    try:
        loop.run_until_complete(asyncio.sleep(0))
    except BaseException as error:
        raised.append(error)
    loop.close()
    return raised


# Callbacks that run in a place.


OBSERVING_HOOKS = [
    "upload_progressed",
    "download_progressed",
    "data_received",
    "metrics_collected",
    "request_completed",
]
OBSERVING_HANDLERS = ["upload_progress", "download_progress", "data_handler", "response"]
JUDGING_HOOKS = ["decide", "parse_json", "map_service_error", "map_error"]
JUDGING_HANDLERS = ["decision_handler"]
JUDGING_SERVICES = ["service map_service_error", "service make_response", "service map_error"]
JUDGING = [*JUDGING_HOOKS, *JUDGING_HANDLERS, *JUDGING_SERVICES]
PLACED = [*OBSERVING_HOOKS, *OBSERVING_HANDLERS, *JUDGING]
OWN_PLACES = ["main", "current", "mailbox", "loop"]
PLACES = [*OWN_PLACES, "background", "executor", "mixed"]


class Outcome:
    """A request with one callback that raises, and its outcome."""

    def __init__(self, servers: dict[str, str], stub: Stub, name: str, raising: Raising) -> None:
        self.raised: list[BaseException] = []
        """The exceptions that reached the program's threads."""
        self.responses: list[ntapi.Response] = []
        self.pieces: list[bytes] = []
        self.raising = raising
        self._name = name
        self._takes_data = name in ("data_received", "data_handler", "download_progress")
        self._base_url = servers["nginx"] if self._takes_data else API_URL
        self._stub = None if self._takes_data else stub
        stub.on(None).answer(json={"city": "London"})
        stub.on(None, "missing").answer(404, json={"reason": "missing"})

    def client(self, base: Any) -> Any:
        is_hook = self._name in OBSERVING_HOOKS or self._name in JUDGING_HOOKS
        members = hooks_of(self._name, self.raising) if is_hook else {}
        return type("Failing", (base,), members)(self._base_url, stub=self._stub)

    def begin(self, client: Any, place: Any, other: Any = None) -> ntapi.Request:
        args = [
            ntapi.response_thread(other or place),
            ntapi.data_thread(place),
            ntapi.decision_thread(place),
            ntapi.upload_progress_thread(place),
            ntapi.download_progress_thread(place),
        ]
        handlers: dict[str, Any] = {}
        if self._name in (*OBSERVING_HANDLERS, *JUDGING_HANDLERS) and self._name != "response":
            handlers[self._name] = self.raising
        if self._name == "data_handler":
            handlers["data_handler"] = self._take
        elif self._name == "data_received":
            handlers["data_handler"] = self.pieces.append
        if "upload" in self._name:
            args += [ntapi.method("POST"), ntapi.data(bytes(100_000))]
        if self._name.startswith("service"):
            return self._begin_call(client, args)
        if self._takes_data:
            args.append(ntapi.option("raw_data"))
        command = "pattern-8M.bin" if self._takes_data else "json"
        if self._name == "map_error":
            command = "missing"
        request: ntapi.Request = client.begin(command, args, self._finish, **handlers)
        return request

    def _begin_call(self, client: Any, args: Any) -> ntapi.Request:
        method = self._name.partition(" ")[2]
        members = {"command": "missing" if method == "map_error" else "json"}
        service = type("Failing", (AnyService,), {**members, **hooks_of(method, self.raising)})
        request: ntapi.Request = client.begin_call(
            service(), lambda result: self._finish(result.response), args
        )
        return request

    def _take(self, data: bytes) -> None:
        self.pieces.append(data)
        self.raising(data)

    def _finish(self, response: ntapi.Response) -> None:
        self.responses.append(response)
        if self._name == "response":
            self.raising(response)

    def check(self) -> None:
        """Checks that the request has ended once: as if the callback had not raised, or with its
        error.
        """
        (response,) = self.responses
        if self._name in JUDGING:
            assert response.error is not None
            assert response.error.__cause__ is self.raising.error
        else:
            assert response.error is None
            assert response.status == 200
        if self._name.startswith("data"):
            assert sum(map(len, self.pieces)) == BODY
        assert self.raising.called.is_set()


def wait_here(outcome: Outcome, request: ntapi.Request) -> None:
    """Waits as a program does that continues after every exception of its handlers."""
    while request.is_running:
        try:
            assert request.wait(SOON)
        except AssertionError:
            raise
        except BaseException as error:
            outcome.raised.append(error)


def run_on_threads(outcome: Outcome, place: str) -> None:
    with concurrent.futures.ThreadPoolExecutor(1) as pool, outcome.client(ntapi.Client) as client:
        if place == "mailbox":
            box = ntapi.Mailbox()
            poll = select.poll()
            poll.register(box.fileno(), select.POLLIN)
            request = outcome.begin(client, box)
            while request.is_running:
                # The loop of a program, which watches only the descriptor.
                assert poll.poll(1000 * SOON)
                try:
                    box.drain()
                except BaseException as error:
                    outcome.raised.append(error)
        elif place == "mixed":
            wait_here(outcome, outcome.begin(client, pool, ntapi.BACKGROUND))
        else:
            places = {"background": ntapi.BACKGROUND, "executor": pool}
            wait_here(outcome, outcome.begin(client, places.get(place, ntapi.CURRENT)))


def run_on_loop(outcome: Outcome) -> None:
    async def main() -> None:
        async with outcome.client(ntapi.AsyncClient) as client:
            outcome.begin(client, ntapi.CURRENT)
            assert await client.drain(SOON) == 0

    outcome.raised += run_on_new_loop(main)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", PLACED)
def test_in_its_place(
    servers: dict[str, str], stub: Stub, unraisable: Unraisable, name: str, place: str, kind: Any
) -> None:
    outcome = Outcome(servers, stub, name, Raising(kind))
    if place == "loop":
        run_on_loop(outcome)
    elif place == "current":
        thread = threading.Thread(target=run_on_threads, args=(outcome, place))
        thread.start()
        thread.join(2 * SOON)
        assert not thread.is_alive()
    else:
        run_on_threads(outcome, place)
    outcome.check()
    error = outcome.raising.error
    if outcome.raising.is_exception:
        assert outcome.raised == []
        assert unraisable.errors == ([] if name in JUDGING else [error])
    elif place in OWN_PLACES:
        assert outcome.raised == [error]
        assert unraisable.errors == []
    else:
        wait_for(lambda: unraisable.errors)
        assert outcome.raised == []
        assert unraisable.errors == [error]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("client_class", [ntapi.Client, ntapi.AsyncClient])
def test_data_received_of_a_stream(
    servers: dict[str, str], unraisable: Unraisable, client_class: Any, kind: Any
) -> None:
    """The reader gets the piece even if the hook raises."""
    raising = Raising(kind)
    kinds = type("Failing", (client_class,), hooks_of("data_received", raising))
    received: list[bytes] = []

    async def main() -> None:
        async with kinds(servers["nginx"]) as client, client.stream("pattern-8M.bin") as chunks:
            async for chunk in chunks:
                received.append(chunk)

    if client_class is ntapi.Client:
        with kinds(servers["nginx"]) as client, client.stream("pattern-8M.bin") as chunks:
            received.extend(chunks)
        assert unraisable.errors == [raising.error]
    else:
        assert [*run_on_new_loop(main), *unraisable.errors] == [raising.error]
    assert sum(map(len, received)) == BODY


@pytest.mark.parametrize("kind", KINDS)
def test_an_async_decision(stub: Stub, unraisable: Unraisable, kind: Any) -> None:
    raising = Raising(kind)

    async def decide(_: Any, decision: ntapi.Decision) -> None:
        await asyncio.sleep(0)
        raising(decision)

    stub.on(None).answer(json=1)
    failing = type("Failing", (ntapi.AsyncClient,), {"decide": decide})
    responses: list[ntapi.Response] = []

    async def main() -> None:
        async with failing(API_URL, stub=stub) as client:
            responses.append(await client.perform("json"))

    raised = run_on_new_loop(main)
    (response,) = responses
    assert response.error is not None
    assert response.error.__cause__ is raising.error
    # asyncio keeps GeneratorExit until the task is collected, and CancelledError as the task's end.
    if kind not in (GeneratorExit, asyncio.CancelledError):
        assert raised == ([] if raising.is_exception else [raising.error])
    assert unraisable.errors == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_as_executor(
    stub: Stub, unraisable: Unraisable, caplog: pytest.LogCaptureFixture, kind: Any
) -> None:
    """If the place raises, the handler runs in the background."""
    raising = Raising(kind)
    stub.on(None).answer(json=1)
    responses: list[ntapi.Response] = []
    with ntapi.Client(API_URL, stub=stub) as client:
        place = ntapi.response_thread(raising)
        assert client.begin("json", place, responses.append).wait(SOON)
    assert [response.status for response in responses] == [200]
    assert unraisable.errors == ([] if raising.is_exception else [raising.error])
    assert "refuses a handler" in caplog.text


# Callbacks on the thread that begins the request: it gets the exception, and no request.


BEGINNING_HOOKS = ["build_args", "build_request", "request_started"]
BEGINNING = [*BEGINNING_HOOKS, "service configure", "service parameters", "default"]
WAYS = ["perform", "begin", "await"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BEGINNING)
def test_on_the_calling_thread(
    stub: Stub, unraisable: Unraisable, name: str, way: str, kind: Any
) -> None:
    raising = Raising(kind)
    base: Any = ntapi.AsyncClient if way == "await" else ntapi.Client
    members = hooks_of(name, raising) if name in BEGINNING_HOOKS else {}
    client = type("Failing", (base,), members)(API_URL, stub=stub)
    if name == "default":
        client.set_default("exampleDefault", raising)
    stub.on(None).answer(json=1)
    args = [ntapi.url_default("exampleDefault")] if name == "default" else []
    service: Any = None
    if name.startswith("service"):
        hook = hooks_of(name.partition(" ")[2], raising)
        service = type("Failing", (AnyService,), {"command": "json", **hook})()
    responses: list[Any] = []

    async def wait() -> Any:
        return await (client.call(service) if service else client.send("json", args))

    def act() -> None:
        if way == "begin" and service:
            client.begin_call(service, responses.append)
        elif way == "begin":
            client.begin("json", args, responses.append)
        elif way == "perform":
            client.call(service) if service else client.send("json", args)
        else:
            asyncio.run(wait())

    if name == "default" and raising.is_exception:
        # A default whose provider raises counts as not set.
        act()
        assert unraisable.errors == [raising.error]
    else:
        with pytest.raises(kind) as caught:
            act()
        assert caught.value is raising.error
        assert unraisable.errors == []
        assert responses == []
    assert ntapi.drain(SOON) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_default_on_another_thread(stub: Stub, unraisable: Unraisable, kind: Any) -> None:
    """What ends a program is raised on the thread that begins the request, as on the main one."""
    raising = Raising(kind)
    client = ntapi.Client(API_URL, stub=stub)
    client.set_default("exampleDefault", raising)
    stub.on(None).answer(json=1)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        sent = pool.submit(client.send, "json", ntapi.url_default("exampleDefault"))
        error = sent.exception(SOON)
    assert error is (None if raising.is_exception else raising.error)
    assert unraisable.errors == ([raising.error] if raising.is_exception else [])


# Callbacks on threads of the library.


@pytest.mark.parametrize("kind", KINDS)
def test_information_received(servers: dict[str, str], unraisable: Unraisable, kind: Any) -> None:
    raising = Raising(kind)
    failing = type("Failing", (ntapi.Client,), hooks_of("information_received", raising))
    with failing(servers["fault"]) as client:
        assert client.send("early-hints").status == 200
    assert unraisable.errors == [raising.error]


@pytest.mark.parametrize("kind", KINDS)
def test_session_invalidated(unraisable: Unraisable, kind: Any) -> None:
    raising = Raising(kind)
    client = type("Failing", (ntapi.Client,), hooks_of("session_invalidated", raising))(API_URL)
    client.close()
    assert raising.called.wait(SOON)
    wait_for(lambda: unraisable.errors)
    assert unraisable.errors == [raising.error]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", [ntapi.Client, ntapi.AsyncClient])
def test_write_log(stub: Stub, unraisable: Unraisable, base: Any, kind: Any) -> None:
    """The hook raises for the line of an error, on a worker. The request ends as if the line had
    been written.
    """
    raising = Raising(kind)
    stub.on(None).answer(404)
    client = type("Failing", (base,), hooks_of("write_log", raising))(API_URL, stub=stub)

    async def main() -> ntapi.Response:
        response: ntapi.Response = await client.perform("json")
        return response

    response = client.perform("json") if base is ntapi.Client else asyncio.run(main())
    assert response.status == 404
    assert unraisable.errors == [raising.error]


@pytest.mark.parametrize("kind", KINDS)
def test_write_log_on_the_main_thread(stub: Stub, unraisable: Unraisable, kind: Any) -> None:
    """The hook runs for the line at the start of a request. Ctrl-C in it reaches the program."""
    raising = Raising(kind)
    stub.on(None).answer(json=1)
    members = hooks_of("write_log", raising)
    client = type("Failing", (ntapi.Client,), members)(API_URL, stub=stub)
    client.log_flags = ntapi.LogFlags.INFO
    if raising.is_exception:
        assert client.send("json").status == 200
        assert unraisable.errors == [raising.error]
    else:
        with pytest.raises(kind):
            client.send("json")
        assert unraisable.errors == []
    assert client.send("json").status == 200


@pytest.mark.parametrize("kind", KINDS)
def test_a_handler_of_logging(stub: Stub, unraisable: Unraisable, kind: Any) -> None:
    """It raises for the line of an error, on a worker."""
    raising = Raising(kind)
    stub.on(None).answer(404)
    handler, logger = logging.Handler(), logging.getLogger("ntapi")
    handler.emit = raising  # type: ignore[method-assign]
    logger.addHandler(handler)
    try:
        assert ntapi.Client(API_URL, stub=stub).perform("json").status == 404
        wait_for(lambda: unraisable.errors)
    finally:
        logger.removeHandler(handler)
    assert unraisable.errors == [raising.error]


def plain(raising: Raising) -> Any:
    return lambda call: raising(call)


def before(raising: Raising) -> Any:
    def intercept(call: InterceptedCall) -> Flow:
        raising(call)
        yield call.request
        return None

    return intercept


def after(raising: Raising) -> Any:
    def intercept(call: InterceptedCall) -> Flow:
        yield call.request
        raising(call)
        return None

    return intercept


def async_before(raising: Raising) -> Any:
    async def intercept(call: InterceptedCall) -> None:
        raising(call)

    return intercept


def async_after(raising: Raising) -> Any:
    async def intercept(call: InterceptedCall) -> None:
        await call.next()
        raising(call)

    return intercept


def wrong_answer(raising: Raising) -> Any:
    class Shy:
        __repr__ = raising.__call__

    def intercept(call: InterceptedCall) -> Flow:
        yield call.request
        return Shy()  # type: ignore[return-value]

    return intercept


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", [ntapi.Client, ntapi.AsyncClient])
@pytest.mark.parametrize("scope", ["call", "attempt"])
@pytest.mark.parametrize("make", [plain, before, after, async_before, async_after, wrong_answer])
def test_an_interceptor(
    stub: Stub, unraisable: Unraisable, make: Any, scope: Any, base: Any, kind: Any
) -> None:
    is_async = make in (async_before, async_after)
    if is_async and base is ntapi.Client:
        pytest.skip("it needs a loop")
    raising = Raising(kind)
    stub.on(None).answer(json=1)
    client = base(API_URL, stub=stub, interceptors=[ntapi.Interceptor(make(raising), scope)])
    raised: list[BaseException] = []
    responses: list[ntapi.Response] = []

    async def main() -> None:
        async with client:
            responses.append(await client.perform("json"))

    if base is ntapi.Client:
        responses.append(client.perform("json"))
    else:
        raised = run_on_new_loop(main)
    (response,) = responses
    assert response.error is not None
    if is_async and kind is asyncio.CancelledError:
        # The interceptor's task is cancelled, and the request with it.
        assert response.error.domain is ntapi.ErrorDomain.CANCELLED
        assert raised == unraisable.errors == []
        return
    assert response.error.__cause__ is raising.error
    if raising.is_exception:
        assert raised == unraisable.errors == []
    elif is_async:
        # asyncio keeps GeneratorExit in the task until that is collected.
        assert kind is GeneratorExit or raised == [raising.error]
        assert unraisable.errors == []
    else:
        wait_for(lambda: unraisable.errors)
        assert raised == []
        assert unraisable.errors == [raising.error]


@pytest.mark.parametrize("kind", KINDS)
def test_an_interceptor_that_cannot_be_called(
    monkeypatch: pytest.MonkeyPatch, stub: Stub, unraisable: Unraisable, kind: Any
) -> None:
    """The request is not sent without it."""
    raising = Raising(kind)
    monkeypatch.setattr("ntapi._interceptions.GeneratorPassage", raising)
    stub.on(None).answer(json=1)
    interceptors = [ntapi.Interceptor(plain(raising), "call")]
    with ntapi.Client(API_URL, stub=stub, interceptors=interceptors) as client:
        response = client.perform("json")
    assert response.error is not None
    assert stub.requests == []
    assert unraisable.errors == [raising.error]


@pytest.mark.parametrize("kind", KINDS)
def test_a_refresh_that_cannot_begin(
    monkeypatch: pytest.MonkeyPatch, stub: Stub, unraisable: Unraisable, kind: Any
) -> None:
    """The requests that wait for the token fail."""
    raising = Raising(kind)
    monkeypatch.setattr("ntapi._auth.partial", raising)
    stub.on(None).answer(json=1)
    authenticator = ntapi.Authenticator(lambda _: "token")
    with ntapi.Client(API_URL, stub=stub, authenticator=authenticator) as client:
        response = client.perform("json")
    assert response.error is not None
    assert response.error.__cause__ is raising.error
    assert stub.requests == []
    assert unraisable.errors == [raising.error]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_refresh(stub: Stub, unraisable: Unraisable, is_async: bool, kind: Any) -> None:
    raising = Raising(kind, "token")

    async def refresh(reason: ntapi.Refresh) -> Any:
        return raising(reason)

    stub.on(None).answer(json=1)
    authenticator = ntapi.Authenticator(refresh if is_async else raising)
    with ntapi.Client(API_URL, stub=stub, authenticator=authenticator) as client:
        response = client.perform("json")
    assert response.error is not None
    assert repr(raising.error) in response.error.message or kind.__name__ in str(response.error)
    assert stub.requests == []
    wait_for(lambda: unraisable.errors)
    assert raising.error in unraisable.errors


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_match", [False, True])
def test_a_function_of_a_stub(
    stub: Stub, unraisable: Unraisable, is_match: bool, kind: Any
) -> None:
    raising = Raising(kind)
    if is_match:
        stub.on(None).answer(500)
        stub.on(None, where=raising).answer(json=1)
    else:
        stub.on(None).answer_with(raising)
    with ntapi.Client(API_URL, stub=stub) as client:
        assert client.perform("json").status == 500
    assert unraisable.errors == [raising.error]


def is_reported(kind: type[BaseException]) -> bool:
    """Whether what a store raises is a mistake of the program, or ends it."""
    return kind is TypeError or not issubclass(kind, Exception)


STORED = ["run", "get", "set", "remove", "encrypt", "decrypt"]


class Changed(Encrypted):
    """Says that the page has changed since it was requested, so what was set is removed."""

    def run(self, script: ntapi.StoreScript, keys: list[str], arguments: list[str]) -> list[str]:
        reply = super().run(script, keys, arguments)
        return ["late"] if script.name == "ntapi.record.1" else reply


@pytest.mark.parametrize("kind", [*KINDS, TypeError])
@pytest.mark.parametrize("name", STORED)
def test_a_method_of_a_store(unraisable: Unraisable, name: str, kind: Any) -> None:
    """A cache works without its store. Errors that a store may raise, for example because its
    server cannot be reached, are not reported.
    """
    raising = Raising(kind)
    base = Changed if name == "remove" else Encrypted

    def method(store: Any, *arguments: Any) -> Any:
        if not raising.called.is_set():
            raising()
        return getattr(base, name)(store, *arguments)

    store = type("Failing", (base,), {name: method})()
    with running() as server:
        for _ in range(2):
            with shop(server.url, store, "a") as client:
                assert client.get("/x").json().startswith("/x ")
        assert raising.called.wait(SOON)
    expected = [raising.error] if is_reported(kind) else []
    wait_for(lambda: len(unraisable.errors) >= len(expected))
    assert ntapi.drain(SOON) == 0
    assert unraisable.errors == expected


@pytest.mark.parametrize("kind", [*KINDS, TypeError])
def test_a_reply_of_a_store_that_cannot_be_given(
    monkeypatch: pytest.MonkeyPatch, unraisable: Unraisable, kind: Any
) -> None:
    """The request does not wait for a reply that never comes."""
    raising = Raising(kind)
    monkeypatch.setattr("ntapi._stores._reply", lambda *_: raising())
    with running() as server, shop(server.url, Encrypted(), "a") as client:
        assert client.get("/x").json() == "/x 1"
    expected = [raising.error] if is_reported(kind) else []
    wait_for(lambda: len(unraisable.errors) >= len(expected))
    assert raising.calls == [()]
    assert unraisable.errors == expected


@pytest.mark.parametrize("kind", [*KINDS, TypeError])
def test_a_limit_whose_store_raises(stub: Stub, unraisable: Unraisable, kind: Any) -> None:
    raising = Raising(kind)
    store = type("Failing", (ntapi.Store,), {"run": lambda _, *arguments: raising(*arguments)})()
    limiter = ntapi.RateLimiter.of(ntapi.RateLimit(10), store=store, key="a", on_failure="closed")
    stub.on(None).answer(json=1)
    with ntapi.Client(API_URL, stub=stub, rate_limiter=limiter) as client:
        response = client.perform("json")
    assert response.error is not None
    assert response.error.code is ntapi.codes.STORE_FAILED
    assert f"{kind.__name__}: by a callback" in response.error.message
    expected = [raising.error] if is_reported(kind) else []
    wait_for(lambda: len(unraisable.errors) >= len(expected))
    assert unraisable.errors == expected


class File:
    """A body that cannot be read a second time."""

    def __init__(self, raising: Raising) -> None:
        self.raising = raising

    def read(self, size: int) -> bytes:
        data: bytes = self.raising(size)
        return data


def iterator(raising: Raising) -> Iterator[bytes]:
    yield b"x"
    raising()


async def async_iterator(raising: Raising) -> AsyncIterator[bytes]:
    yield b"x"
    raising()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [File, iterator, async_iterator, lambda raising: raising])
def test_a_body(servers: dict[str, str], unraisable: Unraisable, make: Any, kind: Any) -> None:
    raising = Raising(kind, b"")
    is_async = make is async_iterator
    raised: list[BaseException] = []
    responses: list[ntapi.Response] = []
    arg = ntapi.stream(make(raising))

    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            responses.append(await client.perform("echo", ntapi.method("POST"), arg))

    if is_async:
        raised = run_on_new_loop(main)
    else:
        with ntapi.Client(servers["fault"]) as client:
            responses.append(client.perform("echo", ntapi.method("POST"), arg))
    (response,) = responses
    assert response.error is not None
    assert response.error.__cause__ is raising.error
    if raising.is_exception:
        assert raised == unraisable.errors == []
    elif is_async:
        assert unraisable.errors == []
    else:
        assert unraisable.errors == [raising.error]


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_that_is_read_again(
    servers: dict[str, str], unraisable: Unraisable, kind: Any
) -> None:
    raising = Raising(kind)

    class Again(io.BytesIO):
        def seek(self, offset: int, whence: int = 0) -> int:
            return int(raising(offset))

    arg = ntapi.stream(Again(b"body"), length=4)
    with ntapi.Client(servers["fault"]) as client:
        response = client.perform("redirect/echo?status=307", ntapi.method("POST"), arg)
    assert response.error is not None
    assert response.error.__cause__ is raising.error
    assert raising.calls == [(0,)]
    assert unraisable.errors == ([] if raising.is_exception else [raising.error])


def test_a_report_keeps_nothing(unraisable: Unraisable) -> None:
    """After the report, the objects of the callback's frame are freed without the garbage
    collector.
    """

    class Held:
        pass

    seen: list[Any] = []
    gc.disable()
    try:

        def work(_: ntapi.Response) -> None:
            held = Held()
            seen.append(weakref.ref(held))
            raise ProblemError

        stub = Stub()
        stub.on(None).answer(json=1)
        with ntapi.Client(API_URL, stub=stub) as client:
            place = ntapi.response_thread(ntapi.BACKGROUND)
            assert client.begin("json", place, work).wait(SOON)
        unraisable.errors.clear()
        # When the worker runs the next handler, it has left the frames of this one.
        with ntapi.Client(API_URL, stub=stub) as client:
            assert client.begin("json", place, lambda _: None).wait(SOON)
        assert seen[0]() is None
    finally:
        gc.enable()


def test_nothing_is_left(handles_before: dict[str, int]) -> None:
    """After the tests above, every request, piece and decision is freed."""
    with contextlib.suppress(AssertionError):
        wait_for(lambda: live_handles() == handles_before)
    assert live_handles() == handles_before


def test_the_table_has_every_hook() -> None:
    """A new hook gets a row here."""
    rows = {*OBSERVING_HOOKS, *JUDGING_HOOKS, *BEGINNING_HOOKS}
    rows |= {"information_received", "session_invalidated", "write_log"}
    from ntapi._client import Hooks

    assert rows == {name for name in vars(Hooks) if callable(vars(Hooks)[name]) and name[0] != "_"}


ROWS: dict[str, Any] = {
    "BuildRequestFunction": test_on_the_calling_thread,
    "DestroyFunction": "it forgets what the package has kept",
    "InformationFunction": test_information_received,
    "InterceptFunction": test_an_interceptor,
    "InterceptorEndFunction": "it ends a generator or a task, which test_interceptor_ends.py does",
    "LogFunction": test_a_handler_of_logging,
    "ObserveFunction": "test_observers.py has each method and each kind of exception",
    "ProviderFunction": test_on_the_calling_thread,
    "ReadFunction": test_a_body,
    "RefreshFunction": test_a_refresh,
    "RewindFunction": test_a_body_that_is_read_again,
    "SessionInvalidatedFunction": test_session_invalidated,
    "StoreCipherFunction": test_a_method_of_a_store,
    "StoreGetFunction": test_a_method_of_a_store,
    "StoreRemoveFunction": test_a_method_of_a_store,
    "StoreRunFunction": test_a_method_of_a_store,
    "StoreSetFunction": test_a_method_of_a_store,
    "StubAnswerFunction": test_a_function_of_a_stub,
    "StubMatchFunction": test_a_function_of_a_stub,
    "WriteLogFunction": test_write_log,
}
"""The functions of Python that C calls, each with its test, or the reason why it has none here."""


def test_the_table_has_every_function_that_c_calls() -> None:
    """A new function gets a row above. The package makes no others: it takes events instead."""
    package = Path(ntapi.__file__).parent
    text = "".join(path.read_text() for path in package.rglob("*.py"))
    assert set(re.findall(r"@from_c\((\w+Function)\b", text)) == set(ROWS)
