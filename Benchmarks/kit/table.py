"""The tables on the terminal."""

from __future__ import annotations

from kit.clients import CLIENTS, Client
from kit.results import Results
from kit.targets import Target
from kit.workloads import Workload

UNITS = {
    "cpu": "µs CPU",
    "cpu_ms": "ms CPU",
    "held_kb": "KB each",
    "wall_ms": "ms wall",
    "busiest": "µs of one",
    "calls": "calls",
    "late_ms": "ms late",
}


def title_of(client: Client, workload: Workload) -> str:
    """The client's name, and what it parses with where it does."""
    is_parsed = workload.mode == "parsed" and client.parser
    return f"{client.title}, {client.parser}" if is_parsed else client.title


def workload_lines(workload: Workload, results: Results) -> list[str]:
    """One workload: its clients in the order measured, with the ratio to the first."""
    reference = next(iter(workload.clients))
    unit = UNITS[workload.metric]
    lines = [f"{workload.title}  ({workload.name})"]
    lines.append(f"    {'':36} {unit:>9}   {'spread':>17}   {'ratio':>6}   {'spread':>13}")
    for client in workload.clients:
        title = title_of(CLIENTS[client], workload)
        found = results.spread(workload.name, client, workload.metric)
        if found is None:
            why = results.failures.get(f"{workload.name} {client}", "not measured")
            lines.append(f"    {title:36} {why}")
            continue
        line = f"    {title:36} {found.median:9.1f}   {found.least:7.1f} ..{found.most:8.1f}"
        ratio = results.ratio(workload.name, client, reference, workload.metric)
        if ratio is not None and client != reference:
            line += f"   {ratio.median:6.2f}   {ratio.least:5.2f} ..{ratio.most:6.2f}"
        lines.append(line + notes(workload, client, results))
    return lines


def notes(workload: Workload, client: str, results: Results) -> str:
    """What else a workload tells."""
    if workload.mode.endswith("-file"):
        found = results.spread(workload.name, client, "growth_kb")
        return f"   grew by {found.most / 1024:.1f} MB" if found else ""
    if workload.metric == "busiest":
        pace = results.spread(workload.name, client, "pace_ms")
        cpu = results.spread(workload.name, client, "cpu")
        return (
            f"   of {cpu.median:.0f} µs CPU in {pace.median * 1e3:.0f} µs" if pace and cpu else ""
        )
    late = results.spread(workload.name, client, "late_ms")
    pace = results.spread(workload.name, client, "pace_ms")
    if late and pace:
        return f"   {1e3 / pace.median:,.0f} a second, the slowest percent {late.median:.1f} ms"
    if workload.metric == "calls":
        wakes = results.spread(workload.name, client, "wakes")
        turns = results.spread(workload.name, client, "turns")
        if wakes and turns:
            return f"   {wakes.median:.2f} wake-ups, {turns.median:.2f} turns"
    return ""


def target_lines(targets: list[Target], results: Results, show_all: bool) -> list[str]:
    """Each target with what was reached."""
    lines = ["Targets: what, reached, limit"]
    for target in targets:
        value = target.figure(results)
        word = "at least" if target.is_at_least else "at most"
        limit = f"{word} {target.limit:g} {target.unit}".rstrip()
        if value is None and not show_all:
            continue
        if value is None:
            lines.append(f"    {'not measured':>12}   {target.what:60} {limit}")
            continue
        verdict = "pass" if target.is_reached(value) else "MISS"
        lines.append(f"    {verdict:>4} {value:7.2f}   {target.what:60} {limit}")
    return lines
