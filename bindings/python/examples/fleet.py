"""Ten requests a second, for all processes together: start it several times, in any language.

python fleet.py http://127.0.0.1:PORT redis://127.0.0.1:6379 [REQUESTS]
"""

from __future__ import annotations

import asyncio
import signal
import sys

import ntapi
from ntapi.fleet import Redis


async def main(url: str, store: str, count: int) -> None:
    limit = ntapi.RateLimit(10)
    limiter = ntapi.RateLimiter.of(limit, store=Redis(store), key="fleet")
    async with ntapi.AsyncClient(url, rate_limiter=limiter) as client:

        async def send(number: int) -> None:
            response = await client.perform("echo")
            print(f"request {number}: {response.error or 'done'}", flush=True)

        await asyncio.gather(*(send(number) for number in range(1, count + 1)))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # so `| head` ends it, as it does other programs
    count = sys.argv[3] if len(sys.argv) > 3 else "100"
    if not 3 <= len(sys.argv) <= 4 or not count.isdecimal() or not 1 <= int(count) <= 100_000:
        print("usage: fleet.py URL STORE [REQUESTS]", file=sys.stderr)
        sys.exit(2)
    try:
        asyncio.run(main(sys.argv[1], sys.argv[2], int(count)))
    except ValueError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
