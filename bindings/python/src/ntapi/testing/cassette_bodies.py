"""Bodies in the cassettes of vcrpy are bytes or text, with all that was sent. Bodies in recordings
have a kind by which they can be compared.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64decode, b64encode
from urllib.parse import parse_qsl, urlencode
from uuid import uuid4

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, Union

    Body = Optional[dict[str, Any]]
    """A body in a recording."""
    Content = Union[str, bytes]

REDACTED = "<redacted>"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


def text_or_bytes(content: bytes) -> Content:
    """Text, if it is readable."""
    if re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", content):
        return content
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content


class Number:
    """A number of a JSON text, with its digits: a float may have fewer."""

    def __init__(self, digits: str) -> None:
        self.digits = digits
        if math.isinf(float(self)):
            # The library does not read it, either.
            raise ValueError("a number beyond a double")

    def __float__(self) -> float:
        return float(self.digits)

    def __int__(self) -> int:
        return int(self.digits)


_MARK = uuid4().hex
"""Stands before the digits of a number, because `json.dumps` can only write them as a string."""


def parsed(text: str) -> Any:
    """The value of a JSON text, in which each number is a `Number`. Raises ValueError."""
    return json.loads(text, parse_float=Number, parse_int=Number)


def compact(value: object) -> str:
    """JSON without spaces. Raises ValueError for what JSON cannot represent."""
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_in_string
    )
    return re.sub(rf'"{_MARK}([^"]*)"', r"\1", text)


def _in_string(value: object) -> str:
    return f"{_MARK}{value.digits}" if isinstance(value, Number) else str(value)


# From a cassette.


def received(content: bytes) -> Body:
    """The body of an answer. It is replayed as it came, so its formatting stays."""
    if not content:
        return None
    shown = text_or_bytes(content)
    if isinstance(shown, str):
        return {"text": shown}
    return {"base64": b64encode(shown).decode()}


def sent(content: bytes, content_type: str) -> Body:
    """The body of a request."""
    essence = content_type.partition(";")[0].strip().lower()
    if content == REDACTED.encode():
        return {"redacted": True}
    if essence == MULTIPART:
        from .multipart import parts_of

        parts = parts_of(content, content_type)
        if parts is not None:
            return {"parts": [{**part, **(received(body) or {"text": ""})} for part, body in parts]}
    shown = text_or_bytes(content)
    if isinstance(shown, str) and shown:
        if essence == FORM:
            return {"form": parse_qsl(shown, keep_blank_values=True)}
        if not essence or essence == "application/json" or essence.endswith("+json"):
            try:
                value = parsed(shown)
                compact(value).encode()
            except ValueError:
                pass
            else:
                return {"json": value}
    return received(content)


def sent_value(value: object) -> Body:
    """The body of a request of aiohttp, for which vcrpy keeps the argument `json` or `data`.

    If both could have sent it, any body matches.
    """
    members: list[object] = []
    if isinstance(value, dict):
        members = list(value.values())
    elif isinstance(value, list) and all(isinstance(pair, tuple) for pair in value):
        members = [member for pair in value for member in pair]
    else:
        return {"json": value}
    if all(isinstance(member, (str, bytes)) for member in members):
        return {"redacted": True}
    return {"json": value}


# To a cassette.


def content_of(body: dict[str, Any]) -> tuple[Content, Optional[str]]:
    """The content of a recording's body, and the Content-Type that it needs; None for any."""
    ((kind, value),) = body.items()
    if kind == "json":
        return compact(value), None
    if kind == "form":
        return urlencode([tuple(pair) for pair in value], safe="<>"), FORM
    if kind == "parts":
        from .multipart import joined

        pairs = [(part, _encoded(content_of(_only_content(part))[0])) for part in value]
        content, boundary = joined(pairs)
        return text_or_bytes(content), f"{MULTIPART}; boundary={boundary}"
    if kind == "base64":
        return b64decode(value), None
    return (value if kind == "text" else REDACTED), None


def _only_content(part: dict[str, Any]) -> dict[str, Any]:
    return {kind: part[kind] for kind in ("text", "base64") if kind in part}


def _encoded(content: Content) -> bytes:
    return content if isinstance(content, bytes) else content.encode()
