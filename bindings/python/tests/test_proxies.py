"""Which proxy a request uses: that of the environment, which is read once, or that of a setting."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from conftest import run_python

NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
NOBODY = "http://127.0.0.1:9"

CHILD = """
import json, os, sys, ntapi

url, ca, settings, nobody = sys.argv[1:]
configuration = ntapi.SessionConfiguration.ephemeral(ca_file=ca, **json.loads(settings))
with ntapi.Client(url, configuration=configuration, log_flags=ntapi.LogFlags.NONE) as client:
    # Too late: it was read when the client was made.
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        os.environ[name] = nobody
    response = client.perform("ok")
    refused = response.status == 407 or "407" in str(response.error)
    way = "through" if "via" in response.headers else "direct" if response.status == 200 else "lost"
    print("refused" if refused else way)
"""


class Ways:
    """Runs programs in a certain environment, and tells which way their requests went."""

    def __init__(self, servers: dict[str, str]) -> None:
        credentials = servers["proxy_credentials"]
        self.servers = servers
        self.places = {
            "OPEN": servers["proxy"],
            "GUARDED": servers["proxy_auth"],
            "ADMITTING": servers["proxy_auth"].replace("//", f"//{credentials}@"),
            "NOBODY": NOBODY,
        }

    def way(self, server: str, variables: dict[str, str], **settings: Any) -> str:
        environment = {
            name: value for name, value in os.environ.items() if name.lower() not in NAMES
        }
        for name, value in variables.items():
            environment[name] = self.places.get(value, value)
        shown = {name: self.places.get(str(value), value) for name, value in settings.items()}
        arguments = [self.servers[server], self.servers["ca"], json.dumps(shown), NOBODY]
        done = run_python(CHILD, *arguments, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture
def ways(servers: dict[str, str]) -> Ways:
    return Ways(servers)


@pytest.mark.parametrize(
    ("server", "variables", "way"),
    [
        ("fault", {}, "direct"),
        ("fault", {"http_proxy": "OPEN"}, "through"),
        ("fault", {"http_proxy": "GUARDED"}, "refused"),
        ("fault", {"http_proxy": "ADMITTING"}, "through"),
        # A CGI server sets HTTP_PROXY from a request's Proxy header: it is not a setting.
        ("fault", {"HTTP_PROXY": "NOBODY"}, "direct"),
        ("fault", {"https_proxy": "NOBODY", "HTTPS_PROXY": "NOBODY"}, "direct"),
        ("fault", {"all_proxy": "OPEN"}, "through"),
        ("fault", {"ALL_PROXY": "OPEN"}, "through"),
        ("fault", {"http_proxy": "OPEN", "all_proxy": "NOBODY"}, "through"),
        ("fault_tls", {"http_proxy": "NOBODY"}, "direct"),
        ("fault_tls", {"https_proxy": "GUARDED"}, "refused"),
        ("fault_tls", {"HTTPS_PROXY": "GUARDED"}, "refused"),
        ("fault_tls", {"https_proxy": "ADMITTING", "HTTPS_PROXY": "NOBODY"}, "direct"),
        ("fault_tls", {"all_proxy": "GUARDED"}, "refused"),
        ("fault", {"http_proxy": "NOBODY", "no_proxy": "127.0.0.1"}, "direct"),
        ("fault", {"http_proxy": "NOBODY", "NO_PROXY": "example.test,127.0.0.1"}, "direct"),
        ("fault", {"http_proxy": "NOBODY", "no_proxy": "127.0.0.0/8"}, "direct"),
        ("fault", {"http_proxy": "NOBODY", "no_proxy": "*.corp.example 127.1.2.3/8"}, "direct"),
        ("fault", {"http_proxy": "OPEN", "no_proxy": "::/0"}, "through"),
        ("fault_tls", {"https_proxy": "NOBODY", "no_proxy": "*"}, "direct"),
        ("fault", {"http_proxy": "OPEN", "no_proxy": "example.test", "NO_PROXY": "*"}, "through"),
    ],
)
def test_of_the_environment(ways: Ways, server: str, variables: dict[str, str], way: str) -> None:
    assert ways.way(server, variables) == way


def test_a_setting_wins(ways: Ways, servers: dict[str, str]) -> None:
    nobody = {"http_proxy": "NOBODY", "no_proxy": "127.0.0.1"}
    # A setting also replaces the environment's list of exceptions.
    assert ways.way("fault", nobody, proxy="OPEN") == "through"
    assert ways.way("fault", {"http_proxy": "NOBODY"}, proxy="") == "direct"
    assert ways.way("fault_tls", {"https_proxy": "NOBODY"}, proxy="") == "direct"
    exceptions = ["127.0.0.1"]
    assert ways.way("fault", {"http_proxy": "NOBODY"}, proxy_exceptions=exceptions) == "direct"
    assert ways.way("fault", {"http_proxy": "OPEN", "no_proxy": "*"}, proxy_exceptions=[]) == (
        "through"
    )
    user, _, password = servers["proxy_credentials"].partition(":")
    own = {"proxy_user": user, "proxy_password": password}
    assert ways.way("fault", {"http_proxy": "GUARDED"}, **own) == "through"
