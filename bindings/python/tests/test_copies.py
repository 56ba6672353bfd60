"""Pickling and copying: values can be copied, objects of the process raise an error, and no pickle
contains an address.
"""

from __future__ import annotations

import asyncio
import copy
import enum
import gc
import importlib
import inspect
import multiprocessing
import pickle
import pickletools
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

import copied
import ntapi
from conftest import API_URL, PATIENCE
from copied import told, told_error
from ntapi import fleet, testing
from ntapi._bridge.library import Handle
from ntapi.testing import Stub

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
Copy = Callable[[Any], Any]


def by_pickle(protocol: int) -> Copy:
    return lambda value: pickle.loads(pickle.dumps(value, protocol))


COPIES: dict[str, Copy] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {protocol}": by_pickle(protocol) for protocol in PROTOCOLS},
}


# Responses of every kind, copied in every way.


class RefusedError(ntapi.ApiError):
    """A subclass with parameters of its own."""

    def __init__(self, field: str, *, limit: int) -> None:
        super().__init__("refused", f"{field} is above {limit}", http_status=422)
        self.field = field
        self.limit = limit


class Mapping(ntapi.Client):
    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        return RefusedError("size", limit=7)


class Parsing(ntapi.Client):
    def parse_json(self, data: bytes) -> Any:
        return data.decode().split()


def answered(name: str, servers: dict[str, str], folder: Path) -> ntapi.Response:
    """A response of this kind."""
    fault = ntapi.Client(servers["fault"])
    link = '</ok?page=2>; rel="next", <http://a.example/>; rel=last'
    make: dict[str, Callable[[], ntapi.Response]] = {
        "json": lambda: fault.perform("headers", ntapi.url("X-A", "ä"), ntapi.url("Link", link)),
        "post": lambda: fault.post("echo", ntapi.json({"a": [1, None]}), ntapi.bearer("t0ken")),
        "redirected": lambda: fault.perform("redirect/echo", ntapi.url("token", "s3cret")),
        "http error": lambda: fault.perform("status/503?message=down", ntapi.timeout(9, "total")),
        "broken": lambda: fault.perform("reset/before"),
        "not sent": lambda: fault.perform("{id}"),
        "refused": lambda: fault.perform("ok", ntapi.header("X", "a\0b")),
        "bad json": lambda: fault.perform("json/truncated"),
        "raw": lambda: fault.perform("ok?size=9", ntapi.option("raw_data")),
        "huge numbers": lambda: fault.perform("json/huge-int"),
        "deep": lambda: fault.perform("json/deep?levels=2000"),
        "utf16": lambda: fault.perform("json/utf16"),
        "prefix": lambda: ntapi.Client(servers["weather"]).perform("php?appid=test"),
        "file": lambda: fault.perform("ok?size=9", ntapi.download(folder / "whole")),
        "temporary file": lambda: fault.perform("ok?size=9", ntapi.download()),
        "mapped": lambda: Mapping(servers["fault"]).perform("ok"),
        "parsed by a hook": lambda: Parsing(servers["fault"]).perform("echo", ntapi.data("a b")),
    }
    return make[name]()


KINDS = [
    "json", "post", "redirected", "http error", "broken", "not sent", "refused", "bad json", "raw",
    "huge numbers", "deep", "utf16", "prefix", "file", "temporary file", "mapped",
    "parsed by a hook",
]  # fmt: skip


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_copied_response_says_the_same(
    servers: dict[str, str], tmp_path: Path, kind: str, way: str
) -> None:
    response = answered(kind, servers, tmp_path)
    other = COPIES[way](response)
    assert type(other) is ntapi.Response
    assert other is not response
    said = repr(told(other))
    assert said == repr(told(response))
    assert other.data == response.data
    assert other.json() is None or other.json() is other.json()
    # The copy or the original may end first.
    del other
    gc.collect()
    again = copy.deepcopy(response)
    assert repr(told(response)) == said
    del response
    gc.collect()
    assert repr(told(again)) == said
    assert again.request.cancel() is None
    assert again.request.wait() is True
    assert again.request.resume() is again.request.suspend() is False


