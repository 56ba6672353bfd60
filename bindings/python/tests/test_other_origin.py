"""What a client sends of its own to a URL that a server has named."""

from __future__ import annotations

import pytest

import ntapi

SECRET = "s3cret"
OWN = [
    ntapi.url("appid", SECRET),
    ntapi.url("units", "metric"),
    ntapi.bearer(SECRET),
    ntapi.header("X-Mine", SECRET).secret(),
]


@pytest.fixture
def client(servers: dict[str, str]) -> ntapi.Client:
    client = ntapi.Client(servers["fault"], args=OWN)
    client.set_default("additionalHeaders", {"X-Api-Key": SECRET, "X-App": "plain"})
    return client


def next_page(client: ntapi.Client, target: str) -> ntapi.Arg:
    page = client.send("headers", ntapi.url("Link", f"<{target}>; rel=next"))
    return ntapi.base_url(page.link("next"))


def test_another_origin_gets_no_secrets(client: ntapi.Client, servers: dict[str, str]) -> None:
    other = next_page(client, servers["fault_other"] + "/echo?page=2")
    response = client.send(other)
    seen = response.json()
    assert seen["listener"] == "fault_other"
    assert seen["target"] == "/echo?page=2&units=metric"
    assert seen["header"]["x-app"] == "plain"
    assert SECRET not in response.text
    seen = client.send(other, ntapi.bearer("mine")).json()
    assert seen["header"]["authorization"] == "Bearer mine"


def test_the_own_origin_gets_all_once(client: ntapi.Client) -> None:
    target = f"/echo?appid={SECRET}&page=2&units=metric"
    seen = client.send(next_page(client, target)).json()
    assert seen["target"] == target
    assert seen["header"]["authorization"] == f"Bearer {SECRET}"
    assert seen["header"]["x-mine"] == seen["header"]["x-api-key"] == SECRET
