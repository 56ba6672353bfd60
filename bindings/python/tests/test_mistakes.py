"""A user's mistake raises an exception where it is made, with a message that helps."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Callable

import pytest

import ntapi
from ntapi.testing import Stub


class NoCommand(ntapi.Service[None]):
    pass


class OddCommand(ntapi.Service[None]):
    def command(self) -> str:
        return "x"


async def async_handler(_: ntapi.Response) -> None: ...


class AsyncCall:
    async def __call__(self, _: ntapi.Response) -> None: ...


@pytest.mark.parametrize(
    ("begin", "says"),
    [
        (lambda client: client.begin("x", handler=5), "the handler has to be callable, not int"),
        (lambda client: client.begin("x", (), 5), "an arg is expected, not 5"),
        (lambda client: client.begin("x", print, print), "one response handler, and two are given"),
        (lambda client: client.begin("x", print, handler=print), "one response handler"),
        (lambda client: client.begin("x", args=[]), "client.send(command, *args)"),
        (
            lambda client: client.begin("x", upload_progress=5),
            "the upload progress handler has to be callable, not int",
        ),
        (
            lambda client: client.begin("x", download_progress="y"),
            "the download progress handler has to be callable, not str",
        ),
        (
            lambda client: client.begin("x", data_handler=0),
            "the data handler has to be callable, not int",
        ),
        (
            lambda client: client.begin("x", data_handler=async_handler),
            "handlers are plain functions, not async ones",
        ),
        (lambda client: client.begin("x", (), async_handler), "handlers are plain functions"),
        (lambda client: client.begin("x", (), AsyncCall()), "handlers are plain functions"),
        (
            lambda client: client.begin("x", download_progress=async_handler),
            "handlers are plain functions, not async ones",
        ),
        (lambda client: client.begin(5), "an arg is expected, not 5"),
        (lambda client: client.begin("x", 5), "an arg is expected, not 5"),
        (lambda client: client.begin("x", [None, [5]]), "an arg is expected, not 5"),
    ],
)
def test_begin(begin: Callable[[Any], object], says: str) -> None:
    with pytest.raises(TypeError, match=re.escape(says)):
        begin(ntapi.Client("http://127.0.0.1"))

    async def main() -> None:
        begin(ntapi.AsyncClient("http://127.0.0.1"))

    with pytest.raises(TypeError, match=re.escape(says)):
        asyncio.run(main())


@pytest.mark.parametrize("content", [5, [1, 2], True, 1.5, {}])
def test_bytes_are_bytes(content: Any) -> None:
    for make in (ntapi.data, lambda content: ntapi.multipart("p", content)):
        expected = f"bytes or a string are expected, not {type(content).__name__}"
        with pytest.raises(TypeError, match=expected):
            make(content)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: ntapi.url("since", {}),
            "the url arg 'since' has to be a string, a number, a boolean, a date or an enum of "
            "these, not dict",
        ),
        (lambda: ntapi.Client("http://a").call(NoCommand()), "NoCommand has to say its command"),
        (
            lambda: ntapi.Client("http://a").call(OddCommand()),
            "the command of OddCommand has to be a string or a property that is one, not method",
        ),
        (
            lambda: ntapi.Client("http://a", authenticator="t"),
            "an Authenticator or None is expected, not a str",
        ),
        (
            lambda: ntapi.Client("http://a", rate_limiter=5),
            "a RateLimiter or None is expected, not 5",
        ),
        (lambda: ntapi.Client(5), "base_url has to be a string, not int"),
        (lambda: ntapi.Client("http://a", args=5), "an arg is expected, not 5"),
        (lambda: ntapi.defaults.set(5, 1), "the name of a default has to be a string, not int"),
        (lambda: ntapi.Client.get_default(5), "the name of a default has to be a string, not int"),
        (lambda: ntapi.run("1"), "timeout has to be a number of seconds"),
        (lambda: ntapi.drain("1"), "timeout has to be a number of seconds"),
        (lambda: ntapi.Client("http://a").drain(True), "timeout has to be a number of seconds"),
        (lambda: asyncio.run(ntapi.AsyncClient().drain("1")), "timeout has to be a number"),
        (lambda: ntapi.timeout("5"), "timeout has to be a number of seconds, not str"),
        (lambda: ntapi.timeout(5, 5), "a Clock has to be a string, not int"),
        (lambda: ntapi.url(1, "x"), "the name of a url arg has to be a string, not int"),
        (lambda: ntapi.form(1, "x"), "the name of a form arg has to be a string, not int"),
        (lambda: ntapi.header(1, "x"), "the name of a header arg has to be a string, not int"),
        (lambda: ntapi.multipart(1, "x"), "the name of a multipart arg has to be a string"),
        (lambda: ntapi.method(5), "the method has to be a string, not int"),
        (lambda: ntapi.bearer(5), "the token has to be a string, not int"),
        (lambda: ntapi.option(5), "the option has to be a string, not int"),
        (lambda: ntapi.response_thread("main"), "executor or function is expected, not 'main'"),
        (lambda: ntapi.register_code(5), "a code has to be a string, not int"),
        (lambda: ntapi.ApiError(5), "a code has to be a string, not int"),
        (
            lambda: ntapi.SessionConfiguration("ephemeral"),
            "a SessionKind is expected, not 'ephemeral'; write ntapi.SessionKind.EPHEMERAL",
        ),
        (lambda: ntapi.SessionConfiguration(2), "a SessionKind is expected, not 2"),
        (
            lambda: ntapi.ApiError("quota", domain="service"),
            "an ErrorDomain is expected, not 'service'; write ntapi.ErrorDomain.SERVICE",
        ),
        (
            lambda: ntapi.ApiError("quota", clock="idle"),
            "a Clock is expected, not 'idle'; write ntapi.Clock.IDLE",
        ),
        (
            lambda: ntapi.ApiError("quota", failure="proxy"),
            "a NetworkFailure is expected, not 'proxy'; write ntapi.NetworkFailure.PROXY",
        ),
        (
            lambda: ntapi.DecodingOptions(keys="camel_case"),
            "a Keys is expected, not str of length 10; write ntapi.Keys.CAMEL_CASE",
        ),
        (
            lambda: ntapi.DecodingOptions(dates="seconds"),
            "a DateFormat or a function is expected, not 'seconds'; write ntapi.DateFormat.SECONDS",
        ),
        (
            lambda: ntapi.CredentialStorage().set(
                ntapi.Credential("a", "b"),
                ntapi.ProtectionSpace("http", "a", 80, authentication="digest"),
            ),
            "an Authentication is expected, not 'digest'; write ntapi.Authentication.DIGEST",
        ),
        (
            lambda: ntapi.Client("http://a", log_flags="debug"),
            "a LogFlags is expected, not 'debug'; write ntapi.LogFlags.DEBUG",
        ),
        (
            lambda: ntapi.response_thread("MAIN"),
            "a Thread, Mailbox, executor or function is expected, not 'MAIN'; "
            "write ntapi.Thread.MAIN",
        ),
        (
            lambda: Stub().on("GET").fail("timeout"),
            "a StubFault is expected, not 'timeout'; write ntapi.testing.StubFault.TIMEOUT",
        ),
        (lambda: ntapi.Client(1, 2), "Client.__init__()"),
        (lambda: ntapi.AsyncClient(1, 2), "AsyncClient.__init__()"),
    ],
)
def test_types(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(TypeError, match=re.escape(says)) as caught:
        call()
    assert "BaseClient" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda text: ntapi.url("q", text), "the url arg 'q' cannot be sent: it has a lone"),
        (lambda text: ntapi.url(text, "q"), "the name of a url arg cannot be sent"),
        (lambda text: ntapi.header("X", text), "the header arg 'X' cannot be sent"),
        (lambda text: ntapi.json({"a": text}), "the json arg cannot be sent"),
        (lambda text: ntapi.bearer(text), "the token cannot be sent"),
        (lambda text: ntapi.data(text), "the text cannot be sent"),
    ],
)
def test_lone_surrogates(make: Callable[[str], ntapi.Arg], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        make("a\udc80")


def test_texts_in_place_of_members_where_a_decision_is_made(stub: Stub) -> None:
    """Such a mistake ends the request, and its error says what to write."""
    stub.on("GET").answer(401, headers={"WWW-Authenticate": 'Basic realm="a"'})
    client: Any = ntapi.Client("http://api.test", stub=stub)

    def decide(decision: Any) -> None:
        decision.use("ann", "sesame", persistence="permanent")

    client.decision_kinds = ntapi.DecisionKind.CHALLENGE
    error = client.perform("x", decision_handler=decide).error
    assert "a Persistence is expected, not 'permanent'; write ntapi.Persistence.PERM" in str(error)
    client.decision_kinds = "challenge"
    says = "a DecisionKind is expected, not 'challenge'; write ntapi.DecisionKind.CHALLENGE"
    with pytest.raises(TypeError, match=says):
        client.perform("x", decision_handler=decide)


def test_long_timeouts(fault: ntapi.Client) -> None:
    for timeout in (float("inf"), 1e12):
        request = fault.begin("echo")
        assert request.wait(timeout)
    wrong: Any = "1"
    with pytest.raises(TypeError, match="timeout has to be a number of seconds, not str"):
        request.wait(wrong)


def test_a_subclass_that_forgets_super() -> None:
    class Forgetful(ntapi.Client):
        def __init__(self) -> None:
            pass

    client: Any = Forgetful()
    for use in (client.begin, lambda: client.args, client.close):
        with pytest.raises(RuntimeError, match=r"__init__ has to call super\(\).__init__\(\)"):
            use()
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = client.colour


def test_a_client_says_where_it_goes() -> None:
    assert repr(ntapi.Client("http://a:b@x/y")) == "<ntapi.Client http://<redacted>@x/y>"
    assert repr(ntapi.AsyncClient()) == '<ntapi.AsyncClient base URL by default "baseUrl">'


def test_a_stream_that_fails_is_explained(fault: ntapi.Client) -> None:
    def failing() -> Any:
        yield b"a"
        raise ValueError("boom")

    error = fault.perform("echo", ntapi.stream(failing())).error
    assert str(error) == "the body stream failed: ValueError('boom')"
    assert isinstance(error, ntapi.ApiError)
    assert isinstance(error.__cause__, ValueError)
