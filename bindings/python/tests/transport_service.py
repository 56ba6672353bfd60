"""The service that the SDKs of the transports' tests talk to, with tokens, data, events and faults;
and what sends to it, without and with NTApi.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable
from urllib.parse import parse_qsl

import ntapi.transports
from conftest import PATIENCE

EVENTS = 3
"""How many /events sends."""
SIDES = [False, True]
"""Without and with NTApi."""


class Service:
    """A running service. It notes each request: method, path, the header Authorization and body."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.seen: list[tuple[str, str, str, Any]] = []
        self.may_go_on = threading.Semaphore(0)
        """An event of /events waits for it."""

    def part(self) -> list[tuple[str, str, str, Any]]:
        """The requests since the last call. The tokens start again with the first one."""
        seen, self.seen = self.seen, []
        return seen

    def count(self, path: str) -> int:
        """How many requests there were to a path, in this part."""
        return sum(each[1] == path for each in self.seen)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: Service

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.partition("?")[0]
        form = sorted(parse_qsl(body.decode())) or body
        self.service.seen.append((self.command, path, self.headers.get("Authorization", ""), form))
        answer: Callable[[], None] = getattr(self, "_" + path.strip("/").replace("-", "_"))
        answer()

    def _answer(self, status: int, content: Any, **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def _token(self, **headers: str) -> None:
        token = {"access_token": f"t{self.service.count(self.path)}", "token_type": "Bearer"}
        self._answer(200, {**token, "refresh_token": "r", "expires_in": 3600}, **headers)

    def _token_once(self) -> None:
        # The next request goes out on a connection of its own: NTApi sends a GET once more if the
        # server closes a connection that was kept.
        self._token(Connection="close")

    def _token_refused(self) -> None:
        self._answer(400, {"error": "invalid_grant", "error_description": "it is too old"})

    def _data(self) -> None:
        is_allowed = self.headers.get("Authorization", "").startswith("Bearer t")
        self._answer(200 if is_allowed else 401, {"data": 1})

    def _data_again(self) -> None:
        # The first token is withdrawn.
        is_allowed = self.headers.get("Authorization") == "Bearer t2"
        self._answer(200 if is_allowed else 401, {"data": 2})

    def _closed(self) -> None:
        self.close_connection = True

    def _twice_closed(self) -> None:
        if self.service.count("/twice-closed") < 3:
            self.close_connection = True
        else:
            self._answer(200, {"attempt": 3})

    def _twice_503(self) -> None:
        is_ready = self.service.count("/twice-503") == 3
        self._answer(200 if is_ready else 503, {"attempt": 3})

    def _fresh(self) -> None:
        self._answer(200, {"n": self.service.count("/fresh")}, Cache_Control="max-age=3600")

    def _tagged(self) -> None:
        if self.headers.get("If-None-Match") == '"a"':
            self.send_response(304)
            self.send_header("ETag", '"a"')
            self.end_headers()
        else:
            self._answer(200, {"n": 1}, ETag='"a"', Cache_Control="max-age=0")

    def _gzip(self) -> None:
        self._answer(200, gzip.compress(b'{"city": "London"}', mtime=0), Content_Encoding="gzip")

    def _events(self) -> None:
        self._stream(ends=True)

    def _events_cut(self) -> None:
        self._stream(ends=False)

    def _stream(self, ends: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(EVENTS):
            # Pause until the client has the previous event.
            assert self.service.may_go_on.acquire(timeout=PATIENCE)
            data = f"id: {number}\nevent: step\ndata: one\ndata: twö {number}\n\n".encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        if ends:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True


@contextmanager
def running() -> Iterator[Service]:
    """A service of its own for a test."""
    handler: Any = type("Own", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    handler.service = Service(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield handler.service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def transport(library: Any, is_ours: bool, is_async: bool = False) -> Any:
    """The stock transport of httpx or httpx2, or NTApi's for it."""
    prefix = "Async" if is_async else ""
    if is_ours:
        return getattr(ntapi.transports, prefix + library.__name__.upper())()
    return getattr(library, f"{prefix}HTTPTransport")()


def session(is_ours: bool) -> Any:
    """A session of requests, perhaps with our adapter."""
    import requests

    new = requests.Session()
    new.trust_env = False
    if is_ours:
        new.mount("http://", ntapi.transports.RequestsAdapter())
    return new
