"""The table is well formed, so a runner's failure is the client's fault."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("cases.json").read_text("utf-8"))
OPTIONAL = {"base", "not_in", "map_error", "errors", "attempt_header"}
KEYS = {"name", "server", "command", "args", "expect"} | OPTIONAL
ARGS = {
    "url": {3},
    "url_default": {2, 3},
    "path": {3},
    "form": {3},
    "multipart": {3},
    "multipart_data": {3},
    "multipart_file": {3},
    "data": {2},
    "json": {2},
    "file": {2},
    "download": {1, 2},
    "base_url": {2},
    "header": {3},
    "add_header": {3},
    "basic_auth": {3},
    "digest_auth": {3},
    "bearer": {2},
    "timeout": {2, 3},
    "retry": {2},
    "idempotency_key": {1, 2},
    "method": {2},
    "cache_policy": {2},
    "option": {2, 3},
}
"""Each kind of arg and how many elements its array has."""
EXPECTATIONS = {
    "status",
    "error",
    "json",
    "json_is_absent",
    "prefix_text",
    "data_text",
    "data_base64",
    "header",
    "trailer",
    "reason",
    "url",
    "url_contains",
    "log_contains",
    "log_lacks",
    "mapped",
}
CHECKS = {"string", "int", "double", "bool", "null", "absent", "count"}
ERROR_KEYS = {
    "domain",
    "code",
    "retryable",
    "message_contains",
    "message_lacks",
    "clock",
    "failure",
    "problem",
}
DOMAINS = {"request", "network", "http", "json", "service", "cancelled"}
CODES = {
    "network",
    "no internet",
    "timeout",
    "TLS",
    "invalid JSON",
    "authentication failed",
    "HTTP error",
    "request cancelled",
    "invalid request",
    "response too large",
    "too many redirects",
    "generic",
}
PLACEHOLDERS = {
    "fault",
    "fault_other",
    "fault_tls",
    "tls_self_signed",
    "httpbin",
    "weather",
    "nginx",
    "nginx_root",
    "ca",
    "tmp",
}


def test_names_are_unique() -> None:
    assert [
        name for name, times in Counter(case["name"] for case in CASES).items() if times > 1
    ] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_form(case: dict[str, Any]) -> None:
    assert set(case) <= KEYS
    assert set(case) >= KEYS - OPTIONAL
    for arg in case["args"]:
        assert len(arg) in ARGS[arg[0]]
    assert set(case["expect"]) <= EXPECTATIONS
    assert "error" in case["expect"]
    for entry in case["expect"].get("json", []):
        assert len(set(entry) & CHECKS) == 1
        assert set(entry) <= CHECKS | {"path"}
    assert ("mapped" in case["expect"]) is ("map_error" in case)
    codes = CODES | {case.get("map_error"), *case.get("errors", {}).values()}
    for error in (case["expect"]["error"], *case["expect"].get("mapped", [])):
        if error:
            assert error["domain"] in DOMAINS
            assert error.get("code", "generic") in codes
            assert set(error) <= ERROR_KEYS
    assert set(re.findall(r"{{(\w+)}}", json.dumps(case))) <= PLACEHOLDERS
