"""What was measured, by workload, client and round; kept in a file."""

from __future__ import annotations

import json
import platform
import subprocess
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from kit.measuring import Figures
from kit.spreads import Spread, ratios, spread


@dataclass
class Results:
    """All figures of a run of the kit."""

    figures: dict[str, dict[str, list[Figures]]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def add(self, workload: str, client: str, found: Figures) -> None:
        """One more round of a client."""
        self.figures.setdefault(workload, {}).setdefault(client, []).append(found)

    def values(self, workload: str, client: str, metric: str) -> list[float]:
        """A figure of each round; empty when the client was not measured."""
        rounds = self.figures.get(workload, {}).get(client, [])
        return [found[metric] for found in rounds if metric in found]

    def spread(self, workload: str, client: str, metric: str) -> Spread | None:
        """Median and spread of a figure."""
        values = self.values(workload, client, metric)
        return spread(values) if values else None

    def ratio(self, workload: str, client: str, reference: str, metric: str) -> Spread | None:
        """The client's figure by the reference's, within the rounds."""
        values = self.values(workload, client, metric)
        return ratios(values, self.values(workload, reference, metric))

    def save(self, path: Path) -> None:
        """Writes everything to a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {
            "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "machine": f"{platform.system()} {platform.machine()}, {processor()}",
            "libcurl": output("curl-config", "--version"),
            "swift": output("swift", "--version"),
        }
        whole = {"about": about, "failures": self.failures, "figures": self.figures}
        path.write_text(json.dumps(whole, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Results:
        """Reads what was saved."""
        whole = json.loads(path.read_text(encoding="utf-8"))
        return cls(whole["figures"], whole["failures"])


def output(*command: str) -> str:
    """The first line a program prints."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.stdout.partition("\n")[0].strip()


def processor() -> str:
    """The processor's name, as the kernel tells it."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"
