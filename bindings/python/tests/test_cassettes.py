"""Recordings whose file is a cassette of vcrpy. What vcrpy itself reads and writes is in
test_cassettes_vcrpy.py.
"""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

import ntapi
from ntapi import codes
from ntapi.testing import Recorder, Stub, StubFault
from ntapi.testing.cassettes import cassette_of, recording_of

yaml = pytest.importorskip("yaml")

RAW = ntapi.option("raw_data")
POST = ntapi.method("POST")


def cassette(path: Path, *interactions: str) -> Path:
    """Writes a cassette. An interaction is YAML from the request's first member on, below which a
    line with three dashes begins the response.
    """
    texts = []
    for interaction in interactions:
        request, _, response = interaction.strip("\n").partition("\n---\n")
        response = response or "    status: {code: 200, message: OK}\n    body: {string: ok}"
        texts.append(f"- request:\n{request}\n  response:\n{response}\n")
    path.write_text(f"interactions:\n{''.join(texts)}version: 1\n")
    return path


def replaying(path: Path) -> ntapi.Client:
    return ntapi.Client("http://api.test", recorder=Recorder(path, mode="none"))


def test_old_and_odd_cassettes(tmp_path: Path) -> None:
    path = cassette(
        tmp_path / "r.yml",
        """
    method: GET
    uri: http://api.test/text#part
    headers: {Accept: '*/*'}
---
    status: {code: 200, message: null}
    headers:
      X-One: one
      X-Number: 5
      X-Twice: [a, b]
      X-Bytes: !!binary w7w=
      X-Folded: ["a\\r\\n  b"]
      Transfer-Encoding: [chunked]
      Content-Length: ['999']
    body: {string: !!python/unicode 'text'}
""",
        """
    {method: GET, uri: 'http://api.test/none', body: null, headers: null}
---
    {status: {code: 204, message: No Content}, headers: {}, body: {}}
""",
        """
    {method: GET, uri: 'http://api.test/httpx', body: '', headers: {}}
---
    content: '{"old": true}'
    headers: {Content-Encoding: [gzip], Content-Type: [application/json]}
    http_version: HTTP/1.1
    status_code: 201
""",
        """
    {method: GET, uri: 'http://api.test/gzip', body: '', headers: {}}
---
    status: {code: 200, message: OK}
    headers: {content-encoding: ['deflate, gzip']}
    body: {string: !!binary BODY}
""".replace("BODY", b64encode(gzip.compress(zlib.compress(b"text"))).decode()),
    )
    with replaying(path) as client:
        text = client.send("text", RAW)
        assert text.data == b"text"
        assert (text.headers["X-One"], text.headers["X-Number"]) == ("one", "5")
        assert text.headers.get_all("X-Twice") == ["a", "b"]
        assert (text.headers["X-Bytes"], text.headers["X-Folded"]) == ("ü", "a b")
        assert client.send("none").status == 204
        old = client.send("httpx")
        assert (old.status, old.json()) == (201, {"old": True})
        assert client.send("gzip", RAW).data == b"text"
        assert client.stub
        client.stub.verify()


FORM = [ntapi.form("a", "b c"), ntapi.form("d", "")]
FILE = "!!python/object/new:_io.BytesIO {state: !!python/tuple [!!binary YWI=, 0, null]}"
ITERATOR = "!!python/object/apply:builtins.iter {args: [[!!binary YQ==, b, 99]], state: 0}"


@pytest.mark.parametrize(
    ("headers", "body", "args", "other"),
    [
        ("[application/json]", "'{\"n\": 1.0}'", [ntapi.json({"n": 1.0})], [ntapi.json([])]),
        ("[application/json]", "not json", [ntapi.data("not json")], [ntapi.data("x")]),
        ("application/x-www-form-urlencoded", "a=b+c&d=", FORM, FORM[:1]),
        ("[]", "!!binary AP8=", [ntapi.data(b"\0\xff")], [ntapi.data(b"\0")]),
        ("multipart/form-data; boundary=x", "ab", [ntapi.data("ab")], [ntapi.data("a")]),
        ("[]", "{a: 1, b: [c]}", [ntapi.json({"a": 1, "b": ["c"]})], [ntapi.json({"a": 1})]),
        ("[]", "5", [ntapi.json(5)], [ntapi.json(6)]),
        ("[]", FILE, [ntapi.data("ab")], [ntapi.data("a")]),
        ("[]", ITERATOR, [ntapi.data("abc")], [ntapi.data("a")]),
    ],
)
def test_bodies_are_compared(
    tmp_path: Path, headers: str, body: str, args: list[Any], other: list[Any]
) -> None:
    path = cassette(
        tmp_path / "r.yaml",
        f"    uri: http://api.test/a\n    method: POST\n"
        f"    headers: {{Content-Type: {headers}}}\n    body: {body}",
    )
    with replaying(path) as client:
        error = client.perform("a", POST, RAW, *other).error
        assert error
        assert error.code is codes.NO_STUB
        assert client.send("a", POST, RAW, *args).data == b"ok"


