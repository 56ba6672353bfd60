"""The corpus of JSON texts that Swift, C and Python share, as bodies of responses."""

from __future__ import annotations

import json
from typing import Any

import ntapi
from conftest import REPOSITORY
from ntapi import codes

CORPUS = REPOSITORY / "Tests" / "conformance" / "json_corpus.json"
CASES: list[dict[str, Any]] = json.loads(CORPUS.read_text("ascii"))


def written(value: Any) -> str:
    """Python's own text of a value, compact."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def check(case: dict[str, Any], response: ntapi.Response) -> None:
    if case.get("blank"):
        assert response.error is None
        assert not response.has_json
    elif "prefix" in case:
        assert response.prefix_text == case["prefix"]
        assert response.has_json
    elif "refused" in case:
        assert response.error is not None
        assert response.error.code is codes.INVALID_JSON
        assert not response.has_json
    else:
        assert response.error is None
        assert response.prefix_text is None
        if "double" in case and "written" not in case:
            assert repr(response.json()) == case["double"]
        elif case["name"].endswith("at the limit of depth"):
            # Python's own writer recurses.
            assert isinstance(response.json(), (list, dict))
        else:
            assert response.json() == json.loads(case["written"])
            assert written(response.json()) == written(json.loads(case["written"]))


def test_each_body_is_read_as_decided(fault: ntapi.Client) -> None:
    assert len(CASES) > 1000
    for case in CASES:
        body = bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()
        try:
            check(case, fault.perform("mirror", ntapi.data(body, "application/json")))
        except AssertionError as failure:
            raise AssertionError(case["name"]) from failure
