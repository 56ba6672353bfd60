"""The text of multipart/form-data (RFC 7578), in both directions."""

from __future__ import annotations

import re
from email import message_from_string
from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Optional

    Parts = list[tuple[dict[str, str], bytes]]
    """Name, filename and contentType of each part, and its content."""


def parts_of(content: bytes, content_type: str) -> Optional[Parts]:
    """The parts of a body; None if it is not multipart."""
    boundary = message_from_string(f"Content-Type: {content_type}\n\n").get_boundary()
    if not boundary:
        return None
    pieces = (b"\r\n" + content).split(f"\r\n--{boundary}".encode())[1:]
    if not pieces or not pieces[-1].startswith(b"--"):
        return None
    parts: Parts = []
    for piece in pieces[:-1]:
        head, mark, body = piece.partition(b"\r\n\r\n")
        part = _head(head.decode("utf-8", "replace"))
        if not mark or part is None:
            return None
        parts.append((part, body))
    return parts


def _head(text: str) -> Optional[dict[str, str]]:
    message = message_from_string(text.lstrip("\r\n"))
    disposition = message.get("Content-Disposition", "")
    found = {
        name: _unescaped(value)
        for name, value in re.findall(r';\s*(name|filename)="((?:[^"\\]|\\.)*)"', disposition)
    }
    if "name" not in found:
        return None
    encoded = message.get_filename()
    if "filename" not in found and encoded is not None:
        # filename*=utf-8''..., which requests writes for other letters.
        found["filename"] = encoded
    if "Content-Type" in message:
        found["contentType"] = message["Content-Type"]
    return found


def joined(parts: Iterable[tuple[dict[str, str], bytes]]) -> tuple[bytes, str]:
    """The body of these parts, and its boundary, which depends on the content only."""
    pieces = []
    for part, content in parts:
        head = f'Content-Disposition: form-data; name="{_escaped(part["name"])}"'
        if "filename" in part:
            head += f'; filename="{_escaped(part["filename"])}"'
        if "contentType" in part:
            head += f"\r\nContent-Type: {part['contentType']}"
        pieces.append(b"\r\n%b\r\n\r\n%b\r\n" % (head.encode(), content))
    boundary = sha256(b"".join(pieces)).hexdigest()[:32]
    mark = f"--{boundary}".encode()
    return b"".join(mark + piece for piece in pieces) + mark + b"--\r\n", boundary


# Browsers, httpx and urllib3 write these codes in names; others write a backslash.


def _escaped(text: str) -> str:
    return text.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")


def _unescaped(text: str) -> str:
    text = re.sub(r'\\(["\\])', r"\1", text)
    return text.replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")
