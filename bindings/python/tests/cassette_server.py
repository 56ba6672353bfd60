"""A server with the answers that are hard to keep in a cassette."""

from __future__ import annotations

import gzip
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

brotlicffi = pytest.importorskip("brotlicffi")

TEXT = '{"name": "Zürich", "n": 1.50, "pad": "' + "x" * 200 + '"}'
ANSWERS: dict[str, tuple[int, list[tuple[str, str]], bytes]] = {
    "/json": (200, [("Content-Type", "application/json")], TEXT.encode()),
    "/gzip": (200, [("Content-Encoding", "gzip")], gzip.compress(TEXT.encode())),
    "/deflate": (200, [("Content-Encoding", "deflate")], zlib.compress(TEXT.encode())),
    "/br": (200, [("Content-Encoding", "br")], brotlicffi.compress(TEXT.encode())),
    "/bytes": (200, [("Content-Type", "image/png")], bytes(range(256))),
    "/empty": (204, [], b""),
    "/twice": (200, [("X-Twice", "one"), ("X-Twice", "two"), ("Set-Cookie", "sid=hush")], b"t"),
    "/moved": (302, [("Location", "/json")], b"moved"),
    "/missing": (404, [("Content-Type", "text/plain")], b"not here"),
    "/odd": (299, [], b"odd"),
}
PATHS = [path for path in ANSWERS if path != "/odd"]


class Server(ThreadingHTTPServer):
    """Counts its requests. Also `/chunked`; a POST is answered with its body."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.count = 0
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self.server.count += 1
        path = self.path.partition("?")[0]
        if path == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n")
            return
        self._answer(*ANSWERS[path])

    def do_POST(self) -> None:
        assert isinstance(self.server, Server)
        self.server.count += 1
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        self._answer(200, [("Content-Type", "text/plain")], b"posted " + body)

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status, "Very odd" if status == 299 else None)
        for name, value in headers:
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing."""


@contextmanager
def running() -> Iterator[Server]:
    """Serves while the `with` block runs."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
