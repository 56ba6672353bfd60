"""Tokens that expire: one refresh for all requests that wait, as the server sees it."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Optional

import pytest

import ntapi
from conftest import IDLE_TIMEOUT, PATIENCE, Unraisable
from ntapi.testing import ManualClock

COUNT = 100
BYPASS = ntapi.option("bypass_authentication")


class Api:
    """The fault server's tokens of one name."""

    def __init__(self, url: str) -> None:
        self.name = f"py-{uuid.uuid4().hex}"
        self.client = ntapi.Client(url)
        self.client.set_default("maximumConnectionsPerHost", 200)

    def issue(self, *more: ntapi.Arg) -> str:
        answer = self.client.send("token/issue", ntapi.url("name", self.name), *more)
        return str(answer.json()["token"])

    def use(self, *more: ntapi.Arg) -> ntapi.Response:
        return self.client.perform("token/use", ntapi.url("name", self.name), *more)

    def stats(self) -> dict[str, int]:
        stats = self.client.send("token", ntapi.url("name", self.name), BYPASS).json()
        return dict(stats)


@pytest.fixture
def api(servers: dict[str, str]) -> Iterator[Api]:
    api = Api(servers["fault"])
    with api.client:
        yield api


def many(api: Api, count: int) -> list[ntapi.Response]:
    """Sends this many requests. The server rejects all of them before it answers any."""
    responses: list[ntapi.Response] = []
    args = [ntapi.url("name", api.name), ntapi.url("together", count)]
    args.append(ntapi.response_thread(ntapi.Thread.BACKGROUND))
    for _ in range(count):
        api.client.begin("token/use", args, responses.append)
    assert api.client.drain(PATIENCE) == 0
    return responses


def test_one_refresh_for_a_hundred_requests(api: Api) -> None:
    seen: list[ntapi.Refresh] = []

    def refresh(refresh: ntapi.Refresh) -> str:
        seen.append(refresh)
        assert threading.current_thread() is not threading.main_thread()
        return api.issue()

    api.client.authenticator = ntapi.Authenticator(refresh, token="old")
    responses = many(api, COUNT)
    assert [response.error for response in responses] == [None] * COUNT
    assert api.stats() == {"asked": 1, "issued": 1, "accepted": COUNT, "rejected": COUNT}
    assert api.client.authenticator.token == f"{api.name}-1"
    assert len(seen) == 1
    assert seen[0].expired_token == "old"
    assert seen[0].response is not None
    assert seen[0].response.status == 401
    assert seen[0].response.json() == {"error": "token"}


@pytest.mark.parametrize("token", ["old", None])
def test_a_refresh_names_the_client(
    api: Api, servers: dict[str, str], token: Optional[str]
) -> None:
    seen: list[ntapi.Client] = []

    def refresh(refresh: ntapi.Refresh) -> str:
        seen.append(refresh.client)
        answer = refresh.client.send("token/issue", ntapi.url("name", api.name))
        return str(answer.json()["token"])

    authenticator = ntapi.Authenticator(refresh, token=token)
    with ntapi.Client(servers["fault"], authenticator=authenticator) as other:
        api.client.authenticator = authenticator
        assert api.use().error is None
        assert seen == [api.client]
        authenticator.set_token(token)
        other.send("token/use", ntapi.url("name", api.name))
    assert seen == [api.client, other]


def test_an_async_refresh_names_its_client(servers: dict[str, str]) -> None:
    async def refresh(refresh: ntapi.Refresh[ntapi.AsyncClient]) -> str:
        assert refresh.client is client
        return str(
            (await refresh.client.send("token/issue", ntapi.url("name", name))).json()["token"]
        )

    async def main() -> None:
        async with client:
            await client.send("token/use", ntapi.url("name", name))

    name = f"py-{uuid.uuid4().hex}"
    client = ntapi.AsyncClient(servers["fault"], authenticator=ntapi.Authenticator(refresh))
    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_a_refresh_with_a_class_of_clients() -> None:
    """The class is for type checkers. The annotation is a plain value at run time, too."""
    made = ntapi.Refresh[ntapi.AsyncClient]("old", None)
    assert type(made) is ntapi.Refresh
    assert made.expired_token == "old"


def test_threads_that_wait(api: Api) -> None:
    api.client.authenticator = ntapi.Authenticator(lambda _: ntapi.Token(api.issue(), 3600))
    with ThreadPoolExecutor(8) as pool:
        responses = list(pool.map(lambda _: api.use(), range(8)))
    assert [response.status for response in responses] == [200] * 8
    assert api.stats()["asked"] == 1


