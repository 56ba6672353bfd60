"""Requests that are sent again or wait for their turn, with a clock that stands still."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import codes
from ntapi.testing import ManualClock, Stub


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(calendar=1_700_000_000)


@pytest.fixture
def client(servers: dict[str, str], clock: ManualClock) -> Iterator[ntapi.Client]:
    # New connections: on a used one, libcurl may send a request twice.
    configuration = ntapi.SessionConfiguration.ephemeral(maximum_connections=8)
    with ntapi.Client(servers["fault"], configuration=configuration, clock=clock) as client:
        yield client


AT_ONCE = ntapi.RetryPolicy(attempts=3, base=0)


def failing(times: int, status: int = 503, **more: Any) -> list[ntapi.Arg]:
    """Args for a server that fails this often. The token separates tests."""
    pairs = {"token": f"p{random.random()}", "times": times, "status": status, **more}
    return [ntapi.url(name.replace("_", "-"), value) for name, value in pairs.items()]


def drive(clock: ManualClock, waits: int) -> threading.Thread:
    """Lets time pass this many times, each time after something has begun to wait."""

    def run() -> None:
        for _ in range(waits):
            if clock.wait_for_sleepers(timeout=PATIENCE):
                clock.advance(clock.next_wake or 0)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_until_it_works(client: ntapi.Client, clock: ManualClock) -> None:
    policy = ntapi.RetryPolicy(attempts=4, base=10, cap=15)
    driver = drive(clock, 3)
    response = client.send("fail-first", failing(3), ntapi.retry(policy))
    driver.join()
    assert response.json()["count"] == 4
    assert response.metrics.retries == 3
    assert clock.elapsed <= 40


def test_asyncio(servers: dict[str, str], clock: ManualClock) -> None:
    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"], clock=clock) as client:
            driver = drive(clock, 1)
            response = await client.send("fail-first", failing(1, retry_after=7), ntapi.retry(True))
            assert response.metrics.retries >= 1
            driver.join()
            assert clock.elapsed == 7
            task = asyncio.ensure_future(client.send("fail-first", failing(9), ntapi.retry(True)))
            assert await asyncio.get_running_loop().run_in_executor(
                None, clock.wait_for_sleepers, 1, PATIENCE
            )
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # The worker that has set the timer may be about to cancel it.
            while clock.sleepers:
                await asyncio.sleep(0)

    asyncio.run(main())


def test_why_not(client: ntapi.Client) -> None:
    with pytest.raises(ntapi.ApiError, match="has no idempotency key") as caught:
        client.send("fail-first", failing(1), ntapi.form("a", 1), ntapi.retry(AT_ONCE))
    assert not caught.value.retryable
    assert caught.value.retry_after is None
    with pytest.raises(ntapi.ApiError, match="sent 3 times") as caught:
        client.send("fail-first", failing(9), ntapi.retry(AT_ONCE))
    assert caught.value.retryable
    with pytest.raises(ntapi.ApiError, match="asks to wait 90 s") as caught:
        client.send("fail-first", failing(1, retry_after=90), ntapi.retry(AT_ONCE))
    assert caught.value.retry_after == 90
    pieces = (piece for piece in [b"once"])
    with pytest.raises(ntapi.ApiError, match="a stream that cannot be sent twice"):
        client.send(
            "fail-first",
            failing(1),
            ntapi.stream(pieces),
            ntapi.method("PUT"),
            ntapi.retry(AT_ONCE),
        )
    again = client.send(
        "fail-first", failing(1), ntapi.stream([b"a"]), ntapi.method("PUT"), ntapi.retry(AT_ONCE)
    )
    assert again.metrics.retries == 1


def test_the_server_decides(client: ntapi.Client, clock: ManualClock) -> None:
    asked = failing(1, status=409, h_x_should_retry="true")
    assert client.send("fail-first", asked, ntapi.retry(AT_ONCE)).metrics.retries == 1
    refused = failing(1, h_x_should_retry="false")
    with pytest.raises(ntapi.ApiError, match="the server asks not to") as caught:
        client.send("fail-first", refused, ntapi.retry(AT_ONCE))
    assert not caught.value.retryable
    driver = drive(clock, 1)
    late = failing(1, h_retry_after_ms="2500")
    assert client.send("fail-first", late, ntapi.retry(AT_ONCE)).metrics.retries == 1
    driver.join()
    assert clock.elapsed == 2.5


def test_a_budget(client: ntapi.Client) -> None:
    none = ntapi.RetryPolicy(base=0, budget=0.5, budget_minimum=0)
    with pytest.raises(ntapi.ApiError, match=r"repeated now \(budget\)") as caught:
        client.send("fail-first", failing(1), ntapi.retry(none))
    assert caught.value.retryable
    # Each gives its place back before its response.
    one = ntapi.RetryPolicy(base=0, budget=0.5, budget_minimum=1)
    for _ in range(30):
        assert client.send("fail-first", failing(2), ntapi.retry(one)).metrics.retries == 2


def test_the_server_learns_the_attempt(client: ntapi.Client) -> None:
    args = failing(2)
    client.send("fail-first", args, ntapi.retry(ntapi.RetryPolicy(base=0, attempt_header="X-Try")))
    seen = client.send("seen", args[0]).json()["requests"]
    assert [request["header"]["x-try"] for request in seen] == ["1", "2", "3"]
    with pytest.raises(ntapi.ApiError, match="attemptHeader") as caught:
        client.send("echo", ntapi.retry(ntapi.RetryPolicy(attempt_header="a b")))
    assert caught.value.code is codes.INVALID_REQUEST


def test_what_is_left_of_a_servers_limit(client: ntapi.Client, clock: ManualClock) -> None:
    client.rate_limiter = ntapi.RateLimiter(1000, burst=1000)
    assert client.send("headers", ntapi.url("RateLimit", '"a";r=0;t=5')).status == 200
    driver = drive(clock, 1)
    assert client.send("echo").status == 200
    driver.join()
    assert clock.elapsed == 5


def test_one_deadline_over_all(client: ntapi.Client, clock: ManualClock) -> None:
    driver = drive(clock, 1)
    args = [*failing(9, retry_after=30), ntapi.timeout(50, "total"), ntapi.retry(True)]
    response = client.perform("fail-first", args)
    driver.join()
    assert (response.status, response.metrics.retries, clock.elapsed) == (503, 1, 30)
    assert "30 s would end after the total timeout, in 20 s" in str(response.error)


def test_an_ambiguous_post_is_sent_once(client: ntapi.Client) -> None:
    args = failing(1, status=0)
    error = client.perform("fail-first", args, ntapi.json({"n": 1}), ntapi.retry(AT_ONCE)).error
    assert error is not None
    assert error.code is codes.NETWORK
    assert not error.retryable
    assert client.send("seen", args[0]).json()["count"] == 1


def test_idempotency_keys(client: ntapi.Client) -> None:
    client.args = [ntapi.retry(AT_ONCE), ntapi.idempotency_key()]
    args = failing(2)
    assert client.send("fail-first", args, ntapi.json({})).metrics.retries == 2
    seen = client.send("seen", args[0]).json()["requests"]
    keys = {request["header"]["idempotency-key"] for request in seen}
    assert len(seen) == 3
    assert len(keys) == 1
    assert len(keys.pop()) == 36
    # An idempotent request needs no key.
    assert "idempotency-key" not in client.send("echo").json()["header"]
    mine = client.send("echo", ntapi.form("a", 1), ntapi.idempotency_key("order-7"))
    assert mine.json()["header"]["idempotency-key"] == "order-7"
    assert ntapi.idempotency_key(None).is_suppressed
    assert repr(ntapi.idempotency_key()) == "<ntapi.Arg idempotencyKey()>"
    with pytest.raises(ntapi.ApiError, match="the idempotency key is empty"):
        client.send("echo", ntapi.idempotency_key(""))


def test_policies() -> None:
    policy = ntapi.RetryPolicy(attempts=2, cap=float("inf"), statuses=[503, 429])
    assert policy == ntapi.RetryPolicy(attempts=2, cap=float("inf"), statuses={429, 503})
    assert policy.as_json()["statuses"] == [429, 503]
    assert {ntapi.retry(policy), ntapi.retry(policy)} == {ntapi.retry(policy)}
    assert ntapi.RetryPolicy().as_json() == {
        "attempts": 4,
        "base": 0.5,
        "cap": 30,
        "maximum_retry_after": 60,
        "statuses": [408, 425, 429, 500, 502, 503, 504],
        "network_errors": True,
        "budget": 0,
        "budget_minimum": 3,
    }
    named = ntapi.RetryPolicy(budget=0.2, attempt_header="X-Try").as_json()
    assert (named["budget"], named["attempt_header"]) == (0.2, "X-Try")
    assert repr(ntapi.retry(False)) == "<ntapi.Arg retry(never)>"
    assert ntapi.retry(None).is_suppressed
    wrong: Any = 3
    with pytest.raises(TypeError, match="a RetryPolicy or a boolean"):
        ntapi.retry(wrong)
    for bad in (
        {"attempts": 0},
        {"base": -1},
        {"statuses": [200]},
        {"maximum_retry_after": -1},
        {"budget": 1.5},
        {"budget": float("nan")},
        {"budget_minimum": -1},
    ):
        arguments: Any = bad
        with pytest.raises(ValueError, match=next(iter(bad))):
            ntapi.RetryPolicy(**arguments)


def test_as_setting_and_default(servers: dict[str, str]) -> None:
    configuration = ntapi.SessionConfiguration.ephemeral(retry=AT_ONCE, maximum_connections=8)
    with ntapi.Client(servers["fault"], configuration=configuration) as client:
        assert client.send("fail-first", failing(2)).metrics.retries == 2
        with pytest.raises(ntapi.ApiError):
            client.send("fail-first", failing(2), ntapi.retry(False))

    class Patient(ntapi.Client):
        pass

    Patient.set_default("retry", AT_ONCE)
    with Patient(servers["fault"]) as patient:
        assert patient.get_default("retry")["attempts"] == 3
        assert patient.send("fail-first", failing(1)).metrics.retries >= 0
        patient.set_default("retry", {"attempts": "many"})
        with pytest.raises(ntapi.ApiError, match=r"the default retry is .*: attempts: it is"):
            patient.send("echo")


def test_the_program_decides(client: ntapi.Client) -> None:
    asked = []

    def decide(decision: ntapi.Decision) -> None:
        assert decision.kind is ntapi.DecisionKind.RETRY
        assert decision.response is not None
        asked.append((decision.attempt, decision.wait, decision.response.json()["count"]))
        assert decision.retry(0)
        assert not decision.retry(0)

    args = [*failing(2, 409), ntapi.retry(AT_ONCE), ntapi.decision_thread(ntapi.BACKGROUND)]
    client.decision_kinds = ntapi.DecisionKind.RETRY
    request = client.begin("fail-first", args, decision_handler=decide)
    assert request.wait(PATIENCE)
    assert request.response is not None
    assert request.response.error is None
    assert asked == [(1, None, 1), (2, None, 2)]


def test_a_request_waits_for_its_turn(client: ntapi.Client, clock: ManualClock) -> None:
    limiter = ntapi.RateLimiter(1, seconds=10)
    client.rate_limiter = limiter
    assert client.rate_limiter is limiter
    assert client.send("echo").metrics.queued < 10
    driver = drive(clock, 1)
    assert client.send("echo").metrics.queued >= 10
    driver.join()
    with pytest.raises(ntapi.ApiError, match="the rate limit of 1 request in 10 s") as caught:
        client.send("echo", ntapi.timeout(5, "total"))
    assert caught.value.code is codes.TIMEOUT
    request = client.begin("echo", ntapi.response_thread(ntapi.BACKGROUND))
    assert limiter.waiting == 1
    assert request.suspend()
    request.cancel()
    assert request.wait(PATIENCE)
    assert limiter.waiting == 0
    limiter.pause(1000)
    client.rate_limiter = None
    assert client.send("echo", ntapi.rate_limiter(None)).status == 200
    with pytest.raises(ntapi.ApiError, match="the rate limit of 1 request in 10 s"):
        client.send("echo", ntapi.rate_limiter(limiter), ntapi.timeout(5, "total"))


def test_limiter_and_authenticator_are_given_at_once() -> None:
    stub = Stub()
    stub.on(
        "GET", "echo", where=lambda request: request.headers["Authorization"] == "Bearer t"
    ).answer(503).answer()
    limiter = ntapi.RateLimiter(1000)
    authenticator = ntapi.Authenticator(lambda _: None, token="t")
    with ntapi.Client(
        "http://a",
        args=ntapi.retry(AT_ONCE),
        authenticator=authenticator,
        rate_limiter=limiter,
        stub=stub,
    ) as client:
        assert client.authenticator is authenticator
        assert client.rate_limiter is limiter
        assert client.send("echo").metrics.retries == 1


def test_bad_limits(client: ntapi.Client) -> None:
    for requests, seconds, burst in [(0, 1, 1), (1, 0, 1), (1, 1, 0)]:
        with pytest.raises(ValueError, match="make no sense"):
            ntapi.RateLimiter(requests, seconds, burst=burst)
    with pytest.raises(ValueError, match="maximum_pause"):
        ntapi.RateLimiter(1, maximum_pause=-1)
    wrong: Any = 5
    with pytest.raises(TypeError, match="a RateLimiter or None"):
        client.rate_limiter = wrong
    with pytest.raises(TypeError, match="a RateLimiter or None"):
        ntapi.rate_limiter(wrong)
    client.set_default("rateLimit", {"requests": 0})
    with pytest.raises(ntapi.ApiError, match="the default rateLimit is"):
        client.send("echo")
