"""Coroutines that go on from within the reader of their loop's mailbox."""

from __future__ import annotations

import asyncio
import contextvars
import select
from collections import deque
from typing import Any

import pytest

import ntapi
from conftest import PATIENCE
from ntapi._loop_reader import Reader, answer, go_on
from ntapi._loops import loop_mailbox
from ntapi.testing import Stub

place: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="nowhere")


@pytest.fixture
def loop() -> Any:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


class Waiting:
    """Tasks that wait for a future each, and what they say of it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, count: int) -> None:
        self.loop = loop
        self.said: list[Any] = []
        self.waiters: list[Any] = [loop.create_future() for _ in range(count)]
        self.tasks = [loop.create_task(self.wait(number)) for number in range(count)]
        # They wait once they have begun.
        loop.run_until_complete(asyncio.sleep(0))

    async def wait(self, number: int) -> None:
        place.set(f"place {number}")
        try:
            result = await self.waiters[number]
        except asyncio.CancelledError:
            self.said.append("cancelled")
            raise
        assert asyncio.current_task() in self.tasks
        assert place.get() == f"place {number}"
        self.said.append(result)
        if isinstance(result, BaseException):
            raise result
        if callable(result):
            result()

    def go_on(self, *results: Any) -> None:
        """As the reader does it, in a handle of the loop."""
        answered = deque(zip(self.waiters, results))
        self.loop.call_soon(go_on, answered)
        self.loop.call_soon(lambda: self.said.append("the next handle"))
        self.loop.run_until_complete(asyncio.sleep(0))

    def end(self) -> list[Any]:
        everything = asyncio.gather(*self.tasks, return_exceptions=True)
        return self.loop.run_until_complete(asyncio.wait_for(everything, PATIENCE))


def test_they_go_on_at_once_and_in_order(loop: asyncio.AbstractEventLoop) -> None:
    waiting = Waiting(loop, 3)
    waiting.go_on("a", "b", "c")
    assert waiting.said == ["a", "b", "c", "the next handle"]
    assert waiting.end() == [None] * 3


def test_one_that_cancels_the_next(loop: asyncio.AbstractEventLoop) -> None:
    waiting = Waiting(loop, 3)
    waiting.go_on(lambda: waiting.tasks[1].cancel(), "b", "c")
    assert [type(outcome) for outcome in waiting.end()] == [
        type(None),
        asyncio.CancelledError,
        type(None),
    ]
    assert "cancelled" in waiting.said
    assert "b" not in waiting.said


@pytest.mark.parametrize("exit_", [SystemExit, KeyboardInterrupt])
def test_one_that_ends_the_loop_does_not_lose_the_others(
    loop: asyncio.AbstractEventLoop, exit_: type[BaseException]
) -> None:
    waiting = Waiting(loop, 3)
    with pytest.raises(exit_):
        waiting.go_on("a", exit_("now"), "c")
    assert "c" not in waiting.said
    ended = waiting.tasks[1]
    assert isinstance(ended.exception(), exit_)
    waiting.tasks = [task for task in waiting.tasks if task is not ended]
    assert waiting.end() == [None] * 2
    assert waiting.said[-1] == "c"


class Interrupted:
    """A future in whose `set_result`, or right behind it, Ctrl-C is pressed."""

    def __init__(self, waiter: Any, is_set: bool) -> None:
        self._waiter = waiter
        self._is_set = is_set

    def __getattr__(self, name: str) -> Any:
        return getattr(self._waiter, name)

    def set_result(self, result: Any) -> None:
        if self._is_set:
            self._waiter.set_result(result)
        self.set_result = self._waiter.set_result  # type: ignore[method-assign]
        raise KeyboardInterrupt


@pytest.mark.parametrize("is_set", [False, True])
def test_ctrl_c_between_two_lines_loses_nobody(
    loop: asyncio.AbstractEventLoop, is_set: bool
) -> None:
    waiting = Waiting(loop, 2)
    waiter = waiting.waiters[0]
    waiting.waiters[0] = Interrupted(waiter, is_set)
    with pytest.raises(KeyboardInterrupt):
        waiting.go_on("a", "b")
    assert waiting.end() == [None] * 2
    assert sorted(filter(lambda said: len(said) == 1, waiting.said)) == ["a", "b"]


def test_a_future_for_which_two_wait(loop: asyncio.AbstractEventLoop) -> None:
    waiting = Waiting(loop, 1)
    others: list[Any] = []
    waiting.waiters[0].add_done_callback(lambda waiter: others.append(waiter.result()))
    waiting.go_on("a")
    assert waiting.end() == [None]
    assert waiting.said.count("a") == 1
    assert others == ["a"]


def test_a_coroutine_that_drains_lets_the_loop_tell_the_others(stub: Stub) -> None:
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
            assert [response.json for response in responses] == [[]] * 20

    asyncio.run(asyncio.wait_for(main(), 3 * PATIENCE), debug=debug)


class Handing:
    """A mailbox that has a response for each waiter, and may be interrupted behind them."""

    def __init__(self, waiting: Waiting, *results: Any, is_interrupted: bool = False) -> None:
        self.answered: Any = None
        self._answers = zip(waiting.waiters, results)
        self._is_interrupted = is_interrupted

    def enter(self) -> None:
        pass

    leave = enter

    def drain(self) -> None:
        for waiter, response in self._answers:
            if self.answered is None:
                answer(waiter, response)
            else:
                self.answered.append((waiter, response))
        if self._is_interrupted:
            raise KeyboardInterrupt


@pytest.mark.parametrize("is_patched", [False, True])
def test_a_loop_that_coroutines_run_again_knows_of_every_answer_before(
    loop: Any, is_patched: bool
) -> None:
    if is_patched:
        # As those that a notebook runs say of themselves.
        loop._nest_patched = True
    waiting = Waiting(loop, 2)
    seen: list[bool] = []
    mailbox: Any = Handing(waiting, lambda: seen.append(waiting.waiters[1].done()), "b")
    loop.call_soon(Reader(mailbox))
    assert waiting.end() == [None] * 2
    assert seen == [is_patched]
    assert mailbox.answered is None


def test_ctrl_c_in_a_handler_leaves_the_coroutines_to_the_loop(loop: Any) -> None:
    waiting = Waiting(loop, 2)
    mailbox: Any = Handing(waiting, "a", "b", is_interrupted=True)
    loop.call_soon(Reader(mailbox))
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(asyncio.sleep(0))
    assert waiting.said == []
    assert waiting.end() == [None] * 2
    assert waiting.said == ["a", "b"]
