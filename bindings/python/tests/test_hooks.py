"""Hooks, the methods that a subclass overrides."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

import ntapi
from conftest import PATIENCE, Unraisable
from ntapi import codes

CITY_NOT_FOUND = ntapi.register_code("404")


class Recorder(ntapi.Client):
    """Overrides every hook."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.calls: list[tuple[str, Any]] = []
        self.threads: set[str] = set()

    def note(self, name: str, value: Any) -> None:
        self.calls.append((name, value))
        self.threads.add(threading.current_thread().name)

    def build_args(self, command: str, args: list[ntapi.Arg]) -> list[ntapi.Arg] | None:
        self.note("build_args", command)
        args.append(ntapi.url("added", 1))
        return None

    def build_request(self, request: ntapi.HTTPRequest) -> None:
        self.note("build_request", request.method)
        request.headers["X-Hook"] = request.url.rpartition("?")[2]
        del request.headers["User-Agent"]

    def request_started(self, request: ntapi.Request) -> None:
        self.note("request_started", request)

    def parse_json(self, data: bytes) -> Any:
        self.note("parse_json", len(data))
        return {"parsed": json.loads(data)}

    def map_service_error(self, response: ntapi.Response) -> ntapi.ApiError | None:
        self.note("map_service_error", response.status)
        return None

    def request_completed(self, request: ntapi.Request, response: ntapi.Response) -> None:
        self.note("request_completed", request)


def test_order(servers: dict[str, str]) -> None:
    with Recorder(servers["fault"]) as client:
        response = client.send("echo", ntapi.url("a", 1))
    assert [name for name, _ in client.calls] == [
        "build_args",
        "build_request",
        "request_started",
        "parse_json",
        "map_service_error",
        "request_completed",
    ]
    assert client.calls[2][1] == client.calls[5][1] == response.request
    assert client.threads == {"MainThread"}
    echo = response.json()["parsed"]
    assert echo["header"]["x-hook"] == "a=1&added=1"
    assert "user-agent" not in echo["header"]


def test_delivery_hooks_run_on_the_handlers_thread(servers: dict[str, str]) -> None:
    with Recorder(servers["fault"]) as client:
        request = client.create_request("echo", ntapi.response_thread(ntapi.BACKGROUND))
        request.resume()
        assert request.wait(PATIENCE)
        assert client.threads == {"MainThread", "ntapi-background"}


def test_build_args_may_return_another_list(fault: ntapi.Client, servers: dict[str, str]) -> None:
    class Replacing(ntapi.Client):
        def build_args(self, command: str, args: list[ntapi.Arg]) -> Any:
            return [arg for arg in args if arg.kind == "url"] + [None, [ntapi.url("b", 2)]]

    with Replacing(servers["fault"], args=ntapi.url("c", 0)) as client:
        seen = client.send("echo", ntapi.url("a", 1), ntapi.form("x", "y")).json()
    assert seen["method"] == "GET"
    assert [name for name, _ in seen["query"]] == ["c", "a", "b"]


@pytest.mark.parametrize("hook", ["build_args", "build_request", "request_started"])
def test_an_exception_in_a_hook_before_the_request_reaches_the_caller(
    servers: dict[str, str], hook: str
) -> None:
    def failing(*_: Any) -> None:
        raise ZeroDivisionError

    kind: Any = type("Failing", (ntapi.Client,), {hook: failing})
    with kind(servers["fault"]) as client:
        with pytest.raises(ZeroDivisionError):
            client.begin("echo", (), lambda _: pytest.fail("called"))
        assert client.drain(PATIENCE) == 0


def test_a_built_request_is_of_use_in_its_hook_only(servers: dict[str, str]) -> None:
    kept: list[ntapi.HTTPRequest] = []

    class Keeping(ntapi.Client):
        def build_request(self, request: ntapi.HTTPRequest) -> None:
            kept.append(request)
            request.method = "POST"
            request.url = request.url + "?x=1"
            assert request.headers.get("missing") is None
            with pytest.raises(ValueError, match="header"):
                request.headers["X"] = "a\r\nb"
            with pytest.raises(ValueError, match="method"):
                request.method = "GET /"
            with pytest.raises(ValueError, match="URL"):
                request.url = "ftp://x/"

    with Keeping(servers["fault"]) as client:
        seen = client.send("echo").json()
    assert (seen["method"], seen["target"]) == ("POST", "/echo?x=1")
    assert kept[0].method == ""
    with pytest.raises(ValueError, match="header"):
        kept[0].headers["X"] = "1"


