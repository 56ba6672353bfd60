"""curl_cffi with asyncio."""

import asyncio

from awaiting import run_async
from contract import Task, read_task
from curl_cffi.requests import AsyncSession


async def main(task: Task) -> None:
    """One session with as many handles as requests at once."""
    most = task.count + 2 if task.workload in ("hold", "cancel") else task.at_once
    async with AsyncSession(max_clients=most, verify=task.ca or True) as session:

        async def get(url: str) -> None:
            response = await session.get(url)
            task.check(response.status_code, response.content)

        await run_async(task, get)


if __name__ == "__main__":
    asyncio.run(main(read_task()))