def test_in_another_process(servers: dict[str, str], tmp_path: Path) -> None:
    for kind in KINDS:
        if kind in ("mapped", "parsed by a hook"):
            # The error's class is in this module, which the other process does not have.
            continue
        response = answered(kind, servers, tmp_path)
        pair = repr(told(response)), pickle.dumps(response)
        (tmp_path / f"{kind}.pickle").write_bytes(pickle.dumps(pair))
    command = [sys.executable, "-X", "faulthandler", copied.__file__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(KINDS) - 2


def work(address: str, command: str) -> ntapi.Response:
    return ntapi.Client(address).perform(command)


def fail(address: str) -> None:
    ntapi.Client(address).send("status/404?message=gone")


def status_and_json(response: ntapi.Response) -> tuple[int, Any]:
    return response.status, response.json()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools_of_processes(servers: dict[str, str], method: str) -> None:
    """Responses as results and as arguments, and errors that a worker raises."""
    context = multiprocessing.get_context(method)
    here = ntapi.Client(servers["fault"]).perform("echo?here=1")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        commands = [f"echo?n={number}" for number in range(8)]
        responses = list(pool.map(work, [servers["fault"]] * 8, commands))
        assert [response.json()["args"]["n"] for response in responses] == [*"01234567"]
        assert all(response.url.endswith(f"n={n}") for n, response in enumerate(responses))
        assert pool.submit(status_and_json, here).result() == (200, here.json())
        with pytest.raises(ntapi.ApiError) as caught:
            pool.submit(fail, servers["fault"]).result()
    error = caught.value
    assert error.code is ntapi.codes.HTTP_ERROR
    assert error.response is not None
    assert (error.response.status, error.response.json()["message"]) == (404, "gone")


@pytest.mark.parametrize("way", COPIES)
def test_an_error_takes_its_response_along(servers: dict[str, str], way: str) -> None:
    error = Mapping(servers["fault"]).perform("ok").error
    other = COPIES[way](error)
    assert isinstance(other, RefusedError)
    assert (other.field, other.limit, other.args) == ("size", 7, error.args)
    assert other.response is not None
    assert told_error(other, other.response) == told_error(error, error.response)


# Every other public class.


@dataclass
class Weather(ntapi.Service[None]):
    command = "weather"
    city: str


def read_date(value: Any) -> Optional[datetime]:
    return None


@ntapi.attempt_interceptor
def sign(call: ntapi.InterceptedCall) -> None: ...


def seen(show: str) -> Any:
    """Objects that only a callback sees, while they are valid."""
    shown: list[Any] = []

    class Showing(ntapi.Client):
        def build_request(self, request: ntapi.HTTPRequest) -> None:
            shown.append(take["request"](request))

    def look(call: ntapi.InterceptedCall) -> Iterator[ntapi.HTTPRequest]:
        shown.append(take["call"](call))
        answer: Any = yield call.request
        shown.append(take["answer"](answer))

    def decide(decision: ntapi.Decision) -> None:
        shown.append(take["decision"](decision))
        decision.proceed()

    class Listener(ntapi.Observer):
        def begun(self, observed: ntapi.Observation) -> None:
            shown.append(take["observation"](observed))

    stub = Stub()
    stub.on("GET", "a").answer(302, headers={"Location": "/b"})
    stub.on("GET", "b").answer(headers={"X-A": "b"}, text="here")
    take: dict[str, Callable[[Any], Any]] = dict.fromkeys(
        ("request", "call", "answer", "decision", "observation"), lambda _: None
    )
    take[show] = tries
    interceptor: Any = look
    client = Showing(API_URL, stub=stub, interceptors=[ntapi.call_interceptor(interceptor)])
    client.add_observer(Listener())
    client.perform("a", decision_handler=decide)
    return next(filter(None, shown))


def tries(thing: Any) -> tuple[Any, dict[str, Any]]:
    """Tries all ways to copy an object, while it is valid."""
    results: dict[str, Any] = {}
    for way, make in COPIES.items():
        try:
            results[way] = make(thing)
        except Exception as error:
            results[way] = error
    return thing, results


def stub_request() -> testing.StubRequest:
    stub = Stub()
    stub.on("POST", "a")
    ntapi.Client(API_URL, stub=stub).send("a", ntapi.json([1]))
    return stub.requests[0]


def response() -> ntapi.Response:
    stub = Stub()
    stub.on("GET", "a").answer(json={"a": 1})
    return ntapi.Client(API_URL, stub=stub).send("a")


def metrics() -> ntapi.RequestMetrics:
    return response().request_metrics


def headers() -> ntapi.Headers:
    return ntapi.Headers([("A", "1"), ("a", "2")])


SPACE = ntapi.ProtectionSpace("https", "a.example", 443, "members")
OPTIONS = ntapi.DecodingOptions(keys=ntapi.Keys.CAMEL_CASE, dates=[ntapi.DateFormat.HTTP])
CONFIGURATION = ntapi.SessionConfiguration.default(request_timeout=5, retry=True)
COOKIE = ntapi.Cookie("a", "b", "a.example", expires=7.0)

VALUES: dict[type, list[Callable[[], Any]]] = {
    ntapi.ApiError: [lambda: ntapi.ApiError("quota", retryable=True)],
    ntapi.Arg: [
        lambda: ntapi.url("q", "London").secret(),
        lambda: ntapi.retry(ntapi.RetryPolicy(attempts=2)),
        lambda: ntapi.timeout(5),
        lambda: ntapi.data(b"\0"),
        lambda: ntapi.json({"a": None}),
    ],
    ntapi.Cookie: [lambda: COOKIE],
    ntapi.Credential: [lambda: ntapi.Credential("ann", "sesame")],
    ntapi.CustomDateFormat: [lambda: ntapi.DateFormat.custom("day", read_date)],
    ntapi.DecodingOptions: [lambda: OPTIONS],
    ntapi.ErrorCode: [lambda: ntapi.register_code("mine"), lambda: ntapi.codes.TLS],
    ntapi.Headers: [headers],
    ntapi.Key: [lambda: ntapi.Key("a[0].b")],
    ntapi.Metrics: [lambda: metrics().transactions[0].metrics],
    ntapi.ProblemDetails: [lambda: ntapi.ProblemDetails(title="a", extensions={"b": [1]})],
    ntapi.ProtectionSpace: [lambda: SPACE],
    ntapi.RequestMetrics: [metrics],
    ntapi.RateLimit: [lambda: ntapi.RateLimit(2, seconds=3, burst=4)],
    ntapi.RetryPolicy: [lambda: ntapi.RetryPolicy(attempts=2, statuses=[503])],
    ntapi.StoreScript: [lambda: ntapi.StoreScript("name", "return 1")],
    ntapi.ServerSentEvent: [lambda: ntapi.ServerSentEvent("a", "b", "c")],
    ntapi.Service: [lambda: Weather("London")],
    ntapi.Token: [lambda: ntapi.Token("t", 5)],
    ntapi.TransactionMetrics: [lambda: metrics().transactions[0]],
    ntapi.URL: [lambda: ntapi.URL("https://a.example/")],
}
"""Classes whose objects equal their copies."""

OBJECTS: dict[type, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    ntapi.CallResult: (
        lambda: ntapi.CallResult(response(), [1]),
        lambda result: (result.get(), told(result.response)),
    ),
    ntapi.CredentialStorage: (
        lambda: filled(ntapi.CredentialStorage()),
        lambda storage: (storage.all(), storage.default(SPACE)),
    ),
    ntapi.HTTPResponse: (
        lambda: ntapi.HTTPResponse(203, {"A": "b"}, "body"),
        lambda answer: (answer.status, answer.headers.lines, answer.body, answer.error),
    ),
    ntapi.Refresh: (
        lambda: ntapi.Refresh("old", response()),
        lambda refresh: (refresh.expired_token, told(refresh.response)),
    ),
    ntapi.Request: (
        lambda: response().request,
        lambda request: told(request.response)["request"],
    ),
    ntapi.Response: (response, told),
    ntapi.SessionConfiguration: (
        lambda: CONFIGURATION,
        lambda configuration: (
            configuration.kind,
            dict(configuration._values),
            repr(ntapi.Client(API_URL, configuration=configuration)),
        ),
    ),
    testing.StubRequest: (
        stub_request,
        lambda request: (request.method, request.url, request.body, request.headers.lines),
    ),
}
"""Classes whose objects have the same content as their copies."""

REFUSING: dict[type, tuple[Callable[[], Any], str]] = {
    ntapi.AsyncClient: (lambda: ntapi.AsyncClient(API_URL), "make a client in each process"),
    ntapi.Authenticator: (lambda: ntapi.Authenticator(print), "make one in each process"),
    ntapi.Cache: (ntapi.Cache, "a cache of the same folder"),
    ntapi.Client: (lambda: ntapi.Client(API_URL), "make a client in each process"),
    ntapi.Cookies: (
        lambda: ntapi.Client(API_URL, configuration=ntapi.SessionConfiguration.ephemeral()).cookies,
        r"pass on `cookies.all\(\)`",
    ),
    ntapi.Mailbox: (ntapi.mailbox, "it belongs to a thread"),
    ntapi.Observer: (ntapi.Observer, "make one where it is needed"),
    ntapi.RateLimiter: (lambda: ntapi.RateLimiter(1), "make one in each"),
    ntapi.Store: (ntapi.Store, "make one in each process"),
    fleet.FileStore: (lambda: fleet.FileStore("a"), "make one in each process"),
    fleet.Redis: (lambda: fleet.Redis("redis://a"), "make one in each process"),
    ntapi.Stream: (
        lambda: ntapi.Client(API_URL, stub=Stub()).stream("a"),
        "pass on what was read",
    ),
    testing.Answer: (lambda: testing.Answer(text="x"), "make it where a stub gives it"),
    testing.ManualClock: (testing.ManualClock, "make one in each process"),
    testing.MemoryStore: (testing.MemoryStore, "make one in each process"),
    testing.Recorder: (lambda: testing.Recorder("x"), "make one in each process"),
    testing.Stub: (Stub, "make one in each process"),
    testing.StubRule: (lambda: Stub().on("GET"), "it belongs to its stub"),
}
"""Classes that refuse to be copied, with their messages."""

SEEN = {
    ntapi.Decision: ("decision", "answer it here"),
    ntapi.HTTPRequest: ("request", "pass on its `method`"),
    ntapi.InterceptedCall: ("call", "while its interceptor runs"),
    ntapi.Observation: ("observation", "keep what you need of it"),
}
"""Classes that refuse, and whose objects only a callback sees."""

ELSEWHERE = {
    "AsyncStream", "BaseClient", "Challenge", "Hooks", "Interceptor", "RequestBody", "Server",
}  # fmt: skip
"""Classes with their own tests below or in test_mock_server.py, or abstract ones."""
PARTS_OF_A_REQUEST = {"RequestHeaders", "RequestOptions", "RequestTimeouts"}
"""Parts of an HTTPRequest, which refuses."""
INSIDE = {
    "AsyncPassage", "AsyncPull", "BackgroundSession", "Call", "CassetteError",
    "CircuitBreakerSetting", "ClassReader", "Compiler", "ConnectionPolicy", "Copyable",
    "Delivery", "EndedError", "Ending", "Field", "GeneratorPassage", "GetDefault",
    "GetDefaultMethod", "GlobalDefaults", "HandlerQueue", "Handlers", "InterceptorsAttribute",
    "IteratorOfArgs", "Keywords", "LibraryStore",
    "ListOfArgs", "LoopCall", "Mailboxes", "MismatchError", "NamedErrors", "NeedsInit", "observing",
    "Number", "OnLoop", "Pull",
    "Outcome", "Owed", "Owner", "Pages", "Passage", "Place", "ProgressHandlers",
    "RateLimitSetting", "Reader",
    "Scalars", "Scope", "ServiceCall", "SessionEnd", "SetDefault", "SetDefaultMethod",
    "Setting", "Settings", "Source", "StreamReader", "TestDoubles", "ThreadCall",
    "Use", "Waiter", "Waker",
}  # fmt: skip
"""Classes whose objects no program gets (one `Source` is an enum). `Handle` refuses, and every
owner of a C object has one.
"""


APART = ("._bridge", ".transports", ".testing.server", ".opentelemetry")
"""Packages that call C, and packages that need other libraries and have tests of their own."""


def all_classes() -> set[type]:
    """Every class of the package and its subpackages, except those that are apart."""
    found = set()
    for module in pkgutil.walk_packages(ntapi.__path__, "ntapi."):
        if any(name in module.name for name in APART):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            is_own = inspect.isclass(value) and value.__module__.startswith("ntapi")
            if is_own and not name.startswith("_") and "._bridge" not in value.__module__:
                found.add(value)
    return found


def test_every_class_is_known() -> None:
    known = {*VALUES, *OBJECTS, *REFUSING, *SEEN}
    names = INSIDE | ELSEWHERE | PARTS_OF_A_REQUEST
    unknown = {
        each.__name__
        for each in all_classes() - known
        if each.__name__ not in names and not issubclass(each, enum.Enum)
    }
    assert not unknown, "say in this file what becomes of them when they are pickled or copied"
    public = [getattr(module, name) for module in (ntapi, testing) for name in module.__all__]
    inside = {getattr(value, "__name__", "") for value in public} & INSIDE - {"Source"}
    assert not inside, "a program holds these"


def no_addresses(value: object) -> None:
    """Checks that a pickle has no address of a C or ctypes object."""
    addresses = {handle.pointer for handle in gc.get_objects() if isinstance(handle, Handle)}
    numbers = [number for _, number, _ in pickletools.genops(pickle.dumps(value))]
    assert addresses - {None, 0}
    # Small numbers are counts.
    assert not {number for number in numbers if isinstance(number, int) and number > 1 << 20} & {
        *addresses
    }


@pytest.mark.parametrize("cls", VALUES, ids=lambda cls: cls.__name__)
def test_values_are_copied(cls: type) -> None:
    for make in VALUES[cls]:
        value = make()
        assert isinstance(value, cls)
        no_addresses(value)
        for copied_by in COPIES.values():
            other = copied_by(value)
            assert type(other) is type(value)
            assert repr(other) == repr(value)
            if cls is ntapi.ErrorCode:
                assert other is value
            elif cls is ntapi.Headers:
                assert other.lines == value.lines
            elif cls is not ntapi.ApiError:
                assert other == value


@pytest.mark.parametrize("cls", OBJECTS, ids=lambda cls: cls.__name__)
def test_objects_are_copied(cls: type) -> None:
    make, said = OBJECTS[cls]
    value = make()
    no_addresses(value)
    for copied_by in COPIES.values():
        other = copied_by(value)
        assert type(other) is cls
        assert repr(said(other)) == repr(said(value))


@pytest.mark.parametrize("cls", REFUSING, ids=lambda cls: cls.__name__)
def test_what_belongs_to_the_process_refuses(cls: type) -> None:
    make, says = REFUSING[cls]
    value = make()
    assert type(value) is cls
    for copied_by in COPIES.values():
        with pytest.raises(TypeError, match=rf"^ntapi\.\S+ cannot be pickled or copied: .*{says}"):
            copied_by(value)


@pytest.mark.parametrize("cls", SEEN, ids=lambda cls: cls.__name__)
def test_what_a_callback_sees_refuses(cls: type) -> None:
    name, says = SEEN[cls]
    value, results = seen(name)
    assert isinstance(value, cls)
    for result in results.values():
        assert isinstance(result, TypeError), result
        assert says in str(result)


def test_the_answer_that_an_interceptor_sees_is_copied() -> None:
    value, results = seen("answer")
    for result in results.values():
        assert isinstance(result, ntapi.HTTPResponse)
        assert (result.status, result.headers["X-A"], result.body) == (200, "b", b"here")
    assert isinstance(value, ntapi.HTTPResponse)


def every_enum() -> list[type[enum.Enum]]:
    return sorted(
        (each for each in all_classes() if issubclass(each, enum.Enum)),
        key=lambda each: each.__name__,
    )


@pytest.mark.parametrize("cls", every_enum(), ids=lambda cls: cls.__name__)
def test_members_stay_themselves(cls: type[enum.Enum]) -> None:
    for member in cls:
        assert all(copied_by(member) is member for copied_by in COPIES.values())
    assert all(copied_by(ntapi.defaults) is ntapi.defaults for copied_by in COPIES.values())


class Named(ntapi.Token):
    """Has an attribute, and other parameters."""

    def __init__(self, owner: str) -> None:
        super().__init__("t", 5)
        self.owner = owner


def test_a_subclass_is_copied_with_its_attributes() -> None:
    for copied_by in COPIES.values():
        other = copied_by(Named("ann"))
        assert (type(other), other.owner, other.text, other.lifetime) == (Named, "ann", "t", 5)


def test_what_is_in_them_refuses() -> None:
    """An interceptor is copied as the same object, like a function, and cannot be pickled."""
    assert copy.copy(sign) is copy.deepcopy(sign) is sign
    with pytest.raises(TypeError, match="it is code; import it"):
        pickle.dumps(sign)
    for arg, says in (
        (ntapi.interceptor(sign), "it is code; import it"),
        (ntapi.stream([b"a"]), "make the arg where it is sent"),
        (ntapi.rate_limiter(ntapi.RateLimiter(1)), "make one in each"),
        (ntapi.response_thread(ntapi.mailbox()), "it belongs to a thread"),
    ):
        with pytest.raises(TypeError, match=says):
            pickle.dumps(arg)
    configuration = ntapi.SessionConfiguration(interceptors=[sign], cache=ntapi.Cache())
    assert copy.copy(configuration).cache is configuration.cache
    with pytest.raises(TypeError, match="a cache of the same folder"):
        pickle.dumps(configuration)


def filled(storage: ntapi.CredentialStorage) -> ntapi.CredentialStorage:
    storage.set(ntapi.Credential("ann", "sesame"), SPACE)
    storage.set_default(ntapi.Credential("bob", "open"), SPACE)
    return storage


def test_storages_of_credentials(tmp_path: Path) -> None:
    storage = filled(ntapi.CredentialStorage(tmp_path / "file"))
    other = pickle.loads(pickle.dumps(storage))
    storage.remove(SPACE)
    # They share the file.
    assert other.all() == []
    configuration = ntapi.SessionConfiguration.ephemeral(credential_storage=storage)
    client = ntapi.Client(API_URL, configuration=configuration)
    with pytest.raises(TypeError, match="its client lends it"):
        pickle.dumps(client.credential_storage)


def test_a_request_that_runs_refuses(fault: ntapi.Client) -> None:
    request = fault.create_request("ok")
    for copied_by in COPIES.values():
        with pytest.raises(TypeError, match="it runs in this process; pickle its response"):
            copied_by(request)
    request.resume()
    assert request.wait(PATIENCE)
    assert pickle.loads(pickle.dumps(request)).response.status == 200


def test_a_subclass_may_say_how_it_is_copied() -> None:
    client = Portable(API_URL)
    for copied_by in COPIES.values():
        other = copied_by(client)
        assert type(other) is Portable
        assert other is not client
        assert repr(other) == repr(client)


class Portable(ntapi.Client):
    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address

    def __reduce__(self) -> Any:
        return Portable, (self.address,)


def test_a_challenge_is_copied() -> None:
    challenge = ntapi.Challenge.__new__(ntapi.Challenge)
    for name in ntapi.Challenge.__slots__:
        setattr(challenge, name, name)
    challenge.kind = ntapi.ChallengeKind.SERVER
    for copied_by in COPIES.values():
        other = copied_by(challenge)
        names = ntapi.Challenge.__slots__
        assert all(getattr(other, name) == getattr(challenge, name) for name in names)


def test_start_and_end_are_moments() -> None:
    other = pickle.loads(pickle.dumps(response()))
    assert other.start.tzinfo is timezone.utc


def test_streams_refuse() -> None:
    async def main() -> None:
        stub = Stub()
        stub.on("GET", "a").answer(data=b"abc")
        async with (
            ntapi.AsyncClient(API_URL, stub=stub) as client,
            client.stream("a") as chunks,
        ):
            for copied_by in COPIES.values():
                with pytest.raises(TypeError, match="pass on what was read"):
                    copied_by(chunks)

    asyncio.run(main())
