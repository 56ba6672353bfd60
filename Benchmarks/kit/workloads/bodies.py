"""JSON of 1 KB and 100 KB, parsed and not, and large files."""

from __future__ import annotations

from kit.documents import FILE, LARGE
from kit.workloads.workload import Workload

RAW = (
    "libcurl_multi",
    "raw_socket",
    "ntapi_callback",
    "ntapi_pull",
    "swift_callback",
    "swift_await",
)


def small(at_once: int) -> list[Workload]:
    """1 KB of JSON, parsed and raw."""
    parsed = {
        "libcurl_multi": 16000,
        "ntapi_callback": 16000,
        "ntapi_pull": 16000,
        "swift_callback": 16000,
        "swift_await": 12000,
        "async_http_client": 6000,
        "url_session": 1500,
        "ntapi_asyncio": 5000,
        "pycurl_multi": 10000,
        "pyreqwest_async": 5000,
        "primp_async": 3000,
        "aiohttp_session": 3000,
        "curl_cffi_async": 1200,
    }
    if at_once == 1:
        parsed |= {"ntapi_sync": 8000, "pycurl_easy": 10000, "httpx_sync": 800}
        parsed |= {"pyreqwest_sync": 8000, "primp_sync": 6000}
        parsed |= {"requests_session": 500, "niquests_session": 600, "httpx_async": 400}
    if at_once == 64:
        parsed |= {"ntapi_sync": 8000, "pycurl_easy": 10000, "requests_session": 500}
        parsed |= {"httpx_async": 150}
        parsed |= {"bundled_libcurl_multi": 16000, "bundled_ntapi_callback": 16000}
    if at_once == 1000:
        parsed = {name: max(count, 4000) for name, count in parsed.items()}
        parsed["url_session"] = parsed["curl_cffi_async"] = 2000
    raw = {name: 20000 for name in RAW}
    title = "one at a time" if at_once == 1 else f"{at_once:,} at once"
    name = f"raw-{at_once}"
    return [
        Workload(f"parsed-{at_once}", f"1 KB JSON, {title}", parsed, at_once=at_once),
        Workload(name, f"1 KB not parsed, {title}", raw, mode="raw", at_once=at_once),
    ]


def blocking() -> list[Workload]:
    """A thread that waits for each response."""
    clients = {"libcurl_easy": 16000, "ntapi_perform": 16000, "swift_perform": 16000}
    title = "1 KB, blocking, one at a time"
    return [
        Workload("blocking-parsed", f"{title}, parsed", clients),
        Workload("blocking-raw", f"{title}, not parsed", clients, mode="raw"),
    ]


def senders() -> list[Workload]:
    """Threads in Python that wait for a response each, and how fairly they are served."""
    counts = {"pyreqwest_sync": 8000, "ntapi_sync": 8000, "primp_sync": 6000, "pycurl_easy": 8000}
    return [
        Workload(
            f"senders-{at_once}",
            f"1 KB JSON, {at_once:,} thread{'s' if at_once > 1 else ''} in Python, blocking",
            dict(counts) if at_once < 1000 else {"pycurl_easy": 20000, "ntapi_sync": 20000},
            at_once=at_once,
            metric="late_ms" if at_once == 1000 else "cpu",
            all_cores=True,
        )
        for at_once in (1, 8, 64, 1000)
    ]


def transports() -> list[Workload]:
    """httpx2 over its own transport and over NTApi. Beside them, what the latter cannot go below: httpx2 over nothing,
    and over one plain request of NTApi, whatever the caller asks for."""

    def workload(at_once: int, style: str) -> Workload:
        script = f"httpx2_{style}"
        clients = {script: 1500, f"{script}_ntapi": 3000}
        clients |= {f"{script}_nothing": 5000, f"{script}_least": 4000}
        way = "threads" if style == "sync" else "asyncio"
        return Workload(
            f"transport-{style}-{at_once}",
            f"1 KB JSON through httpx2, {way}, {at_once} at once",
            clients,
            at_once=at_once,
            all_cores=at_once > 1 and style == "sync",
        )

    def stream(style: str) -> Workload:
        return Workload(
            f"transport-{style}-stream",
            f"256 MB through httpx2, streamed, {style}",
            {f"httpx2_{style}": 1, f"httpx2_{style}_ntapi": 1},
            mode="stream",
            path="file.bin",
            size=FILE,
            metric="cpu_ms",
            options={"warmup": "0"},
        )

    return [
        *(workload(at_once, "sync") for at_once in (1, 8, 64)),
        *(workload(at_once, "async") for at_once in (1, 64)),
        stream("sync"),
        stream("async"),
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
        "ntapi_asyncio_orjson": 1200,
        "pycurl_multi": 600,
        "pycurl_multi_orjson": 1200,
        "aiohttp_session": 600,
        "aiohttp_session_orjson": 1000,
        "curl_cffi_async": 600,
        "pyreqwest_async": 300,
        "primp_async": 300,
        "requests_session": 200,
        "httpx_async": 150,
    }
    title = "100 KB JSON, 16 at once"
    return [Workload("large-16", title, clients, path="large.json", size=LARGE, at_once=16)]


def decoding() -> list[Workload]:
    """100 KB of JSON into structs, with and without its transfer."""
    alone = {"decode_foundation": 300, "decode_swift": 1000}
    dated = {"decode_foundation_dates": 300, "decode_swift_dates": 1000}
    fetched = {
        "async_http_client": 300,
        "url_session": 300,
        "swift_callback": 800,
        "swift_await": 800,
    }
    return [
        Workload(
            "decode", "100 KB JSON to structs, no transfer", alone, path="large.json", size=LARGE
        ),
        Workload(
            "decode-dates",
            "100 KB JSON to structs with dates, no transfer",
            dated,
            path="large.json",
            size=LARGE,
        ),
        Workload(
            "whole-16",
            "100 KB JSON to structs, 16 at once",
            fetched,
            mode="whole",
            path="large.json",
            size=LARGE,
            at_once=16,
        ),
    ]


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
    return [
        Workload(
            f"tls-{version}",
            f"1 KB JSON, 64 at once, TLS and HTTP/{version}",
            dict(clients),
            server="tls",
            at_once=64,
            options={"http": version},
        )
        for version in ("1.1", "2")
    ]


def files() -> list[Workload]:
    """256 MB, down and up."""
    to_memory = {
        "libcurl_easy": 3,
        "ntapi_perform": 3,
        "async_http_client": 3,
        "url_session": 1,
        "ntapi_sync": 3,
        "pycurl_easy": 3,
        "aiohttp_session": 1,
        "requests_session": 1,
    }
    to_file = {"libcurl_files": 3, "ntapi_files": 3}
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
