"""Typed services, called in each way, against the weather server and the fault server."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Annotated, Any, Generic, Optional, TypedDict, TypeVar

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import codes

T = TypeVar("T")


@dataclass
class City:
    id: int
    name: str
    temperature: Annotated[float, ntapi.Key("main.temp")]
    updated: Annotated[datetime, ntapi.Key("dt")]
    rain: Annotated[Optional[float], ntapi.Key("rain.3h")]


class WeatherService(ntapi.Service[T]):
    """The base class of that API's services."""

    decoding = ntapi.DecodingOptions(dates=ntapi.DateFormat.SECONDS)

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        code = str(response.json().get("cod", "200"))
        return None if code == "200" else ntapi.ApiError(code, response.json()["message"])


@dataclass
class FindCities(WeatherService[list[City]]):
    command = "data/2.5/find"
    response_path = "list"

    name: str
    count: Optional[int] = None

    def parameters(self) -> ntapi.Args:
        return [
            ntapi.url("q", self.name),
            ntapi.url("cnt", self.count),
            ntapi.url("units", "metric"),
        ]


@dataclass
class Echo(ntapi.Service[T], Generic[T]):
    command = "echo"
    response_path: str = ""
    method: Optional[str] = None


class Method(Echo[str]):
    pass


class Everything(TypedDict):
    method: str
    target: str


class EchoEverything(ntapi.Service[Everything]):
    command = "echo"


class Slow(ntapi.Service[None]):
    command = "slow"

    def parameters(self) -> ntapi.Args:
        return ntapi.url("seconds", 30)


LONDON = City(2643743, "London", 8.2, datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc), None)


def test_a_call_returns_what_the_service_declares(weather: ntapi.Client) -> None:
    assert weather.call(FindCities("London", 1)) == [LONDON]
    assert len(weather.call(FindCities("London"), ntapi.url("cnt", 3))) == 3


def test_a_typed_dict(fault: ntapi.Client) -> None:
    assert fault.call(EchoEverything()) == {"method": "GET", "target": "/echo"}


def test_errors_of_each_domain_come_in_one_type(
    weather: ntapi.Client, fault: ntapi.Client, servers: dict[str, str]
) -> None:
    def error(client: ntapi.Client, *args: ntapi.Args, service: Any = None) -> ntapi.ApiError:
        with pytest.raises(ntapi.ApiError) as caught:
            client.call(service or FindCities("Nowhereville"), *args)
        return caught.value

    domains = ntapi.ErrorDomain
    found = error(weather)
    assert (found.domain, found.code, found.http_status) == (domains.SERVICE, "404", 200)
    assert str(found) == "city not found"
    assert found.response is not None
    with ntapi.Client(servers["weather"]) as stranger:
        assert error(stranger).code == "401"
    with ntapi.Client("http://127.0.0.1:1") as nobody:
        assert error(nobody).domain is domains.NETWORK
    assert error(weather, ntapi.header("a b", "c")).domain is domains.REQUEST
    wrong = error(fault, ntapi.url("token", "secret"), service=EchoAsList())
    assert (wrong.domain, wrong.code) == (domains.JSON, codes.UNEXPECTED_JSON)
    assert wrong.http_status == 200
    assert wrong.response is not None
    assert str(wrong) == f"the JSON of {servers['fault']}/echo: array expected, object found"
    assert error(fault, ntapi.option("raw_data"), service=EchoAsList()).message.endswith("no JSON")


class EchoAsList(ntapi.Service[list[str]]):
    command = "echo"


def test_a_client_with_hooks_goes_the_long_way(servers: dict[str, str]) -> None:
    seen: list[Optional[str]] = []

    class Hooked(ntapi.Client):
        def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
            return ntapi.ApiError("client's")

        def request_completed(self, request: ntapi.Request, response: ntapi.Response) -> None:
            seen.append(response.error and response.error.code)

    class Own(ntapi.Service[None]):
        command = "echo"
        code: Optional[str] = None

        def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
            return None if self.code is None else ntapi.ApiError(self.code)

    service = Own()
    with Hooked(servers["fault"]) as client:
        for code in ("own", None):
            service.code = code
            with pytest.raises(ntapi.ApiError) as caught:
                client.call(service)
            assert caught.value.code == (code or "client's")
    assert seen == ["own", "client's"]


