"""A forward HTTP proxy that records its requests, in absolute form and CONNECT.

`python proxy.py [--auth USER:PASSWORD]` prints its URL and serves until a pipe at stdin ends. Its record is
at `GET /__log` on the proxy itself; `DELETE /__log` forgets it.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import os
import select
import signal
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from serving import wait_for_end_of_input

HOP_BY_HOP = {"connection", "keep-alive", "proxy-authorization", "proxy-connection", "te"}


class ProxyServer(ThreadingHTTPServer):
    """The listening server, its record, and the credentials that it requires, if any."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, auth: str | None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.record: list[dict[str, Any]] = []
        self.wanted = None
        if auth is not None:
            self.wanted = "Basic " + base64.b64encode(auth.encode("utf-8")).decode("ascii")

    def handle_error(self, request: object, client_address: object) -> None:
        """Prints nothing: clients and servers of a test may leave at any moment."""


class Handler(BaseHTTPRequestHandler):
    """One client connection."""

    server: ProxyServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def reply(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        """Answers in the proxy's own name."""
        body = json.dumps(value).encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def admitted(self) -> bool:
        """Records the request and checks its credentials; answers 407 if they are wrong."""
        authorization = self.headers.get("Proxy-Authorization")
        passes = self.server.wanted is None or authorization == self.server.wanted
        entry = {
            "method": self.command,
            "target": self.path,
            "headers": self.headers.items(),
            "admitted": passes,
            "port": self.client_address[1],
        }
        self.server.record.append(entry)
        if not passes:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            challenge = {"Proxy-Authenticate": 'Basic realm="proxy", charset="UTF-8"'}
            self.reply(407, {"error": "proxy authentication required"}, challenge)
        return passes

    def do_CONNECT(self) -> None:
        """A tunnel of bytes to host:port."""
        if not self.admitted():
            return
        host, _, port = self.path.rpartition(":")
        try:
            upstream = socket.create_connection((host.strip("[]"), int(port)), timeout=10)
        except OSError as error:
            self.reply(502, {"error": str(error)})
            return
        self.close_connection = True
        self.send_response(200, "Connection established")
        self.end_headers()
        self.wfile.flush()
        with upstream:
            upstream.settimeout(None)
            relay(self.connection, upstream)

    def forward(self) -> None:
        """A request in absolute form; the answer gets a Content-Length."""
        if self.path.startswith("/__log"):
            if self.command == "DELETE":
                self.server.record.clear()
            self.reply(200, self.server.record)
            return
        parts = urlsplit(self.path)
        if parts.scheme != "http" or not parts.hostname:
            self.reply(400, {"error": "absolute http URL wanted"})
            return
        if not self.admitted():
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        upstream = http.client.HTTPConnection(parts.hostname, parts.port or 80)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            upstream.putrequest(self.command, target, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in HOP_BY_HOP:
                    upstream.putheader(name, value)
            upstream.endheaders(body or None)
            self.give_back(upstream.getresponse())
        except (OSError, http.client.HTTPException) as error:
            self.reply(502, {"error": str(error)})
        finally:
            upstream.close()

    def give_back(self, response: http.client.HTTPResponse) -> None:
        """Passes on the server's answer."""
        body = response.read()
        self.send_response_only(response.status, response.reason)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP | {"content-length", "transfer-encoding"}:
                self.send_header(name, value)
        self.send_header("Via", "1.1 ntapi-test-proxy")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = forward

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing: tests read the record."""


def relay(one: socket.socket, other: socket.socket) -> None:
    """Copies bytes both ways until either side ends."""
    while True:
        readable, _, _ = select.select([one, other], [], [])
        for source in readable:
            data = source.recv(65536)
            if not data:
                return
            (other if source is one else one).sendall(data)


def main() -> None:
    """Serves on a thread; this one waits for the end of a pipe at standard input or SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--auth", help="USER:PASSWORD that clients have to know")
    server = ProxyServer(parser.parse_args().auth)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    wait_for_end_of_input()


if __name__ == "__main__":
    main()