class Weather(ntapi.Client):
    def map_service_error(self, response: ntapi.Response) -> ntapi.ApiError | None:
        code = str(response.json().get("cod", "200"))
        if code == "200":
            return None
        return ntapi.ApiError(code, response.json()["message"])


def test_service_errors(servers: dict[str, str]) -> None:
    with Weather(servers["weather"], args=ntapi.url("appid", "x")) as client:
        assert client.send("data/2.5/find", ntapi.url("q", "London")).error is None
        response = client.perform("data/2.5/find", ntapi.url("q", "Nowhereville"))
        with pytest.raises(ntapi.ApiError, match="city not found") as caught:
            response.raise_for_error()
    error = caught.value
    assert error is response.error
    assert error.code is CITY_NOT_FOUND
    assert error.domain is ntapi.ErrorDomain.SERVICE
    assert error.http_status == 200
    assert error.response is response


def test_a_service_error_says_more_than_an_http_error(servers: dict[str, str]) -> None:
    with Weather(servers["weather"]) as client:
        error = client.perform("data/2.5/find").error
    assert error is not None
    assert error.domain is ntapi.ErrorDomain.SERVICE
    assert (error.code, error.http_status) == (ntapi.register_code("401"), 401)


def test_a_hook_that_fails_does_not_let_a_response_pass(servers: dict[str, str]) -> None:
    class Failing(ntapi.Client):
        def map_service_error(self, response: ntapi.Response) -> ntapi.ApiError | None:
            raise KeyError("boom")

    class Raising(ntapi.Client):
        def map_service_error(self, response: ntapi.Response) -> ntapi.ApiError | None:
            raise ntapi.ApiError("raised")

    with Failing(servers["fault"]) as client:
        error = client.perform("echo").error
    assert error is not None
    assert error.code is codes.GENERIC
    assert isinstance(error.__cause__, KeyError)
    with Raising(servers["fault"]) as client:
        error = client.perform("echo").error
    assert error is not None
    assert error.code is ntapi.register_code("raised")


def test_parse_json_decides(servers: dict[str, str]) -> None:
    class Lines(ntapi.Client):
        def parse_json(self, data: bytes) -> Any:
            if data == b"42":
                raise ValueError("no lines")
            return data.decode().splitlines()

    with Lines(servers["fault"]) as client:
        assert client.send("json/text").json() == ["just some text"]
        assert client.send("json/text", ntapi.option("raw_data")).json() is None
        assert client.send("json/empty").json() is None
        failed = client.perform("json/scalar-number")
        assert failed.error is not None
        assert failed.error.code is codes.INVALID_JSON
        assert isinstance(failed.error.__cause__, ValueError)
        http = client.perform("status/500?message=x")
        assert http.error is not None
        assert http.error.code is codes.HTTP_ERROR
        assert isinstance(http.json(), list)
        assert client.perform("reset/before").json() is None


def test_write_log(servers: dict[str, str]) -> None:
    lines: list[tuple[ntapi.LogFlags, str]] = []

    class Logging(ntapi.Client):
        def write_log(self, level: ntapi.LogFlags, message: str) -> None:
            lines.append((level, message))

    with Logging(servers["fault"], log_flags=ntapi.LogFlags.INFO) as client:
        client.send("echo")
        assert client.drain(PATIENCE) == 0
    assert {level for level, _ in lines} == {ntapi.LogFlags.INFO}
    assert any("/echo" in line for _, line in lines)


def test_hooks_of_the_asyncio_client(servers: dict[str, str]) -> None:
    class Recording(ntapi.AsyncClient):
        calls: list[str]

        def build_args(self, command: str, args: list[ntapi.Arg]) -> None:
            self.calls = ["build"]

        def request_completed(self, request: ntapi.Request, response: ntapi.Response) -> None:
            asyncio.get_running_loop()
            self.calls.append("completed")

    async def main() -> list[str]:
        async with Recording(servers["fault"]) as client:
            await client.send("echo")
            return client.calls

    assert asyncio.run(main()) == ["build", "completed"]


async def _a_coroutine() -> None: ...


class Forgetful(ntapi.ApiError):
    """Does not call super().__init__()."""

    def __init__(self) -> None:
        self.code = ntapi.register_code("forgetful")


