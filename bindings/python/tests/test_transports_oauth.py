"""Libraries that get tokens and sign requests, over NTApi. Each scenario runs with the stock
transport and with ours: a program sees the same, and so does the service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import ntapi.transports
from conftest import PATIENCE
from transport_service import SIDES, Service, running

requests = pytest.importorskip("requests")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service that gives tokens, over HTTP without TLS."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    with running() as started:
        yield started


def over(session: Any, is_ours: bool) -> Any:
    """A session of requests, perhaps with our adapter."""
    session.trust_env = False
    if is_ours:
        session.mount("http://", ntapi.transports.RequestsAdapter())
    return session


SCENARIOS = {
    "token and data": ("/token", "/data"),
    "token withdrawn": ("/token", "/data-again"),
    "token refused": ("/token-refused", "/data"),
    "no token": ("/closed", "/data"),
    "no data": ("/token-once", "/closed"),
}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_google_auth(service: Service, scenario: str) -> None:
    google = pytest.importorskip("google.auth.transport.requests")
    oauth2 = pytest.importorskip("google.oauth2.credentials")
    token, data = SCENARIOS[scenario]
    seen = []
    for is_ours in SIDES:
        credentials = oauth2.Credentials(
            None,
            refresh_token="r",
            token_uri=service.url + token,
            client_id="id",
            client_secret="secret",
        )
        refreshing = over(requests.Session(), is_ours)
        # google.auth would wait between attempts of the token's endpoint.
        with over(
            google.AuthorizedSession(credentials, auth_request=google.Request(refreshing)), is_ours
        ) as session:
            seen.append((outcome(session, service.url + data), service.part()))
        refreshing.close()
    assert seen[0] == seen[1]
    assert ("Error" in str(seen[0][0])) == (scenario not in ("token and data", "token withdrawn"))


def outcome(session: Any, url: str) -> Any:
    """What a program sees of a request with a token."""
    try:
        response = session.get(url, timeout=PATIENCE)
    except Exception as error:
        return type(error).__name__
    return response.status_code, response.json()


def old(token: Any) -> Any:
    """A token that has to be refreshed."""
    return {**token, "expires_at": 1, "expires_in": -1}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_authlib_with_requests(service: Service, scenario: str) -> None:
    authlib = pytest.importorskip("authlib.integrations.requests_client")
    token, data = SCENARIOS[scenario]
    seen = []
    for is_ours in SIDES:
        updated: list[Any] = []
        own = authlib.OAuth2Session(
            "id",
            "secret",
            token_endpoint=service.url + token,
            update_token=lambda new, updated=updated, **_: updated.append(new["access_token"]),
        )
        with over(own, is_ours) as session:
            try:
                first = session.fetch_token(timeout=PATIENCE)
            except Exception as error:
                seen.append((type(error).__name__, service.part()))
                continue
            called = outcome(session, service.url + data)
            session.token = old(first)
            seen.append((called, outcome(session, service.url + data), updated, service.part()))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("kind", ["blocking", "async"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_authlib_with_httpx2(service: Service, scenario: str, kind: str) -> None:
    authlib = pytest.importorskip("authlib.integrations.httpx_client")
    token, data = SCENARIOS[scenario]
    is_async = kind == "async"
    client_class = authlib.AsyncOAuth2Client if is_async else authlib.OAuth2Client
    transport_class = ntapi.transports.AsyncHTTPX2 if is_async else ntapi.transports.HTTPX2

    async def conversation(is_ours: bool, wait: Any) -> Any:
        """Awaits only what the library gives, so it runs with both clients."""
        updated: list[Any] = []
        options = {"transport": transport_class()} if is_ours else {"trust_env": False}
        client = client_class(
            "id",
            "secret",
            token_endpoint=service.url + token,
            update_token=keep(updated, is_async),
            timeout=PATIENCE,
            **options,
        )
        results = []
        try:
            first = await wait(client.fetch_token())
            results.append((await wait(client.get(service.url + data))).status_code)
            client.token = old(first)
            results.append((await wait(client.get(service.url + data))).json())
        except Exception as error:
            results.append(type(error).__name__)
        finally:
            await wait(client.aclose() if is_async else client.close())
        return results, updated, service.part()

    async def now(value: Any) -> Any:
        return value

    async def later(value: Any) -> Any:
        return await value

    seen = [asyncio.run(conversation(is_ours, later if is_async else now)) for is_ours in SIDES]
    assert seen[0] == seen[1]


def keep(updated: list[Any], is_async: bool) -> Any:
    """The callback that authlib gives a new token to."""

    def note(token: Any, **_: Any) -> None:
        updated.append(token["access_token"])

    async def note_async(token: Any, **_: Any) -> None:
        updated.append(token["access_token"])

    return note_async if is_async else note


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_requests_oauthlib(service: Service, scenario: str) -> None:
    oauthlib = pytest.importorskip("requests_oauthlib")
    clients = pytest.importorskip("oauthlib.oauth2")
    token, data = SCENARIOS[scenario]
    seen = []
    for is_ours in SIDES:
        updated: list[Any] = []
        own = oauthlib.OAuth2Session(
            client=clients.BackendApplicationClient("id"),
            auto_refresh_url=service.url + token,
            auto_refresh_kwargs={"client_id": "id", "client_secret": "secret"},
            token_updater=lambda new, updated=updated: updated.append(new["access_token"]),
        )
        with over(own, is_ours) as session:
            try:
                first = session.fetch_token(service.url + token, client_secret="secret")
            except Exception as error:
                seen.append((type(error).__name__, service.part()))
                continue
            called = outcome(session, service.url + data)
            session.token = old(first)
            seen.append((called, outcome(session, service.url + data), updated, service.part()))
    assert seen[0] == seen[1]


def test_requests_aws4auth(moto: tuple[str, str, str]) -> None:
    aws4auth = pytest.importorskip("requests_aws4auth")
    url, key, secret = moto

    def conversation(session: Any, name: str, auth: Any) -> list[Any]:
        bucket = f"{url}/{name}"
        content = bytes(range(256)) * 20
        answers = [
            session.put(bucket, auth=auth),
            session.put(f"{bucket}/a b/ü.bin", data=content, auth=auth),
            session.get(f"{bucket}/a b/ü.bin", auth=auth),
            session.get(bucket, params={"list-type": "2", "prefix": "a"}, auth=auth),
            session.delete(f"{bucket}/a b/ü.bin", auth=auth),
            session.get(f"{bucket}/a b/ü.bin", auth=auth),
        ]
        return [
            (each.status_code, each.headers.get("Content-Type"), len(each.content))
            for each in answers
        ]

    right = aws4auth.AWS4Auth(key, secret, "us-east-1", "s3")
    wrong = aws4auth.AWS4Auth(key, "wrong", "us-east-1", "s3")
    seen = []
    for is_ours, letter in zip(SIDES, "ab"):
        with over(requests.Session(), is_ours) as session:
            # Names of the same length, so that the answers have the same length, too.
            accepted = conversation(session, f"bucket-{letter}", right)
            refused = session.get(f"{url}/bucket-{letter}", auth=wrong)
            seen.append(
                (accepted, refused.status_code, b"SignatureDoesNotMatch" in refused.content)
            )
    assert seen[0] == seen[1]
    assert [each[0] for each in seen[0][0]] == [200, 200, 200, 200, 204, 404]
    assert seen[0][1:] == (403, True)
