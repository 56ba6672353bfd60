"""ntapi.opentelemetry: URLs without secrets, templates, servers, and error.type."""

from __future__ import annotations

from typing import Optional

import pytest

import ntapi
from ntapi import codes
from ntapi._bridge.enums import ErrorDomain, NetworkFailure

pytest.importorskip("opentelemetry.instrumentation")

from ntapi.opentelemetry._attributes import (
    error_type,
    full_url,
    server_of,
    template_of,
    without_queries,
)


@pytest.mark.parametrize(
    ("url", "redacted"),
    [
        ("http://h/", "http://h/"),
        ("http://ann:pw@h:1/a@b?c=d@e", "http://REDACTED:REDACTED@h:1/a@b?c=d@e"),
        ("http://ann@h", "http://REDACTED:REDACTED@h"),
        ("http://h/a?u=http://x:y@z/", "http://h/a?u=http://x:y@z/"),
        ("http://h?sig=1&sig=2&sig", "http://h?sig=REDACTED&sig=REDACTED&sig"),
        ("http://h?sig=a=b#sig=c", "http://h?sig=REDACTED#sig=c"),
        ("http://h?X-Amz-Sig%6Eature=1&b=%20", "http://h?X-Amz-Sig%6Eature=REDACTED&b=%20"),
        ("http://h?Sig=1&signature=2&x-goog-signature=3", None),
        ("http://h?xsig=1&sigx=2&&=3", None),
        ("http://h/sig=1", None),
        ("http://h?#", None),
    ],
)
def test_secrets_in_urls(url: str, redacted: Optional[str]) -> None:
    assert full_url(url) == (redacted or url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://h/a?b=c", "http://h/a"),
        ("http://u:p@h/a?b=c?d#e?f", "http://REDACTED:REDACTED@h/a#e?f"),
        ("http://h/a#b?c", "http://h/a#b?c"),
    ],
)
def test_urls_without_query(url: str, shown: str) -> None:
    assert full_url(url, keeps_query=False) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no answer for GET http://h/a?b=it's c", "no answer for GET http://h/a…"),
        ("URL 'http://h/p?b=c d", "URL 'http://h/p…"),
        ("no answer", "no answer"),
        ("", ""),
    ],
)
def test_messages_without_queries(text: str, shown: str) -> None:
    assert without_queries(text) == shown


@pytest.mark.parametrize(
    ("command", "url", "template"),
    [
        ("users/{id}", "http://h/users/7", "/users/{id}"),
        ("/users/{id}", "http://h/v1/users/7?a=b", "/v1/users/{id}"),
        ("{a}/x/{b}.json", "http://h/v1/p%2Fq/x/c.json", "/v1/{a}/x/{b}.json"),
        ("a b/{c}", "http://h/a%20b/%C3%BC", "/a b/{c}"),
        ("{a}{b}", "http://h/xy", "/{a}{b}"),
        ("find?q={q}&n=1", "http://h/find?q=a&n=1&more=2", "/find?q={q}&n=1"),
        ("?q={q}", "http://h/v1?q=a", "/v1?q={q}"),
        ("users/{id}#{part}", "http://h/users/7", "/users/{id}"),
        ("users/7", "http://h/users/7", None),
        ("users/{id}", "http://h/people/7", None),
        ("users/{id}", "http://h/users/7/more", None),
        ("users/{id}", "http://h/7", None),
        ("users/{id}", "http://h", None),
        ("find?q={q}", "http://h/find", None),
        ("../users/{id}", "http://h/users/7", None),
    ],
)
def test_templates(command: str, url: str, template: Optional[str]) -> None:
    assert template_of(command, url) == template


@pytest.mark.parametrize(
    ("url", "host", "server"),
    [
        ("http://example.org/", None, ("example.org", 80)),
        ("https://example.org/", None, ("example.org", 443)),
        ("https://example.org:8443/", "", ("example.org", 8443)),
        ("http://[::1]:81/", None, ("::1", 81)),
        ("https://127.0.0.1:81/", "example.org", ("example.org", 443)),
        ("https://127.0.0.1:81/", "example.org:82", ("example.org", 82)),
        ("http://127.0.0.1/", "[::2]:83", ("::2", 83)),
        ("http://127.0.0.1/", "example.org:port", ("127.0.0.1", 80)),
    ],
)
def test_servers(url: str, host: Optional[str], server: tuple[str, int]) -> None:
    assert server_of(url, host) == server


def failed(code: str, failure: Optional[NetworkFailure] = None) -> ntapi.ApiError:
    return ntapi.ApiError(code, domain=ErrorDomain.NETWORK, failure=failure)


def test_error_type() -> None:
    assert error_type(200, None) is None
    assert error_type(399, None) is None
    assert error_type(400, None) == "400"
    # The status of the answer comes first.
    assert error_type(503, failed(codes.NETWORK, NetworkFailure.CUT_SHORT)) == "503"
    found = {error_type(0, failed(codes.NETWORK, each)) for each in NetworkFailure}
    named = {each.name.lower() for each in NetworkFailure} - {"other"}
    assert found == named | {"_OTHER"}
    assert error_type(0, failed(codes.TIMEOUT)) == "timeout"
    assert error_type(200, failed(codes.RESPONSE_TOO_LARGE)) == "response_too_large"
    # A program may have any number of codes of its own.
    assert error_type(200, failed("order 17 is gone")) == "_OTHER"
    assert error_type(0, ntapi.ApiError(codes.CANCELLED, domain=ErrorDomain.CANCELLED)) is None
