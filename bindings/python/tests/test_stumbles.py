"""Mistakes of newcomers: each message says what to write instead."""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
import types
from typing import Any, Callable

import pytest

import ntapi
from conftest import API_URL, Unraisable
from ntapi import _auth, _client, _service, testing
from ntapi._runtime.checks import similar
from ntapi.testing import Stub

HAS_TO = r"Forgetful\.__init__ has to call super\(\).__init__\(\)"


# Subclasses whose `__init__` does not call that of the class.


def uses(cls: type) -> list[str]:
    """Every public method and property of a class, except hooks, which a program does not call."""
    skipped = {*_client._HOOKS, "decision_kinds", "errors", "refresh"}
    return [name for name in dir(cls) if not name.startswith("_") and name not in skipped]


async def use(thing: Any, name: str) -> None:
    """Reads an attribute, and calls a method with some value for each required argument."""
    if isinstance(inspect.getattr_static(type(thing), name), property):
        getattr(thing, name)
        return
    method = getattr(thing, name)
    needed = [
        each
        for each in inspect.signature(method).parameters.values()
        if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    given: dict[str, Any] = {"service": Weather(), "token": "t", "value": 1}
    result = method(*[given.get(each.name, "x") for each in needed])
    if inspect.isawaitable(result):
        await result
    elif inspect.isasyncgen(result):
        await result.__anext__()
    elif inspect.isgenerator(result):
        next(result)


class Weather(ntapi.Service[None]):
    command = "weather"


@pytest.mark.parametrize("cls", [ntapi.Client, ntapi.AsyncClient, ntapi.Authenticator])
def test_a_subclass_that_forgets_super(cls: Any) -> None:
    class Forgetful(cls):  # type: ignore[misc]
        def __init__(self) -> None:
            self.mine = 1

    thing = Forgetful()
    assert thing.mine == 1
    for name in uses(cls):
        with pytest.raises(RuntimeError, match=HAS_TO):
            asyncio.run(use(thing, name))
    with pytest.raises(AttributeError, match="Forgetful' object has no attribute 'colour'"):
        _ = thing.colour


USES: list[tuple[type, Callable[[Any], object]]] = [
    (Stub, lambda it: it.on("GET")),
    (Stub, lambda it: ntapi.Client(API_URL, stub=it)),
    (testing.Recorder, lambda it: ntapi.Client(API_URL, recorder=it)),
    (testing.ManualClock, lambda it: it.advance(1)),
    (testing.ManualClock, lambda it: ntapi.Client(API_URL, clock=it)),
    (ntapi.RateLimiter, lambda it: ntapi.Client(API_URL, rate_limiter=it)),
    (ntapi.Cache, lambda it: it.clear()),
    (
        ntapi.Cache,
        lambda it: ntapi.Client(
            API_URL, configuration=ntapi.SessionConfiguration.ephemeral(cache=it)
        ),
    ),
    (ntapi.CredentialStorage, lambda it: it.all()),
    (ntapi.Interceptor, lambda it: ntapi.Client(API_URL, interceptors=[it]).send("a")),
]


@pytest.mark.parametrize(("cls", "use_it"), USES)
def test_another_subclass_that_forgets_super(
    cls: Any, use_it: Callable[[Any], object], unraisable: Unraisable
) -> None:
    class Forgetful(cls):  # type: ignore[misc]
        def __init__(self) -> None:
            self.mine = 1

    thing = Forgetful()
    with pytest.raises(RuntimeError, match=HAS_TO):
        use_it(thing)
    with pytest.raises(AttributeError, match="Forgetful' object has no attribute 'colour'"):
        _ = thing.colour
    assert unraisable.errors == []


def test_a_forgetful_authenticator_in_use(stub: Stub) -> None:
    class Forgetful(ntapi.Authenticator):
        def __init__(self) -> None:
            pass

    client = ntapi.Client(API_URL, stub=stub)
    with pytest.raises(RuntimeError, match=HAS_TO):
        client.authenticator = Forgetful()


def test_the_lists_of_own_attributes_are_whole(stub: Stub) -> None:
    client = ntapi.Client(API_URL, stub=stub)
    assert set(vars(client)) == _client._OWN
    assert set(vars(ntapi.Authenticator(print))) == _auth._OWN


def test_the_list_of_hooks_is_whole() -> None:
    methods = {name for name, value in vars(ntapi.Client.__mro__[2]).items() if callable(value)}
    assert {name for name in methods if not name.startswith("_")} == set(_client._HOOKS)
    settable = {
        name
        for name in dir(ntapi.Client)
        if getattr(inspect.getattr_static(ntapi.Client, name), "fset", None)
    }
    assert settable | {"decision_kinds", "errors", "interceptors"} == set(_client._SETTABLE)


# Hooks and attributes that are misspelled.


@pytest.mark.parametrize(
    ("base", "name", "meant"),
    [
        (ntapi.Client, "map_service_errors", "map_service_error"),
        (ntapi.AsyncClient, "mapServiceError", "map_service_error"),
        (ntapi.Client, "build_reqest", "build_request"),
        (ntapi.Client, "request_complete", "request_completed"),
        (ntapi.Client, "on_data_received", "data_received"),
        (ntapi.Client, "write_logs", "write_log"),
        (ntapi.Service, "map_service_errors", "map_service_error"),
        (ntapi.Service, "make_reponse", "make_response"),
        (ntapi.Service, "parameter", "parameters"),
    ],
)
def test_misspelled_hooks(base: Any, name: str, meant: str) -> None:
    def method(self: Any, *_: Any) -> None: ...

    problem = f"Mine.{name} is no hook: did you mean '{meant}'?"
    with pytest.raises(TypeError, match=re.escape(problem)):
        types.new_class("Mine", (base,), exec_body=lambda space: space.update({name: method}))


@pytest.mark.parametrize("base", [ntapi.Client, ntapi.Service])
def test_every_hook_with_a_letter_more_or_less(base: Any) -> None:
    hooks = _client._HOOKS if base is ntapi.Client else _service._HOOKS
    for hook in hooks:
        assert similar(hook.replace("_", "").upper(), hooks) == hook
        if len(hook.replace("_", "")) < 7:
            continue
        for place in range(len(hook)):
            shorter = hook[:place] + hook[place + 1 :]
            longer = hook[:place] + "x" + hook[place:]
            assert similar(shorter, hooks) == similar(longer, hooks) == hook


@pytest.mark.parametrize(
    "name",
    ["direct", "find", "requests", "arg", "page", "sent", "decoded", "build_response", "map"],
)
def test_methods_of_ones_own_are_left_alone(name: str) -> None:
    def method(self: Any) -> int:
        return 7

    for base in (ntapi.Client, ntapi.AsyncClient):
        cls: Any = types.new_class(
            "Mine", (base,), exec_body=lambda space: space.update({name: method})
        )
        client = cls(API_URL)
        assert getattr(client, name)() == 7
        client.timeout = client.headers = client.state = 1
        again: Any = type("Derived", (cls,), {name: method})
        assert getattr(again(API_URL), name)() == 7


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("rate_limit", "did you mean 'rate_limiter'?"),
        ("interceptor", "did you mean 'interceptors'?"),
        ("logFlags", "did you mean 'log_flags'?"),
        ("authentificator", "did you mean 'authenticator'?"),
        ("headers", "write `client.args = [ntapi.header("),
        ("verify", 'write `client.args = [ntapi.option("allow_invalid_certificate")]`'),
        ("timeout", "write `client.args = [ntapi.timeout(seconds)]`"),
        ("map_error", "map_error is a hook: override it in a subclass of Client"),
    ],
)
def test_misspelled_attributes(name: str, says: str) -> None:
    client = ntapi.Client(API_URL)
    with pytest.raises(AttributeError, match=re.escape(says)):
        setattr(client, name, 5)
    client.own = 5  # type: ignore[attr-defined]
    client.rate_limiter = ntapi.RateLimiter(1)
    client.decision_kinds = ntapi.DecisionKind.RETRY


