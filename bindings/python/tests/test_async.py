"""The asyncio client."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
from collections.abc import Coroutine
from typing import Any, Callable
from uuid import uuid4

import pytest

import ntapi
from conftest import PATIENCE, Unraisable
from ntapi import codes


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(main(), 3 * PATIENCE))


@pytest.fixture
def client(servers: dict[str, str]) -> ntapi.AsyncClient:
    return ntapi.AsyncClient(servers["fault"])


def test_send_and_perform(client: ntapi.AsyncClient) -> None:
    async def main() -> None:
        async with client:
            response = await client.send("echo", ntapi.url("a", 1))
            assert response.json()["args"] == {"a": "1"}
            failed = await client.perform("status/404")
            assert failed.error is not None
            with pytest.raises(ntapi.ApiError) as caught:
                await client.send("status/404")
            assert caught.value.code is codes.HTTP_ERROR

    run(main)


def test_a_thousand_at_once(client: ntapi.AsyncClient) -> None:
    async def main() -> None:
        async with client:
            responses = await asyncio.gather(
                *(client.send("echo", ntapi.url("n", n)) for n in range(1000))
            )
            found = [response.json()["args"]["n"] for response in responses]
            assert found == [str(n) for n in range(1000)]

    run(main)


def test_progress_runs_on_the_loop(servers: dict[str, str]) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        seen: list[tuple[int, Any]] = []

        def progress(count: int, total: Any) -> None:
            assert asyncio.get_running_loop() is loop
            seen.append((count, total))

        async with ntapi.AsyncClient(servers["weather"]) as client:
            size = 400_000
            raw = ntapi.option("raw_data")
            await client.send("download", ntapi.url("size", size), raw, download_progress=progress)
            assert (seen[0], seen[-1]) == ((0, size), (size, size))
            seen.clear()
            await client.send("upload", ntapi.data(b"x" * size), upload_progress=progress)
            assert (seen[0], seen[-1]) == ((0, size), (size, size))

    run(main)


def test_cancel_awaits_the_completion(servers: dict[str, str]) -> None:
    class Watching(ntapi.AsyncClient):
        completed = 0

        def request_completed(self, request: ntapi.Request, response: ntapi.Response) -> None:
            assert response.error is not None
            assert response.error.code is codes.CANCELLED
            self.completed += 1

    async def main() -> None:
        async with Watching(servers["fault"]) as watching:
            task = asyncio.ensure_future(watching.send("hold"))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert watching.completed == 1
            assert await watching.drain(0) == 0

    run(main)


def test_cancel_twice_and_with_timeout(client: ntapi.AsyncClient) -> None:
    async def main() -> None:
        async with client:
            task = asyncio.ensure_future(client.send("hold"))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await client.drain(0) == 0
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.send("hold"), 0.01)
            assert await client.drain(0) == 0

    run(main)


def test_cancel_races(client: ntapi.AsyncClient) -> None:
    """A task that is cancelled at any moment ends with a response or with CancelledError."""

    async def main() -> None:
        async with client:
            outcomes = set()
            for turns in range(60):
                tasks = [asyncio.ensure_future(client.send("echo")) for _ in range(4)]
                for _ in range(turns):
                    await asyncio.sleep(0)
                for task in tasks:
                    task.cancel()
                results = await asyncio.gather(*tasks, return_exceptions=True)
                outcomes.update(type(result) for result in results)
                assert await client.drain(0) == 0
            assert outcomes <= {ntapi.Response, asyncio.CancelledError}

    run(main)


def test_begin_calls_the_handler_on_the_loop(client: ntapi.AsyncClient) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[ntapi.Response] = loop.create_future()
        async with client:
            request = client.begin("echo", ntapi.url("a", 1), done.set_result)
            with pytest.raises(RuntimeError, match="await"):
                request.wait()
            response = await done
            assert response.request == request
            assert request.wait() is True

    run(main)


def test_close_cancels_and_waits(client: ntapi.AsyncClient) -> None:
    async def main() -> None:
        seen: list[ntapi.Response] = []
        client.begin("hold", (), seen.append)
        tasks = [asyncio.ensure_future(client.perform("hold")) for _ in range(3)]
        await asyncio.sleep(0)
        await client.close()
        await client.close()
        responses = [*seen, *await asyncio.gather(*tasks)]
        assert len(responses) == 4
        for response in responses:
            assert response.error is not None
            assert response.error.code is codes.CANCELLED

    run(main)


def test_threads_of_a_loop(client: ntapi.AsyncClient) -> None:
    """On a loop, MAIN and CURRENT are the loop, and BACKGROUND is the background."""
    names: list[tuple[str, bool]] = []

    def handler(_: ntapi.Response) -> None:
        try:
            asyncio.get_running_loop()
            names.append((threading.current_thread().name, True))
        except RuntimeError:
            names.append((threading.current_thread().name, False))

    async def main() -> None:
        async with client:
            for place in (ntapi.MAIN, ntapi.CURRENT, ntapi.BACKGROUND):
                client.begin("echo", ntapi.response_thread(place), handler)
                assert await client.drain(PATIENCE) == 0

    run(main)
    assert names == [("MainThread", True), ("MainThread", True), ("ntapi-background", False)]


def test_close_does_not_wait_for_itself(fault: ntapi.Client, servers: dict[str, str]) -> None:
    """Handlers of a blocking client that need this loop do not delay the client's end."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[ntapi.Response] = loop.create_future()
        with ntapi.Client(servers["fault"]) as blocking:
            place = ntapi.response_thread(loop.call_soon_threadsafe)
            blocking.begin("hold", place, done.set_result)
        response = await done
        assert response.error is not None
        assert response.error.code is codes.CANCELLED

    run(main)


