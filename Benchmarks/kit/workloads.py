"""What is measured: the workloads, and which client takes part in each with how many requests."""

from __future__ import annotations

from dataclasses import dataclass

from kit.documents import LARGE, SMALL


@dataclass(frozen=True)
class Workload:
    """One column of the table. The first client is the one the others are compared with."""

    name: str
    mode: str
    path: str
    size: int
    concurrency: int
    clients: dict[str, int]


MULTI, EASY, CALLBACK, PERFORM = "libcurl_multi", "libcurl_easy", "ntapi_callback", "ntapi_perform"


def workloads() -> list[Workload]:
    """All of them, in the order in which they are run and printed."""
    found = []
    for mode in ("parsed", "raw"):
        for at_once in (1, 64, 1000):
            clients = {MULTI: 16000, CALLBACK: 16000}
            found.append(Workload(f"{mode}-{at_once}", mode, "small.json", SMALL, at_once, clients))
        clients = {EASY: 16000, PERFORM: 16000}
        found.append(Workload(f"blocking-{mode}", mode, "small.json", SMALL, 1, clients))
    clients = {MULTI: 600, CALLBACK: 600}
    found.append(Workload("large-16", "parsed", "large.json", LARGE, 16, clients))
    return found
