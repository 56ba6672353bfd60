"""What the scenarios remember and share: counters, records, and where the listeners are."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from typing import Any


class State:
    """One per process; every listener shares it."""

    def __init__(self) -> None:
        self.urls: dict[str, str] = {}
        """The base URL of each listener by its name (`fault`, `fault_other`, `fault_tls`, ...)."""
        self.hits: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """The number of requests with each method, by token."""
        self.seen: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        """The recorded requests by token, each with its listener."""
        self.let: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        """The events that answers wait for, by token; `/let` sets them."""
        self.connections = 0
        """How many connections were accepted so far; also the newest one's number."""

    def hit(self, token: str, method: str) -> int:
        """Counts a request; returns the new number."""
        self.hits[token][method] += 1
        return self.hits[token].total()

    def count(self, token: str) -> dict[str, Any]:
        """The counter of a token as `/count` shows it."""
        counter = self.hits.get(token, Counter[str]())
        return {"count": counter.total(), "methods": dict(counter)}
