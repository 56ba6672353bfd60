"""Tests/conformance/cases.json: the requests and results that Swift, C and Python share."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import ntapi
from conftest import REPOSITORY

TABLE = json.loads((REPOSITORY / "Tests" / "conformance" / "cases.json").read_text("utf-8"))
CASES = [case for case in TABLE if "python" not in case.get("not_in", ())]
ABSENT = object()


def filled(value: Any, servers: dict[str, str]) -> Any:
    """The value, with each {{key}} replaced."""
    if isinstance(value, str):
        return re.sub(r"{{(\w+)}}", lambda match: servers[match[1]], value)
    if isinstance(value, list):
        return [filled(item, servers) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, servers) for key, item in value.items()}
    return value


def content(value: dict[str, Any]) -> bytes:
    return base64.b64decode(value["base64"]) if "base64" in value else value["text"].encode()


def python_arg(case: list[Any]) -> ntapi.Arg:
    """An arg of the table, made with the function that a user would call."""
    kind, *values = case
    if kind == "data":
        (value,) = values
        return ntapi.data(value and content(value), value and value.get("content_type"))
    if kind == "file":
        (value,) = values
        return ntapi.file(value and value["path"], value and value.get("content_type"))
    if kind == "multipart_data":
        name, value = values
        options = {key: value[key] for key in value or {} if key not in ("base64", "text")}
        return ntapi.multipart(name, value and content(value), **options)
    if kind == "multipart_file":
        name, value = values
        options = {key: value[key] for key in value or {} if key != "path"}
        return ntapi.multipart_file(name, value and value["path"], **options)
    if kind == "retry" and isinstance(values[0], dict):
        values = [ntapi.RetryPolicy(**values[0])]
    return getattr(ntapi, kind)(*values)


def at(document: Any, path: str) -> Any:
    """The value at a path of the table, or ABSENT."""
    for quoted, index, word in re.findall(r'\["([^"]*)"\]|\[(\d+)\]|([^.\[\]]+)', path):
        try:
            document = document[int(index)] if index else document[quoted or word]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return document


def check_json(document: Any, entry: dict[str, Any]) -> None:
    value = at(document, entry["path"])
    where = entry["path"]
    if "absent" in entry:
        assert (value is ABSENT) is entry["absent"], where
    elif "null" in entry:
        assert (value is None) is entry["null"], where
    elif "count" in entry:
        assert len(value) == entry["count"], where
    else:
        kind = next(key for key in ("string", "int", "double", "bool") if key in entry)
        if kind == "double" and type(value) is int and abs(value) >= 2**63:
            # The core turns integers beyond 64 bits into doubles; Python's are exact.
            value = float(value)
        python_type = {"string": str, "int": int, "double": float, "bool": bool}[kind]
        assert type(value) is python_type, where
        assert value == entry[kind], where


class Logging(ntapi.Client):
    """Keeps its lines."""

    def __init__(self, base: str, **options: Any) -> None:
        self.lines: list[str] = []
        super().__init__(base, **options)

    def write_log(self, level: ntapi.LogFlags, message: str) -> None:
        self.lines.append(message)


class Mapping(Logging):
    """Replaces each error by one with a given code, and keeps the errors that it saw."""

    code: str | None = None

    def __init__(self, base: str, **options: Any) -> None:
        self.seen: list[ntapi.ApiError] = []
        super().__init__(base, **options)

    def map_error(self, error: ntapi.ApiError, response: ntapi.Response) -> ntapi.ApiError | None:
        assert response.error is error
        self.seen.append(error)
        return None if self.code is None else ntapi.ApiError(self.code)


def attempts_in(name: str) -> ntapi.Interceptor:
    """Sets a header that describes each attempt."""

    @ntapi.attempt_interceptor
    def tell(call: ntapi.InterceptedCall) -> Iterator[ntapi.HTTPRequest]:
        origin = "own" if call.is_own_origin else "other"
        call.request.headers[name] = f"{call.number} {call.reason} {origin}"
        yield call.request

    return tell


def members(problem: ntapi.ProblemDetails | None) -> dict[str, Any] | None:
    """The members of a problem as one object."""
    if problem is None:
        return None
    own = {name: getattr(problem, name) for name in ("title", "status", "detail", "instance")}
    own = {name: value for name, value in own.items() if value is not None}
    return {"type": problem.type, **own, **problem.extensions}


def check_error(error: ntapi.ApiError | None, expected: dict[str, Any] | None) -> None:
    if expected is None:
        assert error is None
        return
    assert error is not None
    assert error.domain.name.lower() == expected["domain"]
    if "code" in expected:
        assert error.code is ntapi.register_code(expected["code"])
    if "retryable" in expected:
        assert error.retryable is expected["retryable"]
    if "clock" in expected:
        assert error.clock is ntapi.Clock[expected["clock"].upper()]
    if "failure" in expected:
        assert error.failure is ntapi.NetworkFailure[expected["failure"].upper()]
    if "problem" in expected:
        assert members(error.problem) == expected["problem"]
    for text in expected.get("message_contains", []):
        assert text.lower() in error.message.lower()
    for text in expected.get("message_lacks", []):
        assert text.lower() not in error.message.lower()


@pytest.fixture(scope="module", autouse=True)
def trusted(servers: dict[str, str]) -> Iterator[None]:
    """No proxy, and the tests' own CA."""
    ntapi.defaults.set("caFile", servers["ca"])
    ntapi.defaults.set("proxy", "")
    yield
    ntapi.defaults.set("caFile", None)
    ntapi.defaults.set("proxy", None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any], servers: dict[str, str]) -> None:
    expected = filled(case["expect"], servers)
    base = filled(case["base"], servers) if "base" in case else servers[case["server"]]
    args = [python_arg(filled(arg, servers)) for arg in case["args"]]
    kind = Mapping if "map_error" in case else Logging
    interceptors = [attempts_in(case["attempt_header"])] if "attempt_header" in case else []
    options: dict[str, Any] = {"log_flags": ntapi.LogFlags.ALL, "interceptors": interceptors}
    codes = case.get("errors", {})
    options["errors"] = {int(status): ntapi.register_code(codes[status]) for status in codes}
    with kind(base, **options) as client:
        if isinstance(client, Mapping):
            client.code = case["map_error"]
        response = client.perform(case["command"], args)
    log = "\n".join(client.lines)
    for text in expected.get("log_contains", []):
        assert text in log
    for text in expected.get("log_lacks", []):
        assert text not in log

    check_error(response.error, expected["error"])
    if "mapped" in expected:
        assert isinstance(client, Mapping)
        assert len(client.seen) == len(expected["mapped"])
        for error, wanted in zip(client.seen, expected["mapped"]):
            check_error(error, wanted)
    if "status" in expected:
        assert response.status == expected["status"]
    if expected.get("json_is_absent"):
        assert not response.has_json
        assert response.json() is None
    for entry in expected.get("json", []):
        assert response.has_json
        check_json(response.json(), entry)
    if "prefix_text" in expected:
        assert response.prefix_text == expected["prefix_text"]
    if "data_text" in expected:
        assert response.data.decode() == expected["data_text"]
    if "data_base64" in expected:
        assert response.data == base64.b64decode(expected["data_base64"])
    if "url" in expected:
        assert response.url == expected["url"]
    if "url_contains" in expected:
        assert expected["url_contains"] in response.url
    if "reason" in expected:
        assert response.reason_phrase == expected["reason"]
    if "trailer" in expected:
        assert list(map(list, response.trailers.lines)) == expected["trailer"]
    wanted: dict[str, list[str]] = {}
    for name, value in expected.get("header", []):
        wanted.setdefault(name, []).append(value)
    for name, values in wanted.items():
        assert response.headers.get_all(name) == values
