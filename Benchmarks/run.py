"""Measures the clients against each other and prints medians, spreads and ratios within the rounds."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from kit import programs
from kit.documents import TOTAL
from kit.servers import ROOT, Addresses, Servers
from kit.workloads import Workload, workloads


def measure(
    workload: Workload, client: str, count: int, where: Addresses, core: int, library: Path
) -> float:
    """Runs one client; returns its CPU microseconds per request."""
    command = ["taskset", "-c", str(core), str(programs.BUILD / client), workload.mode, where.plain]
    command += [str(count), str(workload.concurrency), f"path={workload.path}"]
    command += [f"bytes={workload.size}", f"expect={TOTAL}"]
    environment = os.environ | {"LD_LIBRARY_PATH": str(library)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    if ended.returncode != 0:
        raise SystemExit(f"{client} {workload.name}: {ended.stderr}")
    report = json.loads(ended.stdout)
    assert report["ok"] == count
    return float(report["cpu_seconds"]) / count * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--library", type=Path, default=ROOT / "build", help="folder of libntapi.so.0"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="names of workloads begin with this")
    options = parser.parse_args()
    library = options.library.resolve()
    programs.build_c(library)
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="ntapi-bench-") as home:
        servers = Servers(Path(home), cores[0])
        try:
            where = servers.start()
            for workload in workloads():
                if not workload.name.startswith(options.only):
                    continue
                found: dict[str, list[float]] = {client: [] for client in workload.clients}
                for _ in range(options.rounds):
                    for client, count in workload.clients.items():
                        found[client].append(
                            measure(workload, client, count, where, cores[-1], library)
                        )
                reference = found[next(iter(found))]
                for client, values in found.items():
                    ratios = [a / b for a, b in zip(values, reference)]
                    print(
                        f"{workload.name:18} {client:16} {statistics.median(values):9.1f} us "
                        f"({min(values):.1f}..{max(values):.1f})  ratio {statistics.median(ratios):.3f} "
                        f"({min(ratios):.3f}..{max(ratios):.3f})",
                        flush=True,
                    )
        finally:
            servers.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
