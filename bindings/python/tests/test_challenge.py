"""Challenges of servers and proxies, and the answers to them."""

from __future__ import annotations

import asyncio
from typing import Callable

import pytest

import ntapi
from ntapi import ChallengeKind


def asking(
    url: str, answer: Callable[[ntapi.Decision], object]
) -> tuple[ntapi.Client, list[ntapi.Challenge]]:
    """A client that answers challenges, and the list of its decisions."""
    asked: list[ntapi.Challenge] = []

    class Asking(ntapi.Client):
        decision_kinds = ntapi.DecisionKind.CHALLENGE

        def decide(self, decision: ntapi.Decision) -> None:
            assert decision.challenge is not None
            asked.append(decision.challenge)
            answer(decision)

    return Asking(url), asked


def test_a_server_asks(servers: dict[str, str]) -> None:
    client, asked = asking(
        servers["nginx"],
        lambda decision: decision.use(
            "user", "pässword", persistence=ntapi.Persistence.FOR_SESSION
        ),
    )
    for _ in range(3):
        assert client.send("auth/small.json").status == 200
    assert len(asked) == 1
    challenge = asked[0]
    assert challenge.kind is ChallengeKind.SERVER
    assert challenge.scheme == "Basic"
    assert challenge.realm == "test"
    assert challenge.failures == 0
    assert challenge.certificates == []
    assert repr(challenge).startswith("<ntapi.Challenge SERVER of 127.0.0.1:")


def test_digest_with_a_body(servers: dict[str, str]) -> None:
    client, asked = asking(servers["fault"], lambda decision: decision.use("ann", "pw"))
    args = [ntapi.url("user", "ann"), ntapi.url("password", "pw"), ntapi.form("a", "b")]
    assert client.send("digest/SHA-256", args).json()["body"] == "a=b"
    assert [challenge.scheme for challenge in asked] == ["Digest"]


def test_it_is_asked_again_and_not_for_ever(servers: dict[str, str]) -> None:
    client, asked = asking(servers["nginx"], lambda decision: decision.use("user", "wrong"))
    assert client.perform("auth/small.json").status == 401
    assert [challenge.failures for challenge in asked] == [0, 1]
    client, asked = asking(servers["nginx"], lambda decision: None)
    assert client.perform("auth/small.json").status == 401
    assert len(asked) == 1


def test_wrong_answers(servers: dict[str, str]) -> None:
    def answer(decision: ntapi.Decision) -> None:
        assert not decision.trust()
        assert not decision.use("a:b", "c")
        assert not decision.use("a", "b\n")
        assert not decision.refuse()
        assert decision.use("user", "pässword")
        assert not decision.use("user", "pässword")

    client, _ = asking(servers["nginx"], answer)
    assert client.send("auth/small.json").status == 200


@pytest.mark.parametrize("server", ["fault", "fault_tls"])
def test_a_proxy_asks(servers: dict[str, str], server: str) -> None:
    user, password = servers["proxy_credentials"].split(":")
    client, asked = asking(servers[server], lambda decision: decision.use(user, password))
    client.set_default("proxy", servers["proxy_auth"])
    client.set_default("caFile", servers["ca"])
    assert client.send("echo").status == 200
    assert [challenge.kind for challenge in asked] == [ChallengeKind.PROXY]
    assert asked[0].reason == servers["proxy_auth"]


def test_a_certificate_is_shown(servers: dict[str, str]) -> None:
    client, asked = asking(
        servers["tls_self_signed"], lambda decision: decision.trust(for_session=True)
    )
    for _ in range(3):
        assert client.send("echo").status == 200
    assert len(asked) == 1
    assert asked[0].kind is ChallengeKind.CERTIFICATE
    assert asked[0].certificates[0].startswith("-----BEGIN CERTIFICATE-----")
    assert "certificate" in asked[0].reason
    client, _ = asking(servers["tls_self_signed"], lambda decision: decision.proceed())
    error = client.perform("echo").error
    assert error is not None
    assert error.code is ntapi.codes.TLS


def test_asyncio(servers: dict[str, str]) -> None:
    class Asking(ntapi.AsyncClient):
        decision_kinds = ntapi.DecisionKind.CHALLENGE

        async def decide(self, decision: ntapi.Decision) -> None:
            await asyncio.sleep(0)
            decision.use("user", "pässword")

    async def main() -> None:
        async with Asking(servers["nginx"]) as client:
            assert (await client.send("auth/small.json")).status == 200

    asyncio.run(main())
