"""An object that is dropped without a close gives a ResourceWarning, like Python's files and
sockets.
"""

from __future__ import annotations

import asyncio
import gc
import re
import tracemalloc
import warnings
from typing import Any, Callable

import pytest

import ntapi
from conftest import API_URL, Unraisable, run_python
from ntapi.testing import Stub


def unclosed(action: Callable[[], object]) -> list[str]:
    """The ResourceWarnings for objects that an action drops."""
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        action()
        gc.collect()
    return [str(each.message) for each in caught if each.category is ResourceWarning]


ENDS: list[Callable[[ntapi.Client], object]] = [
    lambda client: client.close(),
    lambda client: client.finish_and_invalidate(),
    lambda client: client.invalidate_and_cancel(),
    lambda client: client.__exit__(None, None, None),
]


@pytest.mark.parametrize("kind", [ntapi.Client, ntapi.AsyncClient])
def test_a_client(kind: Any) -> None:
    assert unclosed(lambda: kind(API_URL)) == [f"unclosed <ntapi.{kind.__name__} {API_URL}>"]


@pytest.mark.parametrize("end", ENDS)
def test_a_client_that_has_ended(end: Callable[[ntapi.Client], object]) -> None:
    assert unclosed(lambda: end(ntapi.Client(API_URL))) == []


def test_a_client_that_could_not_be_made() -> None:
    def make() -> None:
        with pytest.raises(TypeError, match="RateLimiter"):
            ntapi.Client(API_URL, rate_limiter=1)  # type: ignore[arg-type]

    assert unclosed(make) == []


@pytest.mark.parametrize("way", ["broken off", "closed", "read to its end", "with", "failed"])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_stream(servers: dict[str, str], is_async: bool, way: str) -> None:
    command = "missing" if way == "failed" else "pattern-8M.bin"

    def blocking() -> None:
        with ntapi.Client(servers["nginx"]) as client:
            if way in ("with", "failed"):
                with client.stream(command) as chunks:
                    next(chunks)
                return
            chunks = client.stream(command)
            for _ in chunks:
                if way != "read to its end":
                    break
            if way == "closed":
                chunks.close()
            # Dropped before the client ends it.
            del chunks

    async def main() -> None:
        async with ntapi.AsyncClient(servers["nginx"]) as client:
            if way in ("with", "failed"):
                async with client.stream(command) as chunks:
                    await chunks.__anext__()
                return
            chunks = client.stream(command)
            async for _ in chunks:
                if way != "read to its end":
                    break
            if way == "closed":
                await chunks.close()
            del chunks

    def act() -> None:
        try:
            asyncio.run(main()) if is_async else blocking()
        except ntapi.ApiError:
            assert way == "failed"

    found = unclosed(act)
    kind = "AsyncStream" if is_async else "Stream"
    if way != "broken off":
        assert found == []
        return
    (text,) = found
    assert re.fullmatch(rf"unclosed <ntapi\.{kind} 200 of <ntapi\.Request #.* running>>", text)


class Plain:
    """A plain Python object."""


def test_the_warning_says_where_it_was_made() -> None:
    tracemalloc.start(5)
    try:
        plain = Plain()
        knows_objects = tracemalloc.get_object_traceback(plain) is not None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ResourceWarning)
            ntapi.Client(API_URL)
            gc.collect()
        (found,) = [each for each in caught if each.category is ResourceWarning]
        assert isinstance(found.source, ntapi.Client)
        trace = tracemalloc.get_object_traceback(found.source)
    finally:
        tracemalloc.stop()
    if not knows_objects:
        pytest.skip("this Python does not know where objects of such classes were made")
    assert trace is not None
    assert __file__ in {frame.filename for frame in trace}


@pytest.mark.filterwarnings("error::ResourceWarning")
def test_as_an_error(stub: Stub, unraisable: Unraisable) -> None:
    """With python -W error: closed objects raise nothing; others behave like Python's files."""
    stub.on(None).answer(json=1)
    with ntapi.Client(API_URL, stub=stub) as client:
        assert client.send("a").status == 200
    del client
    gc.collect()
    assert unraisable.errors == []
    ntapi.Client(API_URL, stub=stub)
    gc.collect()
    assert [type(error) for error in unraisable.errors] == [ResourceWarning]


def test_at_exit_a_global_client_is_no_mistake() -> None:
    code = "import ntapi; client = ntapi.Client('https://api.test')"
    result = run_python(f"import warnings; warnings.simplefilter('error'); {code}")
    assert (result.returncode, result.stderr) == (0, "")


LATE = """
import atexit, sys

def end_late():
    # Does what an interpreter without a lock does: modules lose their names before the objects that
    # are left are collected.
    end = type(left).__del__
    names = end.__globals__
    names.update(dict.fromkeys(name for name in names if name != "__builtins__"))
    end(left)

# Called after what NTApi registers.
atexit.register(end_late)
import ntapi
url = "https://api.test"
left = {made}
"""
LEFT = {
    "Client": "ntapi.Client(url)",
    "AsyncClient": "ntapi.AsyncClient(url)",
    "httpx": "ntapi.transports.HTTPX()",
    "requests": "ntapi.transports.RequestsAdapter()._client(url, True, None, {})",
    "stripe": "ntapi.transports.StripeHTTPClient()",
}


@pytest.mark.parametrize("what", LEFT)
def test_at_exit_when_modules_have_lost_their_names(what: str) -> None:
    if what.islower():
        pytest.importorskip(what)
    made = LEFT[what]
    if what == "stripe":
        made += "; left._client(ntapi.Client)"
    result = run_python(LATE.replace("{made}", made))
    assert (result.returncode, result.stderr) == (0, "")
