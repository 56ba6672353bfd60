"""Faults that a test orders: an answer with a status, a connection that breaks, a slow one."""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass
class Fault:
    """A fault of the next `times` requests of a token with this method and path."""

    token: str
    method: str = ""
    path: str = ""
    """A part of the path."""
    times: int = 1
    status: int = 0
    retry_after: str = ""
    cut: int = 0
    """Bytes of a download after which the connection breaks."""
    rate: float = 0
    """Bytes per second, of the request's body or of the answer's."""

    def meets(self, token: str, method: str, path: str) -> bool:
        return self.token == token and self.method in ("", method) and self.path in path


class Faults:
    """The ordered faults, and the requests."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ordered: list[Fault] = []
        self.log: list[dict[str, str]] = []

    def order(self, fault: Fault) -> None:
        with self.lock:
            self.ordered.append(fault)

    def next(self, token: str, method: str, path: str, range_header: str) -> Fault | None:
        """Records a request, and returns its fault."""
        with self.lock:
            self.log.append({"token": token, "method": method, "path": path, "range": range_header})
            for fault in self.ordered:
                if fault.meets(token, method, path):
                    fault.times -= 1
                    if fault.times <= 0:
                        self.ordered.remove(fault)
                    return fault
        return None

    def requests(self, token: str) -> list[dict[str, str]]:
        with self.lock:
            return [entry for entry in self.log if entry["token"] == token]
