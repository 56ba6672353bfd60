"""One connection of the file storage: finds the account, the ordered fault and the call of each
request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

from weather_app import body
from weather_app.handler import Handler, WeatherServer

from storage_app.faults import Fault, Faults
from storage_app.store import Account, Refused

KEY, SECRET = "byteclub", "club secret"
"""The key and the secret of the application that may call. The secret of a token is the token
backwards.
"""
OPEN = ("oauth/",)
"""Calls that are signed without the token of an account, or not at all."""

MESSAGES = {
    400: "Bad input parameter",
    401: "Invalid signature or token",
    403: "Forbidden",
    404: "File not found",
    405: "Request method not expected",
    429: "Too many requests",
    503: "The service is busy",
    507: "User is over quota",
}

Call = Callable[["StorageHandler", str], None]
CALLS: dict[tuple[str, str], Call] = {}


def call(method: str, name: str) -> Callable[[Call], Call]:
    """Registers a function for /1/NAME. The function gets the rest of the path."""

    def register(function: Call) -> Call:
        CALLS[(method, name)] = function
        return function

    return register


class StorageServer(WeatherServer):
    """Has an account for each user that has allowed the application, and for each other token."""

    def __init__(self) -> None:
        super().__init__()
        self.RequestHandlerClass = StorageHandler
        self.accounts: dict[str, Account] = {}
        self.owners: dict[str, str] = {}
        """The accounts of issued tokens."""
        self.faults = Faults()


class StorageHandler(Handler):
    """Answers calls with the account of their token."""

    server: StorageServer
    account: Account
    fault: Fault | None

    def serve(self) -> None:
        parts = urlsplit(self.path)
        self.query = parse_qsl(parts.query, keep_blank_values=True)
        self.body_read = False
        self.fault = None
        try:
            self.dispatch(unquote(parts.path))
            if not self.body_read:
                for _ in body.pieces(self.rfile, self.headers):
                    pass
        except Refused as refused:
            self.refuse(refused.status, refused.message)
        except body.BadBody:
            self.close_connection = True

    def dispatch(self, path: str) -> None:
        if path == "/faults":
            return self.order_fault()
        if path == "/log":
            return self.answer_json(self.server.faults.requests(self.value("token")))
        version, _, rest = path.lstrip("/").partition("/")
        known = [name for _, name in CALLS if version == "1" and f"{rest}/".startswith(f"{name}/")]
        if not known:
            raise Refused(404, f"No call at '{path}'")
        if not rest.startswith(OPEN) and not self.admit(path):
            return
        function = CALLS.get((self.command, known[0]))
        if function is None:
            raise Refused(405, MESSAGES[405])
        function(self, rest[len(known[0]) :].strip("/"))

    def admit(self, path: str) -> bool:
        """Finds the account of the request's token; False when an ordered fault has answered."""
        token = self.signed_token()
        asked = self.headers.get("Range", "")
        self.fault = self.server.faults.next(token, self.command, path, asked)
        if self.fault and self.fault.status:
            self.refuse(self.fault.status, MESSAGES[self.fault.status])
            return False
        name = self.server.owners.get(token, token)
        self.account = self.server.accounts.setdefault(name, Account(name))
        return True

    def order_fault(self) -> None:
        self.server.faults.order(Fault(**json.loads(self.whole_body())))
        self.answer_json({})

    def signed_token(self, *, is_optional: bool = False) -> str:
        """The token of an OAuth 1.0 header with a PLAINTEXT signature (RFC 5849, 3.4.4)."""
        scheme, _, text = self.headers.get("Authorization", "").partition(" ")
        pairs = (pair.strip().partition("=") for pair in text.split(","))
        fields = {name: unquote(value.strip('"')) for name, _, value in pairs}
        token = fields.get("oauth_token", "")
        right = {
            "oauth_version": "1.0",
            "oauth_signature_method": "PLAINTEXT",
            "oauth_consumer_key": KEY,
            **({} if is_optional and not token else {"oauth_token": token}),
            "oauth_signature": f"{SECRET.replace(' ', '%20')}&{token[::-1]}",
        }
        if scheme != "OAuth" or not (token or is_optional) or fields != right:
            raise Refused(401, MESSAGES[401])
        return token

    def refuse(self, status: int, message: str) -> None:
        """Sends an error as the service does, after reading the rest of the request."""
        if not self.body_read:
            self.body_read = True
            for _ in body.pieces(self.rfile, self.headers):
                pass
        text = json.dumps({"error": message}).encode()
        seconds = self.fault.retry_after if self.fault else ""
        more = {"Retry-After": seconds} if seconds else {}
        self.answer(text, "application/json", status, more)

    def place(self, argument: str) -> str:
        """The path in `ROOT/PATH`, which begins with a slash."""
        root, _, path = argument.partition("/")
        if root not in ("dropbox", "sandbox"):
            raise Refused(400, f"Expected 'root' to be 'dropbox' or 'sandbox', got '{root}'")
        return f"/{path.strip('/')}"

    def paced(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Copies bytes as fast as the fault allows."""
        if self.fault and self.fault.rate:
            return body.slowly(pieces, self.fault.rate, self.server.stopping.wait)
        return pieces

    def received(self) -> bytes:
        """The request's body."""
        self.body_read = True
        rate = self.fault.rate if self.fault else 0
        step = max(1, min(body.PIECE, int(rate / 20))) if rate else body.PIECE
        return b"".join(self.paced(body.pieces(self.rfile, self.headers, step)))

    def send_file(self, data: bytes, content_type: str, headers: dict[str, str]) -> None:
        """Sends a file or the requested range, with the fault."""
        start, end, status = self.range_of(len(data), headers.get("ETag", ""))
        if start >= len(data) > 0:
            headers = {"Content-Range": f"bytes */{len(data)}"}
            return self.answer(b"", "text/plain", 416, headers)
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(end - start))
        self.send_header("Accept-Ranges", "bytes")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        wanted = data[start:end]
        if self.fault and self.fault.cut:
            wanted = wanted[: self.fault.cut]
            self.close_connection = True
        step = int(self.fault.rate / 20) if self.fault and self.fault.rate else body.PIECE
        step = max(1, min(body.PIECE, step))
        parts = (wanted[at : at + step] for at in range(0, len(wanted), step))
        for piece in self.paced(parts):
            self.wfile.write(piece)
            self.wfile.flush()

    def range_of(self, count: int, tag: str) -> tuple[int, int, int]:
        """The first byte, the one after the last, and the status."""
        first, dash, last = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        is_asked = dash and first.isdigit() and "," not in last
        if not is_asked or self.headers.get("If-Range", tag) != tag:
            return 0, count, 200
        return int(first), min(count, int(last) + 1) if last.isdigit() else count, 206
