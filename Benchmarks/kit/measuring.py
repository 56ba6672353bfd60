"""Runs one client once and turns what it reports into figures."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit import syscalls
from kit.clients import Client, environment
from kit.servers import Addresses
from kit.workloads import Workload

# What one run of a client gave, by the name of the metric.
Figures = dict[str, float]
TIMEOUT = 180


class ClientFailed(Exception):
    """A client ended with an error, or did not report what it should have done."""


@contextmanager
def on_cores(cores: set[int] | None) -> Iterator[None]:
    """Children started meanwhile may run on these; None changes nothing."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Bench:
    """Runs clients on a core of their own against the servers."""

    def __init__(self, where: Addresses, library: Path, home: Path, cores: set[int]) -> None:
        self.where = where
        self.cores = cores
        self.environment = environment(library)
        self.home = home
        memory = Path("/dev/shm")
        self.target = (
            memory if os.access(memory, os.W_OK) else home
        ) / f"ntapi-bench-{os.getpid()}"

    def words(self, workload: Workload, client: Client, count: int) -> list[str]:
        """The client's command line."""
        where = self.where
        base = {"plain": where.plain, "tls": where.tls, "slow": where.slow}[workload.server]
        words = workload.arguments(base, count)
        if workload.server == "tls":
            words.append(f"ca={where.ca}")
        known = {"slow": where.slow, "source": str(where.file), "target": str(self.target)}
        return [*client.command, *(word.format(**known) for word in words), *client.options]

    def measure(self, workload: Workload, client: Client, count: int) -> Figures:
        """One run."""
        if workload.metric == "calls":
            return self.count_calls(workload, client, count)
        command = self.words(workload, client, count)
        begun = time.monotonic()
        with on_cores(self.cores if workload.all_cores else None):
            output = self.run(command)
        wall = time.monotonic() - begun
        return figures(json.loads(output), count, wall)

    def run(self, command: list[str]) -> str:
        """The client's standard output."""
        try:
            ended = subprocess.run(
                command,
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise ClientFailed(f"not done after {TIMEOUT} seconds") from late
        finally:
            self.target.unlink(missing_ok=True)
        if ended.returncode != 0:
            lines = ended.stderr.strip().splitlines() or [f"status {ended.returncode}"]
            raise ClientFailed(lines[-1])
        return ended.stdout

    def count_calls(self, workload: Workload, client: Client, count: int) -> Figures:
        """System calls per request: the difference of two runs, so that the start does not count."""
        trace = self.home / "strace.txt"

        def traced(requests: int) -> Counter[str]:
            strace = ["strace", "-f", "-qq", "-s", "8", "-o", str(trace)]
            self.run(strace + self.words(workload, client, requests))
            with trace.open(encoding="utf-8", errors="replace") as lines:
                return syscalls.count(lines)

        return syscalls.per_request(traced(count), traced(4 * count), 3 * count)


def figures(report: dict[str, float], count: int, wall: float) -> Figures:
    """The figures of a report; fails when it does not tell of all requests."""
    if report["ok"] != count or report["requests"] != count:
        raise ClientFailed(f"{report['ok']} of {count} requests")
    found = {
        "requests": float(count),
        "cpu": report["cpu_seconds"] / count * 1e6,
        "cpu_ms": report["cpu_seconds"] / count * 1e3,
        "wall_ms": wall * 1e3,
        "pace_ms": report.get("wall_seconds", wall) / count * 1e3,
        "idle_kb": report["idle_rss_kb"],
        "growth_kb": report["max_rss_kb"] - report["idle_rss_kb"],
    }
    if "late_seconds" in report:
        found["late_ms"] = report["late_seconds"] * 1e3
    if "busiest_seconds" in report:
        found["busiest"] = report["busiest_seconds"] / count * 1e6
    if "held_rss_kb" in report:
        found["held_rss_kb"] = report["held_rss_kb"]
        found["held_kb"] = (report["held_rss_kb"] - report["idle_rss_kb"]) / count
    return found
