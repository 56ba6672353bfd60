"""Session configurations: each setting reaches the core."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Optional
from uuid import uuid4

import pytest

import ntapi
from ntapi import SessionConfiguration, SessionKind, codes

OTHER_PIN = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


class Sessions:
    """Makes clients for the test servers, which ignore proxies of the environment and trust the
    test CA.
    """

    def __init__(self, servers: dict[str, str]) -> None:
        self.servers = servers

    def client(self, server: str, **settings: Any) -> ntapi.Client:
        usual = {"proxy": "", "ca_file": self.servers["ca"]}
        configuration = SessionConfiguration.ephemeral(**{**usual, **settings})
        return ntapi.Client(
            self.servers[server], configuration=configuration, log_flags=ntapi.LogFlags.NONE
        )

    def code(self, server: str, command: str, **settings: Any) -> Optional[ntapi.ErrorCode]:
        with self.client(server, **settings) as client:
            error = client.perform(command).error
        return None if error is None else error.code


@pytest.fixture
def sessions(servers: dict[str, str]) -> Sessions:
    return Sessions(servers)


def test_kinds() -> None:
    assert SessionConfiguration().kind is SessionKind.DEFAULT
    assert SessionConfiguration.default().kind is SessionKind.DEFAULT
    assert SessionConfiguration.ephemeral().kind is SessionKind.EPHEMERAL
    background = SessionConfiguration.background("uploads", request_timeout=5)
    assert background.kind is SessionKind.BACKGROUND
    assert background.identifier == "uploads"
    assert background.request_timeout == background["requestTimeout"] == 5
    assert "uploads" in repr(background)
    for wrong in [(SessionKind.NONE, None), (SessionKind.BACKGROUND, None)]:
        with pytest.raises(ValueError, match="session"):
            SessionConfiguration(*wrong)
    with pytest.raises(ValueError, match="identifier"):
        SessionConfiguration(SessionKind.DEFAULT, "named")


def test_mistyped_settings_are_refused() -> None:
    with pytest.raises(TypeError, match="proxxy"):
        SessionConfiguration(proxxy="")  # type: ignore[call-arg]
    configuration = SessionConfiguration()
    with pytest.raises(AttributeError, match="proxxy"):
        configuration.proxxy = ""  # type: ignore[attr-defined]


def test_secrets_are_not_shown() -> None:
    configuration = SessionConfiguration(password="s3cr3t", user="ann")
    assert "s3cr3t" not in repr(configuration)
    assert list(configuration) == ["password", "user"]


def test_is_copied(sessions: Sessions) -> None:
    configuration = SessionConfiguration.ephemeral(user_agent="first/1", proxy="")
    configuration["appid"] = "mine"
    with ntapi.Client(sessions.servers["fault"], configuration=configuration) as client:
        configuration.user_agent = "second/2"
        configuration["appid"] = None
        assert client.send("echo").json()["header"]["user-agent"] == "first/1"
        assert client.get_default("appid") == "mine"


def test_what_is_sent(sessions: Sessions) -> None:
    settings: dict[str, Any] = {
        "additional_headers": {"X-One": "1", "X-Two": ["a", "b"]},
        "user_agent": "session/1",
        "network_interface": "host!127.0.0.2",
        "decompression": False,
    }
    with sessions.client("fault", **settings) as client:
        seen = client.send("echo").json()
    assert seen["header"]["x-one"] == "1"
    assert seen["header"]["x-two"] == "a, b"
    assert seen["header"]["user-agent"] == "session/1"
    assert seen["peer"] == "127.0.0.2"
    assert "accept-encoding" not in seen["header"]


@pytest.mark.parametrize(
    ("setting", "value", "server", "command", "code"),
    [
        ("request_timeout", 0.1, "fault", "hold", codes.TIMEOUT),
        ("resource_timeout", 0.1, "fault", "hold", codes.TIMEOUT),
        ("attempt_timeout", 0.1, "fault", "hold", codes.TIMEOUT),
        ("connect_timeout", 0.1, "blackhole", "", codes.TIMEOUT),
        ("maximum_redirects", 1, "fault", "chain/2", codes.TOO_MANY_REDIRECTS),
        ("maximum_response_size", 100, "fault", "ok?size=1000", codes.RESPONSE_TOO_LARGE),
        ("maximum_connections", 0, "fault", "ok", codes.INVALID_REQUEST),
        ("maximum_connections_per_host", 0, "fault", "ok", codes.INVALID_REQUEST),
        ("maximum_connections_per_host", 1, "fault", "ok", None),
        ("http_version", "7", "fault", "ok", codes.INVALID_REQUEST),
        ("http_version", "1.0", "fault", "ok", None),
        ("cache_policy", "never", "fault", "ok", codes.INVALID_REQUEST),
        ("cache_policy", ntapi.CachePolicy.RELOAD_REVALIDATING, "fault", "ok", None),
        ("password", "without a user", "fault", "ok", codes.INVALID_REQUEST),
        ("user", "ann", "fault", "ok", None),
        ("tls_minimum_version", "1.3", "tls_client", "ok", codes.TLS),
        ("tls_minimum_version", "1.3", "fault_tls", "ok", None),
        ("ca_file", None, "fault_tls", "ok", codes.TLS),
        ("pinned_public_keys", [OTHER_PIN], "fault_tls", "ok", codes.TLS),
    ],
)
def test_effects(
    sessions: Sessions, setting: str, value: Any, server: str, command: str, code: Any
) -> None:
    assert sessions.code(server, command, **{setting: value}) is code


@pytest.mark.parametrize(
    ("setting", "name", "server"),
    [
        ("request_timeout", "idle", "fault"),
        ("resource_timeout", "total", "fault"),
        ("attempt_timeout", "attempt", "fault"),
        ("connect_timeout", "connect", "blackhole"),
    ],
)
def test_the_clock_that_ran_out_is_named(
    sessions: Sessions, setting: str, name: str, server: str
) -> None:
    with sessions.client(server, **{setting: 0.1}) as client:
        error = client.perform("hold").error
    assert error is not None
    assert f"({name} timeout" in error.message


def test_credentials(sessions: Sessions) -> None:
    def status(**settings: Any) -> int:
        with sessions.client("nginx", **settings) as client:
            return client.perform("auth/small.json").status

    assert status(user="user", password="pässword") == 200
    assert status(user="user", password="password") == 401
    assert status() == 401


@pytest.mark.parametrize(
    ("version", "protocol"),
    [("1.0", "HTTP/1.0"), ("1.1", "HTTP/1.1"), ("2", "HTTP/2.0"), (None, "HTTP/2.0")],
)
def test_http_version(sessions: Sessions, version: Optional[str], protocol: str) -> None:
    with sessions.client("nginx_tls", http_version=version) as client:
        assert client.send("ping").headers["X-Protocol"] == protocol


def test_sessions_share_no_connection(sessions: Sessions) -> None:
    def connection(client: ntapi.Client) -> int:
        return int(client.send("echo").json()["connection"])

    def of_begun(client: ntapi.Client) -> int:
        request = client.begin("echo", ntapi.response_thread(ntapi.BACKGROUND))
        assert request.wait()
        assert request.response is not None
        return int(request.response.json()["connection"])

    for way in (connection, of_begun):
        with sessions.client("fault") as first, sessions.client("fault") as second:
            plain = ntapi.Client(sessions.servers["fault"])
            other = ntapi.Client(sessions.servers["fault"])
            seen = [way(client) for client in (first, second, plain)]
            assert len(set(seen)) == 3
            assert [way(client) for client in (first, second, other)] == seen


def test_a_closed_session_closes_its_connections(servers: dict[str, str]) -> None:
    code = """