def test_a_slow_handler_in_the_background_holds_up_no_refresh(
    api: Api, servers: dict[str, str]
) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow(_: ntapi.Response) -> None:
        entered.set()
        assert leave.wait(PATIENCE)

    with ntapi.Client(servers["fault"]) as other:
        other.begin("ok", ntapi.response_thread(ntapi.BACKGROUND), slow)
        assert entered.wait(PATIENCE)
        api.client.authenticator = ntapi.Authenticator(lambda _: api.issue(), token="old")
        response = api.use(ntapi.timeout(IDLE_TIMEOUT, "total"))
        leave.set()
    assert response.error is None
    assert api.stats()["asked"] == 1


def test_a_slow_refresh_holds_up_no_other(api: Api, servers: dict[str, str]) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow(_: ntapi.Refresh) -> str:
        entered.set()
        assert leave.wait(PATIENCE)
        return "late"

    with ntapi.Client(servers["fault"]) as other:
        other.authenticator = ntapi.Authenticator(slow, timeout=PATIENCE)
        waiting = other.begin("ok")
        assert entered.wait(PATIENCE)
        api.client.authenticator = ntapi.Authenticator(lambda _: api.issue(), token="old")
        response = api.use(ntapi.timeout(IDLE_TIMEOUT, "total"))
        leave.set()
        assert waiting.wait(PATIENCE)
    assert response.error is None


def test_a_failed_refresh_fails_all_once(api: Api, clock: ManualClock) -> None:
    def refresh(_: ntapi.Refresh) -> str:
        return api.issue(ntapi.url("status", 503))

    # The failure holds for a second.
    api.client.clock = clock
    api.client.authenticator = ntapi.Authenticator(refresh, token="old")
    responses = many(api, COUNT)
    errors = [response.error for response in responses]
    assert len({str(error) for error in errors}) == 1
    assert errors[0] is not None
    assert errors[0].code is ntapi.codes.AUTHENTICATION
    assert errors[0].domain is ntapi.ErrorDomain.HTTP
    assert "503" in errors[0].message
    assert all(r.status == 401 and r.json() == {"error": "token"} for r in responses)
    for _ in range(10):
        assert str(api.use().error).startswith(str(errors[0]))
    assert api.stats()["asked"] == 1
    api.client.authenticator.set_token(api.issue(BYPASS))
    assert api.use().status == 200


def test_a_subclass(api: Api) -> None:
    class Login(ntapi.Authenticator):
        calls = 0

        def refresh(self, refresh: ntapi.Refresh) -> Optional[str]:
            self.calls += 1
            return None if refresh.response is not None else api.issue()

    login = Login()
    api.client.authenticator = login
    assert api.use().status == 200
    login.set_token("wrong")
    # None: the response is delivered as it is.
    response = api.use()
    assert response.status == 401
    assert response.error is not None
    assert response.error.code is ntapi.codes.HTTP_ERROR
    assert login.calls == 2


