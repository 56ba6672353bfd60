"""Weather as it happens: observations as JSON lines, warnings as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterable

from weather_app.handler import Handler, route

WARNINGS = ["gale", "flood", "frost", "fog"]


def send(handler: Handler, content_type: str, pieces: Iterable[str], pause: float) -> None:
    """A body that ends with the connection, a piece at a time."""
    handler.send_response(200)
    handler.send_header("Content-Type", content_type)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True
    for piece in pieces:
        if handler.server.stopping.wait(pause):
            return
        handler.wfile.write(piece.encode())
        handler.wfile.flush()


@route("/observations", "GET")
def observations(handler: Handler) -> None:
    """`cnt` (3) lines of JSON, every `pause` (0) seconds."""
    count = int(max(0, min(1_000_000, handler.number("cnt", 3))))
    lines = (
        json.dumps({"city": ["London", "Paris", "Oslo"][number % 3], "temp": 10 + number}) + "\n"
        for number in range(count)
    )
    send(handler, "application/x-ndjson", lines, handler.number("pause", 0))


@route("/warnings", "GET")
def warnings(handler: Handler) -> None:
    """Events behind Last-Event-ID, two in a connection; when there are no more, 204."""
    last = handler.headers.get("Last-Event-ID", "0")
    first = int(last) if last.isdigit() else 0
    if first >= len(WARNINGS):
        handler.send_response(204)
        return handler.end_headers()
    events = [
        f"id: {number + 1}\nevent: warning\ndata: {json.dumps({'kind': WARNINGS[number]})}\n\n"
        for number in range(first, min(first + 2, len(WARNINGS)))
    ]
    send(handler, "text/event-stream", ["retry: 10\n\n", *events], handler.number("pause", 0))
