"""Bodies from Python: files whose length is known, and async iterables."""

from __future__ import annotations

import asyncio
import contextvars
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import ntapi
from conftest import PATIENCE

CONTENT = bytes(range(256)) * 1000


def run(main: Any) -> Any:
    return asyncio.run(asyncio.wait_for(main, PATIENCE))


def upload(client: ntapi.Client, *args: ntapi.Arg) -> Any:
    return client.post("upload", *args).json()


def test_the_length_of_a_file_is_sent(weather: ntapi.Client, tmp_path: Path) -> None:
    path = tmp_path / "body"
    path.write_bytes(CONTENT)
    with path.open("rb") as file:
        seen = upload(weather, ntapi.stream(file))
    assert (seen["size"], seen["transfer_encoding"]) == (len(CONTENT), None)


def test_from_where_a_file_is(fault: ntapi.Client) -> None:
    file = io.BytesIO(b"0123456789")
    file.seek(4)
    seen = fault.post("echo", ntapi.stream(file)).json()
    assert seen["body"] == "456789"
    assert dict(seen["headers"])["Content-Length"] == "6"


def test_a_file_that_grows_is_sent_as_it_was(fault: ntapi.Client) -> None:
    file = io.BytesIO(b"0123")
    body = ntapi.stream(file)
    file.write(b"4567 and more")
    file.seek(0)
    assert fault.post("echo", body).json()["body"] == "4567"


def test_a_redirect_gets_the_whole_file_again(fault: ntapi.Client) -> None:
    body = ntapi.stream(io.BytesIO(b"0123"))
    assert fault.post("redirect/echo?status=307", body).json()["body"] == "0123"


@pytest.mark.parametrize("path", ["/proc/self/status", "/dev/null"])
def test_a_file_that_hides_its_length_is_sent_chunked(fault: ntapi.Client, path: str) -> None:
    with open(path, "rb") as file:
        seen = fault.post("echo", ntapi.stream(file)).json()
    assert dict(seen["headers"])["Transfer-Encoding"] == "chunked"
    assert bool(seen["body"]) == path.startswith("/proc")


