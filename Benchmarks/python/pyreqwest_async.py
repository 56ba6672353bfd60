"""pyreqwest with asyncio."""

import asyncio
from pathlib import Path

from awaiting import run_async
from contract import Task, read_task
from pyreqwest.client import ClientBuilder


async def main(task: Task) -> None:
    """One client without a limit of connections."""
    builder = ClientBuilder()
    if task.ca:
        builder = builder.add_root_certificate_pem(Path(task.ca).read_bytes())
    async with builder.build() as client:

        async def get(url: str) -> None:
            response = await client.get(url).build().send()
            if task.parsed:
                task.check_json(response.status, await response.json())
            else:
                task.check(response.status, bytes(await response.bytes()))

        await run_async(task, get)


if __name__ == "__main__":
    asyncio.run(main(read_task()))
