"""What the scenarios remember and share: counters, records, and where the listeners are."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any


class State:
    """One per process; every listener shares it."""

    def __init__(self) -> None:
        self.urls: dict[str, str] = {}
        """The base URL of each listener by its name (`fault`, `fault_other`, `fault_tls`, ...)."""
        self.hits: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """How many requests of each method were seen, by token."""
        self.seen: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        """The requests recorded by token, with the listener that saw each."""
        self.connections = 0
        """How many connections were accepted so far; also the newest one's number."""

    def hit(self, token: str, method: str) -> int:
        """Counts one request; returns how many it makes."""
        self.hits[token][method] += 1
        return self.hits[token].total()

    def count(self, token: str) -> dict[str, Any]:
        """The counter of a token as `/count` shows it."""
        counter = self.hits.get(token, Counter[str]())
        return {"count": counter.total(), "methods": dict(counter)}
