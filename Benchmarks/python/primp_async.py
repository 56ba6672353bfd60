"""primp with asyncio."""

import asyncio

import primp
from awaiting import run_async
from contract import Task, read_task


async def main(task: Task) -> None:
    """One client without a limit of connections."""
    client = primp.AsyncClient(ca_cert_file=task.ca)

    async def get(url: str) -> None:
        response = await client.get(url)
        if task.parsed:
            task.check_json(response.status_code, response.json())
        else:
            task.check(response.status_code, response.content)

    await run_async(task, get)


if __name__ == "__main__":
    asyncio.run(main(read_task()))
