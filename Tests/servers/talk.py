"""Talks to a server with sockets and http.client, for the smoke tests."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Answer:
    """A response, read to its end."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        """The first header of that name."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


def connection(base: str, ca: str | None = None) -> http.client.HTTPConnection:
    """A connection to a base URL; with TLS it trusts only that CA."""
    parts = urlsplit(base)
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=ca)
        return http.client.HTTPSConnection(host, port, timeout=60, context=context)
    return http.client.HTTPConnection(host, port, timeout=60)


def fetch(
    base: str,
    target: str,
    method: str = "GET",
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    ca: str | None = None,
) -> Answer:
    """One request on a connection of its own."""
    link = connection(base, ca)
    try:
        return on(link, target, method, body, headers)
    finally:
        link.close()


def on(
    link: http.client.HTTPConnection,
    target: str,
    method: str = "GET",
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """One request on that connection."""
    link.request(method, target, body, headers or {})
    response = link.getresponse()
    return Answer(response.status, response.getheaders(), response.read())


def raw(base: str, target: str) -> bytes:
    """Everything a server sends until it closes; a reset raises ConnectionResetError."""
    parts = urlsplit(base)
    with socket.create_connection((parts.hostname or "", parts.port or 80), 10) as link:
        link.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        received = b""
        while data := link.recv(65536):
            received += data
        return received
