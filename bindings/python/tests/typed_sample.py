"""Every public signature in use, for mypy --strict; never run."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Generator
from pathlib import Path
from typing import Any, Literal, Optional, Union

from typing_extensions import assert_type

import ntapi
from ntapi import codes, testing

Flow = Generator[ntapi.HTTPRequest, ntapi.HTTPResponse, ntapi.HTTPResponse]


class Service(ntapi.Client):
    def build_args(self, command: str, args: list[ntapi.Arg]) -> Optional[list[ntapi.Arg]]:
        return [*args, ntapi.bearer("t").secret()]

    def build_request(self, request: ntapi.HTTPRequest) -> None:
        request.headers["X-Method"] = request.method

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        return ntapi.ApiError("quota", domain=ntapi.ErrorDomain.SERVICE)

    def request_started(self, request: ntapi.Request) -> None:
        assert_type(request.identifier, int)

    def request_completed(self, request: ntapi.Request, response: ntapi.Response) -> None:
        assert_type(response.elapsed, float)


def next_page(page: ntapi.Response) -> ntapi.Args:
    body = page.json()
    assert_type(body, ntapi.JSON)
    return ntapi.url("cursor", str(body["next"])) if isinstance(body, dict) else None


def json_values(client: ntapi.Client, event: ntapi.ServerSentEvent) -> None:
    response = client.send("x")
    assert_type(event.json(), ntapi.JSON)
    free: Any = response.json()
    print(free["main"]["temp"])
    assert_type(response.decode(float, "main.temp"), float)
    # `json` was an attribute: the old use is now an error.
    response.json["x"]  # type: ignore[index]
    response.json.get("x")  # type: ignore[attr-defined]
    for _ in response.json:  # type: ignore[attr-defined]
        pass
    len(response.json)  # type: ignore[arg-type]
    print(response.json == {"a": 1})  # type: ignore[comparison-overlap]
    if response.json:  # type: ignore[truthy-function]
        print("there is JSON")
    # A type checker needs a check of the type before the use.
    response.json()["x"]  # type: ignore[index, call-overload]


def lists_of_args(client: ntapi.Client, some: list[ntapi.Arg], nested: ntapi.Args) -> None:
    client.send("x", some, nested, [some, (nested, None)], {ntapi.url("a", 1)})
    client.send("x", (ntapi.url("n", n) for n in range(2)), {"a": ntapi.url("a", 1)}.values())
    client.begin("x", [nested, *some])
    client.begin("x", nested, *some, handler=print)
    client.begin("x", [nested, *some], lambda response: print(response.status))
    client.begin(nested)
    given = {"a": 1}
    client.send("x", given)  # type: ignore[arg-type]
    client.send("x", {"a": 1})  # type: ignore[dict-item]
    client.send("x", {"a": ntapi.url("a", 1)})  # type: ignore[dict-item]
    client.send("x", "name")  # type: ignore[arg-type]
    client.send("x", b"body")  # type: ignore[arg-type]
    client.send("x", ["name"])  # type: ignore[list-item]
    client.send({"a": 1})  # type: ignore[dict-item]
    client.begin("x", {"a": 1})  # type: ignore[dict-item]
    ntapi.Client("http://h", args={"a": 1})  # type: ignore[dict-item]


def misspelled_names() -> None:
    ntapi.tiemout(5)  # type: ignore[attr-defined]
    ntapi.arg.tiemout(5)  # type: ignore[attr-defined]
    ntapi.CLient()  # type: ignore[attr-defined]
    print(codes.TIMOUT)  # type: ignore[attr-defined]


def keywords(client: ntapi.Client, path: Path) -> None:
    counts = {"a": 1}
    assert_type(client.get("x", params=counts, headers={"A": None}, timeout=5), ntapi.Response)
    client.get("x", params=[("a", 1), ("a", [2, None])], timeout=(2, None), auth=("ann", "pw"))
    client.post(ntapi.base_url("http://h"), json=[counts], upload_progress=print)
    client.put("x", data=counts)
    client.put("x", data={"a": 1, "b": [path.name, None], "c": None}, params={"a": 1, "b": "c"})
    client.put("x", data=b"a", params=None, json=None)
    client.put("x", data=[("a", "b")])
    client.put("x", content="text")
    with path.open("rb") as file:
        client.put("x", data=file)
        client.patch("x", files={"a": file, "b": b"b", "c": path, "d": ("d.txt", file)})
        client.patch("x", files=[("a", (None, "text", "text/html")), ("a", None)])
    client.delete("x", content=(each for each in (b"a", b"b")))
    client.get("x", params="a=1")  # type: ignore[arg-type]
    client.get("x", auth="token")  # type: ignore[arg-type]
    client.get("x", timeout="5")  # type: ignore[arg-type]
    client.get("x", parms={})  # type: ignore[call-arg]
    client.send("x", params={})  # type: ignore[call-arg]
    client.begin("x", params={})  # type: ignore[call-arg]
    client.stream("x", params={})  # type: ignore[arg-type]


def blocking() -> None:
    with Service("http://127.0.0.1", args=[ntapi.url("a", 1)]) as client:
        assert_type(client, Service)
        response = client.send("x", ntapi.url("q", None), [ntapi.timeout(5, "total"), None])
        assert_type(response, ntapi.Response)
        assert_type(response.data, bytes)
        assert_type(response.error, Optional[ntapi.ApiError])
        assert_type(response.headers.get_all("x"), list[str])
        assert_type(response.metrics.redirects, int)
        assert_type(response.metrics.bytes_decoded, int)
        assert_type(client.send("x", ntapi.download(Path("a"))).file, Optional[Path])
        assert_type(client.send("x", ntapi.resume(response.resume_data)).resume_data, Optional[str])
        assert_type(client.get("x", ntapi.url("id", [1, "b", None])), ntapi.Response)
        assert_type(client.post("x", ntapi.form("a", (1,)), upload_progress=print), ntapi.Response)
        keywords(client, Path("a"))
        assert_type(next(client.pages("x", following=next_page)), ntapi.Response)
        ntapi.SessionConfiguration.ephemeral(http_version="3")  # type: ignore[arg-type]
        change: Union[str, ntapi.Unset, None] = ntapi.UNSET
        if change is not ntapi.UNSET:
            assert_type(change, Optional[str])
        assert_type(client.get_default("unit"), Any)
        client.set_default("unit", "metric")
        Service.set_default("unit", lambda key: key)

        def handler(response: ntapi.Response) -> None:
            if response.error and response.error.code is codes.TIMEOUT:
                ntapi.stop()

        def progress(count: int, total: Optional[int]) -> None: ...

        assert_type(client.create_request("x").resume_data, Optional[str])
        pool = concurrent.futures.ThreadPoolExecutor()
        pieces: list[bytes] = []
        request = client.begin(
            "x",
            [ntapi.response_thread(pool), ntapi.data_thread(ntapi.BACKGROUND)],
            handler,
            upload_progress=progress,
            data_handler=pieces.append,
        )
        assert_type(request, ntapi.Request)
        assert_type(request.suspend(), bool)
        assert_type(request.bytes_decoded, int)
        assert_type(request.received_status, Optional[int])
        assert_type(request.received_headers, ntapi.Headers)
        assert_type(request.wait(1), bool)
        assert_type(ntapi.run(1), bool)

        with client.stream("x", ntapi.timeout(5)) as chunks:
            assert_type(chunks, ntapi.Stream[bytes])
            assert_type(chunks.status, int)
            assert_type(chunks.headers, ntapi.Headers)
            assert_type(next(chunks), bytes)
            assert_type(chunks.response, Optional[ntapi.Response])
        client.rate_limiter = ntapi.RateLimiter(30, seconds=1, burst=2)
        assert_type(client.rate_limiter.waiting, int)
        policy = ntapi.RetryPolicy(attempts=2, statuses=[503])
        args = [ntapi.retry(policy), ntapi.retry(True), ntapi.idempotency_key()]
        for error in filter(None, [client.send("x", args).error]):
            assert_type(error.retry_after, Optional[float])
        for value in client.lines("x"):
            assert_type(value, Any)
        for event in client.events("x", ntapi.option("reconnect", False)):
            assert_type(event, ntapi.ServerSentEvent)
            assert_type(event.data, str)


async def asynchronous() -> None:
    async with ntapi.AsyncClient() as client:
        assert_type(client, ntapi.AsyncClient)
        assert_type(await client.send("x", ntapi.json({})), ntapi.Response)
        assert_type(await client.send("x", data_handler=print), ntapi.Response)
        assert_type(await client.drain(1), int)
        async with client.events("x") as events:
            assert_type(events, ntapi.AsyncStream[ntapi.ServerSentEvent])
            async for event in events:
                assert_type(event.last_event_id, str)


def refresh(refresh: ntapi.Refresh) -> ntapi.Token:
    assert_type(refresh.client, ntapi.Client)
    answer = refresh.client.send("token", ntapi.form("refresh_token", "t"))
    assert_type(answer, ntapi.Response)
    return ntapi.Token(answer.decode(str, "access_token"), answer.decode(float, "expires_in"))


async def refresh_on_a_loop(refresh: ntapi.Refresh[ntapi.AsyncClient]) -> Optional[str]:
    assert_type(refresh.client, ntapi.AsyncClient)
    assert_type(await refresh.client.send("token"), ntapi.Response)
    return refresh.expired_token


def authenticated(client: ntapi.Client, other: ntapi.AsyncClient) -> None:
    client.authenticator = ntapi.Authenticator(refresh, token="t")
    other.authenticator = ntapi.Authenticator(refresh_on_a_loop)


@ntapi.attempt_interceptor
def sign(call: ntapi.InterceptedCall) -> Flow:
    assert_type(call.request, ntapi.HTTPRequest)
    assert_type(call.api_request, ntapi.Request)
    if call.is_own_origin and call.reason == "first":
        call.request.headers["X-Number"] = str(call.number)
    response = yield call.request
    assert_type(response, ntapi.HTTPResponse)
    assert_type(response.headers, ntapi.Headers)
    assert_type(response.body, bytes)
    return ntapi.HTTPResponse(200, {"X-A": "b"}, b"") if response.error else response


@ntapi.call_interceptor
def mark(call: ntapi.InterceptedCall) -> None:
    call.request.body = b""


@ntapi.call_interceptor
async def retry(call: ntapi.InterceptedCall) -> Optional[ntapi.HTTPResponse]:
    return await call.next(call.request)


class Signed(ntapi.AsyncClient):
    interceptors = (sign, retry)


def intercepted(function: ntapi.InterceptorFunction) -> None:
    assert_type(sign, ntapi.Interceptor)
    assert_type(sign.scope, Literal["call", "attempt"])
    own = ntapi.Interceptor(function, "attempt")
    configuration = ntapi.SessionConfiguration(interceptors=[sign])
    with Service(configuration=configuration, interceptors=[mark]) as client:
        client.interceptors = [*client.interceptors, own]
        client.send("x", ntapi.interceptor(sign), ntapi.interceptor(None))


def tests() -> None:
    stub = testing.Stub()
    rule = stub.on("POST", "notes", json={"a": [1, None]}, where=lambda request: request.json())
    assert_type(rule, testing.StubRule)
    rule.answer(503, headers={"Retry-After": "1"}).answer(json=None, delay=1.5).used_up()
    rule.answer_with(lambda request: testing.Answer(data=request.body, piece_size=3))
    rule.fail(testing.StubFault.SILENCE, delay=1)
    clock = testing.ManualClock(calendar=0)
    recorder = testing.Recorder(Path("r.json"), secrets=["session"], all_clients=True)
    recorder.all_clients = not recorder.all_clients
    client = ntapi.Client("http://h", stub=stub, clock=clock, recorder=recorder)
    assert_type(client.stub, Optional[testing.Stub])
    assert_type(clock.next_wake, Optional[float])
    assert_type(clock.wait_for_sleepers(2, timeout=None), int)
    assert_type([request.url for request in stub.requests], list[str])
    assert_type(ntapi.testing.Stub(), testing.Stub)
    assert_type(testing.Stub.from_recording("r.json", any_origin=True), testing.Stub)
