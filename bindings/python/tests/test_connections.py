"""The limit of connections per host, as nginx sees it: with HTTP/2 and without."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import SessionConfiguration, codes

COUNT = 100


def connections(log: str, name: str) -> list[str]:
    """The connection of each request with that name, from nginx's log."""
    lines = Path(log).read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if name in line]


def seen_by_server(servers: dict[str, str], name: str, count: int) -> list[str]:
    """Waits until there are this many: nginx writes a line only after it has answered."""
    with ntapi.Client(servers["nginx"]) as client:
        for _ in range(1000):
            if len(connections(servers["nginx_log"], name)) >= count:
                break
            client.send("ping")
    return connections(servers["nginx_log"], name)


def limited(client: ntapi.Client | ntapi.AsyncClient, servers: dict[str, str], limit: int) -> None:
    client.set_default("caFile", servers["ca"])
    client.set_default("maximumConnectionsPerHost", limit)


def test_a_hundred_share_one_connection(servers: dict[str, str]) -> None:
    name = f"py-{uuid4()}"

    async def main() -> None:
        async with ntapi.AsyncClient(servers["nginx_tls"]) as client:
            limited(client, servers, 1)
            # The server answers none before all hundred have come.
            args = [ntapi.url("name", name), ntapi.url("for", COUNT)]
            responses = await asyncio.gather(*(client.send("gate", args) for _ in range(COUNT)))
            assert {response.metrics.http_version for response in responses} == {2.0}
            assert len({response.headers["X-Connection"] for response in responses}) == 1

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    seen = seen_by_server(servers, name, COUNT)
    assert len(seen) == COUNT
    assert len(set(seen)) == 1


def test_a_sessions_limit_holds(servers: dict[str, str]) -> None:
    name = f"py-{uuid4()}"
    configuration = ntapi.SessionConfiguration.ephemeral(
        proxy="", ca_file=servers["ca"], maximum_connections_per_host=4
    )
    with ntapi.Client(servers["nginx_tls1"], configuration=configuration) as client:
        # The server answers four at a time, so less than four connections would hang.
        args = [ntapi.url("name", name), ntapi.url("for", 4)]
        requests = [client.begin("gate", args) for _ in range(COUNT)]
        assert all(request.wait(PATIENCE) for request in requests)
    seen = seen_by_server(servers, name, COUNT)
    assert (len(seen), len(set(seen))) == (COUNT, 4)


def test_those_of_higher_priority_go_first(servers: dict[str, str]) -> None:
    configuration = ntapi.SessionConfiguration.ephemeral(proxy="", maximum_connections_per_host=1)
    with ntapi.Client(servers["fault"], configuration=configuration) as client:
        token = uuid4().hex
        first = client.begin("hold")
        requests = []
        for number, priority in enumerate([0.2, 0.9, 0.5, 0.9]):
            args = [ntapi.url("token", token), ntapi.url("n", number)]
            request = client.create_request("record", args)
            request.priority = priority
            request.resume()
            requests.append(request)
        first.cancel()
        assert all(request.wait(PATIENCE) for request in requests)
        seen = client.send("seen", ntapi.url("token", token)).json()["requests"]
    assert [request["args"]["n"] for request in seen] == ["1", "3", "2", "0"]


def test_without_http2_the_limit_holds(servers: dict[str, str]) -> None:
    name = f"py-{uuid4()}"
    with ntapi.Client(servers["nginx_tls1"]) as client:
        limited(client, servers, 4)
        args = [ntapi.url("name", name), ntapi.response_thread(ntapi.BACKGROUND)]
        requests = [client.begin("ping", args, lambda response: None) for _ in range(COUNT)]
        for request in requests:
            assert request.wait(PATIENCE)
        assert client.perform("ping", args).status == 200
    seen = seen_by_server(servers, name, COUNT + 1)
    assert len(seen) == COUNT + 1
    assert len(set(seen)) <= 4


def test_nobody_waits_for_a_connection_without_http2(servers: dict[str, str]) -> None:
    """The server answers when all requests have come."""
    name = f"py-tls1-{uuid4()}"

    async def main() -> None:
        async with ntapi.AsyncClient(servers["nginx_tls1"]) as client:
            limited(client, servers, 64)
            args = [ntapi.url("name", name), ntapi.url("for", 4)]
            responses = await asyncio.gather(*(client.send("gate", args) for _ in range(4)))
            assert len({response.headers["X-Connection"] for response in responses}) == 4

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_plain_http_does_not_go_over_tls(servers: dict[str, str]) -> None:
    """Each scheme has connections of its own, to the same port, too."""
    with ntapi.Client(servers["fault_tls"]) as client:
        client.set_default("caFile", servers["ca"])
        for _ in range(3):
            assert client.send("echo").status == 200
            plain = client.perform("echo", ntapi.base_url(servers["plain_to_tls"] + "/echo"))
            assert plain.error is not None
            assert plain.error.code is codes.NETWORK


@pytest.mark.parametrize("server", ["fault", "fault_tls"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_came_unasked_is_no_answer(servers: dict[str, str], server: str, method: str) -> None:
    """What a server sends on an idle connection is not taken for an answer."""
    settings = SessionConfiguration.ephemeral(ca_file=servers["ca"], proxy="")
    token = ntapi.url("token", uuid4().hex)
    with ntapi.Client(servers[server], configuration=settings) as client:
        first = client.send("unasked-later", token).json()
        with ntapi.Client(servers["fault_other"]) as other:
            other.send("unasked-now", token)
        following = client.send("echo", ntapi.method(method)).json()
    assert following["method"] == method
    assert following["connection"] != first["connection"]


@pytest.mark.parametrize(
    ("server", "command"),
    [
        *(("fault_tls", f"status/{status}") for status in (302, 403, 404, 500)),
        *(("nginx_tls", str(status)) for status in (404, 500)),
    ],
)
def test_digest_without_a_body_leaves_bodies_alone(
    servers: dict[str, str], server: str, command: str
) -> None:
    """libcurl before 8.9 remembers on the connection that the first request has asked for a
    challenge, and would send the next ones without their bodies.
    """
    with ntapi.Client(servers[server]) as client, ntapi.Client(servers[server]) as other:
        for each in (client, other):
            each.set_default("caFile", servers["ca"])
        status = client.perform(
            command, ntapi.method("POST"), ntapi.digest_auth("ann", "pw")
        ).status
        assert command.endswith(str(status))
        for body in ("{}", "x" * 200_000) * 2:
            seen = other.post("echo", ntapi.data(body.encode(), "text/plain")).json()
            assert seen["body"] == body
