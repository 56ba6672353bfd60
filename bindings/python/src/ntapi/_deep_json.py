"""Parses JSON of any depth: Python's own parser recurses, and gives up where the core does not."""

from __future__ import annotations

import json
import re
from json import decoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Reads on from behind the opening quote; the standard library's own.
_scan_string: Any = decoder.scanstring  # type: ignore[attr-defined]
_TOKEN = re.compile(r'[\s,:]*([\[\]{}"]|[^\s,:\[\]{}"]+)')


def parse(text: str) -> Any:
    """The value of a text that is known to be JSON: the core has checked it, so this does not."""
    root: list[Any] = []
    open_values: list[tuple[Any, Any]] = []
    current: Any = root
    key: Any = None
    position = 0
    while True:
        token = _TOKEN.match(text, position)
        if token is None:
            return root[0]
        position = token.end()
        word = token[1]
        if word in "]}":
            current, key = open_values.pop()
            continue
        if word == '"':
            value, position = _scan_string(text, position, True)
            if isinstance(current, dict) and key is None:
                key = value
                continue
        elif word in "[{":
            value = [] if word == "[" else {}
        else:
            value = json.loads(word)
        if isinstance(current, dict):
            current[key] = value
            key = None
        else:
            current.append(value)
        if word in "[{":
            open_values.append((current, key))
            current = value
