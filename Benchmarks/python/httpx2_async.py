"""httpx2 with asyncio: over its own transport, over NTApi's, and over two that show what its parts cost."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2
from answers import HEADERS, answer_of
from awaiting import run_async
from contract import Task, read_task


class Body(httpx2.AsyncByteStream):
    """A body of one piece."""

    def __init__(self, piece: bytes) -> None:
        self.piece = piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.piece


class Fixed(httpx2.AsyncBaseTransport):
    """Answers with fixed headers, and looks at no request."""

    def __init__(self, fetch: Callable[[], Awaitable[bytes]]) -> None:
        self.fetch = fetch

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The same to each request."""
        return httpx2.Response(200, headers=HEADERS, stream=Body(await self.fetch()))


def transport_of(task: Task) -> httpx2.AsyncBaseTransport:
    """The transport that the command line asks for."""
    name = task.options.get("transport")
    limits = httpx2.Limits(max_connections=task.at_once, max_keepalive_connections=task.at_once)
    if name == "nothing":
        answer = answer_of(task)

        async def known() -> bytes:
            return answer

        return Fixed(known)
    if name == "least":
        import ntapi

        client = ntapi.AsyncClient(task.url)
        raw = ntapi.option("raw_data")

        async def fetched() -> bytes:
            return (await client.send(raw)).data

        return Fixed(fetched)
    if name == "ntapi":
        from ntapi.transports import AsyncHTTPX2

        return AsyncHTTPX2(limits=limits)
    return httpx2.AsyncHTTPTransport(limits=limits)


async def main(task: Task) -> None:
    """One client, with the usual settings."""
    async with httpx2.AsyncClient(transport=transport_of(task)) as client:

        async def get(url: str) -> None:
            response = await client.get(url)
            task.check(response.status_code, response.content)

        async def read(url: str) -> None:
            async with client.stream("GET", url) as response:
                size = 0
                async for piece in response.aiter_raw():
                    size += len(piece)
                task.check_size(response.status_code, size)

        await run_async(task, read if task.workload == "stream" else get)


if __name__ == "__main__":
    asyncio.run(main(read_task()))
