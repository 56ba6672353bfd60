"""Lines of programs, right and wrong ones; never run. `test_library.py` checks that mypy and
pyright accept the right ones, and find each line that has the comment `wrong`. The comment has the
code of mypy's error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Optional, Union

import httpx
import pytest
from typing_extensions import assert_type

import ntapi
import ntapi.fleet
from ntapi import codes, testing


@dataclass
class City:
    name: str
    degrees: Annotated[Optional[float], ntapi.Key("main.temp")] = None


@dataclass
class FindCity(ntapi.Service[City]):
    command = "find"

    name: str

    def parameters(self) -> ntapi.Args:
        return ntapi.url("q", self.name)


Passing = Generator[ntapi.HTTPRequest, ntapi.HTTPResponse, Optional[ntapi.HTTPResponse]]


class NotFound(ntapi.ApiError):
    pass


def show(response: ntapi.Response) -> None:
    print(response.status)


# Requests and their answers.


def requests(client: ntapi.Client, names: list[str], seconds: Optional[float]) -> None:
    assert_type(client.send("find", ntapi.url("q", "London"), ntapi.timeout(5)), ntapi.Response)
    client.get("find", params={"q": names}, timeout=seconds)
    client.post("notes", json={"title": "a", "tags": names})
    client.request("HEAD", "notes")
    client.send("users/{id}", [ntapi.path("id", 7), None])
    ntapi.Client("http://h", args=[ntapi.bearer("t").secret()], errors={404: NotFound})
    client.errors = {429: codes.register_code("slow down")}
    client.send("find", ntapi.tiemout(5))  # wrong [attr-defined]
    client.send("find", ntapi.jsn({"a": 1}))  # wrong [attr-defined]
    client.snd("find")  # wrong [attr-defined]
    client.send("find", ntapi.url("q"))  # wrong [call-arg]
    client.send("find", ntapi.url(7, "q"))  # wrong [arg-type]
    client.send("find", ntapi.timeout("5"))  # wrong [arg-type]
    client.send("find", ntapi.timeout(5, "totl"))  # wrong [arg-type]
    client.send("find", "q=London")  # wrong [arg-type]
    client.send("find", {"q": "London"})  # wrong [dict-item]
    client.get("find", query={"q": "London"})  # wrong [call-arg]
    client.get("find", auth="ann")  # wrong [arg-type]
    client.send("find", ntapi.header("A", b"b"))  # wrong [arg-type]
    client.send("find", ntapi.multipart("a", "b", file_name="c"))  # wrong [call-arg]
    client.send("find", ntapi.cache_policy("reload"))  # wrong [arg-type]
    ntapi.Client("http://h", time_out=5)  # wrong [arg-type]
    ntapi.Client(errors={404: 5})  # wrong [dict-item]


def answers(response: ntapi.Response) -> None:
    assert_type(response.status, int)
    assert_type(response.text, str)
    assert_type(response.decode(list[City], "list"), list[City])
    temperature: float = response.decode(float, "main.temp")
    values: Any = response.json()
    print(temperature, values["list"][0]["name"], response.headers["Content-Type"].title())
    assert_type(response.raise_for_error(), ntapi.Response)
    assert_type(response.metrics.connection_reused, bool)
    assert_type(response.error, Optional[ntapi.ApiError])
    print(response.staus)  # wrong [attr-defined]
    print(response.json["list"])  # wrong [index]
    print(response.json()["list"])  # wrong [call-overload, index]
    print(response.decode(City).nme)  # wrong [attr-defined]
    response.status = 200  # wrong [misc]
    degrees: int = response.decode(float, "main.temp")  # wrong [assignment]
    print(degrees, response.resume_data.title())  # wrong [union-attr]
    print(response.headers.get("Age") + "s")  # wrong [operator]


async def awaited(client: ntapi.AsyncClient) -> None:
    assert_type(await client.get("find"), ntapi.Response)
    assert_type((await client.get("find")).decode(City), City)
    assert_type(await client.call(FindCity("London")), City)
    both = await asyncio.gather(client.get("a"), client.call(FindCity("Paris")))
    assert_type(both, tuple[ntapi.Response, City])
    await client.close()
    client.get("find")  # wrong [unused-coroutine]
    print(client.get("find").status)  # wrong [attr-defined]
    print(await client.get("find").json())  # wrong [attr-defined]
    city: City = client.call(FindCity("London"))  # wrong [assignment]
    print(city)
    await client.begin("find")  # wrong [misc]
    with client:  # wrong [attr-defined]
        pass


def begun(client: ntapi.Client) -> None:
    request = client.begin("find", ntapi.response_thread(ntapi.BACKGROUND), handler=show)
    request.set_upload_progress(lambda count, total: print(count, total))
    assert_type(request.wait(5), bool)
    assert_type(request.state, ntapi.RequestState)
    result: list[ntapi.CallResult[City]] = []
    client.begin_call(FindCity("London"), handler=result.append)
    assert_type(result[0].get(), City)
    client.begin("find", handler=show(request.response))  # wrong [arg-type, func-returns-value]
    client.begin("find", handler=lambda: None)  # wrong [arg-type, misc]
    request.cancell()  # wrong [attr-defined]
    print(request.response.status)  # wrong [union-attr]
    client.begin("find", ntapi.response_thread("main"))  # wrong [arg-type]


# Services and decoding.


def services(client: ntapi.Client, options: ntapi.DecodingOptions) -> Optional[City]:
    city = client.call(FindCity("London"), ntapi.timeout(5))
    assert_type(city, City)
    print(city.name.upper(), city.degrees or 0)
    ntapi.DecodingOptions(keys=ntapi.Keys.CAMEL_CASE, dates=[ntapi.DateFormat.SECONDS])
    assert_type(ntapi.decode(City, {"name": "London"}, options=options), City)
    client.call(FindCity())  # wrong [call-arg]
    client.call(FindCity(7))  # wrong [arg-type]
    client.call("find")  # wrong [arg-type]
    client.call(FindCity)  # wrong [arg-type]
    print(round(city.degrees))  # wrong [arg-type]
    ntapi.DecodingOptions(keys="camel_case")  # wrong [arg-type]
    return city


class Wrong(ntapi.Service[City]):
    command = "find"
    method = 5  # wrong [assignment]

    def make_response(self, response: ntapi.Response) -> str:  # wrong [override]
        return response.text


# Errors.


def errors(client: ntapi.Client) -> Iterator[str]:
    try:
        client.send("find")
    except NotFound as error:
        assert_type(error, NotFound)
    except ntapi.ApiError as error:
        assert_type(error.code, ntapi.ErrorCode)
        assert_type(error.retry_after, Optional[float])
        if error.code is codes.TIMEOUT and error.clock is ntapi.Clock.CONNECT:
            yield error.message
        if error.problem is not None:
            yield error.problem.title or ""
        print(codes.TIME_OUT)  # wrong [attr-defined]
        print(error.status)  # wrong [attr-defined]
        print(error.problem.title)  # wrong [union-attr]
        print(error.retry_after + 1)  # wrong [operator]
        raise ntapi.ApiError(code=404) from error  # wrong [arg-type]


# Streams and pages.


def streams(client: ntapi.Client) -> None:
    for event in client.events("updates"):
        assert_type(event.data, str)
    with client.stream("export") as chunks:
        assert_type(b"".join(chunks), bytes)
    for page in client.pages("issues", following=lambda page: ntapi.url("p", page.link("next"))):
        assert_type(page.status, int)
    assert_type(client.send("a", ntapi.download(Path("a"))).file, Optional[Path])
    client.events("updates", timeout=5)  # wrong [arg-type]
    client.send("a", ntapi.download(5))  # wrong [arg-type]
    print([event.text for event in client.events("updates")])  # wrong [attr-defined]
    client.pages("issues", following="next")  # wrong [arg-type]


async def async_streams(client: ntapi.AsyncClient) -> None:
    async with client.events("updates") as events:
        assert_type([event.type async for event in events], list[str])
    async for page in client.pages("issues"):
        assert_type(page, ntapi.Response)
    print([event.data for event in client.events("updates")])  # wrong [attr-defined]
    with client.stream("export"):  # wrong [attr-defined]
        pass


# What a client is made with.


def sessions(path: Path, store: ntapi.Store) -> None:
    policy = ntapi.RetryPolicy(attempts=3, statuses={503})
    configuration = ntapi.SessionConfiguration.ephemeral(retry=policy, request_timeout=10)
    configuration.http_version = "2"
    configuration.rate_limit = {"requests": 30, "seconds": 1}
    configuration.circuit_breaker = {"minimum_calls": 5}
    configuration.connection_policy = {"hosts": ["*.example.com"]}
    assert_type(configuration.user_agent, Optional[str])
    client = ntapi.Client("https://h", configuration=configuration)
    client.rate_limiter = ntapi.RateLimiter.of(ntapi.RateLimit(10), store=store, key="partner")
    assert_type(client.rate_limiter.waiting, int)
    if client.cookies is not None:
        client.cookies.set(ntapi.Cookie("a", "b", "h"))
    client.add_observer(Attempts())
    client.log_flags = ntapi.LogFlags.WARN | ntapi.LogFlags.ERROR
    client.set_default("unit", "metric")
    storage = ntapi.CredentialStorage()
    space = ntapi.ProtectionSpace("https", "h", 443, "members")
    storage.set(ntapi.Credential("ann", "pw"), space)
    assert_type(storage.default(space), Optional[ntapi.Credential])
    if client.cache is not None:
        client.cache.share(store, "partner")
    ntapi.RetryPolicy(attemps=3)  # wrong [call-arg]
    ntapi.SessionConfiguration.ephemeral(retries=3)  # wrong [call-arg]
    configuration.http_version = "3"  # wrong [assignment]
    configuration.request_timeout = "10"  # wrong [assignment]
    configuration.rate_limit = {"requests": "30"}  # wrong [assignment]
    configuration.circuit_breaker = {"minimum": 5}  # wrong [assignment]
    configuration.connection_policy = {"host": ["h"]}  # wrong [assignment]
    configuration.rate_limit = {"reqests": 30}  # wrong [assignment]
    client.rate_limiter = 30  # wrong [assignment]
    ntapi.RateLimiter.of(10, store=store)  # wrong [arg-type]
    ntapi.RateLimiter.of(ntapi.RateLimit(10), store="redis://h")  # wrong [arg-type]
    client.log_flags = "debug"  # wrong [assignment]
    ntapi.SessionConfiguration.background()  # wrong [call-arg]
    storage.set(space, ntapi.Credential("ann", "pw"))  # wrong [arg-type]
    client.cookies.clear()  # wrong [union-attr]
    client.add_observer(Attempts)  # wrong [arg-type]
    ntapi.fleet.Redis("redis://h", pasword="p")  # wrong [call-arg]
    ntapi.fleet.FileStore(path).share("key")  # wrong [attr-defined]


class Attempts(ntapi.Observer):
    def attempt_ends(self, context: object, observed: ntapi.Observation) -> None:
        assert_type(observed.total, float)
        print(observed.atempt)  # wrong [attr-defined]

    def ended(self, observed: ntapi.Observation) -> None:  # wrong [override]
        print(observed.status)


class Shelf(ntapi.Store):
    def run(
        self, script: ntapi.StoreScript, keys: list[str], arguments: list[str]
    ) -> Sequence[Union[str, bytes, int]]:
        return [script.lua, *keys]

    def get(self, key: str) -> str:  # wrong [override]
        return key


# Tokens.


def refresh(refresh: ntapi.Refresh) -> ntapi.Token:
    assert_type(refresh.client, ntapi.Client)
    answer = refresh.client.send("token", ntapi.form("refresh_token", refresh.refresh_token))
    print(refresh.client.snd("token"))  # wrong [attr-defined]
    print(refresh.expired_token.title())  # wrong [union-attr]
    return ntapi.Token(answer.decode(str, "access_token"), answer.decode(float, "expires_in"))


async def refresh_async(refresh: ntapi.Refresh[ntapi.AsyncClient]) -> Optional[str]:
    response = await refresh.client.send("token")
    return response.decode(str, "access_token")


def refresh_wrong(refresh: ntapi.Refresh) -> Mapping[str, str]:
    return {"access_token": "t"}


class Shop(ntapi.Client):
    def build_request(self, request: ntapi.HTTPRequest) -> None:
        request.headers["X-Method"] = request.method
        request.headers["X-Length"] = 5  # wrong [assignment]

    def log_in(self) -> Optional[str]:
        self.authenticator = ntapi.Authenticator(refresh, token="t", origins=["https://h"])
        return self.authenticator.token

    def request_completed(self, response: ntapi.Response) -> None:  # wrong [override]
        print(response)


def tokens(shop: Shop, client: ntapi.AsyncClient, store: ntapi.Store) -> None:
    client.authenticator = ntapi.Authenticator(refresh_async)
    client.authenticator.share(store, "partner", on_failure="local")
    client.authenticator.set_token(ntapi.Token("t", lifetime=60))
    shop.authenticator = refresh  # wrong [assignment]
    ntapi.Authenticator(refresh_wrong)  # wrong [arg-type]
    ntapi.Authenticator(refresh, toekn="t")  # wrong [call-arg]
    client.authenticator.share(store, "partner", on_failure="open")  # wrong [arg-type]


def not_set_before(client: ntapi.Client) -> None:
    client.authenticator.set_token("t")  # wrong [union-attr]


# Decisions.


class Asking(ntapi.Client):
    decision_kinds = ntapi.DecisionKind.CHALLENGE | ntapi.DecisionKind.RETRY

    def decide(self, decision: ntapi.Decision) -> None:
        if decision.challenge is not None:
            assert_type(decision.challenge.kind, ntapi.ChallengeKind)
            decision.use("ann", "pw", persistence=ntapi.Persistence.FOR_SESSION)
        decision.retry(0.5)
        decision.use("ann")  # wrong [call-arg]
        print(decision.challenge.kind)  # wrong [union-attr]
        decision.allow()  # wrong [attr-defined]


# Interceptors.


@ntapi.attempt_interceptor
def sign(call: ntapi.InterceptedCall) -> None:
    call.request.headers["X-Number"] = str(call.number)


@ntapi.call_interceptor
async def twice(call: ntapi.InterceptedCall) -> ntapi.HTTPResponse:
    response = await call.next()
    return await call.next() if response.status == 503 else response


@ntapi.attempt_interceptor
def once_more(call: ntapi.InterceptedCall) -> Passing:
    response = yield call.request
    assert_type(response, ntapi.HTTPResponse)
    return response


@ntapi.attempt_interceptor
def yields_text(call: ntapi.InterceptedCall) -> Passing:
    yield call.request.url  # wrong [misc]
    return None


@ntapi.call_interceptor  # wrong [arg-type]
def returns_text(call: ntapi.InterceptedCall) -> str:
    return call.request.url


def interceptors(client: ntapi.Client) -> None:
    client.interceptors = [sign, twice]
    client.send("a", ntapi.interceptor(sign))
    client.interceptors = [refresh]  # wrong [list-item]


# Tests.


def test_doubles(tmp_path: Path) -> None:
    stub = testing.Stub()
    stub.on("GET", "notes/*").answer(json=[1]).answer(503, headers={"Retry-After": "1"})
    stub.on("POST", where=lambda request: request.text).fail(testing.StubFault.TIMEOUT)
    clock = testing.ManualClock()
    clock.advance(2.5)
    client = ntapi.Client("https://h", stub=stub, clock=clock)
    assert_type([request.method for request in stub.requests], list[str])
    with testing.Recorder(tmp_path / "r.json", mode="once") as recorder:
        client.recorder = recorder
    with pytest.raises(ntapi.ApiError) as caught:
        client.send("notes/1")
    assert_type(caught.value, ntapi.ApiError)
    assert_type(testing.MemoryStore(clock), testing.MemoryStore)
    stub.on("GET", "notes").anwser(json=[1])  # wrong [attr-defined]
    stub.on("GET", "notes").answer("[1]")  # wrong [arg-type]
    stub.on("GET", "notes").answer(jsn=[1])  # wrong [arg-type]
    stub.on("GET", "notes").fail("timeout")  # wrong [arg-type]
    client.clock.advance(1)  # wrong [union-attr]
    testing.Recorder("r.json", mode="new")  # wrong [arg-type]
    stub.on("GET", where=lambda request: request.txt)  # wrong [attr-defined]
    ntapi.Client("https://h", stub=testing.Stub)  # wrong [arg-type]


def mock_server() -> None:
    server = testing.Server(tls=True)
    with server as url:
        server.enqueue(testing.Answer(503), testing.Answer(json={"a": 1}))
        ntapi.Client(url).send("a")
        assert_type([request.url for request in server.requests], list[str])
        server.enqueue({"a": 1})  # wrong [arg-type]
        ntapi.Client(server)  # wrong [arg-type]
        print(url.port)  # wrong [attr-defined]


# Under other libraries.


def under_others(client: ntapi.Client) -> None:
    httpx.Client(transport=ntapi.transports.HTTPX(client=client))
    httpx.AsyncClient(transport=ntapi.transports.AsyncHTTPX())
    httpx.Client(transport=ntapi.transports.HTTPX3())  # wrong [attr-defined]
    httpx.Client(transport=ntapi.transports.AsyncHTTPX())  # wrong [arg-type]
    httpx.Client(transport=ntapi.transports.HTTPX(retries="2"))  # wrong [arg-type]
