"""The weather of some cities at once, with asyncio: python asyncio_weather.py http://127.0.0.1:PORT"""

from __future__ import annotations

import asyncio
import signal
import sys

import ntapi

CITIES = ["London", "Paris", "Berlin", "Rome", "Madrid", "Nowhereville"]


class WeatherClient(ntapi.AsyncClient):
    """Turns the service's own errors into ApiError."""

    def map_service_error(self, response: ntapi.Response) -> ntapi.ApiError | None:
        body = response.json()
        if not isinstance(body, dict) or str(body.get("cod", 200)) == "200":
            return None
        return ntapi.ApiError(str(body["cod"]), str(body.get("message")))

    async def temperature(self, city: str) -> float:
        response = await self.send("data/2.5/weather", ntapi.url("q", city))
        return response.decode(float, "main.temp")


async def main(url: str) -> None:
    session = [ntapi.url("appid", "demo"), ntapi.url("units", "metric")]
    async with WeatherClient(url, args=session) as client:
        tasks = map(client.temperature, CITIES)
        for city, result in zip(CITIES, await asyncio.gather(*tasks, return_exceptions=True)):
            print(f"{city}: {result if isinstance(result, BaseException) else f'{result:.1f} °C'}")

        # Leaving early is safe: the request is cancelled, and has ended when this goes on.
        try:
            await asyncio.wait_for(client.send("slow", ntapi.url("seconds", 30)), timeout=0.1)
        except asyncio.TimeoutError:
            print("slow: gave up, nothing is left running")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # so `| head` ends it, as it does other programs
    if len(sys.argv) != 2:
        sys.exit("usage: asyncio_weather.py URL")
    try:
        asyncio.run(main(sys.argv[1]))
    except (ntapi.ApiError, ValueError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
