"""Interceptors that are async functions: on which loop they run, and how they end."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest

import ntapi
from conftest import API_URL, PATIENCE
from interception import Waiting
from ntapi import HTTPResponse, InterceptedCall, Interceptor
from ntapi.testing import Answer, ManualClock, Stub, StubRequest


def with_loop(stub: Stub, function: Any, *args: Any, **options: Any) -> ntapi.Response:
    """Performs a request that passes an async function."""

    async def main() -> ntapi.Response:
        interceptors = [Interceptor(function, options.pop("scope", "attempt"))]
        async with ntapi.AsyncClient(
            API_URL, stub=stub, interceptors=interceptors, **options
        ) as client:
            return await client.perform(*args)

    return asyncio.run(main())


def test_an_async_function_sends_and_answers(stub: Stub) -> None:
    async def insist(call: InterceptedCall) -> HTTPResponse:
        await asyncio.sleep(0)
        for attempt in range(5):
            call.request.headers["X-Attempt"] = str(attempt)
            response = await call.next()
            if response.status != 503:
                break
        return response

    stub.on("GET").answer(503).answer(json="at last")
    assert with_loop(stub, insist, "a").json() == "at last"
    assert [request.headers["X-Attempt"] for request in stub.requests] == ["0", "1"]


def test_an_async_function_answers_itself_proceeds_or_raises(stub: Stub) -> None:
    async def answer(_: InterceptedCall) -> HTTPResponse:
        return HTTPResponse(200, {"Content-Type": "application/json"}, "[1]")

    async def proceed(call: InterceptedCall) -> None:
        call.request.headers["X-A"] = "1"

    async def replace(call: InterceptedCall) -> HTTPResponse:
        await call.next(call.request)
        return HTTPResponse(200, {"Content-Type": "application/json"}, "[2]")

    problem = ValueError("no idea")

    async def fail(call: InterceptedCall) -> None:
        await call.next()
        raise problem

    stub.on("GET").answer(json=1)
    assert with_loop(stub, answer, "a").json() == [1]
    assert stub.requests == []
    assert with_loop(stub, proceed, "a").json() == 1
    assert stub.requests[0].headers["X-A"] == "1"
    assert with_loop(stub, replace, "a").json() == [2]
    error = with_loop(stub, fail, "a").error
    assert error is not None
    assert error.__cause__ is problem


def test_an_async_function_runs_on_the_request_s_loop_and_context(stub: Stub) -> None:
    variable = contextvars.ContextVar("variable", default="none")
    seen: list[tuple[int, str]] = []

    async def look(call: InterceptedCall) -> None:
        assert asyncio.current_task() is not None
        seen.append((threading.get_ident(), variable.get()))

    stub.on("GET")
    client = ntapi.AsyncClient(API_URL, stub=stub, interceptors=[ntapi.attempt_interceptor(look)])

    async def main(name: str) -> None:
        variable.set(name)
        await asyncio.gather(*(client.send("a") for _ in range(5)))

    async def close() -> None:
        await client.close()

    threads = [threading.Thread(target=asyncio.run, args=[main(name)]) for name in ("x", "y")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted({name for _, name in seen}) == ["x", "y"]
    assert len(seen) == 10
    assert len(set(seen)) == 2
    asyncio.run(close())


def test_a_cancelled_task_ends_an_async_function(stub: Stub, clock: ManualClock) -> None:
    waiting = Waiting()
    stub.on("GET").answer(delay=60)

    async def main() -> None:
        interceptors = [ntapi.attempt_interceptor(waiting.wait_async)]
        async with ntapi.AsyncClient(
            API_URL, stub=stub, clock=clock, interceptors=interceptors
        ) as client:
            task = asyncio.create_task(client.send("a"))
            while not stub.requests:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while not waiting.over.is_set():
                await asyncio.sleep(0)

    asyncio.run(main())
    assert waiting.ended == ["CancelledError"]


def test_a_wait_for_the_answer_may_be_given_up(stub: Stub) -> None:
    """The request continues. Its answer is what the function has returned meanwhile."""
    goes_on = threading.Event()

    async def impatient(call: InterceptedCall) -> HTTPResponse:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(call.next(), 0.001)
        with pytest.raises(RuntimeError, match="before its last call has returned"):
            await call.next()
        goes_on.set()
        return HTTPResponse(200, {"Content-Type": "application/json"}, '"instead"')

    def late(_: StubRequest) -> Answer:
        assert goes_on.wait(PATIENCE)
        return Answer(json="late")

    stub.on("GET").answer_with(late)
    assert with_loop(stub, impatient, "a").json() == "instead"


def test_an_async_function_needs_an_async_client(stub: Stub) -> None:
    async def look(call: InterceptedCall) -> None:
        await call.next()

    interceptor = ntapi.attempt_interceptor(look)
    assert interceptor.is_async
    text = "is async and needs an AsyncClient"
    with ntapi.Client(API_URL, stub=stub) as client:
        with pytest.raises(TypeError, match=text):
            client.interceptors = [interceptor]
        assert client.interceptors == ()
        with pytest.raises(TypeError, match=text):
            client.send("a", ntapi.interceptor(interceptor))
        stub.on("GET").answer(json=1)
        assert client.send("a").json() == 1
    with pytest.raises(TypeError, match=text):
        ntapi.Client(API_URL, interceptors=[interceptor])
    configuration = ntapi.SessionConfiguration.ephemeral(interceptors=[interceptor])
    with pytest.raises(TypeError, match=text):
        ntapi.Client(API_URL, configuration=configuration)


def test_an_arg_s_async_function_runs_on_the_loop(stub: Stub) -> None:
    async def look(call: InterceptedCall) -> HTTPResponse:
        call.request.headers["X-A"] = "1"
        return await call.next()

    stub.on("GET").answer(json=1)

    async def main() -> None:
        async with ntapi.AsyncClient(API_URL, stub=stub) as client:
            arg = ntapi.interceptor(ntapi.attempt_interceptor(look))
            assert (await client.send("a", arg)).json() == 1
            async with client.stream("a", arg) as chunks:
                assert [chunk async for chunk in chunks] == [b"1"]

    asyncio.run(main())
    assert [request.headers["X-A"] for request in stub.requests] == ["1", "1"]
