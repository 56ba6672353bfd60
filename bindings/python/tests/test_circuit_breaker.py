"""Requests that are not sent because their server fails."""

from __future__ import annotations

from typing import Any

import pytest

import ntapi
from ntapi import codes
from ntapi.testing import ManualClock


def session(url: str, policy: Any, clock: ManualClock) -> ntapi.Client:
    configuration = ntapi.SessionConfiguration.ephemeral(proxy="", circuit_breaker=policy)
    return ntapi.Client(url, configuration=configuration, clock=clock)


def test_a_server_that_fails_is_left_alone(servers: dict[str, str]) -> None:
    clock = ManualClock()
    policy = {"minimum_calls": 2, "open_seconds": 30, "probes": 1}
    with session(servers["fault"], policy, clock) as client:
        for _ in range(2):
            assert client.perform("status/503").status == 503
        with pytest.raises(ntapi.ApiError, match="2 of the last 2 requests failed") as caught:
            client.send("status/200")
        assert caught.value.code is codes.CIRCUIT_OPEN
        assert caught.value.domain is ntapi.ErrorDomain.NETWORK
        assert caught.value.retryable
        assert caught.value.retry_after == 30
        clock.advance(30)
        for _ in range(3):
            assert client.send("status/200").status == 200


def test_settings(servers: dict[str, str]) -> None:
    with session(servers["fault"], {"probes": 0}, ManualClock()) as client:
        with pytest.raises(ntapi.ApiError, match=r"the default circuitBreaker is .*: probes is 0"):
            client.send("status/200")
        client.set_default("circuitBreaker", True)
        assert client.send("status/200").status == 200
