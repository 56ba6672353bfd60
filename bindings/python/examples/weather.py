"""The weather of cities: finds them, lists them, follows them.

python weather.py URL find NAME [TYPE [COUNT]]       cities by name; TYPE is accurate or like
python weather.py URL list CODE ...                  their weather now
python weather.py URL follow SECONDS TIMES CODE ...  again and again: what is new

URL is https://api.openweathermap.org, with the key of the API in OPENWEATHER_APPID, or what
`python Tests/servers/weather.py` prints.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Optional, TypeVar

import ntapi

T = TypeVar("T")

SUCCESS = ntapi.register_code("200")
NOT_FOUND = ntapi.register_code("404")
INTERNAL_ERROR = ntapi.register_code("500")
TYPES = ("accurate", "like")
USAGE = """\
usage: weather.py URL find NAME [accurate|like [COUNT]] | list CODE ...
       | follow SECONDS TIMES CODE ..."""


@dataclass
class City:
    """A city and the weather there."""

    id: int
    name: str
    country: Annotated[str, ntapi.Key("sys.country")]
    temperature: Annotated[float, ntapi.Key("main.temp")]
    sky: Annotated[str, ntapi.Key("weather[0].description")]
    observed: Annotated[datetime, ntapi.Key("dt")]


class WeatherService(ntapi.Service[T]):
    """What the services of OpenWeather have in common."""

    response_path = "list"
    decoding = ntapi.DecodingOptions(dates=ntapi.DateFormat.SECONDS)


@dataclass
class FindCities(WeatherService[list[City]]):
    """Cities by their name: as it is ("accurate") or a part of it ("like")."""

    command = "data/2.5/find"

    name: str
    type: Optional[str] = None
    count: Optional[int] = None

    def parameters(self) -> ntapi.Args:
        return [
            ntapi.url("q", self.name),
            ntapi.url("type", self.type),
            ntapi.url("cnt", self.count),
        ]


@dataclass
class CurrentWeather(WeatherService[list[City]]):
    """The weather of cities now, by their codes."""

    command = "data/2.5/group"

    codes: Sequence[int]

    def parameters(self) -> ntapi.Args:
        return ntapi.url("id", ",".join(map(str, self.codes)))


class OpenWeather(ntapi.Client):
    """A client of OpenWeather. Its defaults are `appid`, the key of the API, and `unit`: metric,
    imperial or standard.
    """

    def find_cities(
        self, name: str, type: Optional[str] = None, count: Optional[int] = None
    ) -> list[City]:
        return self.standard(FindCities(name, type, count))

    def current_weather(self, codes: Sequence[int]) -> list[City]:
        """The service leaves out what it does not know: that is an error here."""
        cities = self.standard(CurrentWeather(codes))
        found = {city.id for city in cities}
        unknown = [str(code) for code in codes if code not in found]
        if unknown:
            raise ntapi.ApiError(NOT_FOUND, f"no city has the code {', '.join(unknown)}")
        return cities

    def direct(self, service: ntapi.Service[T], *args: ntapi.Args) -> T:
        """What is common to every call."""
        return self.call(service, ntapi.header("Accept-Language", "en"), ntapi.timeout(10), *args)

    def standard(self, service: ntapi.Service[T]) -> T:
        """A direct request that adds the parameters of the session, which are defaults."""
        session = [ntapi.url_default("appid"), ntapi.url_default("units", "unit")]
        return self.direct(service, session)

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        """The service says HTTP 200 and then {"cod": "404", "message": ...}: that is an error."""
        body: Any = response.json()
        if not isinstance(body, dict):
            return None
        code = ntapi.register_code(str(body.get("cod", SUCCESS)))
        return None if code is SUCCESS else ntapi.ApiError(code, body.get("message"))


def show(cities: Sequence[City]) -> None:
    for city in cities:
        place = f"{city.name}, {city.country}: {city.sky}"
        moment = f"{city.observed:%Y-%m-%dT%H:%M:%SZ}"
        print(f"{city.id}  {city.temperature:5.1f} °C  {place}, {moment}", flush=True)


def follow(weather: OpenWeather, codes: Sequence[int], seconds: float, times: int) -> None:
    seen: dict[int, datetime] = {}
    for number in range(times):
        if number > 0:
            time.sleep(seconds)
        cities = weather.current_weather(codes)
        news = [city for city in cities if seen.get(city.id) != city.observed]
        seen.update({city.id: city.observed for city in news})
        if not news:
            print("nothing new", flush=True)
        show(news)


def number(word: str, name: str, most: int = 2_147_483_647) -> int:
    """A whole number of the command line."""
    if word.isascii() and word.isdigit() and len(word) < 20 and 1 <= int(word) <= most:
        return int(word)
    raise ValueError(f"{name} must be a whole number from 1 to {most}: {word}")


def duration(word: str) -> float:
    """Seconds of the command line, up to a day."""
    with contextlib.suppress(ValueError):
        if word.isascii() and 0 <= float(word) <= 86_400:
            return float(word)
    raise ValueError(f"SECONDS must be a number from 0 to 86400: {word}")


def run(weather: OpenWeather, words: Sequence[str]) -> bool:
    """False when the words are none of the three commands."""
    command, rest = words[0], words[1:]
    if command == "find" and 1 <= len(rest) <= 3:
        if len(rest) > 1 and rest[1] not in TYPES:
            raise ValueError(f"TYPE must be {' or '.join(TYPES)}: {rest[1]}")
        count = number(rest[2], "COUNT", 50) if len(rest) > 2 else None
        show(weather.find_cities(rest[0], rest[1] if len(rest) > 1 else None, count))
    elif command == "list" and rest:
        show(weather.current_weather([number(word, "CODE") for word in rest]))
    elif command == "follow" and len(rest) > 2:
        codes = [number(word, "CODE") for word in rest[2:]]
        follow(weather, codes, duration(rest[0]), number(rest[1], "TIMES"))
    else:
        return False
    return True


def main(words: Sequence[str]) -> int:
    OpenWeather.set_default("appid", os.environ.get("OPENWEATHER_APPID", "demo"))
    OpenWeather.set_default("unit", "metric")
    if len(words) < 2:
        print(USAGE, file=sys.stderr)
        return 2
    try:
        with OpenWeather(words[0], log_flags=ntapi.LogFlags.NONE) as weather:
            if run(weather, words[1:]):
                return 0
    except ntapi.ApiError as error:
        is_internal = error.code is INTERNAL_ERROR
        text = "the service has trouble: try again later" if is_internal else error
        print(f"error: {text}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(USAGE, file=sys.stderr)
    return 2


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # so `| head` ends it, as it does other programs
    sys.exit(main(sys.argv[1:]))
