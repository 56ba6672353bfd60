"""Observers: what they hear, in whose context, and what an exception does."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator
from typing import Any, Optional

import pytest

import ntapi
from conftest import Unraisable
from ntapi.testing import Stub

CALLER: contextvars.ContextVar[str] = contextvars.ContextVar("caller", default="nobody")


class Listener(ntapi.Observer):
    """Writes each event down."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.last: Optional[ntapi.Observation] = None

    def begun(self, observed: ntapi.Observation) -> object:
        self.heard.append(f"begun by {CALLER.get()}")
        return CALLER.get()

    def wait_begins(self, context: Any, observed: ntapi.Observation) -> None:
        self.heard.append(f"waits {observed.wait}")

    def wait_ends(self, context: Any, observed: ntapi.Observation) -> None:
        assert observed.seconds >= 0
        self.heard.append(f"waited {observed.wait}")

    def attempt_begins(self, context: Any, observed: ntapi.Observation) -> Any:
        self.heard.append(f"{observed.attempt} {observed.reason}")
        return {"X-Attempt": f"{observed.attempt} for {context}"}

    def attempt_ends(self, context: Any, observed: ntapi.Observation) -> None:
        self.last = observed
        self.heard.append(
            f"{observed.attempt} {(observed.error and observed.error.code) or observed.status}"
        )

    def cache_answered(self, context: Any, observed: ntapi.Observation) -> None:
        self.heard.append(f"cache {observed.outcome}")

    def circuit_changed(self, context: Any, observed: ntapi.Observation) -> None:
        self.heard.append(f"circuit {observed.outcome} {observed.origin}")

    def ended(self, context: Any, observed: ntapi.Observation) -> None:
        assert context == CALLER.get()
        self.heard.append(f"ended {observed.status} for {context}")


@pytest.fixture
def client(servers: dict[str, str]) -> Iterator[ntapi.Client]:
    with ntapi.Client(servers["fault"], log_flags=ntapi.LogFlags.NONE) as client:
        yield client


def test_every_event_in_order(client: ntapi.Client) -> None:
    listener = Listener()
    client.add_observer(listener)
    token = CALLER.set("ann")
    client.perform("status/503", ntapi.retry(ntapi.RetryPolicy(attempts=2, base=0)))
    CALLER.reset(token)
    assert listener.heard == [
        "begun by ann",
        "1 first",
        "1 503",
        "waits pause",
        "waited pause",
        "2 retry",
        "2 503",
        "ended 503 for ann",
    ]
    seen = listener.last
    assert seen is not None
    assert (seen.method, seen.command, seen.address) == ("GET", "status/503", "127.0.0.1")
    assert str(seen.url).endswith("/status/503")
    assert seen.http_version == 1.1
    assert seen.connection_reused
    assert 0 < seen.first_byte <= seen.total <= seen.seconds
    assert seen.headers["content-length"] == "38"
    assert repr(seen) == f"<ntapi.Observation #{seen.request} attempt_ends GET 503 retry>"


def test_headers_of_an_attempt(client: ntapi.Client, unraisable: Unraisable) -> None:
    listener = Listener()
    client.add_observer(listener)
    sent = dict(client.get("echo").json()["headers"])
    assert sent["X-Attempt"] == "1 for nobody"

    class Wrong(ntapi.Observer):
        def attempt_begins(self, context: Any, observed: ntapi.Observation) -> Any:
            return [("Content-Length", "7")]

    client.add_observer(Wrong())
    assert client.perform("echo").status == 200
    assert [str(error) for error in unraisable.errors] == [
        "a header 'Content-Length' of an observer may not be sent"
    ]


def test_an_exception_changes_nothing(client: ntapi.Client, unraisable: Unraisable) -> None:
    class Broken(ntapi.Observer):
        def begun(self, observed: ntapi.Observation) -> object:
            raise RuntimeError("begun is broken")

        def attempt_ends(self, context: Any, observed: ntapi.Observation) -> None:
            assert context is None
            raise RuntimeError("attempt_ends is broken")

    listener = Listener()
    client.add_observer(Broken())
    client.add_observer(listener)
    assert client.perform("echo").status == 200
    errors = [str(error) for error in unraisable.errors]
    assert errors == ["begun is broken", "attempt_ends is broken"]
    assert listener.heard[-1] == "ended 200 for nobody"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("method", ["begun", "attempt_begins", "attempt_ends", "ended"])
def test_what_is_no_exception_does_not_get_lost(
    client: ntapi.Client, unraisable: Unraisable, method: str, kind: type[BaseException]
) -> None:
    def fail(*_: Any) -> None:
        raise kind(method)

    listener = Listener()
    client.add_observer(type("Failing", (ntapi.Observer,), {method: fail})())
    client.add_observer(listener)
    # Raised here if it was called on this thread, else reported.
    raised: list[BaseException] = []
    try:
        client.perform("echo")
    except BaseException as error:
        raised.append(error)
    assert [str(error) for error in raised + unraisable.errors] == [method]
    assert listener.heard[-1] == "ended 200 for nobody"


def test_each_task_has_its_context(servers: dict[str, str]) -> None:
    listener = Listener()

    async def one(client: ntapi.AsyncClient, name: str) -> None:
        CALLER.set(name)
        assert dict((await client.get("echo")).json()["headers"])["X-Attempt"] == f"1 for {name}"

    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            client.add_observer(listener)
            await asyncio.gather(*(one(client, f"caller {number}") for number in range(20)))

    asyncio.run(main())
    ends = [line for line in listener.heard if line.startswith("ended")]
    assert sorted(ends) == sorted(f"ended 200 for caller {number}" for number in range(20))


def test_all_clients_and_removal(client: ntapi.Client) -> None:
    everyone, own = Listener(), Listener()
    ntapi.add_observer(everyone)
    client.add_observer(own)
    try:
        client.perform("status/200")
    finally:
        ntapi.remove_observer(everyone)
    client.remove_observer(own)
    client.perform("status/200")
    assert len(everyone.heard) == len(own.heard) == 4
    with pytest.raises(ValueError, match="was not added"):
        ntapi.remove_observer(everyone)
    with pytest.raises(ValueError, match="was not added"):
        client.remove_observer(own)
    with pytest.raises(TypeError, match=r"an ntapi\.Observer is expected, not str"):
        client.add_observer("x")  # type: ignore[arg-type]


def test_cache_and_circuit(servers: dict[str, str]) -> None:
    listener = Listener()
    settings = ntapi.SessionConfiguration.ephemeral()
    settings.circuit_breaker = {"minimum_calls": 1, "open_seconds": 1000}
    with ntapi.Client(
        "https://api.test", configuration=settings, log_flags=ntapi.LogFlags.NONE
    ) as client:
        stub = Stub()
        stub.on("GET", "/a").answer(200, headers={"Cache-Control": "max-age=100"})
        stub.on("GET", "/b").answer(500)
        client.stub = stub
        client.add_observer(listener)
        for command in ("a", "a", "b", "b"):
            client.perform(command)
    told = [line for line in listener.heard if line.startswith(("c", "ended"))]
    assert told == [
        "cache miss",
        "ended 200 for nobody",
        "cache hit",
        "ended 200 for nobody",
        "cache miss",
        "circuit opened https://api.test:443",
        "ended 500 for nobody",
        "cache miss",
        "circuit refused https://api.test:443",
        "ended 0 for nobody",
    ]
