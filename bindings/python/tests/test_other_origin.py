"""Which of its headers and secrets a client sends to a URL that a server has named."""

from __future__ import annotations

from typing import Any

import pytest

import ntapi
from ntapi.testing import Stub

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


class Leaving(ntapi.Client):
    """A client whose hook sends its requests elsewhere."""

    other = ""

    def build_args(self, command: str, args: list[ntapi.Arg]) -> None:
        args.append(ntapi.base_url(self.other))


def test_a_hook_sends_no_secrets_to_another_origin(servers: dict[str, str]) -> None:
    client = Leaving(servers["fault"], args=OWN)
    client.other = servers["fault_other"] + "/echo"
    response = client.send("echo")
    assert response.json()["target"] == "/echo?units=metric"
    assert SECRET not in response.text


def test_the_own_origin_gets_all_once(client: ntapi.Client) -> None:
    target = f"/echo?appid={SECRET}&page=2&units=metric"
    seen = client.send(next_page(client, target)).json()
    assert seen["target"] == target
    assert seen["header"]["authorization"] == f"Bearer {SECRET}"
    assert seen["header"]["x-mine"] == seen["header"]["x-api-key"] == SECRET


@pytest.mark.parametrize("make", [ntapi.call_interceptor, ntapi.attempt_interceptor])
def test_an_interceptor_takes_nothing_along(
    client: ntapi.Client, servers: dict[str, str], make: Any
) -> None:
    def leave(call: ntapi.InterceptedCall) -> None:
        call.request.headers["X-Secret"] = SECRET
        call.request.url = servers["fault_other"] + "/echo"
        call.request.headers["X-Other-Token"] = "its own"

    own = (ntapi.header("Cookie", f"a={SECRET}"), ntapi.header("X-Api-Key", SECRET))
    response = client.send("echo", *own, ntapi.interceptor(make(leave)))
    seen = response.json()
    assert seen["listener"] == "fault_other"
    assert seen["header"]["x-other-token"] == "its own"
    assert seen["header"]["x-app"] == "plain"
    assert SECRET not in response.text


def test_a_hook_takes_nothing_along(servers: dict[str, str]) -> None:
    class Moving(ntapi.Client):
        def build_request(self, request: ntapi.HTTPRequest) -> None:
            request.url = servers["fault_other"] + "/echo"

    with Moving(servers["fault"], args=OWN) as client:
        response = client.send("echo")
    assert response.json()["listener"] == "fault_other"
    assert SECRET not in response.text


@pytest.mark.parametrize(
    ("server", "is_shown"),
    [("tls_asking", True), ("tls_asking_other", False), ("tls_asking_named", True)],
)
def test_a_client_certificate_is_for_its_origins(
    servers: dict[str, str], server: str, is_shown: bool
) -> None:
    configuration = ntapi.SessionConfiguration(
        ntapi.SessionKind.EPHEMERAL,
        ca_file=servers["ca"],
        client_certificate=servers["client_cert"],
        client_key=servers["client_key"],
        client_certificate_origins=[servers["tls_asking_named"]],
    )
    target = servers[server] + "/echo"
    with ntapi.Client(servers["tls_asking"], configuration=configuration) as client:
        seen = client.send("redirect/to", ntapi.url("url", target)).json()
        assert (seen["listener"], seen["certificate"]) == (server, is_shown)
        seen = client.send(ntapi.base_url(target)).json()
        assert (seen["listener"], seen["certificate"]) == (server, is_shown)


@pytest.mark.parametrize(
    "location",
    [
        "///b.test",
        "///a/../b.test/c",
        "///example.org/../path",
        "//",
        "http:///b.test",
        "http:/b.test",
    ],
)
def test_a_location_without_a_host_leads_nowhere(location: str) -> None:
    stub = Stub()
    stub.on("GET", "/x").answer(
        302, headers={"Location": location, "Link": f"<{location}>; rel=next"}
    )
    with ntapi.Client("http://a.test", stub=stub) as client:
        response = client.perform("x")
    assert response.error is not None
    assert response.link("next") is None
    assert len(stub.requests) == 1
