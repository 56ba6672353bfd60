"""What all Python clients share: the command line, the meters, the checks, the report.

client.py WORKLOAD BASE_URL COUNT CONCURRENCY [name=value...]
"""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def memory_kb(name: str) -> int:
    """Memory of this process, from a line of /proc/self/status: VmRSS or VmHWM."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise OSError(f"no {name}")


@dataclass
class Task:
    """What the command line asks for."""

    workload: str
    base: str
    count: int
    at_once: int
    options: dict[str, str]
    extra: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.url = f"{self.base}/{self.options.get('path', '')}"
        self.parsed = self.workload != "raw"
        self.bytes = int(self.options.get("bytes", 0))
        self.expect = int(self.options.get("expect", 0))
        self.warmup = int(self.options.get("warmup", 2 * self.at_once))
        self.ca = self.options.get("ca")
        self.loads = json.loads
        if self.options.get("parser") == "orjson":
            import orjson

            self.loads = orjson.loads

    def check(self, status: int, body: bytes) -> None:
        """Fails unless the response is what the server was asked for."""
        if self.parsed:
            assert status == 200, f"status {status}"
            self.check_json(status, self.loads(body))
        else:
            self.check_size(status, len(body))

    def check_size(self, status: int, size: int) -> None:
        """The same for a body that was counted."""
        assert status == 200, f"status {status}"
        assert size == self.bytes, f"{size} bytes instead of {self.bytes}"

    def check_json(self, status: int, value: Any) -> None:
        """The same for a client that parses by itself."""
        assert status == 200, f"status {status}"
        assert value["meta"]["total"] == self.expect, "meta.total is wrong"

    def start_meters(self) -> None:
        """The warm-up is over."""
        self.extra["idle_rss_kb"] = memory_kb("VmRSS")
        self.wall = time.monotonic()
        self.usage = resource.getrusage(resource.RUSAGE_SELF)

    def report(self, done: int) -> None:
        """The work is done: prints one line of JSON."""
        after = resource.getrusage(resource.RUSAGE_SELF)
        wall = time.monotonic() - self.wall
        user = after.ru_utime - self.usage.ru_utime
        system = after.ru_stime - self.usage.ru_stime
        figures = {
            "requests": done,
            "ok": done,
            "cpu_seconds": user + system,
            "user_seconds": user,
            "wall_seconds": wall,
            "max_rss_kb": memory_kb("VmHWM"),
        }
        print(json.dumps(figures | self.extra), flush=True)


def read_task() -> Task:
    """Reads the command line."""
    options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    workload, base, count, at_once = (word for word in sys.argv[1:] if "=" not in word)
    return Task(workload, base, int(count), int(at_once), options)