def test_the_request_is_configured(fault: ntapi.Client, servers: dict[str, str]) -> None:
    assert fault.call(Method(response_path="method", method="DELETE")) == "DELETE"
    assert fault.call(Method(response_path="method")) == "GET"

    class Signed(ntapi.Service[dict[str, str]]):
        command = "echo"
        response_path = "header"

        def configure(self, request: ntapi.HTTPRequest) -> None:
            request.headers["X-Mine"] = f"{request.method} {request.headers.get('X-Mine')}"

    class Hooked(ntapi.Client):
        def build_request(self, request: ntapi.HTTPRequest) -> None:
            request.headers["X-Mine"] = f"{request.headers.get('X-Mine')}, hooked"

    assert fault.call(Signed())["x-mine"] == "GET None"
    assert "x-mine" not in fault.send("echo").json()["header"]
    with Hooked(servers["fault"]) as client:
        assert client.call(Signed())["x-mine"] == "GET None, hooked"
        assert client.send("echo").json()["header"]["x-mine"] == "None, hooked"

    async def awaited() -> str:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            return (await client.call(Signed()))["x-mine"]

    assert asyncio.run(awaited()) == "GET None"

    class Listed(Signed):
        def configure(self, request: ntapi.HTTPRequest) -> None:
            unlisted: list[Any] = [request.timeouts, request.options]
            for values in unlisted:
                with pytest.raises(TypeError, match="not iterable"):
                    dict(values)

    assert "x-mine" not in fault.call(Listed())

    class Broken(Signed):
        def configure(self, request: ntapi.HTTPRequest) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fault.call(Broken())
    assert fault.call(Signed())["x-mine"] == "GET None"


def test_the_response_object_is_made_by_the_service(weather: ntapi.Client) -> None:
    class Size(ntapi.Service[int]):
        command = "download"
        least = 0

        def parameters(self) -> ntapi.Args:
            return [ntapi.url("size", 1000), ntapi.option("raw_data")]

        def make_response(self, response: ntapi.Response) -> int:
            if len(response.data) < self.least:
                raise ArithmeticError("too small")
            return len(response.data)

    service = Size()
    assert weather.call(service) == 1000
    service.least = 1001
    with pytest.raises(ntapi.ApiError, match="Size can make nothing of the response") as caught:
        weather.call(service)
    assert caught.value.code is codes.GENERIC
    assert isinstance(caught.value.__cause__, ArithmeticError)


def test_a_handler_gets_what_the_call_came_to(weather: ntapi.Client) -> None:
    results: list[tuple[ntapi.CallResult[list[City]], str]] = []

    def handler(result: ntapi.CallResult[list[City]]) -> None:
        results.append((result, threading.current_thread().name))

    args = ntapi.response_thread(ntapi.BACKGROUND)
    assert weather.begin_call(FindCities("London", 1), handler, args).wait(PATIENCE)
    result, thread = results[0]
    assert result.get() == [LONDON]
    assert (result.error, result.response.status, thread) == (None, 200, "ntapi-background")
    request = weather.begin_call(Slow(), lambda result: results.append((result, "")), args)
    request.cancel()
    assert request.wait(PATIENCE)
    assert results[1][0].error is not None
    assert results[1][0].error.code is codes.CANCELLED
    with pytest.raises(ntapi.ApiError):
        results[1][0].get()


def test_awaited(servers: dict[str, str]) -> None:
    async def main() -> None:
        async with ntapi.AsyncClient(servers["weather"], args=ntapi.url("appid", "x")) as client:
            assert await client.call(FindCities("London", 1)) == [LONDON]
            with pytest.raises(ntapi.ApiError, match="city not found"):
                await client.call(FindCities("Nowhereville"))
            task = asyncio.ensure_future(client.call(Slow()))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            got = asyncio.get_running_loop().create_future()
            client.begin_call(FindCities("London", 1), lambda result: got.set_result(result))
            assert (await got).get() == [LONDON]

    asyncio.run(main())


def test_calls_tell_their_progress(servers: dict[str, str]) -> None:
    sent: list[tuple[int, Optional[int]]] = []
    received: list[tuple[int, Optional[int]]] = []
    body = ntapi.data(bytes(100_000))

    def note_sent(count: int, total: Optional[int]) -> None:
        sent.append((count, total))

    def note_received(count: int, total: Optional[int]) -> None:
        received.append((count, total))

    async def awaited() -> str:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            return await client.call(
                Method("method"), body, upload_progress=note_sent, download_progress=note_received
            )

    with ntapi.Client(servers["fault"]) as client:
        waited = client.call(
            Method("method"), body, upload_progress=note_sent, download_progress=note_received
        )
    assert waited == "POST"
    for _ in range(2):
        assert sent[-1] == (100_000, 100_000)
        count, total = received[-1]
        assert count == total
        sent.clear()
        received.clear()
        assert asyncio.run(awaited()) == "POST"


def test_no_answer_is_wanted(weather: ntapi.Client) -> None:
    class Download(ntapi.Service[None]):
        command = "download"

        def parameters(self) -> ntapi.Args:
            return [ntapi.url("size", 5), ntapi.option("raw_data")]

    weather.call(Download())


@dataclass
class Page(Generic[T]):
    header: T
    method: str


class OfPages(ntapi.Service[Page[T]]):
    command = "echo"


class HeaderPages(OfPages[dict[str, str]]):
    pass


def test_generic_services(fault: ntapi.Client) -> None:
    page = fault.call(HeaderPages(), ntapi.header("X-Mine", "yes"))
    assert isinstance(page, Page)
    assert (page.method, page.header["x-mine"]) == ("GET", "yes")
    wrong = ntapi.header("X-Mine", "yes"), ntapi.method("HEAD")
    with pytest.raises(ntapi.ApiError, match="has no JSON"):
        fault.call(HeaderPages(), *wrong)
    # A type variable without a value is Any.
    assert fault.call(OfPages()).header["host"]


