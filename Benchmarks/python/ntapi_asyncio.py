"""Ours, with asyncio."""

import asyncio

import ntapi
from awaiting import run_async
from contract import Task, read_task


async def main(task: Task) -> None:
    """One client; its requests are awaited."""
    client = ntapi.AsyncClient(task.base)
    if task.ca:
        client.set_default("caFile", task.ca)
        client.set_default("httpVersion", task.options["http"])
    if task.workload in ("hold", "cancel"):
        client.set_default("maximumConnectionsPerHost", task.count + 2)
    raw = ntapi.option("raw_data")
    start = len(task.base) + 1

    async def get_json(url: str) -> None:
        response = await client.send(url[start:])
        task.check_json(response.status, response.json())

    # Also for another parser than our own: it gets the bytes.
    async def get_raw(url: str) -> None:
        response = await client.send(url[start:], raw)
        task.check(response.status, response.data)

    is_ours = task.parsed and "parser" not in task.options
    await run_async(task, get_json if is_ours else get_raw)


if __name__ == "__main__":
    asyncio.run(main(read_task()))
