"""trio: an AsyncClient needs asyncio, so the client is a plain one. `ask` begins a request, whose
handler runs on trio's loop. No thread waits, and a cancelled task cancels its request.

python trio_tasks.py http://127.0.0.1:PORT
"""

import sys

import trio

import ntapi


async def ask(client: ntapi.Client, command: str, *args: ntapi.Args) -> ntapi.Response:
    answered = trio.Event()
    responses: list[ntapi.Response] = []

    def handler(response: ntapi.Response) -> None:
        responses.append(response)
        answered.set()

    on_this_loop = ntapi.response_thread(trio.lowlevel.current_trio_token().run_sync_soon)
    request = client.begin(command, *args, on_this_loop, handler=handler)
    try:
        await answered.wait()
    finally:
        request.cancel()  # does nothing after the answer
    return responses[0]


async def main(url: str) -> None:
    with ntapi.Client(url, args=ntapi.url("appid", "demo")) as client:
        # The short way: a thread waits, and trio waits for the thread.
        response = await trio.to_thread.run_sync(
            client.get, "data/2.5/weather", ntapi.url("q", "Oslo")
        )
        print(response.decode(str, "name"))
        print((await ask(client, "data/2.5/weather", ntapi.url("q", "Rome"))).decode(str, "name"))
        with trio.move_on_after(0.1) as scope:
            await ask(client, "slow", ntapi.url("seconds", 30))
        print("cancelled" if scope.cancelled_caught else "answered")


trio.run(main, sys.argv[1])