def test_a_subclass_has_attributes_of_its_own() -> None:
    class Mine(ntapi.Client):
        clocks = 1

        def __init__(self) -> None:
            self.headers = {"a": "b"}
            super().__init__(API_URL)
            self.session = self.arg = self.page = self.clocks = self.auth = 5

        def map_error(self, error: ntapi.ApiError, response: ntapi.Response) -> None: ...

    mine = Mine()
    assert (mine.session, mine.clocks, mine.headers) == (5, 5, {"a": "b"})
    # A test may replace an existing hook.
    mine.map_error = lambda error, response: None  # type: ignore[method-assign]
    with pytest.raises(AttributeError, match="did you mean 'rate_limiter'"):
        mine.rate_limit = 5  # type: ignore[attr-defined]


# Keywords.


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: ntapi.Client(API_URL, verify=False),
            'write args=[ntapi.option("allow_invalid_certificate")]',
        ),
        (lambda: ntapi.Client(API_URL, verify="ca.pem"), 'ca_file="ca.pem"'),
        (
            lambda: ntapi.Client(API_URL).send("a", verify=False),
            'write the arg ntapi.option("allow_invalid_certificate")',
        ),
        (
            lambda: ntapi.Client(API_URL).stream("a", verify=False),
            'write the arg ntapi.option("allow_invalid_certificate")',
        ),
        (
            lambda: ntapi.SessionConfiguration.ephemeral(verify=False),
            "did you mean 'ca_file'? To trust any server, give the client the arg "
            'ntapi.option("allow_invalid_certificate")',
        ),
        (lambda: ntapi.RetryPolicy(total=3), "write attempts=4, the first one included"),
        (lambda: ntapi.RetryPolicy(max_retries=0), "write attempts=1, the first one included"),
        (lambda: ntapi.RetryPolicy(backoff_factor=1), "write base=0.5"),
        (lambda: ntapi.RetryPolicy(status_forcelist=[503]), "write statuses={503}"),
        (lambda: ntapi.RetryPolicy(attempt=3), "did you mean attempts=?"),
        (lambda: ntapi.RetryPolicy(colour=3), "a retry policy has no keyword 'colour'"),
    ],
)
def test_keywords(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(TypeError, match=re.escape(says)):
        make()


def test_a_policy_is_a_class_all_the_same() -> None:
    assert list(inspect.signature(ntapi.RetryPolicy).parameters)[:2] == ["attempts", "base"]
    assert ntapi.RetryPolicy(3, 1.0) == ntapi.RetryPolicy(attempts=3, base=1.0)
    with pytest.raises(TypeError, match="positional arguments"):
        ntapi.RetryPolicy(1, 2, 3, 4, {503}, True, 0.2, 3, "X-Try", 7)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("set_header", '`request.headers["Name"] = value`'),
        ("header", '`request.headers.get("Name")`'),
        ("set_body", "`request.body = body`"),
        ("colour", "has no attribute 'colour'"),
    ],
)
def test_methods_that_a_request_had(stub: Stub, name: str, says: str) -> None:
    class Mine(ntapi.Client):
        def build_request(self, request: Any) -> None:
            getattr(request, name)("X-A", "b")

    with pytest.raises(AttributeError, match=re.escape(says)):
        Mine(API_URL, stub=stub).send("a")


