"""Each kind of arg, as the server sees it."""

from __future__ import annotations

import enum
import io
import json
import math
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import ntapi
from ntapi import codes
from ntapi.testing import Stub


def echo(client: ntapi.Client, *args: ntapi.Args, command: str = "echo") -> Any:
    return client.send(command, *args).json()


def test_url_keeps_order_and_repeats(fault: ntapi.Client) -> None:
    seen = echo(
        fault,
        ntapi.url("q", "a b&c=ü"),
        ntapi.url("n", 20),
        ntapi.query("n", True),
        ntapi.url("x", None),
        ntapi.url("big", 2**70),
    )
    assert seen["query"] == [["q", "a b&c=ü"], ["n", "20"], ["n", "true"], ["big", str(2**70)]]
    assert "a%20b" in seen["target"]


@pytest.mark.parametrize("number", [math.inf, math.nan])
def test_url_with_no_number_is_an_error(fault: ntapi.Client, number: float) -> None:
    response = fault.perform("echo", ntapi.url("x", number))
    assert response.error is not None
    assert response.error.code is codes.INVALID_REQUEST


def test_args_may_be_nested_and_missing(fault: ntapi.Client) -> None:
    common = [ntapi.url("a", 1), None]
    seen = echo(fault, common, [[ntapi.url("b", 2)], ()], None, ntapi.url("c", 3))
    assert [name for name, _ in seen["query"]] == ["a", "b", "c"]


def test_args_that_can_be_read_once(fault: ntapi.Client) -> None:
    """The result is the same with the fast start and with `build`, which a stream needs."""
    seen = echo(fault, (ntapi.url(name, 1) for name in "ab"))
    assert [name for name, _ in seen["query"]] == ["a", "b"]
    body = (arg for arg in [ntapi.stream([b"streamed"]), ntapi.method("PUT")])
    assert fault.perform("echo", body).json()["body"] == "streamed"


@pytest.mark.parametrize("wrong", ["q=London", b"q", 5, object()])
def test_what_is_no_arg_is_a_type_error(fault: ntapi.Client, wrong: Any) -> None:
    with pytest.raises(TypeError):
        fault.perform("echo", wrong)


def test_url_value_of_another_type_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        ntapi.url("q", {"a": 1})  # type: ignore[arg-type]


def test_path_cannot_add_a_segment(fault: ntapi.Client) -> None:
    seen = echo(fault, ntapi.path("id", "a/b?c"), command="echo/{id}/x")
    assert seen["target"] == "/echo/a%2Fb%3Fc/x"


@pytest.mark.parametrize("value", ["..", ".", "../a", "a/..", "a\\..\\b"])
def test_path_cannot_climb(fault: ntapi.Client, value: str) -> None:
    error = fault.perform("echo/{id}/x", ntapi.path("id", value)).error
    assert error is not None
    assert error.code is codes.INVALID_REQUEST
    assert '"id"' in error.message


def test_unfilled_path_is_an_error(fault: ntapi.Client) -> None:
    error = fault.perform("echo/{id}", ntapi.path("id", None)).error
    assert error is not None
    assert error.domain is ntapi.ErrorDomain.REQUEST


def test_form(fault: ntapi.Client) -> None:
    seen = echo(fault, ntapi.form("name", "a b"), ntapi.form("n", 1.5), ntapi.form("no", None))
    assert seen["method"] == "POST"
    assert seen["body"] == "name=a+b&n=1.5"


@pytest.mark.parametrize("content", [b"\0\1\2", bytearray(b"\0\1\2"), memoryview(b"\0\1\2")])
def test_multipart_bytes(weather: ntapi.Client, content: Any) -> None:
    seen = weather.send(
        "photo",
        ntapi.multipart("title", "Zürich"),
        ntapi.multipart("photo", content, extension="png"),
        ntapi.multipart("doc", b"{}", filename="a.json", content_type="application/json"),
        ntapi.multipart("none", None),
        ntapi.multipart("meta", '{"a":1}', content_type="application/json"),
        ntapi.multipart("raw", content, filename="", content_type="image/png"),
        ntapi.multipart("bare", content, filename=""),
        ntapi.multipart("typed", content, content_type="image/png"),
    ).json()
    title, photo, document, meta, raw, bare, typed = seen["parts"]
    assert (meta["filename"], meta["content_type"]) == (None, "application/json")
    assert (meta["text"], raw["size"], bare["size"]) == ('{"a":1}', 3, 3)
    assert (raw["filename"], raw["content_type"]) == (None, "image/png")
    assert (bare["filename"], bare["content_type"]) == (None, None)
    assert (typed["filename"], typed["content_type"]) == ("typed.bin", "image/png")
    assert title["text"] == "Zürich"
    assert (photo["filename"], photo["size"]) == ("photo.png", 3)
    assert (document["filename"], document["content_type"]) == ("a.json", "application/json")