@pytest.mark.parametrize("wrong", [42, "line\nbreak", KeyError("access_token")])
def test_mistakes_are_told(api: Api, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", reported.append)

    def refresh(_: ntapi.Refresh) -> Any:
        if isinstance(wrong, Exception):
            raise wrong
        return wrong

    api.client.authenticator = ntapi.Authenticator(refresh)
    error = api.use().error
    assert error is not None
    assert error.code is ntapi.codes.AUTHENTICATION
    if isinstance(wrong, Exception):
        assert "access_token" in error.message
    assert len(reported) == (0 if isinstance(wrong, str) else 1)


def test_wrong_values() -> None:
    def refresh(_: ntapi.Refresh) -> None:
        return None

    for options, problem in (
        ({"statuses": [7]}, "statuses"),
        ({"header": "X Y"}, "header"),
        ({"scheme": "a\nb"}, "header"),
        ({"origins": ["no url"]}, "URL"),
        ({"timeout": 0}, "timeout"),
    ):
        with pytest.raises(ValueError, match=problem):
            ntapi.Authenticator(refresh, **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ntapi.Authenticator(refresh, origins="https://example.com")
    with pytest.raises(TypeError):
        ntapi.Authenticator(42)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ntapi.Client("http://h").authenticator = refresh  # type: ignore[assignment]
    assert "sesame" not in repr(ntapi.Token("sesame"))
    assert ntapi.Token("a", 1) == ntapi.Token("a", 1) != ntapi.Token("a")


def test_the_token_stays_at_home(api: Api, servers: dict[str, str]) -> None:
    other = f"{servers['fault_other']}/echo"
    api.client.authenticator = ntapi.Authenticator(lambda _: None, token="s3cret")
    echo = api.client.send("", ntapi.base_url(other)).json()
    assert "authorization" not in echo["header"]
    moved = api.client.send("redirect/to", ntapi.url("url", other)).json()
    assert moved["listener"] == "fault_other"
    assert "authorization" not in moved["header"]
    api.client.authenticator = ntapi.Authenticator(
        lambda _: None, token="s3cret", origins=[other], header="X-Key", scheme=""
    )
    assert api.client.send("", ntapi.base_url(other)).json()["header"]["x-key"] == "s3cret"


def test_a_refresh_that_never_ends(api: Api) -> None:
    goes_on = threading.Event()

    def refresh(_: ntapi.Refresh) -> str:
        assert goes_on.wait(PATIENCE)
        return api.issue()

    api.client.authenticator = ntapi.Authenticator(refresh, timeout=0.1)
    error = api.use().error
    assert error is not None
    assert error.code is ntapi.codes.AUTHENTICATION
    assert "0.1" in error.message
    # The token comes after all, and is used.
    goes_on.set()
    deadline = time.monotonic() + PATIENCE
    while api.client.authenticator.token is None and time.monotonic() < deadline:
        api.client.drain(0.01)
    assert api.use().status == 200


def test_closing_ends_the_wait(servers: dict[str, str]) -> None:
    asked, goes_on = threading.Event(), threading.Event()

    def refresh(_: ntapi.Refresh) -> None:
        asked.set()
        goes_on.wait(PATIENCE)

    responses: list[ntapi.Response] = []
    client = ntapi.Client(servers["fault"])
    client.authenticator = ntapi.Authenticator(refresh)
    client.begin("ok", handler=responses.append)
    assert asked.wait(PATIENCE)
    client.close()
    assert client.drain(PATIENCE) == 0
    assert responses[0].error is not None
    assert responses[0].error.code is ntapi.codes.CANCELLED
    goes_on.set()


def test_asyncio(servers: dict[str, str]) -> None:
    api = Api(servers["fault"])
    client = ntapi.AsyncClient(servers["fault"])
    client.set_default("maximumConnectionsPerHost", 200)

    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def refresh(_: ntapi.Refresh) -> ntapi.Token:
            assert asyncio.get_running_loop() is loop
            # Sent without the authenticator, also from another task.
            asking = client.send("token/issue", ntapi.url("name", api.name))
            answer = await asyncio.create_task(asking)
            return ntapi.Token(answer.json()["token"])

        client.authenticator = ntapi.Authenticator(refresh, token="old")
        async with client:
            args = ntapi.url("name", api.name), ntapi.url("together", COUNT)
            requests = [client.perform("token/use", *args) for _ in range(COUNT)]
            responses = await asyncio.gather(*requests)
            assert [response.error for response in responses] == [None] * COUNT

    asyncio.run(main())
    assert api.stats() == {"asked": 1, "issued": 1, "accepted": COUNT, "rejected": COUNT}


def test_a_cancelled_task_leaves_the_others(servers: dict[str, str]) -> None:
    api = Api(servers["fault"])
    client = ntapi.AsyncClient(servers["fault"])

    async def main() -> None:
        asked, goes_on = asyncio.Event(), asyncio.Event()

        async def refresh(_: ntapi.Refresh) -> str:
            asked.set()
            await goes_on.wait()
            answer = await client.send("token/issue", ntapi.url("name", api.name))
            return str(answer.json()["token"])

        client.authenticator = ntapi.Authenticator(refresh)
        args = ntapi.url("name", api.name)
        first = asyncio.create_task(client.perform("token/use", args))
        second = asyncio.create_task(client.perform("token/use", args))
        await asked.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        goes_on.set()
        assert (await second).status == 200
        await client.close()

    asyncio.run(main())
    assert api.stats()["asked"] == 1


def test_a_refresh_outlives_the_loop_that_ends(servers: dict[str, str]) -> None:
    """Requests of another loop wait for it, too."""
    api = Api(servers["fault"])
    attempts: list[int] = []
    begun = threading.Event()

    async def refresh(_: ntapi.Refresh) -> str:
        attempts.append(len(attempts))
        begun.set()
        if len(attempts) == 1:
            await asyncio.Event().wait()
        return await asyncio.to_thread(api.issue)

    authenticator = ntapi.Authenticator(refresh)
    args = ntapi.url("name", api.name)

    waiter = ntapi.AsyncClient(servers["fault"], authenticator=authenticator)

    async def wait() -> int:
        async with waiter:
            return (await waiter.send("token/use", args)).status

    async def give_up() -> None:
        client = ntapi.AsyncClient(servers["fault"], authenticator=authenticator)
        task = asyncio.create_task(client.send("token/use", args))
        await asyncio.to_thread(begun.wait)
        statuses.append(pool.submit(asyncio.run, wait()))
        while not waiter._pending:
            await asyncio.sleep(0)
        task.cancel()

    statuses: list[Any] = []
    with ThreadPoolExecutor() as pool:
        asyncio.run(give_up())
        assert statuses[0].result(PATIENCE) == 200
    assert attempts == [0, 1]


def test_a_refresh_that_nobody_waits_for_does_not_begin_again(
    servers: dict[str, str], unraisable: Unraisable
) -> None:
    """A server may take each refresh token once."""
    attempts: list[int] = []
    begun = threading.Event()

    async def refresh(_: ntapi.Refresh) -> str:
        attempts.append(len(attempts))
        begun.set()
        await asyncio.Event().wait()
        return ""

    client = ntapi.AsyncClient(servers["fault"], authenticator=ntapi.Authenticator(refresh))

    async def give_up() -> None:
        task = asyncio.create_task(client.send("token/use"))
        await asyncio.to_thread(begun.wait)
        task.cancel()

    asyncio.run(give_up())
    assert ntapi.drain(PATIENCE) == 0
    assert attempts == [0]


def test_an_async_refresh_without_a_loop(api: Api) -> None:
    async def refresh(_: ntapi.Refresh) -> str:
        await asyncio.sleep(0)
        return await asyncio.to_thread(api.issue)

    api.client.authenticator = ntapi.Authenticator(refresh, token="old")
    assert api.use().status == 200


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_refreshes_for_itself(api: Api) -> None:
    api.client.authenticator = ntapi.Authenticator(lambda _: api.issue(), token="old")
    assert api.use().status == 200
    api.client.authenticator.set_token("old again")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if api.use().status == 200 else 1
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert api.use().status == 200
    assert api.stats()["asked"] == 3


class LogInAgain(ntapi.ApiError):
    """The refresh token is refused."""


def refused(_: ntapi.Refresh) -> str:
    raise LogInAgain("log in again", "the refresh token is refused", http_status=400)


@pytest.mark.parametrize("token", [None, "old"])
def test_a_failed_refresh_is_the_cause(api: Api, clock: ManualClock, token: str | None) -> None:
    class Hooked(ntapi.Client):
        def map_error(self, error: ntapi.ApiError, response: ntapi.Response) -> ntapi.ApiError:
            causes.append(error.__cause__)
            return error

    async def awaited(base: str) -> None:
        async with ntapi.AsyncClient(base, authenticator=authenticator) as client:
            keep(await client.perform("token/use", name))

    def keep(response: ntapi.Response) -> None:
        assert response.error is not None
        causes.append(response.error.__cause__)

    causes: list[Any] = []
    name = ntapi.url("name", api.name)
    authenticator = ntapi.Authenticator(refused, token=token)
    api.client.authenticator = authenticator
    error = api.use().error
    assert error is not None
    assert error.code is ntapi.codes.AUTHENTICATION
    assert error.http_status == 400
    assert isinstance(error.__cause__, LogInAgain)
    base = str(api.client.get_default("baseUrl"))
    with Hooked(base, authenticator=authenticator) as client:
        keep(client.perform("token/use", name))
        request = client.begin("token/use", name, handler=keep)
        assert request.wait(PATIENCE)
    asyncio.run(awaited(base))
    # Those that `map_error` saw, too.
    assert [type(cause) for cause in causes] == [LogInAgain] * 5


def test_a_log_in_without_the_option_is_told_about_it(api: Api) -> None:
    api.client.authenticator = ntapi.Authenticator(refused)
    error = api.client.perform("login", ntapi.method("POST")).error
    assert error is not None
    assert "POST" in error.message
    assert "/login was not sent" in error.message
    assert error.message.endswith("has the option bypass_authentication")
