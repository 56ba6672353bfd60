"""How a loop drains its mailbox."""

from __future__ import annotations

import asyncio
import select

import pytest

import ntapi
from conftest import PATIENCE
from ntapi._runtime.loops import loop_mailbox
from ntapi.testing import Stub


def test_a_coroutine_may_drain_the_mailbox(stub: Stub) -> None:
    stub.on("GET", "any").answer(json=[])

    async def main() -> None:
        async with ntapi.AsyncClient("http://api.test", stub=stub) as client:
            task = asyncio.ensure_future(client.perform("any"))
            await asyncio.sleep(0)
            mailbox = loop_mailbox(asyncio.get_running_loop())
            assert select.select([mailbox.fileno()], [], [], PATIENCE)[0]
            assert mailbox.drain() == 1
            assert not task.done()
            assert (await task).status == 200

    asyncio.run(asyncio.wait_for(main(), 3 * PATIENCE))


@pytest.mark.parametrize("debug", [False, True])
def test_responses_come_to_loops_of_both_kinds(stub: Stub, debug: bool) -> None:
    stub.on("GET", "any").answer(json=[])

    async def main() -> None:
        async with ntapi.AsyncClient("http://api.test", stub=stub) as client:
            responses = await asyncio.gather(*(client.send("any") for _ in range(20)))
            assert [response.json() for response in responses] == [[]] * 20

    asyncio.run(asyncio.wait_for(main(), 3 * PATIENCE), debug=debug)


@pytest.mark.parametrize("exit_", [SystemExit, KeyboardInterrupt])
def test_an_interrupted_drain_leaves_the_rest_to_the_next_turn(
    exit_: type[BaseException],
) -> None:
    ran = asyncio.Event()

    async def main() -> None:
        mailbox = loop_mailbox(asyncio.get_running_loop())
        mailbox.post(interrupt)
        mailbox.post(ran.set)
        await ran.wait()

    def interrupt() -> None:
        raise exit_

    loop = asyncio.new_event_loop()
    try:
        task = loop.create_task(main())
        with pytest.raises(exit_):
            loop.run_until_complete(task)
        loop.run_until_complete(asyncio.wait_for(task, PATIENCE))
    finally:
        loop.close()
