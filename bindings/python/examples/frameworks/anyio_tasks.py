"""anyio over asyncio: an AsyncClient in task groups and cancel scopes.

python anyio_tasks.py http://127.0.0.1:PORT
"""

import sys

import anyio

import ntapi


async def main(url: str) -> None:
    names: list[str] = []

    async def ask(city: str) -> None:
        response = await client.get("data/2.5/weather", ntapi.url("q", city))
        names.append(response.decode(str, "name"))

    async with ntapi.AsyncClient(url, args=ntapi.url("appid", "demo")) as client:
        async with anyio.create_task_group() as group:
            for city in ("Oslo", "Rome", "Cairo"):
                group.start_soon(ask, city)
        print(*sorted(names))
        with anyio.move_on_after(0.1) as scope:
            await client.get("slow", ntapi.url("seconds", 30))
        print("cancelled" if scope.cancelled_caught else "answered")


anyio.run(main, sys.argv[1])
