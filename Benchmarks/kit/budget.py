"""The budget: what a request may cost in instructions and allocations, kept in a file under version control."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from kit.callgrind import Cost


@dataclass(frozen=True)
class Verdict:
    """How a case stands against its budget."""

    line: str
    is_exceeded: bool


class Budget:
    """The costs agreed on, by case."""

    def __init__(self, tolerance_percent: float, cases: dict[str, Cost]) -> None:
        self.tolerance_percent = tolerance_percent
        self.cases = cases

    @classmethod
    def load(cls, path: Path) -> Budget:
        """Reads the file."""
        whole = json.loads(path.read_text(encoding="utf-8"))
        cases = {name: Cost(**cost) for name, cost in whole["cases"].items()}
        return cls(whole["tolerance_percent"], cases)

    def save(self, path: Path) -> None:
        """Writes the file, with figures that do not change with every run."""
        cases = {
            name: {
                "instructions": float(f"{cost.instructions:.3g}"),
                "allocations": round(cost.allocations, 1),
            }
            for name, cost in self.cases.items()
        }
        whole = {"tolerance_percent": self.tolerance_percent, "cases": cases}
        path.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")

    def judge(self, name: str, found: Cost) -> Verdict:
        """Compares a case with its budget."""
        agreed = self.cases.get(name)
        costs = f"{found.instructions:9,.0f} instructions {found.allocations:7.1f} allocations"
        if agreed is None:
            return Verdict(f"{name:30} {costs}   NO BUDGET: UPDATE=1 writes one", True)
        changes = [
            percent(found.instructions, agreed.instructions),
            percent(found.allocations, agreed.allocations),
        ]
        told = f"({changes[0]:+.1f} %, {changes[1]:+.1f} %)"
        if max(changes) > self.tolerance_percent:
            return Verdict(f"{name:30} {costs}   {told} EXCEEDED", True)
        if min(changes) < -self.tolerance_percent:
            return Verdict(f"{name:30} {costs}   {told} can be lowered: UPDATE=1", False)
        return Verdict(f"{name:30} {costs}   {told}", False)


def percent(found: float, agreed: float) -> float:
    """By how many percent a cost is above what was agreed; anything is too much where nothing was."""
    if agreed == 0:
        return 0.0 if found <= 0.05 else 100.0
    return (found / agreed - 1) * 100