class Pieces:
    """An async iterable that can be read twice."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return pieces()


async def pieces() -> AsyncIterator[bytes]:
    for number in range(3):
        await asyncio.sleep(0)
        yield b"%d," % number
        yield b""


def test_an_async_iterable(servers: dict[str, str]) -> None:
    async def main() -> Any:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            return (await client.post("echo", ntapi.stream(pieces()))).json()

    seen = run(main())
    assert seen["body"] == "0,1,2,"
    assert dict(seen["headers"])["Transfer-Encoding"] == "chunked"


def test_an_async_iterable_with_a_length(servers: dict[str, str]) -> None:
    async def main() -> Any:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            return (await client.post("echo", ntapi.stream(pieces(), length=6))).json()

    assert dict(run(main())["headers"])["Content-Length"] == "6"


def test_an_async_iterable_is_read_again(servers: dict[str, str]) -> None:
    async def main() -> Any:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            with pytest.raises(ntapi.ApiError):
                await client.post("redirect/echo?status=307", ntapi.stream(pieces()))
            return (await client.post("redirect/echo?status=307", ntapi.stream(Pieces()))).json()

    assert run(main())["body"] == "0,1,2,"


def test_it_runs_in_the_callers_context(servers: dict[str, str]) -> None:
    user = contextvars.ContextVar("user", default="nobody")

    async def names() -> AsyncIterator[bytes]:
        yield user.get().encode()

    async def main() -> Any:
        user.set("ann")
        async with ntapi.AsyncClient(servers["fault"]) as client:
            return (await client.post("echo", ntapi.stream(names()))).json()["body"]

    assert run(main()) == "ann"


def test_context_variables_are_kept_from_chunk_to_chunk(servers: dict[str, str]) -> None:
    user = contextvars.ContextVar("user", default="nobody")

    async def names() -> AsyncIterator[bytes]:
        token = user.set("ann")
        yield user.get().encode()
        yield b"+" + user.get().encode()
        user.reset(token)
        yield b"+" + user.get().encode()

    async def main() -> Any:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            return (await client.post("echo", ntapi.stream(names()))).json()["body"]

    assert run(main()) == "ann+ann+nobody"


class Scoped:
    """Ends as a scope of the iterable does: the task that reads it is cancelled, at this chunk."""

    def __init__(self, at: str) -> None:
        self.at = at

    async def __aiter__(self) -> AsyncIterator[bytes]:
        task = asyncio.current_task()
        assert task is not None
        try:
            yield b"a" * 100_000
            if self.at == "in a chunk":
                task.cancel()
                await asyncio.Event().wait()
            asyncio.get_running_loop().call_soon(task.cancel)
            yield b"b" * 100_000
        finally:
            await asyncio.sleep(0)
        yield b"c"


@pytest.mark.parametrize("at", ["in a chunk", "between chunks"])
def test_a_body_whose_task_is_cancelled_is_not_sent_as_whole(
    servers: dict[str, str], at: str
) -> None:
    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            with pytest.raises(ntapi.ApiError, match="the body stream failed") as caught:
                await client.post("echo", ntapi.stream(Scoped(at)))
            assert isinstance(caught.value.__cause__, asyncio.CancelledError)

    run(main())


class Unreadable:
    def __aiter__(self) -> AsyncIterator[bytes]:
        raise ZeroDivisionError("read before")


@pytest.mark.parametrize("is_eager", [False, True])
def test_a_body_that_cannot_be_begun(servers: dict[str, str], is_eager: bool) -> None:
    async def main() -> None:
        if is_eager:
            if not hasattr(asyncio, "eager_task_factory"):
                pytest.skip("eager tasks are new in Python 3.12")
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        async with ntapi.AsyncClient(servers["fault"]) as client:
            with pytest.raises(ntapi.ApiError, match="the body stream failed") as caught:
                await client.post("echo", ntapi.stream(Unreadable()))
            assert isinstance(caught.value.__cause__, ZeroDivisionError)
            assert (await client.post("echo", ntapi.stream(pieces()))).status == 200

    run(main())


def test_what_an_async_iterable_raises(servers: dict[str, str]) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"a"
        raise ZeroDivisionError("here")

    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            with pytest.raises(ntapi.ApiError, match="the body stream failed") as caught:
                await client.post("echo", ntapi.stream(broken()))
            assert isinstance(caught.value.__cause__, ZeroDivisionError)

    run(main())


@pytest.mark.parametrize("how", ["task", "request", "client"])
def test_a_cancelled_request_does_not_wait_for_the_next_chunk(
    servers: dict[str, str], how: str
) -> None:
    async def main() -> list[str]:
        told: list[str] = []
        has_begun = asyncio.Event()
        has_ended = asyncio.Event()

        async def endless() -> AsyncIterator[bytes]:
            try:
                yield b"a"
                has_begun.set()
                await asyncio.Event().wait()
            finally:
                told.append("ended")
                has_ended.set()

        async with ntapi.AsyncClient(servers["fault"]) as client:
            if how == "task":
                task = asyncio.create_task(client.post("echo", ntapi.stream(endless())))
                await has_begun.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            else:
                end = asyncio.Event()
                request = client.begin("echo", ntapi.stream(endless()), lambda _: end.set())
                await has_begun.wait()
                request.cancel() if how == "request" else client.cancel_all()
                await end.wait()
            await has_ended.wait()
        return told

    assert run(main()) == ["ended"]


def test_what_is_not_read_to_its_end_is_closed(servers: dict[str, str]) -> None:
    async def main() -> bool:
        is_closed = asyncio.Event()

        async def long() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"x" * 1000
            finally:
                is_closed.set()

        async with ntapi.AsyncClient(servers["fault"]) as client:
            # More than was announced.
            await client.perform("echo", ntapi.stream(long(), length=1500))
            await is_closed.wait()
        return True

    assert run(main())


def test_a_blocking_client_refuses_it(fault: ntapi.Client) -> None:
    with pytest.raises(TypeError, match="can be the body of an AsyncClient's request"):
        fault.post("echo", ntapi.stream(pieces()))