def test_mistakes_are_found_before_anything_is_sent() -> None:
    class Untold(ntapi.Service):  # type: ignore[type-arg]
        pass

    class Impossible(ntapi.Service[complex]):
        pass

    with ntapi.Client("http://127.0.0.1:1") as client:
        with pytest.raises(TypeError, match="Untold has to say what it answers"):
            client.call(Untold())
        with pytest.raises(TypeError, match="complex cannot be made of JSON"):
            client.call(Impossible())
        with pytest.raises(TypeError, match="a Service is expected"):
            client.call("echo")  # type: ignore[arg-type]


class Configured(ntapi.Service[Any]):
    """Reads and changes every part of its request."""

    command = "echo"

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def parameters(self) -> ntapi.Args:
        return [
            ntapi.json({"a": 1}),
            ntapi.timeout(5),
            ntapi.cache_policy("reload_ignoring_cache"),
            ntapi.option("mine", "yes"),
        ]

    def configure(self, request: ntapi.HTTPRequest) -> None:
        self.seen += [
            request.method,
            request.body,
            request.body_kind,
            request.timeouts["idle"],
            request.timeouts[ntapi.Clock.QUEUE],
            request.cache_policy,
            request.options["mine"],
            request.priority,
            request.headers["content-type"],
        ]
        request.headers["X-Mine"] = "1"
        del request.headers["Accept"]
        request.headers.update({"Content-Type": "text/plain"})
        request.body = "changed"
        request.timeouts["idle"] = 7
        request.timeouts["total"] = None
        request.cache_policy = "no_store"
        del request.options["mine"]
        request.options["maximum_redirects"] = 3
        request.priority = 0.75
        self.seen += [
            request.body,
            request.timeouts["idle"],
            request.timeouts["total"],
            request.cache_policy,
            "mine" in request.options,
            request.options.get("maximum_redirects"),
            request.priority,
            {name.lower() for name in request.headers} >= {"x-mine", "content-type"},
            len(request.headers) == len(list(request.headers)),
        ]


def test_the_whole_request_is_configured(servers: dict[str, str]) -> None:
    service = Configured()
    with ntapi.Client(servers["fault"]) as client:
        answer = client.call(service)
    assert service.seen == [
        "POST",
        b'{"a":1}',
        ntapi.BodyKind.BYTES,
        5.0,
        None,
        ntapi.CachePolicy.RELOAD_IGNORING_CACHE,
        "yes",
        0.5,
        "application/json",
        b"changed",
        7.0,
        None,
        ntapi.CachePolicy.NO_STORE,
        False,
        "3",
        0.75,
        True,
        True,
    ]
    assert answer["body"] == "changed"
    assert answer["header"]["content-type"] == "text/plain"
    assert answer["header"]["x-mine"] == "1"
    # Without an Accept header, libcurl sends one that accepts everything.
    assert answer["header"]["accept"] == "*/*"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda request: request.timeouts.__setitem__("idle", 0), "above 0"),
        (lambda request: request.timeouts.__setitem__("today", 1), "one of idle, connect"),
        (lambda request: request.headers.__setitem__("X", "a\r\nb"), "header"),
        (lambda request: setattr(request, "priority", 2), "from 0 to 1"),
        (lambda request: setattr(request, "cache_policy", "perhaps"), "one of protocol"),
    ],
)
def test_what_cannot_be_sent_is_refused(servers: dict[str, str], change: Any, says: str) -> None:
    class Wrong(ntapi.Service[Any]):
        command = "echo"

        def configure(self, request: ntapi.HTTPRequest) -> None:
            change(request)

    with ntapi.Client(servers["fault"]) as client, pytest.raises(ValueError, match=says):
        client.call(Wrong())


def test_a_wrong_option_makes_an_invalid_request(servers: dict[str, str]) -> None:
    class Wrong(ntapi.Service[Any]):
        command = "echo"

        def configure(self, request: ntapi.HTTPRequest) -> None:
            request.options["maximum_redirects"] = "many"

    with ntapi.Client(servers["fault"]) as client, pytest.raises(ntapi.ApiError) as caught:
        client.call(Wrong())
    assert caught.value.code is codes.INVALID_REQUEST


class Upload(ntapi.Service[str]):
    command = "echo"
    response_path = "method"

    def parameters(self) -> ntapi.Args:
        return ntapi.data(b"x" * 100_000)


def test_nobody_need_hear_what_a_call_came_to(servers: dict[str, str]) -> None:
    sent: list[tuple[int, Optional[int]]] = []
    with ntapi.Client(servers["fault"]) as client:
        request = client.begin_call(
            Upload(), upload_progress=lambda *progress: sent.append(progress)
        )
        assert request.wait(PATIENCE)
        assert request.response is not None
        assert request.response.error is None
    assert sent[-1] == (100_000, 100_000)
