"""Compares two builds of the library: runs a workload with one and the other in turn, and prints the ratio within rounds.

python3 compare.py FOLDER OTHER --only raw-64,large-16 --clients ntapi_callback --rounds 9
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from kit import building
from kit.clients import CLIENTS
from kit.measuring import Bench
from kit.servers import Servers
from kit.workloads import Workload, all_workloads


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("library", type=Path, help="folder of a libntapi.so.0")
    parser.add_argument(
        "other", type=Path, help="folder of another: its cost is divided by the first's"
    )
    parser.add_argument("--only", required=True, help="workloads, with commas")
    parser.add_argument("--clients", default="ntapi_callback", help="ours in C, with commas")
    parser.add_argument("--rounds", type=int, default=7)
    return parser.parse_args()


def compare(workload: Workload, client: str, benches: list[Bench], rounds: int) -> None:
    """Prints the median of both, and the median and the spread of their ratio."""
    found: list[list[float]] = [[], []]
    ratios = []
    for number in range(rounds):
        # Who goes first takes turns, too.
        order = [0, 1] if number % 2 == 0 else [1, 0]
        for side in order:
            count = workload.clients[client]
            figures = benches[side].measure(workload, CLIENTS[client], count)
            found[side].append(figures[workload.metric])
        ratios.append(found[1][-1] / found[0][-1])
    medians = " to ".join(f"{statistics.median(side):,.2f}" for side in found)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(
        f"{workload.name:18} {client:16} {workload.metric:8} {medians:22}"
        f" ratio {statistics.median(ratios):.3f}  ({spread})",
        flush=True,
    )


def main() -> None:
    """Starts the servers and compares."""
    options = arguments()
    libraries = [options.library.resolve(), options.other.resolve()]
    building.build_c(libraries[0])
    cores = sorted(os.sched_getaffinity(0))
    names = options.only.split(",")
    clients = options.clients.split(",")
    with tempfile.TemporaryDirectory(prefix="ntapi-bench-") as home:
        servers = Servers(Path(home))
        try:
            where = servers.start()
            benches = [Bench(where, library, Path(home), {cores[-1]}) for library in libraries]
            for workload in all_workloads():
                for client in clients:
                    if workload.name in names and client in workload.clients:
                        compare(workload, client, benches, options.rounds)
        finally:
            servers.stop()


if __name__ == "__main__":
    main()
