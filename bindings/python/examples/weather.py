"""The weather of cities: finds them, lists them, follows them.

python weather.py URL find NAME                      cities by a part of their name
python weather.py URL list CODE ...                  their weather now
python weather.py URL follow SECONDS TIMES CODE ...  again and again: what is new

URL is https://api.openweathermap.org, with the key of the API in OPENWEATHER_APPID, or what
`python Tests/servers/weather.py` prints.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Optional, TypeVar

import ntapi

T = TypeVar("T")

SUCCESS = ntapi.register_code("200")
NOT_FOUND = ntapi.register_code("404")
INTERNAL_ERROR = ntapi.register_code("500")


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
    """Cities by a part of their name."""

    command = "data/2.5/find"

    name: str
    count: Optional[int] = None

    def parameters(self) -> ntapi.Args:
        return [ntapi.url("q", self.name), ntapi.url("cnt", self.count)]


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

    def find_cities(self, name: str, count: Optional[int] = None) -> list[City]:
        return self.standard(FindCities(name, count))

    def current_weather(self, codes: Sequence[int]) -> list[City]:
        return self.standard(CurrentWeather(codes))

    def direct(self, service: ntapi.Service[T], *args: ntapi.Args) -> T:
        """What is common to every call."""
        return self.call(service, ntapi.header("Accept-Language", "en"), ntapi.timeout(10), *args)

    def standard(self, service: ntapi.Service[T]) -> T:
        """A direct request that adds the parameters of the session, which are defaults."""
        session = [ntapi.url_default("appid"), ntapi.url_default("units", "unit")]
        return self.direct(service, session)

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        """The service says HTTP 200 and then {"cod": "404", "message": ...}: that is an error."""
        code = ntapi.register_code(str(response.json.get("cod", SUCCESS)))
        return None if code is SUCCESS else ntapi.ApiError(code, response.json.get("message"))


def show(cities: Sequence[City]) -> None:
    for city in cities:
        place = f"{city.name}, {city.country}: {city.sky}"
        print(f"{city.id}  {city.temperature:5.1f} °C  {place}, {city.observed:%Y-%m-%dT%H:%M:%SZ}")


def follow(weather: OpenWeather, codes: Sequence[int], seconds: float, times: int) -> None:
    seen: dict[int, datetime] = {}
    for number in range(times):
        if number > 0:
            time.sleep(seconds)
        cities = weather.current_weather(codes)
        news = [city for city in cities if seen.get(city.id) != city.observed]
        seen.update({city.id: city.observed for city in news})
        if not news:
            print("nothing new")
        show(news)


def main(words: Sequence[str]) -> int:
    OpenWeather.set_default("appid", os.environ.get("OPENWEATHER_APPID", "demo"))
    OpenWeather.set_default("unit", "metric")
    try:
        with OpenWeather(words[0], log_flags=ntapi.LogFlags.NONE) as weather:
            if words[1] == "find" and len(words) == 3:
                show(weather.find_cities(words[2]))
            elif words[1] == "list" and len(words) > 2:
                show(weather.current_weather([int(word) for word in words[2:]]))
            elif words[1] == "follow" and len(words) > 4:
                codes = [int(word) for word in words[4:]]
                follow(weather, codes, float(words[2]), int(words[3]))
            else:
                raise IndexError
    except ntapi.ApiError as error:
        if error.code is NOT_FOUND:
            print("no such city")
        elif error.code is INTERNAL_ERROR:
            print("the service has trouble: try again later")
        else:
            print(f"error: {error.code}: {error}")
        return 1
    except (IndexError, ValueError):
        print("usage: weather.py URL find NAME | list CODE ... | follow SECONDS TIMES CODE ...")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
