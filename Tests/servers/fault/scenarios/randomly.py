"""An endpoint that misbehaves at random, for stress. The same ?seed= and ?n= give the same
behaviour.
"""

from __future__ import annotations

import asyncio
import zlib

from fault.exchange import Exchange
from fault.registry import scenario

WEIGHTS = [
    ("ok", 50),
    ("slow", 12),
    ("reset", 6),
    ("truncated", 6),
    ("stall", 2),
    ("bad-chunk", 6),
    ("error500", 8),
    ("redirect", 10),
]


def fate(seed: str, number: int) -> str:
    """What happens to request `number` under that seed."""
    point = zlib.crc32(f"{seed}:{number}".encode()) % 100
    for name, weight in WEIGHTS:
        point -= weight
        if point < 0:
            return name
    return "ok"


@scenario("random")
async def random(exchange: Exchange) -> None:
    """Half ok, else slow, reset, truncated, stall, bad-chunk, error500, redirect; ?seed=&n=."""
    number = exchange.number("n", 0)
    name = fate(exchange.text("seed"), number)
    body = f'{{"n":{number},"fate":"{name}"}}'
    if name == "slow":
        await asyncio.sleep((1 + number % 5) / 1000)
    if name in ("ok", "slow"):
        await exchange.respond(body)
    elif name == "reset":
        exchange.reset()
    elif name == "truncated":
        await exchange.send(f"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{body}")
    elif name == "stall":
        await exchange.hold()
    elif name == "bad-chunk":
        await exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n")
    elif name == "error500":
        await exchange.respond(body, 500)
    else:
        await exchange.respond(body, 302, [("Location", f"/ok?n={number}")])


@scenario("random-plan")
async def random_plan(exchange: Exchange) -> None:
    """What /random will do under ?seed= for ?from=0 and the ?count=1000 numbers from there."""
    start, count = exchange.number("from", 0), exchange.number("count", 1000)
    seed = exchange.text("seed")
    plan = [fate(seed, number) for number in range(start, start + count)]
    await exchange.respond_json({"plan": plan})