def test_a_body_that_json_or_a_form_may_have_sent_matches_any(tmp_path: Path) -> None:
    pair = "    {method: POST, uri: 'http://api.test/a', headers: {}, body: %s}"
    known = pair % "{a: 1}"
    path = cassette(tmp_path / "r.yaml", known, pair % "{a: b}", pair % "[!!python/tuple [a, b]]")
    with replaying(path) as client:
        assert client.send("a", RAW, ntapi.form("a", "b")).status == 200
        # It does not answer in place of an exchange whose body is known.
        assert client.send("a", RAW, ntapi.json({"a": 1})).status == 200
        assert client.send("a", RAW, ntapi.json({"a": "b"})).status == 200


def test_multipart_is_compared_by_its_parts(tmp_path: Path) -> None:
    body = (
        '"--x\\r\\nContent-Disposition: form-data; name=\\"a%22\\"\\r\\n\\r\\nb\\r\\n--x\\r\\n'
        "Content-Disposition: form-data; name=\\\"f\\\"; filename*=utf-8''%C3%BC\\r\\n"
        'Content-Type: text/plain\\r\\n\\r\\n\\r\\nc\\r\\n\\r\\n--x--\\r\\n"'
    )
    path = cassette(
        tmp_path / "r.yaml",
        "    method: POST\n    uri: http://api.test/a\n"
        f"    headers: {{content-type: multipart/form-data; boundary=x}}\n    body: {body}",
    )
    file = ntapi.multipart("f", b"\r\nc\r\n", filename="ü", content_type="text/plain")
    with replaying(path) as client:
        error = client.perform("a", RAW, ntapi.multipart('a"', "other"), file).error
        assert error
        assert error.code is codes.NO_STUB
        assert client.send("a", RAW, ntapi.multipart('a"', "b"), file).status == 200


def test_secrets_are_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    replace = os.replace

    def keep(source: str, target: Any) -> None:
        written.extend(path.read_text() for path in tmp_path.iterdir())
        replace(source, target)

    monkeypatch.setattr(os, "replace", keep)
    server = Stub()
    headers = [("Set-Cookie", "sid=hush; Path=/"), ("X-Mine", "hush")]
    server.on(None).answer(json={"token": "hush", "open": "shown"}, headers=headers)
    for mode in "all", "new_episodes":
        recorder = Recorder(tmp_path / "r.yaml", secrets=["x-mine"], mode=mode)  # type: ignore[arg-type]
        command = mode
        with (
            recorder,
            ntapi.Client("http://api.test", stub=server, recorder=recorder) as client,
        ):
            secret = [
                ntapi.bearer("hush"),
                ntapi.url("appid", "hush"),
                ntapi.header("Cookie", "c=hush"),
            ]
            for body in (
                ntapi.json({"password": "hush", "x": 1}),
                ntapi.form("token", "hush"),
                ntapi.multipart("token", "hush"),
                ntapi.json(["hush"]).secret(),
            ):
                client.send(command, *secret, body)
    assert len(written) == 2 + 1
    text = (tmp_path / "r.yaml").read_text()
    assert text.count("shown") == 8
    assert "hush" not in "".join([*written, text])
    assert os.listdir(tmp_path) == ["r.yaml"]
    with replaying(tmp_path / "r.yaml") as client:
        # Redacted parts match anything.
        other = ntapi.url("appid", "another")
        client.send("all", other, ntapi.json({"password": "another", "x": 1}))
        client.send("all", other, ntapi.form("token", "another"))
        client.send("all", other, ntapi.multipart("token", "another"))
        client.send("all", other, ntapi.json("another"))


def test_failures_are_kept(tmp_path: Path) -> None:
    server = Stub()
    server.on("GET", "lost").fail(StubFault.NO_CONNECTION)
    server.on("GET", "broken").lose_connection(3, data=b"12345")
    path = tmp_path / "r.yaml"
    with (
        Recorder(path) as recorder,
        ntapi.Client("http://api.test", stub=server, recorder=recorder) as client,
    ):
        errors = [client.perform(each, RAW).error for each in ("lost", "broken")]
    with replaying(path) as client:
        again = [client.perform(each, RAW).error for each in ("lost", "broken")]
    assert [str(each) for each in again] == [str(each) for each in errors]


def test_trailers_are_kept(tmp_path: Path) -> None:
    server = Stub()
    lines = [("X-Mine", "hush"), ("X-Sum", "7"), ("X-Sum", "8")]
    server.on("GET", "a").answer(text="a", trailers=lines)
    server.on("GET", "b").answer(text="b")
    path = tmp_path / "r.yaml"
    with (
        Recorder(path, secrets=["x-mine"]) as recorder,
        ntapi.Client("http://api.test", stub=server, recorder=recorder) as client,
    ):
        client.send("a", RAW)
        client.send("b", RAW)
    first, second = (each["response"] for each in yaml.safe_load(path.read_text())["interactions"])
    assert first["trailers"] == {"X-Mine": ["<redacted>"], "X-Sum": ["7", "8"]}
    assert "trailers" not in second
    with replaying(path) as client:
        assert client.send("a", RAW).trailers.lines == (("X-Mine", "<redacted>"), *lines[1:])
        assert client.send("b", RAW).trailers.lines == ()


