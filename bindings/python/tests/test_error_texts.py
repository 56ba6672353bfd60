"""The names of errors, and how much of the server's message their text has."""

from __future__ import annotations

import logging
import pickle
import traceback
from typing import Any

import pytest

import ntapi
from ntapi.testing import Stub


def test_the_module_of_errors() -> None:
    error = ntapi.ApiError("quota", "too much")
    assert type(error).__module__ == "ntapi"
    assert traceback.format_exception_only(type(error), error) == ["ntapi.ApiError: too much\n"]
    assert pickle.loads(pickle.dumps(error)).message == "too much"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"message": "city not found"}, "city not found"),
        ({"error": "no quota"}, "no quota"),
        ({"error": {"code": 7, "message": "no quota"}}, "no quota"),
        ({"error": True, "message": "no quota"}, "no quota"),
        ({"errors": [{"msg": "too long"}, {"msg": "x"}]}, "too long"),
        ({"detail": [{"loc": ["a"], "msg": "too long"}]}, "too long"),
        ({"title": "Out of credit", "detail": "It costs 50."}, "It costs 50."),
        ({"error": "invalid_grant", "error_description": "expired"}, "expired"),
        ("plain", "plain"),
        ({"message": "two\nlines\x1b[31m"}, "two lines [31m"),
        ({"message": "x" * 300}, "x" * 199 + "…"),
    ],
)
def test_the_servers_words(stub: Stub, document: Any, words: str) -> None:
    stub.on("GET").answer(402, json=document)
    with ntapi.Client("http://api.test", stub=stub) as client:
        error = client.perform("x").error
    assert error is not None
    assert str(error) == f"{error.message}: {words}"
    assert error.message == "HTTP 402 Payment Required for GET http://api.test/x"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("document", [{}, [], {"message": 5}, {"error": {"a": {"b": "c"}}}, None])
def test_a_server_that_says_nothing(stub: Stub, document: Any) -> None:
    stub.on("GET").answer(402, json=document)
    with ntapi.Client("http://api.test", stub=stub) as client:
        error = client.perform("x").error
    assert error is not None
    assert str(error) == error.message


def test_plain_text_is_shown_and_a_page_is_not(stub: Stub) -> None:
    stub.on("GET", "text").answer(429, text="slow down\n")
    stub.on("GET", "page").answer(
        429, text="<html>slow down</html>", headers={"Content-Type": "text/html"}
    )
    with ntapi.Client("http://api.test", stub=stub) as client:
        error, page = client.perform("text").error, client.perform("page").error
    assert str(error).endswith(": slow down")
    assert page is not None
    assert str(page) == page.message


def test_other_errors_have_their_own_words(stub: Stub) -> None:
    class Strict(ntapi.Client):
        def map_service_error(self, response: ntapi.Response) -> ntapi.ApiError:
            return ntapi.ApiError("quota", "no quota is left")

    stub.on("GET").answer(402, json={"message": "from the server"})
    with Strict("http://api.test", stub=stub) as client:
        assert str(client.perform("x").error) == "no quota is left"


class NoCredit(ntapi.ApiError):
    """An error of the program."""


@pytest.mark.parametrize("kind", [ntapi.ApiError, NoCredit])
def test_the_words_are_everywhere(
    stub: Stub, caplog: pytest.LogCaptureFixture, kind: type[ntapi.ApiError]
) -> None:
    """A notebook and a failed assertion show the repr, a log and a traceback the text."""
    stub.on("GET").answer(402, json={"message": "no credit is left"})
    errors = {402: kind} if kind is NoCredit else None
    with ntapi.Client("http://api.test", stub=stub, errors=errors) as client:
        error = client.perform("").error
    assert type(error) is kind
    assert repr(error).startswith(f"{kind.__name__}('HTTP error', 'HTTP 402 ")
    logging.getLogger("shop").error("it failed: %s", error)
    texts = (repr(error), str(error), caplog.text, *traceback.format_exception_only(kind, error))
    assert all("no credit is left" in text for text in texts), texts
