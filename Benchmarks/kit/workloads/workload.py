"""What a workload is."""

from __future__ import annotations

from dataclasses import dataclass, field

from kit.documents import SMALL, TOTAL


@dataclass(frozen=True)
class Workload:
    """One column of the table. The first client is the one the others are compared with."""

    name: str
    title: str
    clients: dict[str, int]
    mode: str = "parsed"
    server: str = "plain"
    path: str = "small.json"
    size: int = SMALL
    at_once: int = 1
    metric: str = "cpu"
    options: dict[str, str] = field(default_factory=dict)
    rounds: int = 0  # 0: as many as asked for
    is_full: bool = False
    all_cores: bool = False  # the client may run on the server's core, too

    def arguments(self, base: str, count: int) -> list[str]:
        """The words that all clients get; what depends on the servers is appended."""
        words = [self.mode, base, str(count), str(self.at_once), f"path={self.path}"]
        words += [f"bytes={self.size}", f"expect={TOTAL}"]
        return words + [f"{name}={value}" for name, value in self.options.items()]
