"""Streams that are read in an event loop."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import codes
from stream_samples import EVENTS, LINES, token


def test_asyncio_reads_them_all(servers: dict[str, str], pattern: bytes) -> None:
    async def main() -> None:
        async with (
            ntapi.AsyncClient(servers["nginx"]) as nginx,
            ntapi.AsyncClient(servers["fault"]) as client,
        ):
            async with nginx.stream("pattern-8M.bin") as chunks:
                assert chunks.status == 200
                assert chunks.headers["content-length"] == str(len(pattern))
                assert b"".join([chunk async for chunk in chunks]) == pattern
            assert [value async for value in client.lines("split/lines")] == LINES
            each = ntapi.url("each", 1), ntapi.url("token", token())
            async with client.events("split/events", *each) as events:
                assert [event async for event in events] == EVENTS

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_asyncio_reads_many_at_once(servers: dict[str, str]) -> None:
    async def read(client: ntapi.AsyncClient, end: str) -> list[int]:
        args = ntapi.url("token", token()), ntapi.url("end", end), ntapi.url("per", 2)
        return [event.json()["n"] async for event in client.events("events", *args)]

    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            ends = ["close", "reset", "mid"] * 10
            found = await asyncio.gather(*(read(client, end) for end in ends))
        assert found == [list(range(1, 10))] * len(ends)

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_asyncio_an_error_is_raised_where_it_is_met(servers: dict[str, str]) -> None:
    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            with pytest.raises(ntapi.ApiError, match="404"):
                async with client.stream("status/404"):
                    pass
            lines = client.lines("lines", ntapi.url("bad", 2), ntapi.url("hold", 1))
            assert await lines.__anext__() == {"n": 1}
            with pytest.raises(ntapi.ApiError, match="line 2"):
                await lines.__anext__()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_asyncio_leaving_the_loop_cancels(servers: dict[str, str]) -> None:
    async def main() -> None:
        client = ntapi.AsyncClient(servers["nginx"])
        async for _ in client.stream("256M.bin"):
            break
        gc.collect()
        assert await client.drain(PATIENCE) == 0
        async with client.stream("256M.bin") as chunks:
            await chunks.__anext__()
        assert chunks.response is not None
        assert chunks.response.error is not None
        assert chunks.response.error.code is codes.CANCELLED
        assert [chunk async for chunk in chunks] == []
        await client.close()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_asyncio_a_wait_may_be_given_up(servers: dict[str, str]) -> None:
    """A program may stop waiting and come back: the stream continues."""

    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            args = ntapi.url("pause", 100), ntapi.url("count", 3)
            found: list[Any] = []
            async with client.lines("lines", *args) as lines:
                while len(found) < 3:
                    try:
                        found.append(await asyncio.wait_for(lines.__anext__(), 0.02))
                    except asyncio.TimeoutError:
                        continue
                with pytest.raises(StopAsyncIteration):
                    await lines.__anext__()
            assert found == [{"n": 1}, {"n": 2}, {"n": 3}]

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_asyncio_a_cancelled_task_leaves_nothing(servers: dict[str, str]) -> None:
    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:

            async def read(command: str) -> None:
                async with client.lines(command, ntapi.url("hold", 1)) as lines:
                    async for _ in lines:
                        pass

            for command in ("lines", "stall/before", "stall/after-headers"):
                task = asyncio.ensure_future(read(command))
                await asyncio.sleep(0.05)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert await client.drain(PATIENCE) == 0

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_asyncio_an_unread_stream_holds_up_no_close(servers: dict[str, str]) -> None:
    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            chunks = client.stream("ok")
            while not chunks.status:
                await client.send("ok")
        assert b"".join([chunk async for chunk in chunks]).startswith(b'{"ok":true')

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
