"""The tables of docs/transports.md: the versions are those that are tested, and each SDK accepts
the client that its line has.
"""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any

import pytest

import ntapi.transports
from conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "transports.md").read_text()
REQUIREMENTS = [
    REPOSITORY / "Tests" / folder / "requirements.txt" for folder in ("tools", "servers")
]
NAMED = re.compile(r"\b([A-Za-z][\w-]*) (\d+\.\d+[\w.]*)")


def tried() -> list[tuple[str, str]]:
    """The names and versions in the first column of the tables."""
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    return sorted({named for row in rows for named in NAMED.findall(row)})


def test_the_versions_are_pinned() -> None:
    lines = [line for path in REQUIREMENTS for line in path.read_text().splitlines()]
    pinned = dict(line.partition(";")[0].split("==") for line in lines if "==" in line)
    named = tried()
    assert len(named) >= 18
    assert named == [(name, pinned.get(name, "not pinned")) for name, _ in named]


@pytest.mark.parametrize(("name", "tested"), tried())
def test_the_versions_are_tested(name: str, tested: str) -> None:
    pytest.importorskip("anthropic", reason="the SDKs are not installed")
    assert version(name) == tested


def clients(name: str) -> tuple[Any, Any]:
    """A blocking and an async client of httpx or httpx2 over NTApi."""
    library = pytest.importorskip(name)
    blocking = getattr(ntapi.transports, name.upper())
    asynchronous = getattr(ntapi.transports, f"Async{name.upper()}")
    return (
        library.Client(transport=blocking()),
        library.AsyncClient(transport=asynchronous()),
    )


def test_anthropic_accepts_clients_of_httpx2_alone() -> None:
    anthropic = pytest.importorskip("anthropic")
    for kind, accepted, refused in zip(
        (anthropic.Anthropic, anthropic.AsyncAnthropic), clients("httpx2"), clients("httpx")
    ):
        assert kind(api_key="k", http_client=accepted)
        with pytest.raises(TypeError, match="httpx2"):
            kind(api_key="k", http_client=refused)


def test_openai_accepts_clients_of_both() -> None:
    openai = pytest.importorskip("openai")
    for name in ("httpx2", "httpx"):
        blocking, asynchronous = clients(name)
        assert openai.OpenAI(api_key="k", http_client=blocking)
        assert openai.AsyncOpenAI(api_key="k", http_client=asynchronous)
        with pytest.raises(TypeError, match="http_client"):
            openai.OpenAI(api_key="k", http_client=asynchronous)


def test_what_the_others_are() -> None:
    httpx2 = pytest.importorskip("httpx2")
    requests = pytest.importorskip("requests")
    adapters = pytest.importorskip("requests.adapters")
    of_httpx2 = pytest.importorskip("authlib.integrations.httpx_client")
    of_requests = pytest.importorskip("authlib.integrations.requests_client")
    assert issubclass(of_httpx2.OAuth2Client, httpx2.Client)
    assert issubclass(of_httpx2.AsyncOAuth2Client, httpx2.AsyncClient)
    google = pytest.importorskip("google.auth.transport.requests")
    oauthlib = pytest.importorskip("requests_oauthlib")
    for kind in (of_requests.OAuth2Session, google.AuthorizedSession, oauthlib.OAuth2Session):
        assert issubclass(kind, requests.Session)
    stripe = pytest.importorskip("stripe")
    assert issubclass(ntapi.transports.StripeHTTPClient, stripe.HTTPClient)
    hishel = pytest.importorskip("hishel.requests")
    # It is the stock adapter, with a cache.
    assert issubclass(hishel.CacheAdapter, adapters.HTTPAdapter)
