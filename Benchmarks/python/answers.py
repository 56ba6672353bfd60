"""The answer of a transport that sends nothing: what nginx answers with."""

from __future__ import annotations

import json

from contract import Task

HEADERS = [
    (b"Server", b"nginx/1.22.1"),
    (b"Date", b"Thu, 01 Jan 2026 00:00:00 GMT"),
    (b"Content-Type", b"application/json"),
    (b"Content-Length", b"1024"),
    (b"Last-Modified", b"Thu, 01 Jan 2026 00:00:00 GMT"),
    (b"Connection", b"keep-alive"),
    (b"ETag", b'"5f5e1000-400"'),
    (b"Accept-Ranges", b"bytes"),
]


def answer_of(task: Task) -> bytes:
    """A document as long as that of the server, with the number that is checked."""
    document = {"pad": "", "meta": {"total": task.expect}}
    document["pad"] = "x" * (task.bytes - len(json.dumps(document)))
    return json.dumps(document).encode()