def test_multipart_file(weather: ntapi.Client, tmp_path: Path) -> None:
    path = tmp_path / "ü.txt"
    path.write_bytes(b"text")
    (part,) = weather.send("photo", ntapi.multipart_file("f", path, filename="b.txt")).json()[
        "parts"
    ]
    assert (part["filename"], part["text"]) == ("b.txt", "text")


def test_data(fault: ntapi.Client) -> None:
    seen = echo(fault, ntapi.data("ü", "text/plain"))
    assert (seen["body"], seen["header"]["content-type"]) == ("ü", "text/plain")
    assert echo(fault, ntapi.data(b""))["method"] == "POST"


def test_json(fault: ntapi.Client) -> None:
    seen = echo(fault, ntapi.json({"a": [1, None, "ü"]}))
    assert seen["body"] == '{"a":[1,null,"ü"]}'
    assert seen["header"]["content-type"] == "application/json"


def test_json_is_exact_beyond_64_bits(fault: ntapi.Client) -> None:
    seen = echo(fault, ntapi.json({"n": 2**80}))
    assert seen["body"] == '{"n":1208925819614629174706176}'
    assert seen["header"]["content-type"] == "application/json"


def test_json_is_exact_beyond_double(fault: ntapi.Client) -> None:
    seen = echo(fault, ntapi.json([10**400]))
    assert json.loads(seen["body"]) == [10**400]
    assert seen["header"]["content-type"] == "application/json"


def test_json_is_a_plain_value(fault: ntapi.Client) -> None:
    value = {"a": 1}
    arg = ntapi.json(value)
    value["a"] = 2
    assert echo(fault, arg)["body"] == '{"a":1}'
    with pytest.raises(ValueError, match="JSON"):
        ntapi.json(math.nan)


def test_file(fault: ntapi.Client, tmp_path: Path) -> None:
    path = tmp_path / "body"
    path.write_bytes(b"from a file")
    seen = echo(fault, ntapi.file(path, "text/plain"))
    assert (seen["body"], seen["header"]["content-type"]) == ("from a file", "text/plain")
    missing = fault.perform("echo", ntapi.file(tmp_path / "missing")).error
    assert missing is not None
    assert missing.code is codes.INVALID_REQUEST


def pulled() -> Any:
    rest = [b"c", b"b", b"a"]
    return lambda _: rest.pop() if rest else b""


@pytest.mark.parametrize(
    "content",
    [io.BytesIO(b"abc"), [b"a", b"", b"bc"], (b for b in (b"a", b"bc")), pulled()],
    ids=["file", "list", "generator", "function"],
)
def test_stream(fault: ntapi.Client, content: Any) -> None:
    seen = echo(fault, ntapi.stream(content, content_type="text/plain"))
    assert seen["body"] == "abc"
    if isinstance(content, io.BytesIO):
        assert seen["header"]["content-length"] == "3"
    else:
        assert seen["header"]["transfer-encoding"] == "chunked"


def test_stream_with_length(weather: ntapi.Client) -> None:
    size = 3_000_000
    seen = weather.send("upload", ntapi.stream([b"x" * size], length=size)).json()
    assert seen["size"] == size
    assert seen["content_length"] == str(size)


def test_stream_is_sent_again_for_a_redirect(fault: ntapi.Client) -> None:
    command = "redirect/echo?status=307"
    assert echo(fault, ntapi.stream(io.BytesIO(b"abc")), command=command)["body"] == "abc"
    once = fault.perform(command, ntapi.stream(iter([b"abc"])))
    assert once.error is not None


def test_exception_in_a_stream_is_the_cause_of_the_error(fault: ntapi.Client) -> None:
    def failing() -> Any:
        yield b"a"
        raise KeyError("boom")

    with pytest.raises(ntapi.ApiError) as caught:
        fault.send("echo", ntapi.stream(failing()))
    assert isinstance(caught.value.__cause__, KeyError)


def test_stream_of_text_is_the_cause_of_the_error(fault: ntapi.Client) -> None:
    error = fault.perform("echo", ntapi.stream(io.StringIO("text"))).error  # type: ignore[arg-type]
    assert error is not None
    assert isinstance(error.__cause__, TypeError)


def test_headers(fault: ntapi.Client) -> None:
    seen = echo(
        fault,
        ntapi.header("X-A", "1"),
        ntapi.header("x-a", 2),
        ntapi.add_header("X-B", "1"),
        ntapi.add_header("X-B", "2"),
        ntapi.header("X-C", None),
    )
    pairs = [(name.lower(), value) for name, value in seen["headers"] if name.lower()[:2] == "x-"]
    assert pairs == [("x-a", "2"), ("x-b", "1"), ("x-b", "2")]


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b"])
def test_header_cannot_be_split(fault: ntapi.Client, value: str) -> None:
    error = fault.perform("echo", ntapi.header("X-A", value)).error
    assert error is not None
    assert error.code is codes.INVALID_REQUEST


def test_auth(fault: ntapi.Client) -> None:
    assert echo(fault, ntapi.basic_auth("user", ""))["header"]["authorization"] == "Basic dXNlcjo="
    assert echo(fault, ntapi.bearer("t"))["header"]["authorization"] == "Bearer t"


