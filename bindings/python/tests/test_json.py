"""The core turns JSON into the same Python values as Python's own parser."""

from __future__ import annotations

import json
import random
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import ntapi
from ntapi._bridge import cpython
from ntapi._bridge import json as plain_json

NUMBERS = [
    *("0", "-0", "1", "-1", "255", "256", "65535", "65536", "2147483647", "2147483648"),
    *("-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775808", "-9223372036854775809", "123456789012345678901234567890"),
    *("-0.0", "0.1", "1.0", "1E5", "1e-5", "1e22", "1e23", "5e-324", "2.2250738585072014e-308"),
    *("1.7976931348623157e308", "3.141592653589793238462643383279", "1e-400"),
]
TEXTS = [
    "",
    "a",
    "ü",
    "\U0001f600",
    "\0",
    '"\\/\b\f\n\r\t',
    "x" * 255,
    "x" * 256,
    "ü" * 200,
    "y" * 70_000,
]
DOCUMENTS = [
    "[]",
    "{}",
    "[[],{},[{}],[[]]]",
    '{"a":{},"b":[],"a":1}',
    "[null,true,false]",
    f"[{','.join(NUMBERS)}]",
    json.dumps(TEXTS),
    json.dumps(TEXTS, ensure_ascii=False),
    json.dumps({text.replace("\0", ""): text for text in TEXTS}),
    json.dumps([{f"key {number % 400}": number} for number in range(1000)]),
    json.dumps([{"same": 1, "sale": 2, "sane": 3}] * 3),
    '\ufeff  {"a" : [ 1 , 2 ] }  ',
    *NUMBERS,
    '"alone"',
    "null",
]


PLAIN = pytest.mark.skipif(cpython.PLAIN, reason="only the usual way keeps keys")


class Mirror(BaseHTTPRequestHandler):
    """Answers with the body of the request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def mirror() -> Iterator[ntapi.Client]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Mirror) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever).start()
        with ntapi.Client(f"http://127.0.0.1:{server.server_port}") as client:
            yield client
        server.shutdown()


def received(client: ntapi.Client, text: str) -> Any:
    response = client.send("", ntapi.data(text, "application/json"))
    # The plain way, for interpreters without CPython's functions.
    other = plain_json.response_json(response._pointer or 0, 0)
    assert repr(other) == repr(response.json())
    assert repr(plain_json.read_deep(response.text.lstrip("\ufeff"))) == repr(other)
    return response.json()


@pytest.mark.parametrize("text", DOCUMENTS, ids=lambda text: text[:20])
def test_values_are_those_of_pythons_own_parser(mirror: ntapi.Client, text: str) -> None:
    # `repr` distinguishes 1, 1.0 and True, and shows the order of members.
    assert repr(received(mirror, text)) == repr(json.loads(text.lstrip("\ufeff")))


def test_lines_are_read_as_whole_bodies_are(mirror: ntapi.Client) -> None:
    texts = [*DOCUMENTS[:-1], *NUMBERS]
    lines = "\n".join(text.strip("\ufeff ") for text in texts)
    values = list(mirror.lines("", ntapi.data(lines, "application/x-ndjson")))
    assert repr(values) == repr([json.loads(line) for line in lines.splitlines()])


@PLAIN
def test_documents_share_their_keys(mirror: ntapi.Client) -> None:
    texts = ["id", "name", "four", "created_at", "received_events_url", "k" * 48]
    first, second = (received(mirror, json.dumps([dict.fromkeys(texts, 0)] * 2)) for _ in range(2))
    for key, again, other in zip(first[0], first[1], second[0]):
        assert key is again is other


def test_keys_that_differ_a_little_are_told_apart(mirror: ntapi.Client) -> None:
    middles = [f"first part {number} of it" for number in range(10)]
    longer = ["", "a", "é", "aé", "ab", "abc", "abcd", "k" * 47, "k" * 48, "k" * 49, "k" * 50]
    document = {key: number for number, key in enumerate([*middles, *longer, "a\n"])}
    for _ in range(2):
        assert received(mirror, json.dumps(document, ensure_ascii=False)) == document


def test_ever_new_keys(mirror: ntapi.Client) -> None:
    """More keys than the library keeps: it drops old ones."""
    for number in range(4):
        document = {f"{number} and {place}": {"id": place} for place in range(1000)}
        assert received(mirror, json.dumps(document)) == document


def test_integers_are_exact_as_far_as_a_double_reaches(mirror: ntapi.Client) -> None:
    """No such number is too long for Python's limit on digits."""
    longest = "9" * 308
    assert received(mirror, f"[{longest}, -{longest}]") == [int(longest), -int(longest)]
    with pytest.raises(ntapi.ApiError, match="beyond a double"):
        received(mirror, f"[{longest}99]")


@pytest.mark.parametrize(("start", "end"), ["[]", ('{"a": ', "}")])
def test_nesting_is_limited_by_the_library_only(mirror: ntapi.Client, start: str, end: str) -> None:
    text = start * 2000 + "[1]" + end * 2000
    response = mirror.send("", ntapi.data(text, "application/json"))
    for value in (response.json(), plain_json.response_json(response._pointer or 0, 0)):
        depth = 0
        while value != [1]:
            (value,) = value.values() if isinstance(value, dict) else value
            depth += 1
        assert depth == 2000


def test_random_documents(mirror: ntapi.Client) -> None:
    generator = random.Random(11)

    def value(depth: int) -> Any:
        kind = generator.randrange(8 if depth < 6 else 5)
        if kind == 0:
            return generator.choice([None, True, False])
        if kind == 1:
            return generator.randrange(-(2 ** generator.randrange(1, 80)), 2**80) >> 20
        if kind == 2:
            return generator.uniform(-1, 1) * 10 ** generator.randrange(-300, 300)
        if kind in (3, 4):
            return "".join(map(chr, generator.choices(range(1, 0xD800), k=generator.randrange(9))))
        if kind == 5:
            return [value(depth + 1) for _ in range(generator.randrange(6))]
        return {str(generator.randrange(50)): value(depth + 1) for _ in range(6)}

    for _ in range(200):
        text = json.dumps(value(0), ensure_ascii=generator.random() < 0.5)
        assert repr(received(mirror, text)) == repr(json.loads(text))


def test_keys_of_a_document_are_one_string(mirror: ntapi.Client) -> None:
    first, second = received(mirror, '[{"name":1},{"name":2}]')
    assert next(iter(first)) is next(iter(second))


@pytest.mark.skipif(not hasattr(sys, "getrefcount"), reason="PyPy does not count references")
def test_values_are_not_kept_by_anybody_else(mirror: ntapi.Client) -> None:
    text = '{"first": [1.5, {"b\\n": "x y"}, {"first": 1e300}], "b c": "z z"}'

    def counts(value: Any) -> list[int]:
        inner = list(value.values()) if isinstance(value, dict) else value
        parts = inner if isinstance(inner, list) else []
        return [sys.getrefcount(value), *(count for part in parts for count in counts(part))]

    assert counts(received(mirror, text)) == counts(json.loads(text))
