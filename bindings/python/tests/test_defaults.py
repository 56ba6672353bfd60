"""Defaults: inheritance, providers, many threads."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ntapi
from conftest import Unraisable


class Service(ntapi.Client):
    pass


class Mixin:
    pass


class Special(Mixin, Service):
    pass


class AsyncService(ntapi.AsyncClient):
    pass


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    for scope in (ntapi.Client, Service, Special, AsyncService):
        for key in ("unit", "appid", "baseUrl", "userAgent"):
            scope.set_default(key, None)
            ntapi.defaults.set(key, None)


def test_look_up_goes_client_class_superclasses_global() -> None:
    client = Special("http://127.0.0.1")
    assert client.get_default("unit") is None
    assert client.get_default("unit", "fallback") == "fallback"
    ntapi.defaults.set("unit", "global")
    assert client.get_default("unit") == Special.get_default("unit") == "global"
    ntapi.Client.set_default("unit", "base")
    assert client.get_default("unit") == "base"
    Service.set_default("unit", "service")
    assert client.get_default("unit") == "service"
    Special.set_default("unit", "special")
    assert client.get_default("unit") == "special"
    client.set_default("unit", "own")
    assert client.get_default("unit") == "own"
    assert Special.get_default("unit") == "special"
    assert Service.get_default("unit") == "service"
    assert ntapi.Client.get_default("unit") == "base"
    assert ntapi.defaults.get("unit") == "global"
    assert AsyncService.get_default("unit") == "global"
    client.set_default("unit", None)
    Special.set_default("unit", None)
    assert client.get_default("unit") == "service"


@pytest.mark.parametrize(
    "value", ["text", "", "\0ü", 5, -1.5, True, False, [1, [2]], {"a": {"b": None}}, 2**62, 0]
)
def test_any_json_value(value: Any) -> None:
    ntapi.defaults.set("unit", value)
    found = ntapi.defaults.get("unit")
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan")])
def test_what_is_not_json_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        ntapi.defaults.set("unit", value)


def test_providers_are_asked_each_time() -> None:
    asked: list[str] = []

    def provide(key: str) -> Any:
        asked.append(key)
        return len(asked)

    client = Service("http://127.0.0.1")
    Service.set_default("unit", provide)
    assert [client.get_default("unit") for _ in range(3)] == [1, 2, 3]
    assert asked == ["unit"] * 3
    client.set_default("unit", lambda key: None)
    assert client.get_default("unit", "fallback") in ("fallback", 4)


def test_an_exception_in_a_provider_is_reported(unraisable: Unraisable) -> None:
    def failing(key: str) -> Any:
        raise ValueError("boom")

    ntapi.defaults.set("unit", failing)
    assert ntapi.defaults.get("unit", "fallback") == "fallback"
    assert [str(error) for error in unraisable.errors] == ["boom"]


def test_a_keyboard_interrupt_in_a_provider_passes_through() -> None:
    def interrupted(key: str) -> Any:
        raise KeyboardInterrupt

    ntapi.defaults.set("unit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ntapi.defaults.get("unit")
    ntapi.defaults.set("unit", 1)
    assert ntapi.defaults.get("unit") == 1


def test_a_replaced_provider_is_forgotten() -> None:
    import gc
    import weakref

    class Provider:
        def __call__(self, key: str) -> int:
            return 1

    provider = Provider()
    reference = weakref.ref(provider)
    ntapi.defaults.set("unit", provider)
    del provider
    assert ntapi.defaults.get("unit") == 1
    ntapi.defaults.set("unit", None)
    gc.collect()
    assert reference() is None


def test_base_url_and_user_agent(servers: dict[str, str]) -> None:
    Service.set_default("baseUrl", servers["fault"])
    ntapi.defaults.set("userAgent", lambda key: "tests/1")
    with Service() as client:
        assert client.send("echo").json()["header"]["user-agent"] == "tests/1"


def test_an_arg_takes_its_value_from_a_default(servers: dict[str, str]) -> None:
    args = [ntapi.url_default("appid"), ntapi.url_default("units", "unit"), ntapi.url("a", 1)]
    with Service(servers["fault"]) as client:
        assert client.send("echo", args).json()["target"] == "/echo?a=1"
        Service.set_default("appid", "x y")
        client.set_default("unit", 5)
        target = "/echo?appid=x%20y&units=5&a=1"
        assert client.send("echo", args).json()["target"] == target
        client.set_default("unit", [1])
        with pytest.raises(ntapi.ApiError, match='the default "unit" cannot be a query value'):
            client.send("echo", args)
    assert repr(args[1]) == '<ntapi.Arg urlDefault("units", "unit")>'


def test_many_threads_never_see_a_torn_value() -> None:
    values = [{"a": [n] * 50, "b": str(n) * 50} for n in range(4)]
    wrong: list[Any] = []
    start = threading.Barrier(6)

    def write(value: Any) -> None:
        start.wait()
        for index in range(200):
            Service.set_default("unit", value if index % 2 else lambda key: value)

    def read() -> None:
        start.wait()
        for _ in range(400):
            found = Special.get_default("unit", values[0])
            if found not in values:
                wrong.append(found)

    threads = [threading.Thread(target=write, args=(value,)) for value in values]
    threads += [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_built_in_names_in_either_spelling(servers: dict[str, str]) -> None:
    """Every name in the header, and one that is similar to a built-in name."""
    header = Path(__file__).parents[3] / "include/ntapi.h"
    names = re.findall(r'#define NTAPI_DEFAULT_\w+ "(\w+)"', header.read_text())
    assert len(names) > 35
    client = ntapi.Client(servers["fault"])
    for name in names:
        snake = re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)
        client.set_default(snake, 7)
        assert client.get_default(name) == client.get_default(snake) == 7
        client.set_default(name, None)
        assert client.get_default(snake) is None
    client.set_default("maximum_connections_per_hosts", 7)
    error = client.perform("ok").error
    assert error is not None
    assert error.code is ntapi.codes.INVALID_REQUEST
    assert 'did you mean "maximumConnectionsPerHost"?' in error.message


def test_the_command_may_be_left_out(servers: dict[str, str]) -> None:
    """For an API whose base URL is the whole URL."""
    with ntapi.Client(servers["fault"] + "/echo") as client:
        assert client.send(ntapi.url("q", "x")).json()["target"] == "/echo?q=x"
        assert client.perform([ntapi.url("q", "x")], ntapi.url("r", "y")).status == 200
        with client.stream(ntapi.url("q", "x")) as chunks:
            assert b"/echo?q=x" in b"".join(chunks)


async def _without_command(url: str) -> object:
    async with ntapi.AsyncClient(url + "/echo") as client:
        return (await client.send(ntapi.url("q", "x"))).json()["target"]


def test_the_command_may_be_left_out_of_a_task(servers: dict[str, str]) -> None:
    """The same for asyncio."""
    assert asyncio.run(_without_command(servers["fault"])) == "/echo?q=x"
