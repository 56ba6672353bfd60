"""httpx with asyncio."""

import asyncio
import ssl

import httpx
from awaiting import run_async
from contract import Task, read_task


async def main(task: Task) -> None:
    """One client with a connection for each request at once."""
    context = ssl.create_default_context(cafile=task.ca) if task.ca else False
    limits = httpx.Limits(max_connections=task.at_once, max_keepalive_connections=task.at_once)
    async with httpx.AsyncClient(limits=limits, timeout=None, verify=context) as client:

        async def get(url: str) -> None:
            response = await client.get(url)
            task.check(response.status_code, response.content)

        await run_async(task, get)


if __name__ == "__main__":
    asyncio.run(main(read_task()))
