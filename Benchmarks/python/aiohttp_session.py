"""aiohttp."""

import asyncio
import ssl

import aiohttp
from awaiting import run_async
from contract import Task, read_task


async def main(task: Task) -> None:
    """One session without a limit of connections."""
    context = ssl.create_default_context(cafile=task.ca) if task.ca else True
    connector = aiohttp.TCPConnector(limit=0, ssl=context)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:

        async def get(url: str) -> None:
            async with session.get(url) as response:
                task.check(response.status, await response.read())

        await run_async(task, get)


if __name__ == "__main__":
    asyncio.run(main(read_task()))