# Loops.


def without_loop(coroutine: Any) -> None:
    """Drives a coroutine as trio does, without an asyncio loop."""
    coroutine.send(None)


async def in_block(client: ntapi.AsyncClient) -> None:
    async with client:
        pass


AWAITED: list[Callable[[ntapi.AsyncClient], Any]] = [
    lambda client: client.send("a"),
    lambda client: client.perform("a", ntapi.stream([b"a"])),
    lambda client: client.call(Weather()),
    lambda client: client.drain(),
    lambda client: client.close(),
    in_block,
]


@pytest.mark.parametrize("number", range(len(AWAITED)))
@pytest.mark.parametrize("has_trio", [False, True])
def test_without_a_loop_of_asyncio(
    monkeypatch: pytest.MonkeyPatch, number: int, has_trio: bool
) -> None:
    says = "no running event loop: await an AsyncClient inside of asyncio.run"
    if has_trio:
        trio: Any = types.ModuleType("trio")
        trio.lowlevel = types.SimpleNamespace(current_task=object)
        monkeypatch.setitem(sys.modules, "trio", trio)
        says = "does not support trio. Use a Client on a thread: `await trio.to_thread.run_sync"
    with pytest.raises(RuntimeError, match=re.escape(says)):
        without_loop(AWAITED[number](ntapi.AsyncClient(API_URL)))


def test_begin_without_a_loop() -> None:
    for use_it in (
        lambda: ntapi.AsyncClient(API_URL).begin("a"),
        lambda: ntapi.AsyncClient(API_URL).stream("a"),
    ):
        with pytest.raises(RuntimeError, match="no running event loop: await an AsyncClient"):
            use_it()
