"""The properties of a response."""

from __future__ import annotations

import gc
import pickle
import weakref
from datetime import datetime, timedelta, timezone
from typing import Any, Callable

import pytest

import ntapi
from conftest import API_URL, PATIENCE
from ntapi import codes
from ntapi.testing import Stub

JSON_CASES = [
    "bom",
    "nul-in-string",
    "latin-1",
    "utf16",
    "huge-real",
    "nan",
    "trailing-garbage",
    "prefix-array",
    "prefix-bom",
    "prefix-with-brackets",
    "scalar-string",
    "html-with-braces",
    "deep?levels=2000",
    "deep-objects?levels=2000",
]


def test_fields(fault: ntapi.Client) -> None:
    before = datetime.now(timezone.utc)
    response = fault.send("late?ms=20")
    assert response.status == 200
    assert response.url.endswith("/late?ms=20")
    assert response.error is None
    assert response.elapsed >= 0.02
    assert before - timedelta(seconds=1) <= response.start <= response.end
    assert response.end - response.start < timedelta(seconds=PATIENCE)
    assert response.raise_for_error() is response
    assert "200" in repr(response)


def test_headers_are_a_case_insensitive_multi_dict(fault: ntapi.Client) -> None:
    headers = fault.send("headers?X-A=1&x-a=2&Set-Cookie=a&Set-Cookie=b").headers
    assert headers["x-A"] == "1, 2"
    assert headers.get_all("X-a") == ["1", "2"]
    assert headers["set-cookie"] == "a"
    assert headers.get_all("set-cookie") == ["a", "b"]
    assert headers.get("missing") is None
    assert headers.get_all("missing") == []
    assert "x-a" in headers
    assert 5 not in headers
    assert [name for name, _ in headers.lines].count("X-A") == 1
    assert len(headers) == len(list(headers)) == len({name.lower() for name, _ in headers.lines})


def test_metrics(fault: ntapi.Client) -> None:
    fault.send("echo")
    metrics = fault.send("redirect/echo").metrics
    assert metrics.redirects == 1
    assert metrics.connection_reused is True
    assert metrics.from_cache is False
    assert metrics.http_version == 1.1
    assert 0 < metrics.first_byte <= metrics.total
    assert metrics.bytes_received > 0


def test_prefix_text(weather: ntapi.Client) -> None:
    response = weather.send("php")
    assert response.json()["city"] == "Zürich"
    assert response.prefix_text is not None
    assert response.prefix_text.startswith("<br />")
    assert response.data.startswith(b"<br />")


@pytest.mark.parametrize("name", JSON_CASES)
def test_json_is_what_the_core_says(fault: ntapi.Client, name: str) -> None:
    response = fault.perform(f"json/{name}")
    assert response.has_json == (response.error is None)
    assert (response.json() is not None) == response.has_json


def test_integers_are_exact(fault: ntapi.Client) -> None:
    values = fault.send("json/huge-int").json().values()
    assert any(isinstance(value, int) and abs(value) >= 2**64 for value in values)


def test_json_null_is_not_no_json(fault: ntapi.Client) -> None:
    response = fault.send("json/scalar-null")
    assert response.json() is None
    assert response.has_json


def test_json_of_an_http_error_stays_readable(fault: ntapi.Client) -> None:
    response = fault.perform("status/503?message=down")
    error = response.error
    assert error is not None
    assert (error.code, error.domain) == (codes.HTTP_ERROR, ntapi.ErrorDomain.HTTP)
    assert error.http_status == 503
    assert error.transport_code is None
    assert error.retryable
    assert error.response is response
    assert response.json()["message"] == "down"


def test_data_is_made_once(fault: ntapi.Client) -> None:
    response = fault.send("ok?size=100000")
    assert response.data is response.data
    assert len(response.data) > 99_000
    assert response.json() is response.json()
    assert response.text.encode() == response.data


def test_text_uses_the_charset(fault: ntapi.Client) -> None:
    command = "headers?Content-Type=text/plain;charset=%22latin-1%22"
    response = fault.send(command, ntapi.option("raw_data"))
    assert response.text == response.data.decode("latin-1")
    unknown = fault.send(
        "headers?Content-Type=text/plain;charset=klingon", ntapi.option("raw_data")
    )
    assert unknown.text == unknown.data.decode()


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain; Charset=ISO-8859-1",
        'text/plain;x-charset=utf-8 ; CHARSET="iso-8859-1"',
        'multipart/mixed; boundary="a;charset=utf-8"; charset=latin-1',
    ],
)
def test_the_charset_is_a_parameter(stub: Stub, content_type: str) -> None:
    stub.on(None).answer(data="Zürich".encode("latin-1"), content_type=content_type)
    response = ntapi.Client(API_URL, stub=stub).get("a", ntapi.option("raw_data"))
    assert response.text == "Zürich"


def test_a_failed_response(fault: ntapi.Client) -> None:
    response = fault.perform("reset/before")
    error = response.error
    assert error is not None
    assert error.domain is ntapi.ErrorDomain.NETWORK
    assert error.transport_code is not None
    assert error.transport_code > 0
    assert error.http_status is None
    assert (response.status, response.data, response.json()) == (0, b"", None)


