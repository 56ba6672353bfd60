"""The table of scenarios, filled by the decorator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fault.exchange import Exchange

Action = Callable[[Exchange], Awaitable[None]]


@dataclass(frozen=True)
class Scenario:
    """One entry: its action, and whether the server reads the request's body before it."""

    action: Action
    reads_body: bool
    doc: str


SCENARIOS: dict[str, Scenario] = {}


def scenario(name: str, reads_body: bool = True) -> Callable[[Action], Action]:
    """Registers a coroutine for `/name` and everything below it."""

    def register(action: Action) -> Action:
        if name in SCENARIOS:
            raise ValueError(f"two scenarios named {name}")
        doc = (action.__doc__ or "").strip().splitlines()[0]
        SCENARIOS[name] = Scenario(action, reads_body, doc)
        return action

    return register
