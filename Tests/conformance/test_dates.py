"""The table of dates is well formed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

DATES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("dates.json").read_text("utf-8"))


def test_each_row_is_a_text_in_a_format() -> None:
    """Each row has the seconds of its date, or null."""
    for row in DATES:
        assert set(row) == {"format", "text", "seconds"}
        assert row["format"] in ("iso8601", "http")
        assert row["seconds"] is None or isinstance(row["seconds"], (int, float))


def test_each_text_is_there_once() -> None:
    """In each format, a text occurs once."""
    assert max(Counter((row["format"], row["text"]) for row in DATES).values()) == 1
