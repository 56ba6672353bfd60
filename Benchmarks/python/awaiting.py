"""Runs an asyncio client: tasks that perform one request after the other, or thousands in flight."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from contract import Task, memory_kb

# Performs one GET of a URL and checks its response.
Get = Callable[[str], Awaitable[None]]


async def run(task: Task, get: Get, count: int) -> None:
    """As many at once as asked for, until all are done."""
    numbers = itertools.count()

    async def work() -> None:
        while next(numbers) < count:
            await get(task.url)

    await asyncio.gather(*(work() for _ in range(task.at_once)))


async def hold(task: Task, get: Get) -> None:
    """The slow server has all requests; the memory is read; it answers; none may be lost."""
    await get(f"{task.base}/anything")
    task.start_meters()
    waiting = [asyncio.ensure_future(get(f"{task.base}/hold")) for _ in range(task.count)]
    await get(f"{task.base}/arrived/{task.count}")
    task.extra["held_rss_kb"] = memory_kb("VmRSS")
    await get(f"{task.base}/release")
    await asyncio.gather(*waiting)
    task.report(task.count)


async def cancel(task: Task, get: Get) -> None:
    """The slow server has all requests; each is cancelled, which is what is measured."""
    await get(f"{task.base}/anything")
    waiting = [asyncio.ensure_future(get(f"{task.base}/hang")) for _ in range(task.count)]
    await get(f"{task.base}/arrived/{task.count}")
    task.start_meters()
    for future in waiting:
        future.cancel()
    ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in ended), "not cancelled"
    task.report(task.count)


async def run_async(task: Task, get: Get) -> None:
    """Warms up, measures and reports."""
    if task.workload == "hold":
        return await hold(task, get)
    if task.workload == "cancel":
        return await cancel(task, get)
    await run(task, get, task.warmup)
    task.start_meters()
    await run(task, get, task.count)
    task.report(task.count)
