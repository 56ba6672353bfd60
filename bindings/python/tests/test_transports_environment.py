"""What requests reads from the environment, and what its session adds after a redirect."""

from __future__ import annotations

from typing import Any

import pytest

import ntapi.transports
from conftest import PATIENCE, run_python
from ntapi.testing import Server, Stub

requests = pytest.importorskip("requests")
urllib3 = pytest.importorskip("urllib3")


@pytest.mark.parametrize("name", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_certificates_of_the_environment_are_no_setting(
    servers: dict[str, str], stub: Stub, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stub.on(None).answer(json=1)
    monkeypatch.setenv(name, servers["ca"])
    with ntapi.Client(stub=stub) as client, requests.Session() as own:
        own.mount("https://", ntapi.transports.RequestsAdapter(client=client))
        assert own.get("https://api.test/a").json() == 1
        with pytest.raises(ValueError, match="settings of the client"):
            own.get("https://api.test/a", verify="/other.pem")


@pytest.mark.parametrize(
    "environment",
    [
        {"ALL_PROXY": "http://proxy.test:1"},
        {"HTTPS_PROXY": "http://proxy.test:1", "NO_PROXY": "internal.test"},
    ],
)
def test_proxies_of_the_environment_are_no_setting(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    stub.on("GET", "/a").answer(302, headers={"Location": "https://internal.test/b"})
    stub.on("GET", "/b").answer(json=1)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with ntapi.Client(stub=stub) as client, requests.Session() as own:
        own.mount("https://", ntapi.transports.RequestsAdapter(client=client))
        assert own.get("https://api.test/a").json() == 1
        with pytest.raises(ValueError, match="a setting of the client"):
            own.get("https://api.test/b", proxies={"https": "http://127.0.0.1:1"})


def test_a_proxy_gets_its_credentials_once(stub: Stub) -> None:
    stub.on("GET", "/a").answer(302, headers={"Location": "http://b.test/b"})
    stub.on("GET", "/b").answer(json=1)
    with Server(stub) as url, requests.Session() as own:
        proxy = url.replace("//", "//user:word@")
        own.mount("http://", ntapi.transports.RequestsAdapter())
        assert own.get("http://a.test/a", proxies={"http": proxy}, timeout=PATIENCE).json() == 1
    names = [[name.lower() for name, _ in each.headers.lines] for each in stub.requests]
    assert [each.count("proxy-authorization") for each in names] == [1, 1]


def test_credentials_of_a_proxy_that_is_not_used_are_not_sent(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.on("GET", "/a").answer(302, headers={"Location": "http://b.test/b"})
    stub.on("GET", "/b").answer(json=1)
    # Only requests reads the proxy for http from this name.
    monkeypatch.setenv("HTTP_PROXY", "http://user:word@proxy.test:1")
    with ntapi.Client(stub=stub) as client, requests.Session() as own:
        own.mount("http://", ntapi.transports.RequestsAdapter(client=client))
        assert own.get("http://a.test/a").json() == 1
    names = [[name.lower() for name, _ in each.headers.lines] for each in stub.requests]
    assert [each.count("proxy-authorization") for each in names] == [0, 0]


@pytest.mark.parametrize("limits", [{"read": PATIENCE}, {"connect": PATIENCE}, {}])
def test_timeouts_of_urllib3(servers: dict[str, str], limits: dict[str, float]) -> None:
    timeout = urllib3.Timeout(**limits)
    with requests.Session() as own:
        own.mount("http://", ntapi.transports.RequestsAdapter())
        assert own.get(f"{servers['fault']}/ok", timeout=timeout).ok


def test_the_version_has_a_name(servers: dict[str, str]) -> None:
    versions: list[Any] = []
    for adapter in (None, ntapi.transports.RequestsAdapter()):
        with requests.Session() as own:
            if adapter is not None:
                own.mount("http://", adapter)
            raw: Any = own.get(f"{servers['fault']}/ok", timeout=PATIENCE).raw
            versions.append(getattr(raw, "version_string", None))
    assert versions[1] == "HTTP/1.1"
    assert versions[0] in (None, versions[1])


UNREAD = """
import sys
import ntapi.transports
import requests
from ntapi._runtime import ending

ending._PATIENCE = 1000.0
own = requests.Session()
own.mount("http://", ntapi.transports.RequestsAdapter())
response = own.get(sys.argv[1], stream=True)
print(response.status_code)
"""


def test_an_unread_body_does_not_hold_up_the_end(servers: dict[str, str]) -> None:
    ended = run_python(UNREAD, f"{servers['fault']}/endless")
    assert (ended.stdout, ended.stderr) == ("200\n", "")
