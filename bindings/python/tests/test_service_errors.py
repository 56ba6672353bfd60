"""Errors of a service as callers get them: those of an issue tracker, with a list of wrong
fields.
"""

from __future__ import annotations

import asyncio
import pickle
import re
from dataclasses import dataclass
from typing import Optional, TypeVar

import pytest

import ntapi
from ntapi import codes
from ntapi.testing import Stub

T = TypeVar("T")


@dataclass
class FieldError:
    field: str
    code: str


class ValidationError(ntapi.ApiError):
    fields: list[FieldError]


class TrackerService(ntapi.Service[T]):
    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        if response.status < 400:
            return None
        message = response.json()["message"]
        if response.status != 422:
            return ntapi.ApiError("tracker", message)
        error = ValidationError("validation failed", message)
        error.fields = response.decode(list[FieldError], "errors")
        return error


class CreateIssue(TrackerService[None]):
    command = "issues"
    method = "POST"


class ReadFile(TrackerService[str]):
    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def command(self) -> str:
        return f"contents/{self.path}"

    def parameters(self) -> ntapi.Args:
        return ntapi.option("raw_data")

    def make_response(self, response: ntapi.Response) -> str:
        return response.text


@pytest.fixture
def client(stub):
    with ntapi.Client("https://tracker.example", stub=stub, log_flags=ntapi.LogFlags(0)) as client:
        yield client


def test_hook_decodes_http_error(client, stub):
    errors = [{"field": "title", "code": "missing"}]
    answer = {"message": "invalid", "errors": errors}
    stub.on("POST", "issues").answer(422, json=answer, headers={"Retry-After": "7"})
    with pytest.raises(ValidationError) as caught:
        client.call(CreateIssue())
    error = caught.value
    assert error.fields == [FieldError("title", "missing")]
    assert (error.http_status, str(error), error.retry_after) == (422, "invalid", 7)
    assert pickle.loads(pickle.dumps(error)).fields == error.fields


def test_elsewhere_an_error_is_not_decoded(client, stub):
    stub.on("POST", "issues").answer(422, json={"message": "invalid", "errors": []})
    response = client.perform("issues", ntapi.method("POST"))
    with pytest.raises(ntapi.ApiError, match="HTTP 422"):
        response.decode(list[FieldError], "errors")


def test_hook_that_cannot_decode_says_so(client, stub):
    stub.on("POST", "issues").answer(422, json={"message": "invalid"})
    with pytest.raises(ntapi.ApiError, match="errors: array expected, nothing found"):
        client.call(CreateIssue())


def test_text_service_hears_http_error(client, stub):
    stub.on("GET", "contents/a").answer(text="[1]")
    stub.on("GET", "contents/b").answer(404, json={"message": "no such file"})
    stub.on("GET", "contents/c").answer(500, text="oh")
    assert client.call(ReadFile("a")) == "[1]"
    with pytest.raises(ntapi.ApiError, match="no such file") as caught:
        client.call(ReadFile("b"))
    assert caught.value.code == "tracker"
    with pytest.raises(ntapi.ApiError, match="HTTP 500") as caught:
        client.call(ReadFile("c"))
    assert caught.value.code is codes.HTTP_ERROR


def test_parsing_hook_reads_errors_of_raw_data(stub):
    class Parsing(ntapi.Client):
        def parse_json(self, data: bytes) -> object:
            return {"parsed": data.decode()}

    stub.on("GET", "good").answer(text="a")
    stub.on("GET", "bad").answer(404, text="b")
    with Parsing("https://tracker.example", stub=stub, log_flags=ntapi.LogFlags(0)) as client:
        assert client.perform("good", ntapi.option("raw_data")).json() is None
        assert client.perform("bad", ntapi.option("raw_data")).json() == {"parsed": "b"}


def test_what_is_taken_for_an_answer_stays_raw(client, stub):
    stub.on("GET", "contents").answer(404, json={"message": "no such file"})
    raw = ntapi.option("raw_data")
    assert client.perform("contents", raw, ntapi.option("ignore_http_errors")).json() is None
    assert client.perform("contents", raw).json() == {"message": "no such file"}


class Weather(ntapi.Client):
    """A service that answers its errors with the status 200."""

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        code = response.json().get("cod", 200)
        return (
            None if code == 200 else ntapi.ApiError(f"weather {code}", response.json()["message"])
        )


class FindCity(ntapi.Service[None]):
    command = "find"

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        code = response.json().get("cod", 200)
        return (
            None if code == 200 else ntapi.ApiError(f"weather {code}", response.json()["message"])
        )


def check_warned(caplog: pytest.LogCaptureFixture) -> None:
    """Checks for one log line with the request's number, as in other languages."""
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert re.fullmatch(r"#\d+\.1 weather 404: no such city", record.getMessage())


def test_service_errors_are_warnings_also_of_status_200(stub, caplog):
    stub.on("GET", "find").answer(200, json={"cod": 404, "message": "no such city"})
    with Weather("https://weather.example", stub=stub) as client:
        assert client.perform("find").error.code == "weather 404"
    check_warned(caplog)


def test_errors_of_a_service_are_warnings(stub, caplog):
    stub.on("GET", "find").answer(200, json={"cod": 404, "message": "no such city"})
    with ntapi.Client("https://weather.example", stub=stub) as client:
        with pytest.raises(ntapi.ApiError, match="no such city"):
            client.call(FindCity())
        check_warned(caplog)
        caplog.clear()
        results: list[ntapi.CallResult[None]] = []
        client.begin_call(FindCity(), results.append).wait()
        assert results[0].error is not None
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_errors_of_a_service_are_warnings_in_asyncio(stub, caplog):
    stub.on("GET", "find").answer(200, json={"cod": 404, "message": "no such city"})

    async def main() -> None:
        async with ntapi.AsyncClient("https://weather.example", stub=stub) as client:
            with pytest.raises(ntapi.ApiError, match="no such city"):
                await client.call(FindCity())

    asyncio.run(main())
    check_warned(caplog)


def test_what_a_program_does_not_log_is_not_logged(stub, caplog):
    stub.on("GET", "find").answer(200, json={"cod": 404, "message": "no such city"})
    lines: list[tuple[ntapi.LogFlags, str]] = []

    class Own(Weather):
        def write_log(self, level: ntapi.LogFlags, message: str) -> None:
            lines.append((level, message))

    with Own("https://weather.example", stub=stub, log_flags=ntapi.LogFlags.ERROR) as client:
        assert client.perform("find").error is not None
        assert lines == []
        client.log_flags = ntapi.LogFlags.WARN
        assert client.perform("find").error is not None
    ((level, line),) = lines
    assert level is ntapi.LogFlags.WARN
    assert re.fullmatch(r"#\d+\.2 weather 404: no such city", line)
    assert caplog.records == []


def test_a_service_error_says_why_the_request_was_not_repeated(stub: Stub) -> None:
    class Client(ntapi.Client):
        def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
            return ntapi.ApiError("slow", response.json()["reason"])

    stub.on("POST", "http://api.test/loans").answer(429, json={"reason": "slow down"})
    retry = ntapi.retry(ntapi.RetryPolicy(attempts=3))
    with Client("http://api.test", stub=stub) as client:
        error = client.perform("loans", ntapi.method("POST"), retry).error
    assert error is not None
    assert error.message.startswith("slow down; not sent again: a POST is not idempotent")
