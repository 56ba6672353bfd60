"""What is measured: the workloads, and which client takes part in each with how many requests."""

from __future__ import annotations

from dataclasses import dataclass, field

from kit.documents import FILE, LARGE, SMALL, TOTAL


@dataclass(frozen=True)
class Workload:
    """One column of the table. The first client is the one the others are compared with."""

    name: str
    title: str
    clients: dict[str, int]
    mode: str = "parsed"
    server: str = "plain"
    path: str = "small.json"
    size: int = SMALL
    at_once: int = 1
    metric: str = "cpu"
    options: dict[str, str] = field(default_factory=dict)
    rounds: int = 0  # 0: as many as asked for
    is_full: bool = False

    def arguments(self, base: str, count: int) -> list[str]:
        """The words that all clients get; what depends on the servers is appended."""
        words = [self.mode, base, str(count), str(self.at_once), f"path={self.path}"]
        words += [f"bytes={self.size}", f"expect={TOTAL}"]
        return words + [f"{name}={value}" for name, value in self.options.items()]


def small(at_once: int) -> list[Workload]:
    """1 KB of JSON, parsed and raw."""
    parsed = {
        "libcurl_multi": 16000,
        "ntapi_callback": 16000,
        "ntapi_pull": 16000,
        "swift_callback": 16000,
        "swift_await": 12000,
        "async_http_client": 6000,
        "url_session": 2500,
        "ntapi_asyncio": 6000,
        "pycurl_multi": 10000,
        "aiohttp_session": 4000,
        "curl_cffi_async": 2000,
    }
    if at_once == 1:
        parsed |= {"ntapi_sync": 8000, "pycurl_easy": 10000, "httpx_sync": 1500}
        parsed |= {"requests_session": 1200, "niquests_session": 1200, "httpx_async": 800}
    if at_once == 64:
        parsed |= {"ntapi_sync": 8000, "pycurl_easy": 10000, "requests_session": 1200}
        parsed |= {"httpx_async": 600}
    if at_once == 1000:
        parsed = {name: max(count, 6000) for name, count in parsed.items()}
        parsed["url_session"] = parsed["curl_cffi_async"] = 3000
    raw = {name: 20000 for name in RAW}
    title = "one at a time" if at_once == 1 else f"{at_once:,} at once"
    name = f"raw-{at_once}"
    return [
        Workload(f"parsed-{at_once}", f"1 KB JSON, {title}", parsed, at_once=at_once),
        Workload(name, f"1 KB not parsed, {title}", raw, mode="raw", at_once=at_once),
    ]


RAW = (
    "libcurl_multi",
    "raw_socket",
    "ntapi_callback",
    "ntapi_pull",
    "swift_callback",
    "swift_await",
)


def blocking() -> list[Workload]:
    """A thread that waits for each response."""
    clients = {"libcurl_easy": 16000, "ntapi_perform": 16000, "swift_perform": 16000}
    title = "1 KB, blocking, one at a time"
    return [
        Workload("blocking-parsed", f"{title}, parsed", clients),
        Workload("blocking-raw", f"{title}, not parsed", clients, mode="raw"),
    ]


def large() -> list[Workload]:
    """100 KB of JSON."""
    clients = {
        "libcurl_multi": 500,
        "ntapi_callback": 800,
        "swift_callback": 800,
        "swift_await": 800,
        "async_http_client": 300,
        "url_session": 300,
        "ntapi_asyncio": 600,
        "pycurl_multi": 600,
        "pycurl_multi_orjson": 1200,
        "aiohttp_session": 600,
        "aiohttp_session_orjson": 1000,
        "curl_cffi_async": 600,
        "requests_session": 400,
        "httpx_async": 300,
    }
    title = "100 KB JSON, 16 at once"
    return [Workload("large-16", title, clients, path="large.json", size=LARGE, at_once=16)]


def tls() -> list[Workload]:
    """64 at once over TLS, connections open already."""
    clients = {
        "libcurl_multi": 12000,
        "ntapi_callback": 12000,
        "swift_await": 10000,
        "async_http_client": 5000,
        "ntapi_asyncio": 5000,
        "pycurl_multi": 8000,
    }
    over_1 = Workload("tls-1.1", "1 KB JSON, 64 at once, TLS and HTTP/1.1", clients, server="tls")
    return [
        with_changes(over_1, at_once=64, options={"http": "1.1"}),
        with_changes(
            over_1,
            name="tls-2",
            title="1 KB JSON, 64 at once, TLS and HTTP/2",
            at_once=64,
            options={"http": "2"},
        ),
    ]


def with_changes(workload: Workload, **changes: object) -> Workload:
    """A copy with other values."""
    return Workload(**{**workload.__dict__, **changes})  # type: ignore[arg-type]


def files() -> list[Workload]:
    """256 MB, down and up."""
    to_memory = {"libcurl_easy": 3, "ntapi_perform": 3, "async_http_client": 3}
    to_file = {"libcurl_files": 3}
    upload = {"libcurl_files": 3, "ntapi_files": 3}
    big = {"warmup": "1"}
    return [
        Workload(
            "download-memory",
            "download of 256 MB to memory",
            to_memory,
            mode="raw",
            path="file.bin",
            size=FILE,
            metric="cpu_ms",
            options=big,
        ),
        Workload(
            "download-file",
            "download of 256 MB to a file",
            to_file,
            mode="download-file",
            path="file.bin",
            size=FILE,
            metric="cpu_ms",
            options={"warm": "small.json", "file": "{target}"},
        ),
        Workload(
            "upload-file",
            "upload of a file of 256 MB",
            upload,
            mode="upload-file",
            server="slow",
            path="upload",
            size=FILE,
            metric="cpu_ms",
            options={"warm": "anything", "file": "{source}"},
        ),
    ]


def beside() -> list[Workload]:
    """One request at a time while others hang, unanswered."""
    clients = {"libcurl_socket_action": 10000, "ntapi_callback": 10000, "ntapi_perform": 10000}
    return [
        Workload(
            f"beside-{hanging}",
            f"1 KB JSON, one at a time beside {hanging:,} hanging",
            clients,
            options={"hanging": str(hanging), "slow": "{slow}"},
        )
        for hanging in (0, 1000, 5000)
    ]


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


def growth() -> list[Workload]:
    """More and more at once: the cost of a request must stay flat from 64 up."""
    return [
        Workload(
            f"growth-{at_once}",
            f"1 KB JSON, {at_once:,} at once",
            {"libcurl_multi": 20000, "ntapi_callback": 20000, "swift_await": 20000},
            at_once=at_once,
            options={"warmup": str(max(100, at_once))},
            is_full=True,
        )
        for at_once in (1, 10, 100, 1000, 10000)
    ]


def all_workloads() -> list[Workload]:
    """In the order in which they are run and printed."""
    found = []
    for at_once in (1, 64, 1000):
        found += small(at_once)
    return [*found, *blocking(), *large(), *tls(), *files(), *beside(), *flights(), *cold()] + [
        *wake_ups(),
        *growth(),
    ]