class Stubborn(ntapi.ApiError):
    """An error whose attributes cannot be set."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "response" and value is not None:
            raise ZeroDivisionError
        super().__setattr__(name, value)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: True, "it has to return an ApiError or None, not True"),
        (lambda: "error", "not 'error'"),
        (lambda: ntapi.ApiError, "not <class 'ntapi.ApiError'>"),
        (_a_coroutine, "hooks are plain functions, not async ones"),
        (Forgetful, "generic"),
    ],
    ids=["True", "string", "class", "coroutine", "forgetful"],
)
def test_whatever_map_service_error_returns_the_handler_is_called(
    servers: dict[str, str], make: Any, says: str
) -> None:
    def returned(self: Any, response: ntapi.Response) -> Any:
        return make()

    blocking: Any = type("Blocking", (ntapi.Client,), {"map_service_error": returned})
    asynchronous: Any = type("Async", (ntapi.AsyncClient,), {"map_service_error": returned})

    async def main() -> ntapi.Response:
        client = asynchronous(servers["fault"])
        response: ntapi.Response = await asyncio.wait_for(client.perform("echo"), PATIENCE)
        return response

    seen: list[ntapi.Response] = [asyncio.run(main())]
    with blocking(servers["fault"]) as client:
        client.begin("echo", (), seen.append)
        assert client.drain(PATIENCE) == 0
    assert len(seen) == 2
    for response in seen:
        assert response.error is not None
        assert says in str(response.error)
        assert response.error.response is response


def test_an_error_that_cannot_be_filled_in(servers: dict[str, str], unraisable: Unraisable) -> None:
    class Failing(ntapi.Client):
        def map_service_error(self, response: ntapi.Response) -> ntapi.ApiError | None:
            raise Stubborn("x")

    with Failing(servers["fault"]) as client:
        assert isinstance(client.perform("echo").error, Stubborn)
    assert [type(error) for error in unraisable.errors] == [ZeroDivisionError]


def test_ctrl_c_in_a_hook_does_not_swallow_the_handler(servers: dict[str, str]) -> None:
    class Interrupted(ntapi.Client):
        def request_completed(self, request: ntapi.Request, response: ntapi.Response) -> None:
            raise KeyboardInterrupt

    seen: list[ntapi.Response] = []
    with Interrupted(servers["fault"]) as client:
        client.begin("echo", (), seen.append)
        with pytest.raises(KeyboardInterrupt):
            client.drain(PATIENCE)
    assert len(seen) == 1


@pytest.mark.parametrize("client", [ntapi.Client, ntapi.AsyncClient])
@pytest.mark.parametrize("hook", ["build_args", "map_service_error", "parse_json", "write_log"])
def test_hooks_that_are_async_are_refused(client: Any, hook: str) -> None:
    async def hook_of_mine(*_: Any) -> None: ...

    kind: Any = type("Async", (client,), {hook: hook_of_mine})
    with pytest.raises(TypeError, match=f"hooks are plain functions, not async ones: {hook}"):
        kind("http://127.0.0.1")


def test_parse_json_that_returns_a_coroutine(servers: dict[str, str]) -> None:
    class Careless(ntapi.Client):
        def parse_json(self, data: bytes) -> Any:
            return _a_coroutine()

    with Careless(servers["fault"]) as client:
        error = client.perform("echo").error
    assert error is not None
    assert "hooks are plain functions" in str(error)


@pytest.mark.parametrize("flags", [ntapi.LogFlags.NONE, ntapi.LogFlags.ALL])
def test_interim_answers_come_before_the_answer(
    servers: dict[str, str], flags: ntapi.LogFlags
) -> None:
    class Informed(ntapi.Client):
        def information_received(
            self, request: ntapi.Request, status: int, headers: ntapi.Headers
        ) -> None:
            events.append((request.identifier, status, headers["link"]))

        def request_completed(self, request: ntapi.Request, response: ntapi.Response) -> None:
            events.append((request.identifier, response.status, ""))

    events: list[tuple[int, int, str]] = []
    with Informed(servers["fault"], log_flags=flags) as client:
        client.send("early-hints")
        client.begin("early-hints", ntapi.response_thread(ntapi.BACKGROUND))
        assert client.drain(PATIENCE) == 0
    link = "</style.css>; rel=preload"
    assert events == [(1, 103, link), (1, 200, ""), (2, 103, link), (2, 200, "")]
