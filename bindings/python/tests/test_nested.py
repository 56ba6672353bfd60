"""Code that the library calls may perform requests, even if much of it runs at once."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import pytest

import ntapi
from conftest import API_URL, PATIENCE, Unraisable
from interception import Flow
from ntapi import InterceptedCall
from ntapi.testing import Answer, Stub, StubRequest

AT_ONCE = 72
"""More requests than the library has workers."""


class Gate:
    """Answers when all requests have come."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._left = count
        self._open = threading.Event()

    def answer(self, _: StubRequest) -> Answer:
        with self._lock:
            self._left -= 1
            if not self._left:
                self._open.set()
        assert self._open.wait(PATIENCE)
        return Answer(json={"a": 1})


def nested_interceptor(client: ntapi.Client, kind: str) -> Any:
    """Performs another request, which passes it again and performs a third one."""

    def perform(call: InterceptedCall) -> None:
        inner = {"outer": "middle", "middle": "innermost"}.get(call.request.url.rpartition("/")[2])
        if inner is None:
            return
        if kind == "stream":
            with client.stream(inner) as chunks:
                assert b"".join(chunks)
        elif kind == "begin":
            request = client.begin(inner, ntapi.response_thread(ntapi.CURRENT))
            assert request.wait(PATIENCE)
            assert request.response is not None
            assert request.response.status == 200
        else:
            assert client.send(inner).status == 200

    def generate(call: InterceptedCall) -> Flow:
        perform(call)
        return (yield call.request)

    def generate_after(call: InterceptedCall) -> Flow:
        response = yield call.request
        perform(call)
        return response

    return {"generator": generate, "after": generate_after}.get(kind, perform)


@pytest.mark.parametrize("scope", ["call", "attempt"])
@pytest.mark.parametrize("kind", ["plain", "generator", "after", "stream", "begin"])
@pytest.mark.parametrize("outer", ["threads", "handlers", "loop"])
def test_interceptors_that_perform(
    stub: Stub, kind: str, outer: str, scope: Any, unraisable: Unraisable
) -> None:
    stub.on(None).answer(json={"a": 1})
    stub.on(None, "innermost").answer_with(Gate(AT_ONCE).answer)
    inner = ntapi.Client(API_URL, stub=stub, args=ntapi.timeout(PATIENCE, "total"))
    interceptor = ntapi.Interceptor(nested_interceptor(inner, kind), scope)
    inner.interceptors = [interceptor]
    responses: list[ntapi.Response] = []
    if outer == "loop":

        async def main() -> None:
            async with ntapi.AsyncClient(
                API_URL,
                stub=stub,
                interceptors=[interceptor],
                args=ntapi.timeout(PATIENCE, "total"),
            ) as client:
                every = (client.perform("outer") for _ in range(AT_ONCE))
                responses.extend(await asyncio.gather(*every))

        asyncio.run(main())
    elif outer == "threads":
        threads = [
            threading.Thread(target=lambda: responses.append(inner.perform("outer")))
            for _ in range(AT_ONCE)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * PATIENCE)
    else:
        for _ in range(AT_ONCE):
            inner.begin("outer", (), responses.append)
        assert inner.drain(2 * PATIENCE) == 0
    inner.close()
    assert [response.error for response in responses] == [None] * AT_ONCE
    assert len(stub.requests) == 3 * AT_ONCE
    assert unraisable.errors == []


def test_hooks_that_perform(servers: dict[str, str], stub: Stub, unraisable: Unraisable) -> None:
    """The hook for interim answers performs a request on a worker of the library."""
    stub.on(None).answer_with(Gate(AT_ONCE).answer)
    with ntapi.Client(API_URL, stub=stub, args=ntapi.timeout(PATIENCE, "total")) as other:
        statuses: list[int] = []

        class Informed(ntapi.Client):
            def information_received(
                self, request: ntapi.Request, status: int, headers: ntapi.Headers
            ) -> None:
                # Not the fast start: this waits in Python.
                statuses.append(other.send("ok", download_progress=lambda *_: None).status)

        with Informed(servers["fault"]) as client:
            client.set_default("maximumConnectionsPerHost", 256)
            for _ in range(AT_ONCE):
                client.begin("early-hints", ntapi.response_thread(ntapi.BACKGROUND))
            assert client.drain(PATIENCE) == 0
    assert statuses == [200] * AT_ONCE
    assert unraisable.errors == []


NESTED_WAITS = [
    *("send", "wait", "drain", "drain of the process", "stream", "with"),
    *("run", "drain of the mailbox"),
]


@pytest.mark.parametrize("count", [1, 64, int(os.environ.get("NTAPI_NESTED", "2000"))])
@pytest.mark.parametrize("way", NESTED_WAITS)
@pytest.mark.parametrize("place", [ntapi.MAIN, ntapi.BACKGROUND])
def test_waits_inside_handlers_nest_to_a_limit(
    stub: Stub, unraisable: Unraisable, place: ntapi.Thread, way: str, count: int
) -> None:
    """Each handler waits, and the wait runs the next one."""
    stub.on(None).answer(json=1)
    depth = deepest = returned = others = 0

    def note(_: ntapi.Response) -> None:
        nonlocal others
        others += 1

    def wait(_: ntapi.Response) -> None:
        nonlocal depth, deepest, returned
        depth += 1
        deepest = max(deepest, depth)
        here = ntapi.response_thread(ntapi.CURRENT)
        if way == "send":
            note(client.send("other"))
        elif way == "stream":
            with client.stream("other") as chunks:
                assert b"".join(chunks) == b"1"
            note(chunks.response)
        elif way == "wait":
            assert client.begin("other", here, note).wait(PATIENCE)
        elif way == "with":
            with ntapi.Client("https://api.test", stub=stub) as own:
                own.begin("other", here, note)
        elif way == "run":
            client.begin("other", here, note)
            ntapi.run(0)
        elif way == "drain of the mailbox":
            client.begin("other", here, note)
            ntapi.mailbox().drain()
        else:
            client.begin("other", here, note)
            client.drain(PATIENCE) if way == "drain" else ntapi.drain(PATIENCE)
        depth -= 1
        returned += 1

    with ntapi.Client("https://api.test", stub=stub) as client:
        for _ in range(count):
            client.begin("a", ntapi.response_thread(place), wait)
        assert client.drain(PATIENCE) == 0
    assert unraisable.errors == []
    assert (returned, others) == (count, count)
    assert deepest <= 16
