"""The targets of the project, as data, and what of them a run of the kit has reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kit.results import Results


@dataclass(frozen=True)
class Target:
    """A figure that a client has to reach in a workload."""

    what: str
    limit: float
    figure: Callable[[Results], float | None]
    is_at_least: bool = False
    unit: str = ""

    def is_reached(self, value: float) -> bool:
        """Whether the value is good enough."""
        return value >= self.limit if self.is_at_least else value <= self.limit


def by(
    workload: str, client: str, reference: str, metric: str = "cpu"
) -> Callable[[Results], float | None]:
    """The client's cost by the reference's."""

    def figure(results: Results) -> float | None:
        found = results.ratio(workload, client, reference, metric)
        return None if found is None else found.median

    return figure


def at_most(what: str, limit: float, workload: str, client: str, reference: str) -> Target:
    """The client's cost is at most so many times the reference's."""
    metric = "cpu_ms" if "load-" in workload or "-stream" in workload else "cpu"
    return Target(f"{what}, {workload}", limit, by(workload, client, reference, metric))


def times_better(what: str, limit: float, workload: str, client: str, reference: str) -> Target:
    """The reference's cost is at least so many times the client's."""
    return Target(f"{what}, {workload}", limit, by(workload, reference, client), is_at_least=True)


def ahead_of_all(what: str, workload: str, client: str, others: list[str]) -> Target:
    """The cheapest of the others costs at least as much as the client."""

    def figure(results: Results) -> float | None:
        found = [by(workload, other, client)(results) for other in others]
        known = [value for value in found if value is not None]
        return min(known) if known else None

    return Target(f"{what}, {workload}", 1.0, figure, is_at_least=True)


def growth(what: str, workload: str, client: str) -> Target:
    """The most that the process grew by while it moved a file, in MB."""

    def figure(results: Results) -> float | None:
        found = results.values(workload, client, "growth_kb")
        return max(found) / 1024 if found else None

    return Target(f"{what}, {workload}", 2.0, figure, unit="MB")


def held(results: Results) -> float | None:
    """KB for each of the requests in flight, over libcurl's process at rest."""
    ours = results.values("hold", "ntapi_hold", "held_rss_kb")
    requests = results.values("hold", "ntapi_hold", "requests")
    idle = results.values("hold", "libcurl_hold", "idle_kb")
    return (max(ours) - min(idle)) / requests[0] if ours and idle else None


def slower(workload: str, client: str, reference: str) -> Callable[[Results], float | None]:
    """How many milliseconds the client's process takes longer."""

    def figure(results: Results) -> float | None:
        ours = results.spread(workload, client, "wall_ms")
        theirs = results.spread(workload, reference, "wall_ms")
        return ours.median - theirs.median if ours and theirs else None

    return figure


def wakes(results: Results) -> float | None:
    """Wake-ups by turn of a loop: one for the commands, one for the answers; far more when not batched."""
    waking = results.spread("system-calls", "ntapi_callback", "wakes")
    turns = results.spread("system-calls", "ntapi_callback", "turns")
    return waking.median / turns.median if waking and turns and turns.median else None


def small() -> list[Target]:
    """1 KB of JSON, parsed and not, beside libcurl."""
    found = []
    for style in ("swift_callback", "ntapi_callback"):
        name = "Swift callback" if style.startswith("swift") else "C callback"
        for at_once, parsed, raw in ((1, 0.88, 1.12), (64, 0.70, 1.08), (1000, 0.62, 0.90)):
            what = f"{name} / libcurl multi + jansson"
            found.append(at_most(what, parsed, f"parsed-{at_once}", style, "libcurl_multi"))
            what = f"{name} / libcurl multi"
            found.append(at_most(what, raw, f"raw-{at_once}", style, "libcurl_multi"))
    for at_once, limit in ((1, 1.05), (64, 0.80), (1000, 0.65)):
        what = "Swift await / libcurl multi + jansson"
        found.append(at_most(what, limit, f"parsed-{at_once}", "swift_await", "libcurl_multi"))
    for mode in ("parsed", "raw"):
        for name, style in (("C perform", "ntapi_perform"), ("Swift perform", "swift_perform")):
            what = f"{name} / curl_easy_perform"
            found.append(at_most(what, 1.10, f"blocking-{mode}", style, "libcurl_easy"))
    return found


