"""Counts instructions and allocations of each request with callgrind and compares them with the budget.

python3 check_cost.py                 status 1 when a cost exceeds its budget
python3 check_cost.py --update        writes what was found as the budget
python3 check_cost.py --library FOLDER --only ntapi_callback --keep PROFILES
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kit import building, callgrind
from kit.budget import Budget
from kit.clients import CLIENTS, environment
from kit.documents import SMALL
from kit.places import HERE, ROOT
from kit.servers import Servers
from kit.workloads import Workload

FEW, MANY = 400, 1400
BUDGET = HERE / "budget.json"


@dataclass(frozen=True)
class Case:
    """A client in a style of work."""

    client: str
    mode: str
    at_once: int
    is_ours: bool = True
    scope: str = ""
    """Of its interceptor, which passes all on. A parsed answer is parsed once, however many look at it."""
    is_observed: bool = False
    """By an observer that hears of everything."""
    shared: str = ""
    """What it has from a store in memory: a limit that is never reached, a valid token, or each response."""

    @property
    def name(self) -> str:
        """As in the budget."""
        more = {
            f" {self.scope} interceptor": self.scope,
            " observer": self.is_observed,
            f" shared {self.shared}": self.shared,
        }
        words = "".join(text for text, is_there in more.items() if is_there)
        return f"{self.client} {self.mode} {self.at_once}{words}"

    @property
    def options(self) -> dict[str, str]:
        """Beside those of every client."""
        observed = {"observed": "1"} if self.is_observed else {}
        words = {"scope": self.scope, "shared": self.shared}
        return observed | {name: word for name, word in words.items() if word}


CASES = [
    Case("libcurl_multi", "parsed", 64, is_ours=False),
    Case("libcurl_multi", "raw", 64, is_ours=False),
    Case("libcurl_easy", "raw", 1, is_ours=False),
    Case("ntapi_callback", "parsed", 64),
    Case("ntapi_callback", "raw", 64),
    Case("ntapi_callback", "raw", 1),
    Case("ntapi_callback", "raw", 1, scope="attempt"),
    Case("ntapi_callback", "parsed", 1, scope="attempt"),
    Case("ntapi_callback", "raw", 1, scope="call"),
    Case("ntapi_callback", "raw", 1, is_observed=True),
    Case("ntapi_perform", "parsed", 1),
    Case("ntapi_perform", "raw", 1),
    Case("ntapi_perform", "raw", 1, shared="limit"),
    Case("ntapi_perform", "raw", 1, shared="token"),
    Case("ntapi_perform", "raw", 1, shared="cache"),
    Case("swift_callback", "parsed", 64),
    Case("swift_callback", "raw", 64),
    Case("pycurl_multi", "parsed", 64, is_ours=False),
    Case("pycurl_easy", "parsed", 1, is_ours=False),
    Case("ntapi_asyncio", "parsed", 64),
    Case("ntapi_sync", "parsed", 1),
]


def cost(case: Case, base: str, library: Path, profiles: Path) -> callgrind.Cost:
    """What a request costs beyond the start and the end of the process: the difference of two runs."""
    client = CLIENTS[case.client]
    workload = Workload(
        case.name,
        case.name,
        {},
        mode=case.mode,
        at_once=case.at_once,
        size=SMALL,
        options=case.options,
    )
    found = []
    if client.language == "Python":
        # What is imported is compiled now, and not in the first of the two.
        run_once = [*client.command, *workload.arguments(base, 1)]
        subprocess.run(run_once, env=environment(library), check=True, capture_output=True)
    for count in (FEW, MANY):
        profile = profiles / f"{case.name.replace(' ', '-')}-{count}.callgrind"
        command = [*client.command, *workload.arguments(base, count)]
        found.append(callgrind.run(command, profile, environment(library)))
    return callgrind.per_request(found[0], found[1], MANY - FEW)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--library", type=Path, default=ROOT / "build", help="folder of libntapi.so.0"
    )
    parser.add_argument("--keep", type=Path, help="folder for the profiles, for callgrind_annotate")
    parser.add_argument("--only", default="", help="cases that begin with this")
    parser.add_argument("--update", action="store_true", help="write the budget anew")
    parser.add_argument("--no-build", action="store_true", help="the client in Swift is built")
    return parser.parse_args()


def measure(cases: list[Case], options: argparse.Namespace) -> int:
    """Counts each case and says how it stands; returns how many exceed their budget."""
    budget = Budget.load(BUDGET)
    library = options.library.resolve()
    exceeded = 0
    with tempfile.TemporaryDirectory(prefix="ntapi-bench-") as home:
        servers = Servers(Path(home))
        try:
            base = servers.start().plain
            for case in cases:
                found = cost(case, base, library, options.keep or Path(home))
                if case.is_ours and options.update:
                    budget.cases[case.name] = found
                verdict = budget.judge(case.name, found)
                if case.is_ours:
                    print(f"{verdict.line}   {found.locks:.0f} locks", flush=True)
                    exceeded += verdict.is_exceeded
                else:
                    figures = f"{found.instructions:9,.0f} instructions {found.allocations:7.1f}"
                    print(f"{case.name:30} {figures} allocations   for comparison", flush=True)
        finally:
            servers.stop()
    if options.update:
        budget.save(BUDGET)
    return exceeded


def main() -> int:
    """Builds, counts, compares."""
    options = arguments()
    cases = [case for case in CASES if case.name.startswith(options.only)]
    building.build_c(options.library.resolve())
    if not options.no_build and any(case.client.startswith("swift") for case in cases):
        building.build_swift("ours")
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    # On one core, the server too, they take turns in the same way each time: batches hardly differ, nor do costs.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    exceeded = measure(cases, options)
    if exceeded:
        print(f"{exceeded} of {len(cases)} cases exceed their budget", file=sys.stderr)
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