LONG_NUMBERS = ["18446744073709551617", "18446744073709551619", "1.123456789012345678"]
LONG_NUMBERS += ["1.123456789012345679", "1E400", "1" * 400, "1" * 5000, "-0", "-0.10", "1e2"]


@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
def test_numbers_keep_their_digits(servers: dict[str, str], tmp_path: Path, kind: str) -> None:
    path = tmp_path / "r.yaml"
    bodies = [f'{{"n":[{number}]}}' for number in LONG_NUMBERS]
    with (
        Recorder(path) as recorder,
        ntapi.Client(servers["fault"], recorder=recorder) as client,
    ):
        for body in bodies:
            assert client.send("mirror", RAW, ntapi.data(body, kind)).text == body
    interactions = yaml.safe_load(path.read_text())["interactions"]
    assert [each["request"]["body"] for each in interactions] == bodies
    assert [each["response"]["body"]["string"] for each in interactions] == bodies
    with ntapi.Client(servers["fault"], recorder=Recorder(path, mode="none")) as client:
        # Ask for the last one first: exchanges are not found by their order.
        for body in reversed(bodies):
            assert client.send("mirror", RAW, ntapi.data(body, kind)).text == body
        other = ntapi.data(bodies[0].replace("7]", "8]"), kind)
        error = client.perform("mirror", RAW, other).error
        assert error
        assert error.code is codes.NO_STUB


@pytest.mark.parametrize(
    ("version", "text"), [(1.0, "HTTP/1.0"), (None, "HTTP/1.1"), (2.0, "HTTP/2"), (3.0, "HTTP/3")]
)
def test_the_version_of_http_is_kept(version: float | None, text: str) -> None:
    answer: dict[str, Any] = {"status": 200, "headers": []}
    if version is not None:
        answer["httpVersion"] = version
    exchange = {"request": {"method": "GET", "url": "http://api.test/"}, "response": answer}
    recording = {"format": "ntapi-recording", "version": 1, "exchanges": [exchange]}
    written = cassette_of(recording)
    assert written["interactions"][0]["response"]["http_version"] == text
    (read,) = recording_of(written)["exchanges"]
    assert read["response"].get("httpVersion") == version


GOOD = "    {method: GET, uri: 'http://api.test/a', headers: {}, body: null}"
FIRST = f"interactions:\n- request:\n{GOOD}\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is no cassette of vcrpy 1.0 or later"),
        ("- request: {}\n  response: {}\n", "it is no cassette of vcrpy 1.0 or later"),
        ("interactions: [\n", "cannot be read as YAML: .*, line 2"),
        ("interactions:\n- !!python/object/apply:os.system [x]", "could not .*os.system.*, line 2"),
        (
            "interactions:\n- request: {method: GET, uri: 'http://a', body: .inf}\n  fault: x",
            "JSON",
        ),
        ("interactions: [5]", "exchange 1, which is not a mapping"),
        ("interactions: [{request: {method: GET}}]", "exchange 1, request.uri is missing"),
        (FIRST, "exchange 1, response is missing"),
        (FIRST + "  response: {status: {code: 99}}", r"exchange 1, response\.status"),
        (
            FIRST + "  response: {status: {code: 200}, headers: {a b: c}}",
            "'a b' cannot be a header",
        ),
        (FIRST + "  fault: none\n", "exchange 1, fault is not one of"),
    ],
)
def test_a_broken_cassette_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ntapi.ApiError, match=rf"the recording '{path}': .*{problem}"):
        Stub.from_recording(path)


def test_a_missing_cassette_is_named(tmp_path: Path) -> None:
    with pytest.raises(ntapi.ApiError, match=r"none\.yaml': there is no such file"):
        Stub.from_recording(tmp_path / "none.yaml")


def test_without_pyyaml_the_error_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ImportError, match=r"r\.YAML' needs PyYAML: pip install PyYAML"):
        Recorder(tmp_path / "r.YAML")
    Recorder(tmp_path / "r.json")


def test_a_compressed_body_names_the_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "brotli", "brotlicffi":
        monkeypatch.setitem(sys.modules, name, None)
    answer = "    {status: {code: 200}, headers: {Content-Encoding: br}, body: {string: %s}}"
    path = cassette(tmp_path / "r.yaml", f"{GOOD}\n---\n{answer % '!!binary iwGA'}")
    with pytest.raises(ntapi.ApiError, match="compressed with br: one of the packages brotli, "):
        Stub.from_recording(path)
    # aiohttp had decoded it.
    path = cassette(tmp_path / "r.yaml", f"{GOOD}\n---\n{answer % 'text'}")
    with replaying(path) as client:
        assert client.send("a", RAW).data == b"text"
