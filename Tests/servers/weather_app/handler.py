"""One HTTP/1.1 connection of the demo API: routing, bodies, and answers in JSON."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qsl, unquote, urlsplit

from serving import LocalServer

from weather_app import body


class WeatherServer(LocalServer):
    """The listening server."""

    receive_buffer = 16 * 1024
    segment = 1460
    """Small buffers: bytes in the kernel look sent to a client, and would hide the pace of
    `?rate=`. A client's send buffer begins with some 20 segments, which on loopback are 64 KiB
    each.
    """

    def __init__(self, port: int = 0) -> None:
        super().__init__(Handler, port)

    def server_bind(self) -> None:
        """Accepted connections get the size from the listening socket."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self.segment)
        super().server_bind()


Route = Callable[["Handler"], None]
ROUTES: dict[tuple[str, str], Route] = {}


def route(path: str, *methods: str) -> Callable[[Route], Route]:
    """Registers a function for a path; without methods it answers all of them."""

    def register(function: Route) -> Route:
        for method in methods or ("*",):
            ROUTES[(method, path)] = function
        return function

    return register


class Handler(BaseHTTPRequestHandler):
    """Reads a request, calls its route, answers. `query` are the decoded pairs, in order."""

    server: WeatherServer
    protocol_version = "HTTP/1.1"
    server_version = "NTApiWeather/1"
    disable_nagle_algorithm = True
    wbufsize = -1
    query: list[tuple[str, str]]
    url_path: str
    body_read: bool

    def value(self, name: str, default: str = "") -> str:
        """The first query value of that name."""
        return next((value for key, value in self.query if key == name), default)

    def number(self, name: str, default: float) -> float:
        """The same as a number; the default if it is missing or not a number."""
        try:
            return float(self.value(name, str(default)))
        except ValueError:
            return default

    def pieces(self, size: int = body.PIECE) -> Iterator[bytes]:
        """The request's body as it arrives; `?rate=` slows the reading down."""
        self.body_read = True
        rate = self.number("rate", 0)
        if rate <= 0:
            return body.pieces(self.rfile, self.headers, size)
        step = max(1, min(size, int(rate / 20)))
        return body.slowly(
            body.pieces(self.rfile, self.headers, step), rate, self.server.stopping.wait
        )

    def whole_body(self) -> bytes:
        """The request's body in memory."""
        return b"".join(self.pieces())

    def answer(
        self, data: bytes, content_type: str, status: int = 200, more: dict[str, str] | None = None
    ) -> None:
        """Sends a complete response with its length."""
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, text in (more or {}).items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def answer_json(self, value: object, status: int = 200) -> None:
        """Sends a value as JSON in UTF-8."""
        text = json.dumps(value, ensure_ascii=False).encode("utf-8")
        self.answer(text, "application/json; charset=utf-8", status)

    def serve(self) -> None:
        """Answers one request, whatever its method."""
        parts = urlsplit(self.path)
        self.url_path = unquote(parts.path)
        self.query = parse_qsl(parts.query, keep_blank_values=True)
        self.body_read = False
        method = "GET" if self.command == "HEAD" else self.command
        function = ROUTES.get((method, self.url_path)) or ROUTES.get(("*", self.url_path))
        try:
            if function:
                function(self)
            else:
                self.answer_json({"cod": "404", "message": "Internal error: 404"}, 404)
            if not self.body_read:
                for _ in body.pieces(self.rfile, self.headers):
                    pass
        except body.BadBody as error:
            self.close_connection = True
            self.answer_json({"cod": "400", "message": str(error)}, 400)

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Every method has the same entrance: the base class looks for do_GET, do_PUT, ..."""
        if name.startswith("do_"):
            return self.serve
        raise AttributeError(name)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: standard error belongs to the program under demonstration."""
