"""A service that is busy at first: an order has to be sent twice, but must be taken once."""

from __future__ import annotations

import threading
from collections import Counter

from weather_app.handler import Handler, route

lock = threading.Lock()
asked: Counter[str] = Counter()
"""How often each order was sent, by its Idempotency-Key."""


@route("/orders", "POST")
def orders(handler: Handler) -> None:
    """An order: 503 the first time, 201 after that, as long as it has the same Idempotency-Key."""
    handler.whole_body()
    key = handler.headers.get("Idempotency-Key", "")
    with lock:
        asked[key] += 1
        times = asked[key] if key else 1
    if times == 1:
        return handler.answer(b"{}", "application/json", 503, {"Retry-After": "0"})
    handler.answer_json({"order": "taken", "asked": times}, 201)
