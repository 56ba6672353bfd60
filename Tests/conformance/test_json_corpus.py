"""The corpus of JSON texts is what json_corpus.py writes, and well formed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).with_name("json_corpus.json")
CASES: list[dict[str, Any]] = json.loads(CORPUS.read_text("ascii"))
EXPECTATIONS = {"refused", "blank", "prefix", "written", "double", "count", "long"}


def test_it_is_up_to_date() -> None:
    """Fails if json_corpus.py was changed and not run."""
    before = CORPUS.read_bytes()
    script = CORPUS.with_suffix(".py")
    subprocess.run([sys.executable, str(script)], check=True, stdout=subprocess.DEVNULL)
    assert CORPUS.read_bytes() == before


def test_names_are_unique() -> None:
    """A runner's failure must name one case."""
    assert not [
        name for name, times in Counter(case["name"] for case in CASES).items() if times > 1
    ]


def test_each_case_expects_something() -> None:
    """Each text is either refused or read as a value."""
    assert len(CASES) > 1000
    for case in CASES:
        assert ("text" in case) != ("hex" in case), case
        expected = set(case) - {"name", "text", "hex"}
        assert expected <= EXPECTATIONS, case
        assert ("refused" in expected) != bool(expected & {"written", "double", "count"}), case
