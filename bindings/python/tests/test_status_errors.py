"""The errors of a client and a service by status. The conformance table has what all languages
share.
"""

from __future__ import annotations

import asyncio
import pickle
from typing import Any, Optional

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import codes
from ntapi.testing import Stub

TAKEN = ntapi.register_code("taken")


class NotFound(ntapi.ApiError):
    """It has what the HTTP error has."""


class Conflict(ntapi.ApiError):
    """Made from the HTTP error."""

    def __init__(self, error: ntapi.ApiError) -> None:
        assert error.response is not None
        data: Any = error.response.json()
        self.owner: str = data["by"]
        super().__init__("conflict", f"taken by {self.owner}")


OF_SHOP: ntapi.StatusErrors = {404: NotFound, 409: Conflict, 410: TAKEN}
OF_CITY: ntapi.StatusErrors = {404: NotFound}


class Shop(ntapi.Client):
    errors = OF_SHOP


class AsyncShop(ntapi.AsyncClient):
    errors = OF_SHOP


class City(ntapi.Service[None]):
    command = "city"
    errors = OF_CITY


def test_a_class_has_what_the_error_has(stub: Stub) -> None:
    stub.on("GET", "city").answer(404, json={"message": "no city"}, headers={"Retry-After": "7"})
    with Shop("http://api.test", stub=stub) as client:
        with pytest.raises(NotFound) as caught:
            client.get("city")
        plain = ntapi.Client("http://api.test", stub=stub)
        expected = plain.perform("city").error
        plain.close()
    error = caught.value
    assert expected is not None
    assert str(error) == str(expected)
    assert "no city" in str(error)
    assert (error.domain, error.code) == (ntapi.ErrorDomain.HTTP, codes.HTTP_ERROR)
    assert (error.http_status, error.retry_after) == (404, 7)
    assert error.response is not None
    assert error.response.error is error
    assert error.__cause__ is None
    assert type(pickle.loads(pickle.dumps(error))) is NotFound


def test_a_class_may_make_its_own(stub: Stub) -> None:
    stub.on("PUT", "city").answer(409, json={"by": "ann"})
    with Shop("http://api.test", stub=stub) as client, pytest.raises(Conflict) as caught:
        client.put("city")
    error = caught.value
    assert (error.owner, error.message, error.http_status) == ("ann", "taken by ann", 409)
    assert isinstance(error.__cause__, ntapi.ApiError)
    assert error.__cause__.code is codes.HTTP_ERROR


def test_a_function_may_keep_the_error(stub: Stub) -> None:
    def name(error: ntapi.ApiError) -> Optional[ntapi.ApiError]:
        return NotFound("gone") if "city" in error.message else None

    stub.on("GET").answer(404)
    with ntapi.Client("http://api.test", stub=stub, errors={404: name}) as client:
        assert isinstance(client.perform("city").error, NotFound)
        error = client.perform("other").error
        assert error is not None
        assert error.code is codes.HTTP_ERROR


def test_a_function_that_fails(stub: Stub) -> None:
    def fail(error: ntapi.ApiError) -> ntapi.ApiError:
        raise KeyError("x")

    stub.on("GET").answer(404)
    with ntapi.Client("http://api.test", stub=stub, errors={404: fail}) as client:
        error = client.perform("city").error
    assert error is not None
    assert error.code is codes.GENERIC
    assert "KeyError('x')" in error.message
    assert error.http_status == 404


def test_a_code_keeps_the_words_of_the_server(stub: Stub) -> None:
    stub.on("GET").answer(410, json={"message": "closed for good"})
    with Shop("http://api.test", stub=stub) as client:
        error = client.perform("city").error
    assert error is not None
    assert error.code is TAKEN
    assert "closed for good" in str(error)


def test_a_service_comes_before_its_client(stub: Stub) -> None:
    stub.on("GET", "city").answer(404)
    table = {404: TAKEN, 500: TAKEN}
    with ntapi.Client("http://api.test", stub=stub, errors=table) as client:
        with pytest.raises(NotFound):
            client.call(City())
        assert client.begin_call(City(), lambda _: None).wait()
        assert getattr(client.perform("city").error, "code", None) is TAKEN
    with ntapi.Client("http://api.test", stub=stub) as plain, pytest.raises(NotFound):
        plain.call(City())


def test_the_hooks_come_afterwards(stub: Stub) -> None:
    class Hooked(Shop):
        def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
            seen.append(type(response.error))
            return None

        def map_error(self, error: ntapi.ApiError, response: ntapi.Response) -> ntapi.ApiError:
            seen.append(type(error))
            return error

    seen: list[type] = []
    stub.on("GET").answer(404, json={})
    with Hooked("http://api.test", stub=stub) as client:
        assert isinstance(client.perform("city").error, NotFound)
    assert seen == [NotFound, NotFound]


def test_handlers_streams_and_coroutines_get_it(stub: Stub) -> None:
    async def main() -> None:
        async with AsyncShop("http://api.test", stub=stub) as client:
            with pytest.raises(NotFound):
                await client.get("city")
            with pytest.raises(NotFound):
                await client.call(City())
            with pytest.raises(NotFound):
                async with client.stream("city"):
                    pass

    stub.on("GET").answer(404)
    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    found: list[Any] = []
    with Shop("http://api.test", stub=stub) as client:
        with pytest.raises(NotFound), client.stream("city"):
            pass
        request = client.begin("city", handler=lambda response: found.append(response.error))
        assert request.wait(PATIENCE)
    assert [type(error) for error in found] == [NotFound]


def test_it_can_be_changed(stub: Stub) -> None:
    stub.on("GET").answer(404)
    with Shop("http://api.test", stub=stub) as client:
        client.errors = {}
        assert type(client.perform("city").error) is ntapi.ApiError
        assert Shop.errors[404] is NotFound


@pytest.mark.parametrize(
    ("table", "kind", "message"),
    [
        ([NotFound], TypeError, r"errors has to be a dict of statuses, errors={404: NotFound}"),
        ({"404": NotFound}, TypeError, r"a status has to be an int such as 404, not str"),
        ({200: NotFound}, ValueError, r"200 is never an error"),
        ({404: ValueError}, TypeError, r"errors\[404\] has to be a subclass of ntapi.ApiError"),
        ({404: "missing"}, TypeError, r"errors\[404\] has to be .* or an ErrorCode"),
        ({404: asyncio.sleep}, TypeError, r"errors\[404\] has to be"),
    ],
)
def test_a_wrong_table_is_refused(table: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ntapi.Client("http://api.test", errors=table)
    with pytest.raises(kind, match=message):
        type("Wrong", (ntapi.Client,), {"errors": table})
    with pytest.raises(kind, match=message):
        type("Wrong", (ntapi.Service,), {"errors": table})
    with ntapi.Client("http://api.test") as client, pytest.raises(kind, match=message):
        client.errors = table


def test_it_is_logged_once(stub: Stub) -> None:
    class Logging(Shop):
        def write_log(self, level: ntapi.LogFlags, message: str) -> None:
            lines.append(message)

    lines: list[str] = []
    stub.on("GET").answer(404)
    with Logging("http://api.test", stub=stub, log_flags=ntapi.LogFlags.ERROR) as client:
        assert isinstance(client.perform("city").error, NotFound)
    assert len(lines) == 1