@pytest.mark.parametrize("seconds", [0.05, timedelta(milliseconds=50)])
@pytest.mark.parametrize("clock", ["idle", "total", ntapi.Clock.ATTEMPT])
def test_timeout(fault: ntapi.Client, seconds: Any, clock: Any) -> None:
    error = fault.perform("hold", ntapi.timeout(seconds, clock)).error
    assert error is not None
    assert error.code is codes.TIMEOUT
    assert error.domain is ntapi.ErrorDomain.NETWORK


def test_timeout_without_end(fault: ntapi.Client) -> None:
    assert echo(fault, ntapi.timeout(0.001, "queue"), ntapi.timeout(math.inf, "total"))
    with pytest.raises(ValueError, match="'idle', 'connect'"):
        ntapi.timeout(1, "sundial")


def test_method_and_base_url(fault: ntapi.Client, servers: dict[str, str]) -> None:
    other = servers["fault_other"] + "/echo/there"
    seen = echo(fault, ntapi.method("QUERY"), ntapi.base_url(other), command="ignored")
    assert (seen["method"], seen["path"]) == ("QUERY", "/echo/there")


def test_options(fault: ntapi.Client) -> None:
    raw = fault.send("echo", ntapi.option("raw_data"))
    assert raw.json() is None
    assert raw.data.startswith(b"{")
    assert fault.send("status/404", ntapi.option("ignore_http_errors")).status == 404
    large = fault.perform("ok?size=5000", ntapi.option("maximum_response_size", 100)).error
    assert large is not None
    assert large.code is codes.RESPONSE_TOO_LARGE


def test_cache_policy(fault: ntapi.Client) -> None:
    assert fault.send("echo", ntapi.cache_policy("reload_ignoring_cache")).status == 200
    assert fault.send("echo", ntapi.cache_policy(ntapi.CachePolicy.PROTOCOL)).status == 200
    with pytest.raises(ValueError, match="'protocol'"):
        ntapi.cache_policy("sometimes")


def test_two_bodies_are_an_error_that_names_both(fault: ntapi.Client) -> None:
    error = fault.perform("echo", ntapi.form("a", "b"), ntapi.json({})).error
    assert error is not None
    assert error.code is codes.INVALID_REQUEST
    assert "form" in error.message
    assert "json" in error.message


def test_an_arg_that_c_cannot_hold_reaches_the_handler(fault: ntapi.Client) -> None:
    response = fault.perform("echo", ntapi.data(b"x", "a\0b"))
    assert response.error is not None
    assert response.error.code is codes.INVALID_REQUEST
    assert response.status == 0
    assert response.data == b""
    assert response.request.identifier == 0
    assert not response.headers


@pytest.mark.parametrize(
    "arg",
    [
        ntapi.bearer("sesame"),
        ntapi.basic_auth("user", "sesame"),
        ntapi.digest_auth("user", "sesame"),
        ntapi.header("Authorization", "sesame"),
        ntapi.url("token", "sesame"),
        ntapi.url("q", "sesame").secret(),
        ntapi.header("X-Key", "sesame").secret(),
        ntapi.data(b"sesame").secret(),
    ],
    ids=lambda arg: arg.kind,
)
def test_secrets_are_redacted(arg: ntapi.Arg) -> None:
    assert "sesame" not in repr(arg)
    assert "sesame" not in repr([arg])


def test_arg_is_a_value() -> None:
    assert ntapi.url("q", "x") == ntapi.url("q", "x")
    assert len({ntapi.url("q", "x"), ntapi.url("q", "x")}) == 1
    assert "London" in repr(ntapi.url("q", "London"))
    with pytest.raises(AttributeError):
        ntapi.url("q", "x").kind = "form"  # type: ignore[misc]


class State(enum.Enum):
    OPEN = "open"


class Level(str, enum.Enum):
    HIGH = "high"


class Size(enum.IntEnum):
    LARGE = 3


def test_date_is_sent_in_utc() -> None:
    moment = datetime(2026, 12, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    for value, text in (
        (moment, "2026-12-01T00:00:00Z"),
        (moment.date(), "2026-12-01"),
    ):
        assert ntapi.url("since", value).values == ("since", text)
        assert ntapi.header("X-Since", value).values == ("X-Since", text)
    with pytest.raises(TypeError, match="a time cannot be written"):
        ntapi.url("at", moment.time())  # type: ignore[arg-type]


def test_enum_is_sent_as_its_value() -> None:
    stub = Stub()
    stub.on(
        "GET", "7/high?state=open&size=3", where=lambda request: request.headers["x"] == "high"
    ).answer()
    with ntapi.Client("https://api.example", stub=stub) as client:
        client.send(
            "7/{level}",
            ntapi.path("level", Level.HIGH),
            ntapi.url("state", State.OPEN),
            ntapi.url("size", Size.LARGE),
            ntapi.header("X", Level.HIGH),
        )
