"""Many in flight, the start of a process, and system calls."""

from __future__ import annotations

from kit.documents import HUGE, LARGE
from kit.workloads.workload import Workload


def beside() -> list[Workload]:
    """One request at a time while others hang, unanswered: at the same server, and at another."""

    def workload(hanging: int, server: str) -> Workload:
        # Each costs several times as much beside thousands.
        count = 8000 if hanging < 5000 else 3000
        place = "" if server == "slow" else " at another server"
        return Workload(
            f"beside-{hanging}" + ("-elsewhere" if place else ""),
            f"1 KB JSON, one at a time beside {hanging:,} hanging{place}",
            {"libcurl_socket_action": count, "ntapi_callback": count, "ntapi_perform": count},
            server=server,
            options={"hanging": str(hanging), "slow": "{slow}"},
            is_full=bool(place),
        )

    here = [workload(hanging, "slow") for hanging in (0, 1000, 5000)]
    return here + [workload(hanging, "plain") for hanging in (1000, 5000)]


def flights() -> list[Workload]:
    """10,000 in flight, and a storm of cancels."""
    held = {
        "libcurl_hold": 10000,
        "ntapi_hold": 10000,
        "swift_await": 10000,
        "async_http_client": 10000,
        "ntapi_asyncio": 10000,
        "pycurl_multi": 10000,
        "aiohttp_session": 10000,
    }
    cancelled = {
        "libcurl_hold": 5000,
        "ntapi_hold": 5000,
        "swift_await": 5000,
        "async_http_client": 5000,
        "ntapi_asyncio": 5000,
        "aiohttp_session": 5000,
    }
    return [
        Workload(
            "hold",
            "10,000 in flight, KB each",
            held,
            mode="hold",
            server="slow",
            metric="held_kb",
            rounds=1,
        ),
        Workload(
            "cancel",
            "5,000 in flight cancelled",
            cancelled,
            mode="cancel",
            server="slow",
            rounds=2,
        ),
    ]


def cold() -> list[Workload]:
    """A process that starts, makes one GET and ends: wall time as its parent sees it."""
    clients = {
        "libcurl_easy": 1,
        "ntapi_perform": 1,
        "swift_perform": 1,
        "async_http_client": 1,
        "url_session": 1,
        "ntapi_sync": 1,
        "pycurl_easy": 1,
        "aiohttp_session": 1,
        "httpx_sync": 1,
        "requests_session": 1,
    }
    return [
        Workload(
            "cold",
            "cold process with one GET, wall ms",
            clients,
            metric="wall_ms",
            options={"warmup": "0"},
            rounds=15,
        )
    ]


def threads() -> list[Workload]:
    """One network thread and more. What the busiest thread does for each request is the least that it can take, however
    many cores there are."""
    counts = dict.fromkeys(("threads_1", "threads_2", "threads_4"), 3000)
    packed = dict.fromkeys(counts, 150)
    return [
        Workload(
            "threads-packed",
            "4 MB JSON, compressed, 16 at once, not parsed",
            packed,
            mode="raw",
            path="packed/huge.json",
            size=HUGE,
            at_once=16,
            metric="busiest",
            all_cores=True,
            is_full=True,
        ),
        Workload(
            "threads-tls",
            "100 KB JSON, 64 at once, TLS, not parsed",
            counts,
            mode="raw",
            server="tls",
            path="large.json",
            size=LARGE,
            at_once=64,
            metric="busiest",
            all_cores=True,
            is_full=True,
        ),
        Workload(
            "threads-large",
            "100 KB JSON, 64 at once",
            counts,
            path="large.json",
            size=LARGE,
            at_once=64,
            metric="busiest",
            all_cores=True,
            is_full=True,
        ),
        Workload(
            "threads-small",
            "1 KB JSON, 64 at once, on one core",
            {name: 20000 for name in counts},
            at_once=64,
            is_full=True,
        ),
    ]


def wake_ups() -> list[Workload]:
    """System calls, counted by strace."""
    clients = {
        "libcurl_multi": 3000,
        "ntapi_callback": 3000,
        "swift_await": 3000,
        "async_http_client": 2000,
    }
    return [
        Workload(
            "system-calls",
            "system calls per request, 64 at once, not parsed",
            clients,
            mode="raw",
            at_once=64,
            metric="calls",
            rounds=1,
        )
    ]
