"""Time that stands still until a test advances it."""

from __future__ import annotations

import asyncio
import math
import random
import threading
from typing import Any

import pytest

import ntapi
from conftest import PATIENCE
from ntapi.testing import ManualClock, Stub


def test_it_ages_the_cache() -> None:
    clock, stub = ManualClock(), Stub()
    stub.on("GET", "x").answer(headers={"Cache-Control": "max-age=60"})
    ephemeral = ntapi.SessionConfiguration.ephemeral()
    with ntapi.Client(
        "http://a.example", configuration=ephemeral, stub=stub, clock=clock
    ) as client:
        sources = []
        for age in (0, 59, 2, 59):
            clock.advance(age)
            sources.append(client.get("x").source)
    network, cache = ntapi.Source.NETWORK, ntapi.Source.CACHE
    assert sources == [network, cache, network, cache]


def test_it_stands_still(servers: dict[str, str]) -> None:
    clock = ManualClock(calendar=1000)
    clock.advance(1.5)
    assert clock.elapsed == 1.5
    assert clock.sleepers == 0
    assert clock.next_wake is None
    with pytest.raises(TimeoutError, match=r"there are 0 sleepers after 0.01 s, and not 1"):
        clock.wait_for_sleepers(timeout=0.01)
    assert clock.wait_for_sleepers(0) == 0
    assert repr(clock) == "<ntapi.testing.ManualClock at 1.5 s, 0 sleepers>"
    with ntapi.Client(servers["fault"], clock=clock) as client:
        assert client.clock is clock
        response = client.send("ok")
        assert response.start.timestamp() == 1001.5
        assert response.elapsed == 0
        client.clock = None
        assert client.send("ok").elapsed > 0


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf])
def test_bad_times(seconds: float) -> None:
    with pytest.raises(ValueError, match="0 or more seconds"):
        ManualClock(seconds)
    with pytest.raises(ValueError, match="0 or more seconds"):
        ManualClock().advance(seconds)
    wrong: Any = "1"
    with pytest.raises(TypeError):
        ManualClock().advance(wrong)
    with pytest.raises(ValueError, match="a number from 0"):
        ManualClock().wait_for_sleepers(-1)


def test_a_stream_connects_again_without_waiting(servers: dict[str, str]) -> None:
    clock = ManualClock()
    read: list[int] = []
    with ntapi.Client(servers["fault"], clock=clock) as client:

        def drive() -> None:
            for _ in range(3):
                assert clock.wait_for_sleepers(timeout=PATIENCE)
                assert 60 <= (clock.next_wake or 0) <= 90
                clock.advance(90)

        driver = threading.Thread(target=drive)
        driver.start()
        token = f"p{random.random()}"
        for event in client.events("events", ntapi.url("token", token), ntapi.url("retry", 60_000)):
            read.append(event.json()["n"])
        driver.join()
    assert read == list(range(1, 10))
    assert clock.elapsed == 270


def test_a_wait_that_would_block_a_loop() -> None:
    async def main() -> None:
        for name, wait in (
            ("clock.wait_for_sleepers", ManualClock().wait_for_sleepers),
            ("stub.wait_for_requests", Stub().wait_for_requests),
        ):
            with pytest.raises(RuntimeError, match=rf"await asyncio\.to_thread\({name}\)"):
                wait()
        assert await asyncio.to_thread(ManualClock().wait_for_sleepers, 0) == 0

    asyncio.run(main())


def test_asyncio(servers: dict[str, str]) -> None:
    async def main() -> None:
        clock = ManualClock()
        async with ntapi.AsyncClient(servers["fault"], clock=clock) as client:
            args = [ntapi.url("token", f"p{random.random()}"), ntapi.url("retry", 60_000)]

            async def read() -> list[int]:
                return [event.json()["n"] async for event in client.events("events", *args)]

            reading = asyncio.ensure_future(read())
            for _ in range(3):
                loop = asyncio.get_running_loop()
                assert await loop.run_in_executor(None, clock.wait_for_sleepers, 1, PATIENCE)
                clock.advance(90)
            assert await reading == list(range(1, 10))

    asyncio.run(main())
