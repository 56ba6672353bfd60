"""Answers the calls of the API, with its quota, and with faults for tests.

A fault is part of the base URL, so that tests do not disturb each other. Below `/with/backoff/5`
each answer has `"backoff": 5`, and a client that calls the same method before that gets an error.
The others are `/with/throttle/60`, `/with/error/500` (an error wrapper with that number),
`/with/crash` (500 without JSON) and `/with/slow/2` (seconds).
"""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qsl, unquote, urlsplit

from serving import LocalServer

from qanda_app.api import APIError, Query, find_method
from qanda_app.data import JSONObject

QUOTA, QUOTA_WITH_KEY = 300, 10_000
ERRORS = {
    402: "invalid_access_token",
    404: "no_method",
    405: "key_required",
    500: "internal_error",
    503: "temporarily_unavailable",
}


class Ledger:
    """The used quota of each key, and until when it may not call a method."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.used: Counter[str] = Counter()
        self.closed: dict[tuple[str, str], float] = {}

    def enter(self, key: str, method: str) -> int:
        """Counts a call. Returns the rest of the quota."""
        with self.lock:
            if time.monotonic() < self.closed.get((key, method), 0):
                raise throttled("Violation of backoff parameter")
            self.used[key] += 1
            return max(0, (QUOTA_WITH_KEY if key else QUOTA) - self.used[key])

    def close(self, key: str, method: str, seconds: float) -> None:
        """Sets the backoff of a method, from now on."""
        with self.lock:
            self.closed[(key, method)] = time.monotonic() + seconds


LEDGER = Ledger()


def throttled(message: str) -> APIError:
    """The error for calling too often."""
    return APIError(502, "throttle_violation", message)


class Handler(BaseHTTPRequestHandler):
    """One HTTP/1.1 connection."""

    server: LocalServer
    protocol_version = "HTTP/1.1"
    server_version = "NTApiQandA/1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        """All methods of the API are read-only."""
        parts = urlsplit(self.path)
        path, fault, value = unquote(parts.path), "", 0
        if path.startswith("/with/"):
            _, _, fault, rest = path.split("/", 3)
            number, _, below = rest.partition("/")
            value, path = (int(number), f"/{below}") if fault != "crash" else (0, f"/{rest}")
        if fault == "crash":
            return self.answer(b"<html>Something went wrong</html>", "text/html", 500)
        if fault == "slow":
            self.server.stopping.wait(value)
        try:
            wrapper = self.result(
                path, parse_qsl(parts.query, keep_blank_values=True), fault, value
            )
            self.answer_json(wrapper, 200)
        except APIError as error:
            self.answer_json(error.wrapper, 400)

    def result(self, path: str, pairs: list[tuple[str, str]], fault: str, value: int) -> JSONObject:
        """The common wrapper around one page of items."""
        if fault == "throttle":
            text = f"too many requests from this IP, more requests available in {value} seconds"
            raise throttled(text)
        if fault == "error":
            raise APIError(value, ERRORS[value], "simulated")
        found = find_method(path)
        if found is None:
            raise APIError(404, "no_method", "this method is not recognized")
        name, method, ids = found
        query = Query(pairs)
        key = query.pairs.get("key", "")
        remaining = LEDGER.enter(key, name)
        items = method(query, ids)
        first = (query.page - 1) * query.page_size
        wrapper: JSONObject = {
            "items": items[first : first + query.page_size],
            "has_more": len(items) > first + query.page_size,
        }
        if fault == "backoff":
            wrapper["backoff"] = value
            LEDGER.close(key, name, value)
        return {
            **wrapper,
            "quota_max": QUOTA_WITH_KEY if key else QUOTA,
            "quota_remaining": remaining,
        }

    def answer_json(self, value: JSONObject, status: int) -> None:
        """Compresses the body, as the API always does."""
        text = json.dumps(value, ensure_ascii=False).encode("utf-8")
        is_gzip = "gzip" in self.headers.get("Accept-Encoding", "")
        encoding = "gzip" if is_gzip else None
        data = gzip.compress(text, mtime=0) if is_gzip else text
        self.answer(data, "application/json; charset=utf-8", status, encoding)

    def answer(
        self, data: bytes, content_type: str, status: int, encoding: str | None = None
    ) -> None:
        """Sends a complete response with its length."""
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing: standard error belongs to the example program."""