def test_errors_compare_by_identity(fault: ntapi.Client) -> None:
    error = fault.perform("json/truncated").error
    assert error is not None
    assert error.code is codes.INVALID_JSON
    assert error.code is ntapi.register_code("invalid JSON")
    assert ntapi.register_code("my own") is ntapi.register_code("my " + "own")
    copied: Any = pickle.loads(pickle.dumps(error))
    assert copied.code is codes.INVALID_JSON
    assert (copied.message, copied.domain) == (error.message, error.domain)
    assert copied.response.error is copied
    assert pickle.loads(pickle.dumps(codes.TLS)) is codes.TLS


def test_an_error_of_ones_own() -> None:
    error = ntapi.ApiError("quota")
    assert error.code is ntapi.register_code("quota")
    assert error.domain is ntapi.ErrorDomain.SERVICE
    assert str(error) == error.message == "quota"
    assert "quota" in repr(error)


def test_responses_without_errors_are_freed_at_once(fault: ntapi.Client) -> None:
    gc.collect()
    gc.disable()
    try:
        response = fault.send("ok")
        request = response.request
        assert request.response is response
        reference = weakref.ref(response)
        del response, request
        assert reference() is None
    finally:
        gc.enable()


def test_links(fault: ntapi.Client) -> None:
    link = '</ok?page=2>; rel="next", <http://a.example/>; rel="last"'
    response = fault.send("headers", ntapi.url("Link", link))
    following = response.link("next")
    assert following is not None
    assert following.endswith("/ok?page=2")
    assert following.startswith("http://127.0.0.1")
    assert response.link("LAST") == "http://a.example/"
    assert response.link("prev") is None
    assert fault.send("", ntapi.base_url(following)).json()["ok"]
    with pytest.raises(TypeError, match="the relation has to be a string"):
        response.link(5)  # type: ignore[arg-type]


SECRETS = ("hunter2", "sesame", "tok3n", "private")


def check_redacted(*shown: object) -> None:
    for each in shown:
        text = repr(each) + str(each)
        assert not any(secret in text for secret in SECRETS), text


def test_what_is_printed_has_no_secrets(stub: Stub) -> None:
    """URLs, headers and errors are printed without secrets: those with secret names, and those that
    the caller has marked.
    """
    url = "https://api.example/v1"
    answer = {
        "Set-Cookie": "session=sesame",
        "Location": "https://api.example/next?access_token=tok3n",
        "X-Auth-Token": "tok3n",
        "Server": "demo",
    }
    stub.on("GET", "v1/users/private").answer(json={"a": 1}, headers=answer)
    stub.on("GET", "v1/gone").answer(404, json={"a": 1})
    with ntapi.Client(url, stub=stub, log_flags=ntapi.LogFlags.NONE) as client:
        args = [ntapi.url("api_key", "tok3n"), ntapi.url("q", "sesame").secret(), ntapi.url("p", 1)]
        response = client.send("users/{id}", ntapi.path("id", "private").secret(), args)
        assert "private" in response.url
        assert response.headers["Set-Cookie"] == "session=sesame"
        assert response.headers["Location"].endswith("tok3n")
        check_redacted(client, response, response.headers, response.request_metrics)
        assert "p=1" in repr(response)
        assert "'demo'" in repr(response.headers)
        assert "/next?access_token=<redacted>" in repr(response.headers)
        failed = client.perform("gone", args)
        check_redacted(failed, failed.error, failed.request, ntapi.Refresh("tok3n", failed))
        with pytest.raises(ntapi.ApiError) as caught:
            response.decode(dict[str, str], "missing")
        check_redacted(caught.value)
    assert "api.example/v1" in repr(client)
    check_redacted(stub.requests)
    assert "&p=1>" in repr(stub.requests)


@pytest.mark.parametrize(
    "url",
    ["https://eve:hunter2@/?x", "https://eve:hun/ter2@h/?token=hunter2", "no url?token=hunter2"],
)
def test_a_malformed_url_shows_no_secret(url: str) -> None:
    client = ntapi.Client(url, log_flags=ntapi.LogFlags.NONE)
    check_redacted(client, client.perform("x"), client.perform("x").error)


def test_messages_about_mistakes_show_no_secret(stub: Stub) -> None:
    class Changing(ntapi.Client):
        def build_request(self, request: ntapi.HTTPRequest) -> None:
            changes[0](request)

    def bad_url(request: ntapi.HTTPRequest) -> None:
        request.url = "ftp://eve:hunter2@h/?token=tok3n"

    def bad_header(request: ntapi.HTTPRequest) -> None:
        request.headers["Bearer tok3n"] = "x"

    client = Changing("https://api.example", stub=stub)
    changes = [bad_url, bad_header]
    while changes:
        with pytest.raises(ValueError, match="cannot be") as caught:
            client.perform("x")
        check_redacted(caught.value)
        del changes[0]
    mistakes: list[Callable[[], object]] = [
        lambda: ntapi.Authenticator(header="Bearer tok3n"),
        lambda: ntapi.Authenticator(origins=["ftp://eve:hunter2@h"]),
        lambda: client.perform("x", "tok3n"),  # type: ignore[arg-type]
        lambda: setattr(client, "authenticator", "tok3n"),
        lambda: ntapi.discard_resume_data('{"url": "https://h/?token=tok3n"'),
        lambda: ntapi.Cache().remove("ftp://eve:hunter2@h/?token=tok3n"),
    ]
    for mistake in mistakes:
        with pytest.raises((ValueError, TypeError)) as raised:
            mistake()
        check_redacted(raised.value)
