"""Measures NTApi and its peers in turn, and prints medians, spreads and ratios within the rounds.

python3 bench.py                   the workloads of `make bench`
python3 bench.py --full            all workloads, more rounds
python3 bench.py --only parsed-64 --clients ntapi,libcurl --library ../build
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from kit import building, plot, table
from kit.clients import CLIENTS
from kit.measuring import Bench, ClientFailed
from kit.places import BUNDLED, RESULTS, ROOT, VENV
from kit.results import Results
from kit.servers import Servers
from kit.targets import all_targets
from kit.workloads import Workload, all_workloads


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="all workloads, more rounds")
    parser.add_argument("--rounds", type=int, default=0, help="of each workload")
    parser.add_argument(
        "--only", default="", help="workloads, by names or beginnings of names, with commas"
    )
    parser.add_argument("--clients", default="", help="clients, in the same way")
    parser.add_argument(
        "--library", type=Path, default=ROOT / "build", help="folder of libntapi.so.0"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of requests")
    parser.add_argument("--no-build", action="store_true", help="the clients in Swift are built")
    parser.add_argument("--output", type=Path, default=RESULTS / "last.json")
    parser.add_argument("--plot", type=Path, default=RESULTS / "last.svg")
    return parser.parse_args()


def is_chosen(name: str, words: str, names: set[str]) -> bool:
    """Whether one of the words is the name, or its beginning; a word that is a name stands for that alone."""
    return any(
        name == word if word in names else name.startswith(word) for word in words.split(",")
    )


def chosen(options: argparse.Namespace) -> list[Workload]:
    """The workloads asked for, with the clients asked for and their references."""
    everything = all_workloads()
    names = {workload.name for workload in everything}
    found = []
    for workload in everything:
        if workload.is_full and not options.full and not options.only:
            continue
        if is_chosen(workload.name, options.only, names):
            first = next(iter(workload.clients))
            for name in list(workload.clients):
                if name != first and not is_chosen(name, options.clients, set(CLIENTS)):
                    del workload.clients[name]
            found.append(workload)
    return found


def build(workloads: list[Workload], options: argparse.Namespace) -> None:
    """What the chosen clients need."""
    building.build_c(options.library.resolve())
    names = {name for workload in workloads for name in workload.clients}
    languages = {(CLIENTS[name].language, CLIENTS[name].ours) for name in names}
    for package, is_ours in (("ours", True), ("peers", False)):
        if ("Swift", is_ours) in languages and not options.no_build:
            building.build_swift(package)
    if {("Python", True), ("Python", False)} & languages and not VENV.exists():
        raise SystemExit("no virtual environment for the peers in Python: `make bench` makes it")
    if any(name.startswith("bundled_") for name in names) and not BUNDLED.exists():
        raise SystemExit("the wheel's libcurl is not built: `make libcurl` builds it")


def run(workload: Workload, bench: Bench, results: Results, options: argparse.Namespace) -> None:
    """All rounds of a workload, the clients in turn, so that a slow minute hits all alike."""
    begun = time.monotonic()
    rounds = options.rounds or workload.rounds or (7 if options.full else 3)
    for _ in range(rounds):
        for name, count in workload.clients.items():
            key = f"{workload.name} {name}"
            if key in results.failures:
                continue
            try:
                requests = max(1, round(count * options.scale))
                results.add(workload.name, name, bench.measure(workload, CLIENTS[name], requests))
            except ClientFailed as failure:
                results.failures[key] = str(failure)
    lines = table.workload_lines(workload, results)
    print("\n".join(lines), f"    {time.monotonic() - begun:.0f} s\n", sep="\n", flush=True)


def main() -> int:
    """Builds, starts the servers on one core, measures on another, and tells."""
    options = arguments()
    workloads = chosen(options)
    build(workloads, options)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("one core for server and client: the figures mean little", file=sys.stderr)
    results = Results()
    with tempfile.TemporaryDirectory(prefix="ntapi-bench-") as home:
        servers = Servers(Path(home))
        try:
            # Children inherit the cores they may run on.
            os.sched_setaffinity(0, {cores[0]})
            where = servers.start()
            os.sched_setaffinity(0, {cores[-1]})
            bench = Bench(where, options.library.resolve(), Path(home), set(cores))
            for workload in workloads:
                run(workload, bench, results, options)
        finally:
            servers.stop()
    print("\n".join(table.target_lines(all_targets(), results, not options.only)))
    results.save(options.output)
    options.plot.parent.mkdir(parents=True, exist_ok=True)
    options.plot.write_text(plot.draw(results), encoding="utf-8")
    for key, why in results.failures.items():
        print(f"FAILED {key}: {why}", file=sys.stderr)
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
