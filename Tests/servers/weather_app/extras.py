"""Calls besides the weather: forms, photos, slow answers, downloads, and an echo."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, unquote

from weather_app import body
from weather_app.handler import Handler, route

MAX_DOWNLOAD = 16 * 1024**3
PATTERN = b"".join(number.to_bytes(4, "big") for number in range(16 * 1024))


@route("/slow", "GET")
def slow(handler: Handler) -> None:
    """Answers after `seconds` (1), or immediately if the server stops."""
    seconds = max(0.0, min(3600, handler.number("seconds", 1)))
    stopped = handler.server.stopping.wait(seconds)
    handler.answer_json({"seconds": seconds, "interrupted": stopped})


gates: dict[str, threading.Barrier] = {}


@route("/gate", "GET")
def gate(handler: Handler) -> None:
    """Answers when `for` (1) requests with the same `name` have come, or after a minute."""
    wanted = int(max(1, min(10_000, handler.number("for", 1))))
    # The interpreter's lock makes this one step.
    barrier = gates.setdefault(handler.value("name", ""), threading.Barrier(wanted))
    try:
        barrier.wait(60)
    except threading.BrokenBarrierError:
        return handler.answer_json({"open": False}, 504)
    handler.answer_json({"open": True})


@route("/forecast", "GET")
def forecast(handler: Handler) -> None:
    """A forecast that a cache may keep for a minute, and revalidate after that."""
    tag = '"monday"'
    headers = {"Cache-Control": "max-age=60", "ETag": tag}
    if handler.headers.get("If-None-Match") == tag:
        return handler.answer(b"", "application/json; charset=utf-8", 304, headers)
    value = {"name": handler.value("q", "London"), "days": [11, 12, 9]}
    handler.answer(json.dumps(value).encode(), "application/json; charset=utf-8", 200, headers)


@route("/feedback", "POST", "PUT", "PATCH")
def feedback(handler: Handler) -> None:
    """Echoes the fields of a form; a name that repeats becomes a list."""
    pairs = parse_qsl(handler.whole_body().decode("utf-8", "replace"), keep_blank_values=True)
    fields: dict[str, str | list[str]] = {}
    for name, value in pairs:
        values = [text for key, text in pairs if key == name]
        fields[name] = value if len(values) == 1 else values
    content_type = handler.headers.get("Content-Type")
    handler.answer_json({"cod": 200, "content_type": content_type, "fields": fields})


@route("/photo", "POST", "PUT")
def photo(handler: Handler) -> None:
    """Describes each part of a multipart form; `rate` reads it slowly."""
    data = handler.whole_body()
    parts = body.multipart_parts(data, handler.headers.get("Content-Type", ""))
    handler.answer_json({"cod": 200, "size": len(data), "parts": parts})


@route("/upload", "POST", "PUT", "PATCH")
def upload(handler: Handler) -> None:
    """Takes a body of any size in constant memory and tells its size and hash."""
    digest, size = hashlib.sha256(), 0
    for piece in handler.pieces():
        digest.update(piece)
        size += len(piece)
    handler.answer_json(
        {
            "cod": 200,
            "size": size,
            "sha256": digest.hexdigest(),
            "content_type": handler.headers.get("Content-Type"),
            "content_length": handler.headers.get("Content-Length"),
            "transfer_encoding": handler.headers.get("Transfer-Encoding"),
        }
    )


def content(size: int, step: int, position: int = 0) -> Iterator[bytes]:
    """The first `size` bytes of the endless test pattern from a position on, `step` at most at a
    time.
    """
    while position < size:
        offset = position % len(PATTERN)
        piece = PATTERN[offset : offset + min(step, size - position)]
        position += len(piece)
        yield piece


@route("/download", "GET")
def download(handler: Handler) -> None:
    """Sends `size` bytes (1000) of a fixed pattern, at `rate` bytes per second if given. A Range
    gets the bytes from its position on, at `part_rate` if given.
    """
    size = max(0, min(MAX_DOWNLOAD, int(handler.number("size", 1000))))
    digest = hashlib.sha256()
    for piece in content(size, len(PATTERN)):
        digest.update(piece)
    etag = f'"{digest.hexdigest()[:16]}"'
    asked = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
    first = int(asked[1]) if asked and handler.headers.get("If-Range", etag) == etag else 0
    is_part = 0 < first < size
    first = first if is_part else 0
    rate = handler.number("rate", 0)
    rate = handler.number("part_rate", rate) if is_part else rate
    step = max(1, int(rate / 20)) if rate > 0 else len(PATTERN)
    handler.send_response(206 if is_part else 200)
    if is_part:
        handler.send_header("Content-Range", f"bytes {first}-{size - 1}/{size}")
    handler.send_header("Content-Type", "application/octet-stream")
    handler.send_header("Content-Length", str(size - first))
    handler.send_header("ETag", etag)
    handler.send_header("X-SHA256", digest.hexdigest())
    handler.end_headers()
    if handler.command == "HEAD":
        return
    source = content(size, step, first)
    if rate > 0:
        source = body.slowly(source, rate, handler.server.stopping.wait)
    for piece in source:
        handler.wfile.write(piece)
        if rate > 0:
            handler.wfile.flush()


@route("/login", "GET", "POST")
def login(handler: Handler) -> None:
    """Remembers `user` (ann) in a cookie that lasts an hour."""
    cookie = f"login={quote(handler.value('user', 'ann'))}; Path=/; Max-Age=3600; HttpOnly"
    handler.answer(b'{"cod": 200}', "application/json", more={"Set-Cookie": cookie})


@route("/whoami", "GET")
def whoami(handler: Handler) -> None:
    """The user of the cookie that /login set; null without one."""
    pairs = (pair.strip().partition("=") for pair in handler.headers.get("Cookie", "").split(";"))
    users = [unquote(value) for name, _, value in pairs if name == "login"]
    handler.answer_json({"user": users[0] if users else None})


@route("/php", "GET")
def php(handler: Handler) -> None:
    """JSON after a PHP warning, the prefix text."""
    text = (
        "<br />\n<b>Warning</b>:  mysql_connect(): Headers and client library minor version "
        "mismatch in <b>/var/www/api.php</b> on line <b>17</b><br />\n"
        '{"status": "ok", "list": [1, 2, 3], "city": "Zürich"}'
    )
    handler.answer(text.encode("utf-8"), "text/html; charset=utf-8")


@route("/echo")
def echo(handler: Handler) -> None:
    """Any request as JSON: method, path, query pairs, header pairs, body (text or base64)."""
    data = handler.whole_body()
    shown: dict[str, object] = {
        "method": handler.command,
        "path": handler.url_path,
        "target": handler.path,
        "query": handler.query,
        "headers": handler.headers.items(),
        "size": len(data),
    }
    try:
        shown["body"] = data.decode("utf-8")
    except UnicodeDecodeError:
        shown["body_base64"] = base64.b64encode(data).decode("ascii")
    handler.answer_json(shown)