def test_drain_runs_out_of_time(client: ntapi.AsyncClient) -> None:
    async def main() -> None:
        async with client:
            request = client.begin("hold")
            assert await client.drain(0.01) == 1
            request.cancel()
            assert await client.drain(PATIENCE) == 0

    run(main)


def test_several_loops_in_threads_share_a_client(client: ntapi.AsyncClient) -> None:
    counts: list[int] = []

    async def work() -> None:
        responses = await asyncio.gather(*(client.send("echo") for _ in range(50)))
        counts.append(len(responses))

    threads = [threading.Thread(target=asyncio.run, args=(work(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [50] * 4


def test_one_loop_after_the_other(client: ntapi.AsyncClient) -> None:
    for _ in range(20):
        assert run(lambda: client.send("echo")).status == 200


def test_a_loop_that_ends_first(servers: dict[str, str], weather: ntapi.Client) -> None:
    """The handler runs in the background when its loop is gone."""
    names: list[str] = []
    requests: list[ntapi.Request] = []
    client = ntapi.AsyncClient(servers["weather"])
    both = [ntapi.url("for", 2), ntapi.url("name", uuid4().hex)]

    async def main() -> None:
        handler = lambda _: names.append(threading.current_thread().name)  # noqa: E731
        requests.append(client.begin("gate", both, handler))

    run(main)
    gc.collect()
    assert weather.send("gate", both).status == 200
    assert requests[0].wait(PATIENCE)
    assert names == ["ntapi-background"]


@pytest.mark.parametrize("is_late", [False, True])
def test_a_loop_that_is_closed_but_kept(
    client: ntapi.AsyncClient, caplog: pytest.LogCaptureFixture, is_late: bool
) -> None:
    """The program keeps a reference to the closed loop, which is over nevertheless."""
    names: list[str] = []
    loop = asyncio.new_event_loop()

    async def main() -> ntapi.Request:
        handler = lambda _: names.append(threading.current_thread().name)  # noqa: E731
        return client.create_request("late?ms=50", (), handler)

    request = loop.run_until_complete(main())
    if not is_late:
        request.resume()
    loop.close()
    if is_late:
        request.resume()
    assert request.wait(PATIENCE)
    assert names == ["ntapi-background"]
    assert "a loop has ended" in caplog.text


def test_blocking_and_asyncio_side_by_side(client: ntapi.AsyncClient, fault: ntapi.Client) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with client:
            blocking = loop.run_in_executor(None, lambda: fault.send("echo").status)
            assert (await client.send("echo")).status == await blocking == 200
            # A loop may also be an executor for the blocking client's handlers.
            done: asyncio.Future[ntapi.Response] = loop.create_future()
            fault.begin("echo", ntapi.response_thread(loop.call_soon_threadsafe), done.set_result)
            assert (await done).status == 200

    run(main)


def test_an_exception_in_a_handler_is_reported(
    client: ntapi.AsyncClient, unraisable: Unraisable
) -> None:
    def failing(*_: Any) -> None:
        raise ValueError("boom")

    async def main() -> None:
        async with client:
            client.begin("echo", (), failing)
            assert (await client.send("echo", download_progress=failing)).status == 200
            assert await client.drain(PATIENCE) == 0

    run(main)
    assert {str(error) for error in unraisable.errors} == {"boom"}


def test_an_arg_that_cannot_be_sent(client: ntapi.AsyncClient) -> None:
    async def main() -> None:
        async with client:
            with pytest.raises(ntapi.ApiError) as caught:
                await client.send("echo", ntapi.data(b"x", "a\0b"))
            assert caught.value.code is codes.INVALID_REQUEST

    run(main)


def test_without_a_loop_begin_says_so(client: ntapi.AsyncClient) -> None:
    with pytest.raises(RuntimeError, match="loop"):
        client.begin("echo")


# What the handlers of a request see, and how it ends with its client.

tenant = contextvars.ContextVar("tenant", default="none")


class Tenants(ntapi.AsyncClient):
    """Notes the tenant in each hook."""

    seen: list[str]

    def request_completed(self, request: ntapi.Request, response: ntapi.Response) -> None:
        self.seen.append(f"completed {tenant.get()}")

    def data_received(self, request: ntapi.Request, data: bytes) -> None:
        self.seen.append(f"data {tenant.get()}")


def test_handlers_and_hooks_see_the_context_of_their_request(servers: dict[str, str]) -> None:
    async def main() -> list[str]:
        client = Tenants(servers["fault"])
        client.seen = []

        async def serve(name: str) -> None:
            tenant.set(name)
            await client.send(
                "echo", download_progress=lambda *_: client.seen.append(f"progress {tenant.get()}")
            )
            is_done = asyncio.Event()

            def handle(_: ntapi.Response) -> None:
                client.seen.append(f"handler {tenant.get()}")
                is_done.set()

            client.begin("echo", handle)
            await is_done.wait()
            async with client.stream("echo") as chunks:
                assert b"".join([chunk async for chunk in chunks])

        async with client:
            for name in ("ann", "ben"):
                await asyncio.create_task(serve(name))
        return client.seen

    seen = run(main)
    half = len(seen) // 2
    assert {each.split()[0] for each in seen} == {"progress", "handler", "completed", "data"}
    assert {each.split()[1] for each in seen[:half]} == {"ann"}
    assert {each.split()[1] for each in seen[half:]} == {"ben"}


@pytest.mark.parametrize("is_watched", [False, True], ids=["plain", "with a handler"])
def test_the_end_of_a_block_waits_for_what_runs(servers: dict[str, str], is_watched: bool) -> None:
    handlers: Any = {"download_progress": print} if is_watched else {}
    # The server answers when both are there.
    args = ntapi.url("name", uuid4().hex), ntapi.url("for", 2)

    async def main() -> int:
        async with ntapi.AsyncClient(servers["weather"]) as other:
            async with ntapi.AsyncClient(servers["weather"]) as client:
                task = asyncio.create_task(client.send("gate", *args, **handlers))
                await asyncio.sleep(0)
                last = asyncio.create_task(other.send("gate", *args))
            return (await task).status + (await last).status

    assert run(main) == 400
