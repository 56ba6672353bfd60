"""What those who know requests, httpx, aiohttp or curl type first, and what happens here: each line
is run with both clients.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
from pathlib import Path
from typing import Any, Callable

import pytest

import ntapi
from conftest import API_URL, PATIENCE
from ntapi.testing import Stub, StubRequest

JSON = "Content-Type: application/json"
FORM = "Content-Type: application/x-www-form-urlencoded"
BYTES = "Content-Type: application/octet-stream"
BASIC = "Authorization: Basic YW5uOnNlc2FtZQ=="

# The line, and the request that it sends.
SENT = {
    # The query, as requests and httpx have it.
    'client.get("find")': "GET find",
    'client.get("find", params={"q": "São Paulo"})': "GET find?q=S%C3%A3o%20Paulo",
    'client.get("find?a=1", params={"b": 2, "c": 1.5, "d": True})': "GET find?a=1&b=2&c=1.5&d=true",
    'client.get("find", params={"id": [7, 8], "page": None})': "GET find?id=7&id=8",
    'client.get("find", params=[("id", 7), ("id", 8)])': "GET find?id=7&id=8",
    'client.get("find", params=MultiDict())': "GET find?id=7&id=8",
    'client.get("find", params=None)': "GET find",
    'client.get("find", params={})': "GET find",
    'client.delete("notes/7", params={"force": "yes"})': "DELETE notes/7?force=yes",
    # Headers.
    'client.get("find", headers={"X-A": "b", "X-N": 7})': "GET find | X-A: b | X-N: 7",
    'client.get("find", headers={"X-A": None})': "GET find",
    'client.get("find", headers=[("X-A", "b"), ("x-a", "c")])': "GET find | X-A: b | x-a: c",
    'client.get("find", headers=ntapi.Headers([("X-A", "b")]))': "GET find | X-A: b",
    'client.get("find", headers={"Client": "mine"})': "GET find | Client: mine",
    'client.get("find", headers={"Cookie": "a=b"})': "GET find | Cookie: a=b",
    # JSON.
    'client.post("notes", json={"title": "ä"})': f'POST notes | {JSON} | {{"title":"ä"}}',
    'client.put("notes/7", json=[1, 2])': f"PUT notes/7 | {JSON} | [1,2]",
    'client.patch("notes/7", json={})': f"PATCH notes/7 | {JSON} | {{}}",
    'client.post("notes", json="text")': f'POST notes | {JSON} | "text"',
    'client.post("notes", json=None)': "POST notes",
    'client.post("notes", data=json.dumps([1]), headers={"Content-Type": "application/json"})': (
        f"POST notes | {JSON} | [1]"
    ),
    # A form, or a body as it is.
    'client.post("notes", data={"a": 1, "b": ["x y", "z"], "c": None})': (
        f"POST notes | {FORM} | a=1&b=x+y&b=z"
    ),
    'client.post("notes", data=[("a", 1), ("a", 2)])': f"POST notes | {FORM} | a=1&a=2",
    'client.put("notes", data={"a": 1})': f"PUT notes | {FORM} | a=1",
    'client.post("notes", data={})': "POST notes",
    'client.post("notes", data="a=1")': f"POST notes | {BYTES} | a=1",
    'client.post("notes", data=b"abc")': f"POST notes | {BYTES} | abc",
    'client.post("notes", content=b"abc")': f"POST notes | {BYTES} | abc",
    'client.post("notes", content="ä")': f"POST notes | {BYTES} | ä",
    'client.put("photo", data=open(path, "rb"))': f"PUT photo | {BYTES} | hello",
    'client.put("photo", data=io.BytesIO(b"abc"))': f"PUT photo | {BYTES} | abc",
    'client.put("photo", content=(each for each in [b"a", b"b"]))': f"PUT photo | {BYTES} | ab",
    # Files.
    'client.post("photo", files={"f": open(path, "rb")})': "POST photo | f a.txt: hello",
    'client.post("photo", files={"f": path})': "POST photo | f a.txt: hello",
    'client.post("photo", files={"f": b"abc"})': "POST photo | f f: abc",
    'client.post("photo", files={"f": io.StringIO("abc")})': "POST photo | f f: abc",
    'client.post("photo", files={"f": ("b.png", b"abc", "image/png")})': (
        "POST photo | f b.png image/png: abc"
    ),
    'client.post("photo", files={"f": ("b.txt", open(path, "rb"))})': "POST photo | f b.txt: hello",
    'client.post("photo", files={"f": (None, "x")})': "POST photo | f: x",
    'client.post("photo", files={"f": (None, "{}", "application/json")})': (
        "POST photo | f application/json: {}"
    ),
    'client.post("photo", files=[("f", ("1", b"a")), ("f", ("2", b"b"))])': (
        "POST photo | f 1: a | f 2: b"
    ),
    'client.post("photo", data={"t": ["x", 2]}, files={"f": b"abc"})': (
        "POST photo | t: x | t: 2 | f f: abc"
    ),
    'client.post("photo", files={"f": None})': "POST photo",
    'client.post("photo", data={"a": 1}, files={})': f"POST photo | {FORM} | a=1",
    # Users and passwords.
    'client.get("find", auth=("ann", "sesame"))': f"GET find | {BASIC}",
    'client.get("find", auth=None)': "GET find",
    # Seconds.
    'client.get("find", timeout=5)': "GET find | idle 5",
    'client.get("find", timeout=0.5)': "GET find | idle 0.5",
    'client.get("find", timeout=(3.05, 27))': "GET find | connect 3.05 | idle 27",
    'client.get("find", timeout=None)': "GET find",
    # Beside args, which come first.
    'client.get("find", ntapi.url("a", 1), params={"b": 2})': "GET find?a=1&b=2",
    'client.get(ntapi.path("x", 1), ntapi.timeout(9), timeout=5)': "GET | idle 5",
    'client.post("notes", json=[1], upload_progress=print)': f"POST notes | {JSON} | [1]",
    # Any method.
    'client.request("GET", "find", params={"q": "London"})': "GET find?q=London",
    'client.request("PUT", "notes/7", json=[1])': f"PUT notes/7 | {JSON} | [1]",
    'client.request("HEAD", "find")': "HEAD find",
    'client.request("PURGE", ntapi.path("x", 1))': "PURGE",
}

TAKES = "get, post, put, patch, delete and request take"
SETTING = "make the client with configuration=ntapi.SessionConfiguration.default"
OF_CLIENT = "'CLIENT' object has no attribute "
OF_PACKAGE = "module 'ntapi' has no attribute "
UNVERIFIED = 'write the arg ntapi.option("allow_invalid_certificate")'
NO = "a request has no keyword "

# The line, and the beginning of the error's message.
REFUSED = {
    # A value that a keyword does not take.
    'client.get("find", params="q=London")': (
        'params= takes a mapping or pairs, not str; write params={"name": value}, or the query in'
    ),
    'client.get("find", params={"q": {"a": 1}})': "the url arg 'q' has to be a string, a number, a",
    'client.get("find", headers=["X-A: b"])': (
        'headers= takes a mapping or pairs, not str; write headers={"Name": value}'
    ),
    'client.post("notes", data=5)': (
        "data= takes bytes, text, a file or pieces of bytes, not int; write json= to send it as"
    ),
    'client.put("photo", data=path)': "data= takes bytes, text, a file or pieces of bytes, not",
    'client.post("notes", data=[1, 2])': (
        'data= takes a mapping or pairs, not int; write data={"name": value}, or json= for JSON'
    ),
    'client.post("notes", content={"a": 1})': (
        "content= takes bytes, text, a file or pieces of bytes, not dict; write json= to send"
    ),
    'client.post("notes", json=object())': "a object cannot be written as JSON",
    'client.post("notes", json={"a": 1}, data={"b": 2})': (
        "the request has a json and a form body: a request has one body, so keep one"
    ),
    'client.post("notes", data=b"a", files={"f": b"b"})': (
        "the request has a raw data and a multipart body: a request has one body, so keep one"
    ),
    'client.post("photo", files={"f": 5})': (
        "files= takes bytes, text, a file, a path, or a tuple of file name, one of these and"
    ),
    'client.post("photo", files={"f": ("a", b"b", "c/d", {"X-A": "b"})})': (
        "files= takes bytes, text, a file, a path, or a tuple of file name, one of these and"
    ),
    'client.post("photo", files=[b"abc"])': (
        'files= takes a mapping or pairs, not bytes; write files={"name": content}'
    ),
    'client.get("find", auth="token")': (
        "auth= takes a tuple (user, password), not str; write the arg ntapi.bearer(token), or "
        "ntapi.digest_auth(user, password) for Digest"
    ),
    'client.get("find", auth=ntapi.Authenticator(lambda _: "t"))': (
        "auth= takes a tuple (user, password), not Authenticator; make the client with "
        "authenticator=..."
    ),
    'client.get("find", timeout=Timeout())': (
        "timeout= takes a number of seconds, or a tuple (connect, idle), not Timeout; write an "
        'arg for each clock, such as ntapi.timeout(5, "total")'
    ),
    'client.get("find", timeout=(1, 2, 3, 4))': "timeout= takes a number of seconds, or a tuple",
    'client.get("find", timeout=True)': "timeout has to be a number of seconds, not bool",
    # requests.
    'client.get("find", param={"q": 1})': NO + "'param'; did you mean params=?",
    'client.get("find", {"q": "London"})': (
        "an arg is expected, not a dict; write ntapi.json(...) to send it as JSON, or "
        f"ntapi.form(name, value) for each pair; {TAKES} params=, json= and data="
    ),
    'client.get("find", verify=False)': f"{NO}'verify'; {UNVERIFIED}",
    'client.get("find", verify="ca.pem")': f"{NO}'verify'; {SETTING}(ca_file=\"ca.pem\")",
    'client.get("find", cert="a.pem")': f"{NO}'cert'; {SETTING}(client_certificate=",
    'client.get("find", proxies={})': f"{NO}'proxies'; {SETTING}(proxy=",
    'client.get("find", allow_redirects=False)': (
        NO + "'allow_redirects'; write the arg ntapi.option(\"maximum_redirects\", 0)"
    ),
    'client.get("find", allow_redirects=True)': (
        NO + "'allow_redirects'; redirects are followed anyway: leave it out"
    ),
    'client.get("find", cookies={"a": "b"})': (
        NO + "'cookies'; a client with a configuration keeps cookies by itself: `client.cookies`;"
    ),
    'client.get("find", stream=True)': NO + "'stream'; write `with client.stream(command) as",
    'client.get("find", hooks={})': NO + "'hooks'; override hooks such as `build_request`",
    'client.get(url="find")': NO + "'url'; write the command first: `client.get(command)`",
    'client.head("find")': OF_CLIENT + "'head': write `client.request(\"HEAD\", command)`",
    'client.headers["X-A"]': OF_CLIENT + "'headers': write `client.args = ",
    'ntapi.get("https://api.test")': OF_PACKAGE + "'get': write `ntapi.Client(base_url).get(",
    "ntapi.Session()": OF_PACKAGE + "'Session': write `ntapi.Client`",
    "ntapi.RequestException": OF_PACKAGE + "'RequestException': write `ntapi.ApiError`",
    "ntapi.exceptions.Timeout": OF_PACKAGE + "'exceptions': write `ntapi.ApiError` and",
    # httpx.
    'client.get("find", follow_redirects=True)': NO + "'follow_redirects'; redirects are followed",
    'client.get("find", extensions={})': NO + "'extensions'",
    'client.send("find", params={"q": 1})': (
        f"{NO}'params'; write the arg ntapi.url(\"q\", ...); {TAKES} params="
    ),
    'client.send("find", json={})': f"{NO}'json'; write the arg ntapi.json(...); {TAKES} json=",
    'client.perform("find", timeout=5)': (
        f"{NO}'timeout'; write the arg ntapi.timeout(5); {TAKES} timeout="
    ),
    'client.begin("find", headers={"A": "b"})': (
        f"{NO}'headers'; write the arg ntapi.header(\"A\", ...); {TAKES} headers="
    ),
    'client.stream("find", timeout=5)': (
        f"{NO}'timeout'; write the arg ntapi.timeout(5); {TAKES} timeout="
    ),
    'pages("find", params={"q": 1})': (
        f"{NO}'params'; write the arg ntapi.url(\"q\", ...); {TAKES} params="
    ),
    "ntapi.HTTPStatusError": OF_PACKAGE + "'HTTPStatusError': write `ntapi.ApiError`",
    "ntapi.Timeout(5)": OF_PACKAGE + "'Timeout': write `ntapi.timeout(seconds)`",
    "ntapi.Client(timeout=5)": "a client has no keyword 'timeout'; write args=[ntapi.timeout(5)]",
    # aiohttp.
    'client.get("find", ssl=False)': f"{NO}'ssl'; {UNVERIFIED}",
    'client.get("find", raise_for_status=True)': (
        NO + "'raise_for_status'; an HTTP error is raised anyway: leave it out; `client.perform`"
    ),
    'client.get("find", auth=BasicAuth())': "auth= takes a tuple (user, password), not BasicAuth;",
    "ntapi.ClientSession()": OF_PACKAGE + "'ClientSession': write `ntapi.AsyncClient`",
    # curl's options.
    'client.get("find", header="X-A: b")': NO + "'header'; write the arg ntapi.header(",
    'client.post("find", form={"a": 1})': NO + "'form'; write the arg ntapi.form(\"a\", ...)",
    'client.post("find", data_urlencode={"a": 1})': NO + "'data_urlencode'; write the arg ",
    'client.get("find", user="ann:sesame")': NO + "'user'; write the arg ntapi.basic_auth(user, ",
    'client.get("find", oauth2_bearer="t")': NO
    + "'oauth2_bearer'; write the arg ntapi.bearer(...)",
    'client.get("find", request="PUT")': NO + "'request'; write the arg ntapi.method(name)",
    'client.get("find", insecure=True)': f"{NO}'insecure'; {UNVERIFIED}",
    'client.get("find", location=True)': NO + "'location'; redirects are followed anyway",
    'client.get("find", max_redirs=3)': NO + "'max_redirs'; write the arg ntapi.option(",
    'client.get("find", max_time=5)': NO + "'max_time'; write the arg ntapi.timeout(seconds, ",
    'client.get("find", connect_timeout=5)': NO + "'connect_timeout'; write the arg ntapi.timeout(",
    'client.get("find", output="a")': NO + "'output'; write the arg ntapi.download(path)",
    'client.put("find", upload_file="a")': NO + "'upload_file'; write the arg ntapi.file(path)",
    'client.get("find", cookie="a=b")': NO + "'cookie'; write the arg ntapi.header(\"Cookie\", ",
    'client.get("find", referer="a")': NO + "'referer'; write the arg ntapi.header(\"Referer\", ",
    'client.get("find", cacert="a")': f"{NO}'cacert'; {SETTING}(ca_file=",
    'client.get("find", compressed=True)': NO + "'compressed'; answers are decompressed anyway",
    'client.get("find", fail=True)': NO + "'fail'; an HTTP error is raised anyway",
    'client.get("find", verbose=True)': NO + "'verbose'; write `client.log_flags = ",
    'client.get("find", retry=3)': NO + "'retry'; write the arg ntapi.retry(",
}

# A line that reads the response, and what it gives.
READ = {
    "response.json()": {"a": 1},
    "response.text": '{"a":1}',
    "response.url": API_URL + "/find",
    'response.headers["content-type"]': "application/json",
    "response.raise_for_error().status": 200,
}

# A line that cannot, and the message after "object has no attribute".
NOT_READ = {
    "response.status_code": "'status_code': write `response.status`",
    "response.ok": "'ok': write `response.error is None`",
    "response.is_success": "'is_success': write `response.error is None`",
    "response.content": "'content': write `response.data`",
    "response.body": "'body': write `response.data`",
    "response.read()": "'read': write `response.data`",
    "response.reason": "'reason': write `response.reason_phrase`",
    "response.raise_for_status()": "'raise_for_status': write `response.raise_for_error()`",
    "response.iter_lines()": "'iter_lines': write `client.lines(command)`",
    "response.history": "'history': write `response.request_metrics`",
    "response.encoding": "'encoding': write `response.headers[\"Content-Type\"]`",
    'response.links["next"]': "'links': write `response.link(\"next\")`",
}


class MultiDict:
    """A mapping with repeated names, as httpx.QueryParams is one."""

    def items(self) -> Any:
        return {"id": 7}.items()

    def multi_items(self) -> list[tuple[str, int]]:
        return [("id", 7), ("id", 8)]


class Timeout:
    """As httpx.Timeout and aiohttp.ClientTimeout."""


class BasicAuth(tuple[str, str, str]):
    """As aiohttp.BasicAuth."""

    def __new__(cls) -> BasicAuth:
        return super().__new__(cls, ("ann", "sesame", "latin1"))


class Watched:
    """Remembers the timeouts of the last request."""

    timeouts: Any

    def build_request(self, request: ntapi.HTTPRequest) -> None:
        self.timeouts = {
            clock: request.timeouts[clock]
            for clock, by_default in (("connect", 30), ("idle", 60))
            if request.timeouts[clock] != by_default
        }


class Threads(Watched, ntapi.Client):
    pass


class Loop(Watched, ntapi.AsyncClient):
    pass


def names(path: Path) -> dict[str, Any]:
    (path / "a.txt").write_bytes(b"hello")
    own = {"path": path / "a.txt", "io": io, "json": json, "ntapi": ntapi}
    return {**own, "MultiDict": MultiDict, "Timeout": Timeout, "BasicAuth": BasicAuth}


Run = Callable[[str], Any]


@pytest.fixture(params=["Client", "AsyncClient", "plain"])
def run(request: pytest.FixtureRequest, stub: Stub, tmp_path: Path) -> Run:
    """Runs a line with a new client; the stub answers. Returns what the line gives, and the
    timeouts of the request, which a plain client does not see.
    """
    stub.on(None, "**").answer(json={"a": 1})
    args = [ntapi.header("Client", "own")]

    def with_threads(line: str) -> Any:
        make = ntapi.Client if request.param == "plain" else Threads
        with make(API_URL, stub=stub, args=args) as client:
            given = {"client": client, "pages": lambda *a, **k: next(client.pages(*a, **k))}
            return eval(line, {**names(tmp_path), **given}), getattr(client, "timeouts", None)

    async def with_loop(line: str) -> Any:
        async with Loop(API_URL, stub=stub, args=args) as client:
            given = {"client": client, "pages": lambda *a, **k: client.pages(*a, **k).__anext__()}
            made = eval(line, {**names(tmp_path), **given})
            return await made if asyncio.iscoroutine(made) else made, client.timeouts

    if request.param == "AsyncClient":
        return lambda line: asyncio.run(asyncio.wait_for(with_loop(line), PATIENCE))
    return with_threads


def shown(request: StubRequest, timeouts: dict[str, float]) -> str:
    """A request as the table has it: what every request has is left out."""
    words = [f"{request.method} {request.url.removeprefix(API_URL).lstrip('/')}".rstrip()]
    usual = {("User-Agent", f"ntapi/{ntapi.__version__}"), ("Client", "own")}
    for name, value in request.headers.lines:
        is_usual = name == "Accept" or (name, value) in usual
        if not is_usual and not value.startswith("multipart/form-data; "):
            words.append(f"{name}: {value}")
    if "multipart/form-data" in request.headers.get("content-type", ""):
        boundary = request.headers["content-type"].partition("boundary=")[2]
        words += map(part, request.text.split(f"--{boundary}\r\n")[1:])
    elif request.body:
        words.append(request.text)
    words += [f"{clock} {seconds:g}" for clock, seconds in timeouts.items()]
    return " | ".join(words)


def part(text: str) -> str:
    """A part of a multipart body: name, file name, type: content."""
    head, _, content = text.partition("\r\n\r\n")
    found = re.findall(r'name="(.*?)"|Content-Type: (\S+)', head)
    labels = " ".join(one or other for one, other in found)
    return labels + ": " + content.partition("\r\n")[0]


@pytest.mark.parametrize("line", SENT)
def test_a_line_that_works(run: Run, stub: Stub, line: str) -> None:
    _, timeouts = run(line)
    expected = SENT[line]
    if timeouts is None:
        expected = re.sub(r" \| (idle|connect) [\d.]+", "", expected)
    assert [shown(request, timeouts or {}) for request in stub.requests] == [expected]


@pytest.mark.parametrize("line", REFUSED)
def test_a_line_that_is_refused(run: Run, stub: Stub, line: str) -> None:
    with pytest.raises((TypeError, AttributeError, ntapi.ApiError)) as caught:
        run(line)
    message = re.sub(r"^'(Threads|Loop|Client)'", "'CLIENT'", str(caught.value))
    assert message.startswith(REFUSED[line])
    assert "sesame" not in message
    assert not stub.requests


@pytest.mark.parametrize("line", READ)
def test_a_line_that_reads_the_response(run: Run, line: str) -> None:
    response, _ = run('client.get("find")')
    assert eval(line, {"response": response}) == READ[line]


@pytest.mark.parametrize("line", NOT_READ)
def test_a_line_that_cannot_read_the_response(run: Run, line: str) -> None:
    response, _ = run('client.get("find")')
    with pytest.raises(AttributeError) as caught:
        eval(line, {"response": response})
    assert str(caught.value) == f"'Response' object has no attribute {NOT_READ[line]}"
