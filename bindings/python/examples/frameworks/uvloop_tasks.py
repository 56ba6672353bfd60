"""uvloop: an AsyncClient needs nothing else.

python uvloop_tasks.py http://127.0.0.1:PORT
"""

import asyncio
import sys

import uvloop

import ntapi


async def main(url: str) -> None:
    async with ntapi.AsyncClient(url, args=ntapi.url("appid", "demo")) as client:
        cities = ("Oslo", "Rome", "Cairo")
        requests = [client.get("data/2.5/weather", ntapi.url("q", city)) for city in cities]
        for response in await asyncio.gather(*requests):
            print(response.decode(str, "name"))
        async with client.stream("download", ntapi.url("size", 100_000)) as chunks:
            print(sum([len(chunk) async for chunk in chunks]), "bytes")
        try:
            await asyncio.wait_for(client.get("slow", ntapi.url("seconds", 30)), timeout=0.1)
        except asyncio.TimeoutError:
            print("cancelled")


uvloop.run(main(sys.argv[1]))