import os, sys, ntapi
def descriptors():
    return len(os.listdir("/proc/self/fd"))
def use(client):
    args = [ntapi.response_thread(ntapi.BACKGROUND), ntapi.url("ms", 20)]
    begun = [client.begin("late", args) for _ in range(5)]
    kept = [client.send("ok")]
    assert all(request.wait() for request in begun)
    return kept + [request.response for request in begun]
def session():
    configuration = ntapi.SessionConfiguration.ephemeral(proxy="")
    return ntapi.Client(sys.argv[1], configuration=configuration)
with session() as client:
    use(client)
client.drain()
# The network thread of all other clients: on a busy machine a timer may start it at any time.
shared = ntapi.Client(sys.argv[1])
assert shared.begin("ok", ntapi.response_thread(ntapi.BACKGROUND)).wait()
before = descriptors()
for end in ("close", "finish_and_invalidate", "invalidate_and_cancel"):
    client = session()
    kept = use(client)
    assert descriptors() > before + 4
    getattr(client, end)()
    assert client.drain() == 0
    assert descriptors() == before, (descriptors(), before)
    assert len(kept) == 6
"""
    command = [sys.executable, "-c", code, servers["fault"]]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_cache_policy(sessions: Sessions) -> None:
    """Sessions share a cache. Counts how often the server was asked."""
    cache = ntapi.Cache()
    args = [ntapi.url("token", uuid4().hex), ntapi.url("h-Cache-Control", "max-age=100")]
    for policy, count in [
        ("protocol", 1),
        ("protocol", 1),
        ("reload_ignoring_cache", 2),
        ("return_cached_else_load", 2),
        ("return_cached_dont_load", 2),
    ]:
        with sessions.client("fault", cache_policy=policy, cache=cache) as client:
            assert client.send("cached", args).json()["count"] == count
    only_cached = {"cache_policy": "return_cached_dont_load", "cache": cache}
    assert sessions.code("fault", "cached", **only_cached) is codes.NOT_CACHED


def test_limits_are_of_all_hosts_together(sessions: Sessions) -> None:
    with sessions.client("fault", maximum_connections=1, queue_timeout=0.1) as client:
        first = client.begin("hold")
        error = client.perform("", ntapi.base_url(sessions.servers["nginx"])).error
        assert error is not None
        assert error.code is codes.TIMEOUT
        assert "queue timeout" in error.message
        first.cancel()


def test_proxies(sessions: Sessions, servers: dict[str, str]) -> None:
    user, _, password = servers["proxy_credentials"].partition(":")
    proxy = {"proxy": servers["proxy_auth"], "proxy_user": user}
    assert sessions.code("fault", "ok", **proxy, proxy_password=password) is None
    assert sessions.code("fault", "ok", **proxy, proxy_password="wrong") is codes.HTTP_ERROR
    nobody = "http://127.0.0.1:9"
    assert sessions.code("fault", "ok", proxy=nobody) is codes.NETWORK
    for exceptions in (["example.test", "127.0.0.1"], ("127.0.0.1",)):
        assert sessions.code("fault", "ok", proxy=nobody, proxy_exceptions=exceptions) is None


def test_certificates(sessions: Sessions, servers: dict[str, str]) -> None:
    shown = {"client_certificate": servers["client_cert"], "client_key": servers["client_key"]}
    assert sessions.code("tls_client", "ok", **shown) is None
    assert sessions.code("tls_client", "ok", **shown, client_key_password="unneeded") is None
    assert sessions.code("tls_client", "ok") is not None
    assert sessions.code("fault_tls", "ok", pinned_public_keys=[OTHER_PIN, servers["pin"]]) is None


def test_a_client_key_with_a_password(
    sessions: Sessions, servers: dict[str, str], tmp_path: Path
) -> None:
    key = str(tmp_path / "locked.key")
    command = ["openssl", "pkcs8", "-topk8", "-in", servers["client_key"], "-out", key]
    subprocess.run([*command, "-passout", "pass:0pen"], check=True)
    shown = {"client_certificate": servers["client_cert"], "client_key": key}
    assert sessions.code("tls_client", "ok", **shown, client_key_password="0pen") is None
    for password in ("shut", None):
        with sessions.client("tls_client", **shown, client_key_password=password) as client:
            error = client.perform("ok").error
        assert error is not None
        assert error.code is codes.TLS
        assert "clientKeyPassword" in error.message


async def fetch(client: ntapi.AsyncClient) -> Any:
    async with client:
        return (await client.send("echo")).json()["header"]["user-agent"]


def test_asyncio(sessions: Sessions) -> None:
    import asyncio

    configuration = SessionConfiguration.ephemeral(user_agent="loop/1", proxy="")

    async def main() -> Any:
        url = sessions.servers["fault"]
        return await fetch(ntapi.AsyncClient(url, configuration=configuration))

    assert asyncio.run(main()) == "loop/1"
