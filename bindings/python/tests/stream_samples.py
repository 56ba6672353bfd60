"""Streams of the fault server, and the requests that it has seen for them."""

from __future__ import annotations

import itertools
import os
from typing import Any

import ntapi
from ntapi import ServerSentEvent

LINES: list[Any] = [{"n": 1}, [2, "é€𝄞"], "three", None, {"last": True}]
EVENTS = [
    ServerSentEvent("message", "first", "1"),
    ServerSentEvent("münze", "é\n€𝄞", "1"),
    ServerSentEvent("message", "", "2"),
]
_numbers = itertools.count()


def token() -> str:
    """A token that no other test uses."""
    return f"py{os.getpid()}.{next(_numbers)}"


def seen(client: ntapi.Client, name: str) -> list[Any]:
    """The requests that the fault server has seen with a token."""
    return list(client.send("seen", ntapi.url("token", name)).json()["requests"])
