"""The table of spans is well formed, so a runner's failure is the client's fault."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from test_cases import ARGS, PLACEHOLDERS

CASES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("tracing.json").read_text("utf-8")
)
KEYS = {"name", "server", "command", "args", "expect"}
OPTIONAL = {"base", "settings", "tokens", "options", "how", "times"}
OPTIONS = {
    "call_spans",
    "url_template",
    "url_query",
    "request_headers",
    "response_headers",
    "known_methods",
    "excluded_urls",
    "exclude_origins",
}
KNOWN = PLACEHOLDERS | {"token", "proxy", "blackhole", "nginx_tls"}
ATTRIBUTES = {
    "http.request.method",
    "http.request.method_original",
    "http.request.resend_count",
    "http.response.status_code",
    "error.type",
    "url.full",
    "url.template",
}


def test_names_are_unique() -> None:
    assert [
        name for name, times in Counter(case["name"] for case in CASES).items() if times > 1
    ] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_form(case: dict[str, Any]) -> None:
    assert KEYS <= set(case) <= KEYS | OPTIONAL
    assert case["server"] in KNOWN
    for arg in case["args"]:
        assert len(arg) in ARGS[arg[0]]
    assert set(case.get("options", {})) <= OPTIONS
    assert case.get("how", "closed") in {"cancelled", "chunks", "events", "closed"}
    expected = case["expect"]
    assert {"spans"} <= set(expected) <= {"spans", "call", "traceparent"}
    assert ("call" in expected) is case.get("options", {}).get("call_spans", False)
    assert set(expected.get("call", {})) <= {"error.type"}
    for span in expected["spans"]:
        assert (
            {"name", "attributes"}
            <= set(span)
            <= {
                "name",
                "attributes",
                "server",
                "peer",
                "version",
            }
        )
        for name in span["attributes"]:
            assert name in ATTRIBUTES or re.match(r"http\.(request|response)\.header\.", name)
        assert {"http.request.method", "url.full"} <= set(span["attributes"])
    assert set(re.findall(r"{{(\w+)}}", json.dumps(case))) <= KNOWN
