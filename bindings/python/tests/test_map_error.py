"""The hook for every error that ends a request. The conformance table has more cases."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any, Optional

import pytest

import ntapi
from conftest import PATIENCE, Unraisable
from ntapi import codes

MAPPED = ntapi.register_code("mapped")


class Mapping(ntapi.Client):
    """Replaces each error by one of its own."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.asked: list[ntapi.ApiError] = []
        self.events: list[str] = []

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        self.events.append("service error")
        return None

    def map_error(self, error: ntapi.ApiError, response: ntapi.Response) -> ntapi.ApiError:
        assert response.error is error
        self.asked.append(error)
        self.events.append("error")
        return ntapi.ApiError("mapped", f"was {error.code}")

    def request_completed(self, request: ntapi.Request, response: ntapi.Response) -> None:
        self.events.append(f"completed {response.error and response.error.code}")


class AsyncMapping(ntapi.AsyncClient):
    asked: list[ntapi.ApiError]

    def map_error(self, error: ntapi.ApiError, response: ntapi.Response) -> ntapi.ApiError:
        self.asked.append(error)
        return ntapi.ApiError("mapped")


def test_the_new_error_is_what_log_hook_and_caller_see(
    servers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    raised = pytest.raises(ntapi.ApiError, match="was HTTP error")
    with Mapping(servers["fault"]) as client, raised as caught:
        client.send("status/404")
    error = caught.value
    assert error.code is MAPPED
    assert error.http_status == 404
    assert error.response is not None
    assert error.__cause__ is client.asked[0]
    assert [asked.domain for asked in client.asked] == [ntapi.ErrorDomain.HTTP]
    assert client.events == ["service error", "error", "completed mapped"]
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert re.fullmatch(r"#\d+\.1 mapped: was HTTP error", record.getMessage())


def test_what_is_kept_is_logged_once(
    servers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    class Keeping(ntapi.Client):
        def map_error(self, error: ntapi.ApiError, response: ntapi.Response) -> None:
            return None

    with Keeping(servers["fault"]) as client:
        error = client.perform("reset/before").error
    assert error is not None
    assert error.domain is ntapi.ErrorDomain.NETWORK
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert re.match(r"#\d+\.1 network: ", record.getMessage())


def test_a_cancelled_request_is_asked_about_once(servers: dict[str, str]) -> None:
    responses: list[ntapi.Response] = []
    with Mapping(servers["fault"]) as client:
        request = client.begin(
            "stall/before", ntapi.response_thread(ntapi.Thread.BACKGROUND), responses.append
        )
        request.cancel()
        request.wait(PATIENCE)
    assert [response.error and response.error.code for response in responses] == [MAPPED]
    assert [error.code for error in client.asked] == [codes.CANCELLED]


def test_what_was_refused_before_it_was_sent_is_asked_about(servers: dict[str, str]) -> None:
    with Mapping(servers["fault"]) as client:
        assert client.perform("echo\0").error.code is MAPPED  # type: ignore[union-attr]
        assert client.perform("{unfilled}").error.code is MAPPED  # type: ignore[union-attr]
    assert [error.code for error in client.asked] == [codes.INVALID_REQUEST] * 2


def test_a_task_that_is_cancelled_is_asked_about(servers: dict[str, str]) -> None:
    async def main() -> list[ntapi.ApiError]:
        async with AsyncMapping(servers["fault"]) as client:
            client.asked = []
            task = asyncio.ensure_future(client.send("stall/before"))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(ntapi.ApiError, match="mapped"):
                await client.send("reset/before")
            return client.asked

    asked = asyncio.run(main())
    assert [error.domain.name for error in asked] == ["CANCELLED", "NETWORK"]


def test_streams_raise_the_new_error(servers: dict[str, str]) -> None:
    with Mapping(servers["fault"]) as client:
        with pytest.raises(ntapi.ApiError, match="was invalid JSON"):
            list(client.lines("lines?count=5&bad=3"))
        with pytest.raises(ntapi.ApiError, match="was HTTP error"):
            list(client.stream("status/500"))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda error: "error", "the hook map_error failed: .*not 'error'"),
        (lambda error: 1 // 0, "the hook map_error failed: ZeroDivisionError"),
    ],
    ids=["string", "exception"],
)
def test_whatever_it_does_the_handler_is_called(
    servers: dict[str, str], unraisable: Unraisable, make: Any, says: str
) -> None:
    kind: Any = type(
        "Failing", (ntapi.Client,), {"map_error": lambda self, error, response: make(error)}
    )
    with kind(servers["fault"]) as client:
        error = client.perform("reset/before").error
    assert re.match(says, str(error))
    assert error.code is codes.GENERIC
    assert unraisable.errors == []


def test_what_it_raises_is_the_error(servers: dict[str, str]) -> None:
    class Raising(ntapi.Client):
        def map_error(self, error: ntapi.ApiError, response: ntapi.Response) -> None:
            raise ntapi.ApiError("raised") from error

    with Raising(servers["fault"]) as client:
        assert client.perform("status/400").error.code == "raised"  # type: ignore[union-attr]


class Failing(ntapi.Service[int]):
    command = "ok"

    def __init__(self, command: str = "ok") -> None:
        self.command = command

    def map_error(self, error: ntapi.ApiError, response: ntapi.Response) -> ntapi.ApiError:
        assert response.error is error
        return ntapi.ApiError("service", f"{error.domain.name} {error.code}")

    def make_response(self, response: ntapi.Response) -> int:
        raise KeyError("boom")


def test_a_service_is_asked_about_every_error_after_its_client(servers: dict[str, str]) -> None:
    with ntapi.Client(servers["fault"]) as client:
        for command, says in [
            ("ok", "SERVICE generic"),
            ("reset/before", "NETWORK network"),
            ("status/500", "HTTP HTTP error"),
            ("{unfilled}", "REQUEST invalid request"),
        ]:
            with pytest.raises(ntapi.ApiError, match=says):
                client.call(Failing(command))
    raised = pytest.raises(ntapi.ApiError, match="SERVICE mapped")
    with Mapping(servers["fault"]) as client, raised:
        client.call(Failing("reset/before"))


def test_a_cancelled_call_is_shown_to_its_service(servers: dict[str, str]) -> None:
    results: list[ntapi.CallResult[int]] = []
    with ntapi.Client(servers["fault"]) as client:
        request = client.begin_call(
            Failing("stall/before"), results.append, ntapi.response_thread(ntapi.Thread.BACKGROUND)
        )
        request.cancel()
        request.wait(PATIENCE)
    assert [str(result.error) for result in results] == ["CANCELLED request cancelled"]


def test_a_call_in_asyncio_is_shown_to_its_service(servers: dict[str, str]) -> None:
    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            with pytest.raises(ntapi.ApiError, match="NETWORK network"):
                await client.call(Failing("reset/before"))

    asyncio.run(main())


def test_what_goes_on_with_the_next_process_is_shown(
    servers: dict[str, str], tmp_path: Path
) -> None:
    configuration = ntapi.SessionConfiguration.background("mapped", proxy="")
    configuration["backgroundFolder"] = str(tmp_path / "sessions")
    responses: list[ntapi.Response] = []
    client = Mapping(servers["fault"], configuration=configuration)
    args = [ntapi.response_thread(ntapi.Thread.BACKGROUND), ntapi.download(tmp_path / "file")]
    client.begin("stall/before", args, responses.append)
    client.close()
    assert client.drain(PATIENCE) == 0
    assert [response.error and response.error.code for response in responses] == [MAPPED]
    assert [error.code for error in client.asked] == [codes.DETACHED]
