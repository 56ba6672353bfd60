"""What the tests of the mock server share: clients that show what is on the wire."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterable
from typing import Any, Optional

import h2.config
import h2.connection
import h2.events
import pytest

from conftest import PATIENCE
from ntapi.testing import Server
from ntapi.testing.server import Latch

RESET = b"<reset>"
"""Stands at the end of what was received from a connection that was reset."""


def connected(server: Server) -> socket.socket:
    """A connection to a server."""
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def until_end(sock: socket.socket) -> bytes:
    """The bytes until the connection ends, and then how it ends."""
    received = bytearray()
    try:
        while piece := sock.recv(65536):
            received += piece
    except ConnectionResetError:
        received += RESET
    return bytes(received)


def until_mark(sock: socket.socket, mark: bytes) -> bytes:
    """The bytes up to a mark, which has to come."""
    received = bytearray()
    while mark not in received:
        piece = sock.recv(65536)
        assert piece, received
        received += piece
    return bytes(received)


def raw(server: Server, text: str = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n") -> bytes:
    """Sends bytes on a new connection, and returns all that comes back."""
    with connected(server) as sock:
        sock.sendall(text.encode())
        return until_end(sock)


def _curl(words: Iterable[Any]) -> list[str]:
    if shutil.which("curl") is None:
        pytest.skip("curl is not here")
    return ["curl", "-sS", "-i", "-N", "--max-time", str(PATIENCE), *map(str, words)]


def curl(*words: Any) -> subprocess.CompletedProcess[bytes]:
    """Runs curl, which prints the heads, too."""
    return subprocess.run(_curl(words), capture_output=True, check=False)


def curl_until(mark: bytes, latch: Latch, *words: Any) -> tuple[bytes, int]:
    """Runs curl, and releases a latch when it has printed a mark. Its output and its status."""
    with subprocess.Popen(_curl(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        printed = b""
        while mark not in printed and (piece := process.stdout.read1()):
            printed += piece
        latch.release()
        return printed + process.communicate()[0], process.returncode


class HTTP2Client:
    """A connection that shows the events of HTTP/2."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        config = h2.config.H2Configuration(header_encoding="utf-8")
        self.protocol = h2.connection.H2Connection(config)
        self.protocol.initiate_connection()
        self.flush()

    def flush(self) -> None:
        self.socket.sendall(self.protocol.data_to_send())

    def get(self, path: str) -> int:
        """Sends a request. Returns the number of its stream."""
        return self._send("GET", path)

    def head(self, path: str) -> int:
        """As `get`, with HEAD."""
        return self._send("HEAD", path)

    def post(self, path: str, body: bytes) -> int:
        """As `get`, with a body that fits into the first window of flow control."""
        return self._send("POST", path, body)

    def _send(self, method: str, path: str, body: bytes = b"") -> int:
        stream = self.protocol.get_next_available_stream_id()
        head = [(":method", method), (":scheme", "http"), (":authority", "h"), (":path", path)]
        self.protocol.send_headers(stream, head, end_stream=not body)
        size = self.protocol.max_outbound_frame_size
        for start in range(0, len(body), size):
            piece = body[start : start + size]
            self.protocol.send_data(stream, piece, end_stream=start + size >= len(body))
        self.flush()
        return stream

    def receive(self) -> bytes:
        """The next bytes, which the protocol sees as well."""
        data = self.socket.recv(65536)
        assert data
        self.protocol.receive_data(data)
        self.flush()
        return data

    def events(self, last: Optional[type[h2.events.Event]] = None) -> list[h2.events.Event]:
        """The events up to one of a kind, or to the end of the connection."""
        seen: list[h2.events.Event] = []
        while True:
            data = self.socket.recv(65536)
            if not data:
                assert last is None, seen
                return seen
            seen += self.protocol.receive_data(data)
            self.flush()
            if last is not None and any(isinstance(event, last) for event in seen):
                return seen


def http2(server: Server) -> HTTP2Client:
    """A connection that speaks HTTP/2 at once."""
    return HTTP2Client(connected(server))


def trusting(server: Server) -> ssl.SSLContext:
    """A client's side of TLS, which trusts the server's authority only."""
    return ssl.create_default_context(cafile=str(server.ca_path))
