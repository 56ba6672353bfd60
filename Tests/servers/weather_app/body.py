"""Request bodies: read by length or by chunks, and parsed if they are multipart."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from email.message import Message
from io import BufferedIOBase

PIECE = 64 * 1024


class BadBody(Exception):
    """The body breaks the rules of HTTP/1.1; the connection cannot be used again."""


def pieces(stream: BufferedIOBase, headers: Message, size: int = PIECE) -> Iterator[bytes]:
    """The body's bytes as they arrive, `size` at most at a time."""
    if "chunked" in headers.get("Transfer-Encoding", "").lower():
        yield from chunked_pieces(stream, size)
        return
    try:
        left = int(headers.get("Content-Length", "0"))
    except ValueError as error:
        raise BadBody("Content-Length") from error
    yield from counted_pieces(stream, left, size)


def counted_pieces(stream: BufferedIOBase, left: int, size: int) -> Iterator[bytes]:
    """Exactly `left` bytes; an early end is an error."""
    while left > 0:
        piece = stream.read(min(size, left))
        if not piece:
            raise BadBody("ended early")
        left -= len(piece)
        yield piece


def chunked_pieces(stream: BufferedIOBase, size: int) -> Iterator[bytes]:
    """The data of a chunked body, trailers read and forgotten."""
    while True:
        line = stream.readline(1024)
        try:
            length = int(line.split(b";")[0].strip(), 16)
        except ValueError as error:
            raise BadBody("chunk size") from error
        if length < 0:
            raise BadBody("chunk size")
        if length == 0:
            while stream.readline(65536).strip():
                pass
            return
        yield from counted_pieces(stream, length, size)
        stream.readline(1024)


def slowly(
    source: Iterator[bytes], rate: float, wait: Callable[[float], object]
) -> Iterator[bytes]:
    """The same pieces, with `wait` called between them so that `rate` bytes pass per second."""
    for piece in source:
        yield piece
        wait(len(piece) / rate)


def parameter(header: str, name: str) -> str | None:
    """A parameter of a header such as `form-data; name="photo"`, unescaped."""
    quoted = re.search(rf';\s*{name}="((?:[^"\\]|\\.)*)"', header, re.IGNORECASE)
    if quoted:
        return re.sub(r"\\(.)", r"\1", quoted.group(1)).replace("%22", '"')
    plain = re.search(rf';\s*{name}=([^;"\s]+)', header, re.IGNORECASE)
    return plain.group(1) if plain else None


def part_summary(head: str, data: bytes) -> dict[str, object]:
    """What `POST /photo` says about one part; `text` only where it is short UTF-8."""
    fields = dict(re.findall(r"(?m)^([^:\r\n]+):[ \t]*([^\r\n]*)", head))
    lower = {name.lower(): value for name, value in fields.items()}
    disposition = lower.get("content-disposition", "")
    summary: dict[str, object] = {
        "name": parameter(disposition, "name"),
        "filename": parameter(disposition, "filename"),
        "content_type": lower.get("content-type"),
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    if len(data) <= 1000:
        try:
            summary["text"] = data.decode("utf-8")
        except UnicodeDecodeError:
            summary["text"] = None
    return summary


def multipart_parts(body: bytes, content_type: str) -> list[dict[str, object]]:
    """A summary of each part of a multipart body, in order."""
    boundary = parameter(content_type, "boundary")
    if not content_type.lower().startswith("multipart/") or not boundary:
        raise BadBody("not multipart")
    parts = []
    delimiter = b"\r\n--" + boundary.encode("latin-1")
    sections = (b"\r\n" + body).split(delimiter)
    if not sections[-1].startswith(b"--"):
        raise BadBody("no closing boundary")
    for section in sections[1:-1]:
        head, _, data = section.partition(b"\r\n\r\n")
        parts.append(part_summary(head.decode("utf-8", "replace"), data))
    return parts
