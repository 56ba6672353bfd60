"""Typed services as a user writes them, for mypy --strict; never run."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Generic, Optional, TypedDict, TypeVar, Union

from typing_extensions import assert_type

import ntapi

T = TypeVar("T")


@dataclass
class City:
    id: int
    temperature: Annotated[float, ntapi.Key("main.temp")]
    rain: Annotated[Optional[float], ntapi.Key("rain.3h")] = None
    icon: Optional[ntapi.URL] = field(default=None, metadata={"json": "weather[0].icon"})


class Account(TypedDict):
    name: str


@dataclass
class Page(Generic[T]):
    items: list[T]


class OfMyService(ntapi.Service[T]):
    decoding = ntapi.DecodingOptions(
        keys=ntapi.Keys.CAMEL_CASE, dates=[ntapi.DateFormat.ISO8601, ntapi.DateFormat.SECONDS]
    )

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        return None


@dataclass
class FindCities(OfMyService[list[City]]):
    command = "find"
    response_path = "list"

    name: str
    count: Optional[int] = None

    def parameters(self) -> ntapi.Args:
        return [ntapi.url("q", self.name), ntapi.url("cnt", self.count), ntapi.url_default("appid")]

    def configure(self, request: ntapi.HTTPRequest) -> None:
        request.headers["X-Name"] = self.name


class Accounts(OfMyService[Page[Account]]):
    command = "accounts"
    method = "POST"


class MaybeAccount(ntapi.Service[Optional[Account]]):
    command = "account"


class Forget(ntapi.Service[None]):
    command = "account"
    method = "DELETE"


class Size(ntapi.Service[int]):
    """Computes its command as a property. `Touch` sets it in `__init__`."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def command(self) -> str:
        return f"files/{self.name}"

    def make_response(self, response: ntapi.Response) -> int:
        return len(response.data)


class Touch(ntapi.Service[None]):
    def __init__(self, name: str) -> None:
        self.command = f"files/{name}"


class State(enum.Enum):
    OPEN = "open"


def read_day(value: Any) -> Optional[datetime]:
    return None


def blocking(client: ntapi.Client, response: ntapi.Response, day: datetime) -> None:
    assert_type(client.call(FindCities("London")), list[City])
    assert_type(client.call(Accounts(), ntapi.timeout(5)).items[0]["name"], str)
    assert_type(client.call(MaybeAccount()), Optional[Account])
    client.call(Forget())
    assert_type(client.call(Size("a")), int)
    client.call(Touch("a"), ntapi.url("state", State.OPEN), ntapi.url("day", day))
    assert_type(response.decode(City), City)
    assert_type(response.decode(list[City], "list"), list[City])
    assert_type(response.decode(Page[City]), Page[City])
    assert_type(response.decode(Account, options=ntapi.DecodingOptions(dates=read_day)), Account)
    anything: Union[int, str] = response.decode(Union[int, str])
    assert_type(anything, Union[int, str])

    def handler(result: ntapi.CallResult[list[City]]) -> None:
        assert_type(result.get(), list[City])
        assert_type(result.error, Optional[ntapi.ApiError])
        assert_type(result.response, ntapi.Response)

    assert_type(client.begin_call(FindCities("London"), handler), ntapi.Request)
    client.begin_call(Forget(), lambda result: result.get(), ntapi.response_thread(ntapi.MAIN))
    print(client.call(FindCities("London")), client.call(Size("a")))
    results: list[ntapi.CallResult[object]] = []
    client.begin_call(FindCities("London"), handler=results.append)
    client.call("find")  # type: ignore[arg-type]
    client.begin_call(Forget(), handler)  # type: ignore[misc]


async def asynchronous(client: ntapi.AsyncClient) -> None:
    assert_type(await client.call(FindCities("London")), list[City])
    assert_type((await client.call(Accounts())).items, list[Account])
    print(await client.call(FindCities("London")))
    print(await client.call(Size("a")), await client.call(MaybeAccount()))
    either: Union[list[City], Page[Account]] = await client.call(FindCities("London"))
    print(either)
    services: list[ntapi.Service[object]] = [FindCities("London"), Accounts(), Size("a")]
    assert_type([await client.call(service) for service in services], list[object])
    await client.call("find")  # type: ignore[arg-type]