def senders() -> list[Target]:
    """Threads in Python."""
    late = by("senders-1000", "ntapi_sync", "pycurl_easy", "late_ms")
    return [
        at_most("Python sync / pyreqwest", 1.0, "senders-1", "ntapi_sync", "pyreqwest_sync"),
        at_most("Python sync / pyreqwest", 1.1, "senders-8", "ntapi_sync", "pyreqwest_sync"),
        at_most("Python sync / pyreqwest", 1.1, "senders-64", "ntapi_sync", "pyreqwest_sync"),
        Target("the slowest percent, Python sync / pycurl easy, senders-1000", 1.0, late),
    ]


def transports() -> list[Target]:
    """httpx2 over NTApi beside httpx2 over its own transport."""
    limits = {
        "sync": {"1": 0.5, "8": 0.5, "64": 0.5, "stream": 1.0},
        "async": {"1": 1 / 3, "64": 1 / 3, "stream": 1.0},
    }
    return [
        at_most(
            "httpx2 over NTApi / httpx2",
            limit,
            f"transport-{style}-{name}",
            f"httpx2_{style}_ntapi",
            f"httpx2_{style}",
        )
        for style, named in limits.items()
        for name, limit in named.items()
    ]


def peers() -> list[Target]:
    """The other clients."""
    return [
        at_most("Python sync / pycurl easy", 1.10, "parsed-1", "ntapi_sync", "pycurl_easy"),
        *senders(),
        *transports(),
        at_most("asyncio / pycurl multi", 1.15, "parsed-64", "ntapi_asyncio", "pycurl_multi"),
        times_better("aiohttp / asyncio", 4, "parsed-64", "ntapi_asyncio", "aiohttp_session"),
        times_better(
            "AsyncHTTPClient / Swift await", 2.5, "parsed-64", "swift_await", "async_http_client"
        ),
        times_better("URLSession / Swift await", 15, "parsed-64", "swift_await", "url_session"),
    ]


def bodies() -> list[Target]:
    """100 KB of JSON, and files of 256 MB."""
    swift = ["libcurl_multi", "async_http_client", "url_session"]
    python = [
        "pycurl_multi",
        "aiohttp_session",
        "curl_cffi_async",
        "pyreqwest_async",
        "primp_async",
        "requests_session",
        "httpx_async",
    ]
    orjson = ["pycurl_multi_orjson", "aiohttp_session_orjson"]
    best = "cheapest other client"
    return [
        times_better(
            "libcurl + jansson / Swift callback", 4, "large-16", "swift_callback", "libcurl_multi"
        ),
        times_better(
            "libcurl + jansson / C callback", 4, "large-16", "ntapi_callback", "libcurl_multi"
        ),
        ahead_of_all(
            f"{best} / Swift callback", "large-16", "swift_callback", swift + python + orjson
        ),
        ahead_of_all(f"{best} / C callback", "large-16", "ntapi_callback", swift + python + orjson),
        ahead_of_all(f"{best} in Python / asyncio", "large-16", "ntapi_asyncio", python),
        ahead_of_all(f"{best} with orjson / asyncio", "large-16", "ntapi_asyncio_orjson", orjson),
        times_better("JSONDecoder / our decoder", 3, "decode", "decode_swift", "decode_foundation"),
        at_most("C perform / curl_easy", 1.05, "download-memory", "ntapi_perform", "libcurl_easy"),
        at_most("C to file / curl_easy", 1.05, "download-file", "ntapi_files", "libcurl_files"),
        growth("C to file, growth", "download-file", "ntapi_files"),
        at_most("C from file / curl_easy", 1.05, "upload-file", "ntapi_files", "libcurl_files"),
        growth("C from file, growth", "upload-file", "ntapi_files"),
    ]


def crowds() -> list[Target]:
    """Many in flight, start of a process, and wake-ups."""
    reference = "libcurl_socket_action"
    beside = [
        at_most(f"{name} / socket_action", 1.10, f"beside-{hanging}", style, reference)
        for hanging in (0, 1000, 5000)
        for name, style in (("C callback", "ntapi_callback"), ("C perform", "ntapi_perform"))
    ]
    return [
        *beside,
        Target("10,000 in flight, over libcurl at rest, each", 12.0, held, unit="KB"),
        Target(
            "C cold process, over libcurl",
            5.0,
            slower("cold", "ntapi_perform", "libcurl_easy"),
            unit="ms",
        ),
        Target(
            "Python cold process, over pycurl",
            0.0,
            slower("cold", "ntapi_sync", "pycurl_easy"),
            unit="ms",
        ),
        Target("wake-ups by turn of a loop (one each way), 64 at once", 2.0, wakes),
    ]


def all_targets() -> list[Target]:
    """In the order of the table in the issue."""
    return [*small(), *peers(), *bodies(), *crowds()]
