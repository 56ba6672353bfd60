"""The clients: ours and their peers, with the command line of each."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kit.places import BUILD, BUNDLED, HERE, ROOT, VENV


@dataclass(frozen=True)
class Client:
    """A program that keeps to the contract in the README."""

    name: str
    title: str
    language: str
    ours: bool
    command: tuple[str, ...]
    parser: str = ""  # named in the tables where bodies are parsed
    options: tuple[str, ...] = ()  # after those of the workload


def in_c(name: str, title: str, ours: bool = False) -> Client:
    """A program in Benchmarks/c."""
    parser = "" if ours else "jansson"
    return Client(name, title, "C", ours, (str(BUILD / name),), parser)


def with_bundled(name: str, title: str, ours: bool = False) -> Client:
    """A program in Benchmarks/c, with the libcurl of the bundled wheel in place of the system's."""
    command = ("env", f"LD_PRELOAD={BUNDLED}", str(BUILD / name))
    parser = "" if ours else "jansson"
    return Client(f"bundled_{name}", title, "C", ours, command, parser)


def with_threads(count: int) -> Client:
    """Ours in C, with so many network threads."""
    title = f"{count} network thread{'s' if count > 1 else ''}"
    command = (str(BUILD / "ntapi_callback"),)
    return Client(f"threads_{count}", title, "C", True, command, options=(f"threads={count}",))


def in_swift(name: str, title: str, program: str = "ntapi-swift", ours: bool = True) -> Client:
    """A style of a program of Benchmarks/swift/ours."""
    style = f"style={name.partition('_')[2]}"
    return Client(name, title, "Swift", ours, (str(BUILD / "bin" / program), style))


def peer_in_swift(name: str, title: str, program: str) -> Client:
    """An executable of Benchmarks/swift/peers."""
    return Client(name, title, "Swift", False, (str(BUILD / "bin" / program),))


def in_python(script: str, title: str, ours: bool = False, parser: str = "") -> Client:
    """A script in Benchmarks/python."""
    name = f"{script}_{parser}" if parser else script
    option = (f"parser={parser}",) if parser else ()
    path = str(HERE / "python" / f"{script}.py")
    return Client(name, title, "Python", ours, (str(VENV / "bin/python"), path, *option))


def through_httpx2(script: str, title: str, transport: str = "") -> Client:
    """httpx2 with a transport; without a name, its own."""
    name = f"{script}_{transport}" if transport else script
    option = (f"transport={transport}",) if transport else ()
    path = str(HERE / "python" / f"{script}.py")
    command = (str(VENV / "bin/python"), path, *option)
    return Client(name, title, "Python", transport in ("ntapi", "least"), command)


CLIENTS = {
    client.name: client
    for client in [
        in_c("raw_socket", "raw sockets in C, no parse"),
        in_c("libcurl_multi", "libcurl multi in C"),
        in_c("libcurl_easy", "libcurl easy in C"),
        in_c("libcurl_socket_action", "libcurl socket_action in C"),
        in_c("libcurl_hold", "libcurl multi in C"),
        in_c("libcurl_files", "libcurl easy in C"),
        in_c("ntapi_callback", "NTApi in C, callback", ours=True),
        in_c("ntapi_pull", "NTApi in C, pull", ours=True),
        in_c("ntapi_perform", "NTApi in C, perform", ours=True),
        in_c("ntapi_hold", "NTApi in C, callback", ours=True),
        in_c("ntapi_files", "NTApi in C, perform", ours=True),
        with_bundled("libcurl_multi", "wheel's libcurl, multi in C"),
        with_bundled("ntapi_callback", "NTApi in C, wheel's libcurl", ours=True),
        *(with_threads(count) for count in (1, 2, 4)),
        in_swift("swift_callback", "NTApi in Swift, callback"),
        in_swift("swift_await", "NTApi in Swift, await"),
        in_swift("swift_perform", "NTApi in Swift, perform"),
        in_swift("decode_swift", "JSON.decode of NTApi", program="decode"),
        in_swift("decode_foundation", "JSONDecoder of Foundation", program="decode", ours=False),
        in_swift("decode_swift_dates", "JSON.decode of NTApi", program="decode"),
        in_swift(
            "decode_foundation_dates", "JSONDecoder of Foundation", program="decode", ours=False
        ),
        peer_in_swift("async_http_client", "AsyncHTTPClient", "async-http-client"),
        peer_in_swift("url_session", "URLSession", "url-session"),
        in_python("ntapi_sync", "NTApi in Python", ours=True),
        in_python("ntapi_asyncio", "NTApi in Python, asyncio", ours=True),
        in_python("ntapi_asyncio", "NTApi in Python, asyncio, orjson", ours=True, parser="orjson"),
        in_python("pycurl_easy", "pycurl easy"),
        in_python("pycurl_multi", "pycurl multi"),
        in_python("pycurl_multi", "pycurl multi, orjson", parser="orjson"),
        in_python("aiohttp_session", "aiohttp"),
        in_python("aiohttp_session", "aiohttp, orjson", parser="orjson"),
        in_python("httpx_sync", "httpx"),
        in_python("httpx_async", "httpx, asyncio"),
        through_httpx2("httpx2_sync", "httpx2"),
        through_httpx2("httpx2_sync", "httpx2 over NTApi", "ntapi"),
        through_httpx2("httpx2_sync", "httpx2 over nothing", "nothing"),
        through_httpx2("httpx2_sync", "httpx2 over the least of NTApi", "least"),
        through_httpx2("httpx2_async", "httpx2, asyncio"),
        through_httpx2("httpx2_async", "httpx2 over NTApi, asyncio", "ntapi"),
        through_httpx2("httpx2_async", "httpx2 over nothing, asyncio", "nothing"),
        through_httpx2("httpx2_async", "httpx2 over the least of NTApi, asyncio", "least"),
        in_python("requests_session", "requests"),
        in_python("niquests_session", "niquests"),
        in_python("curl_cffi_async", "curl_cffi, asyncio"),
        in_python("pyreqwest_sync", "pyreqwest"),
        in_python("pyreqwest_async", "pyreqwest, asyncio"),
        in_python("primp_sync", "primp"),
        in_python("primp_async", "primp, asyncio"),
    ]
}


def environment(library: Path) -> dict[str, str]:
    """Where our clients find the library: that of the folder, whichever it is."""
    # Compiled Python is kept, as it is of what is installed, whatever this machine does as a rule.
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return usual | {
        "PYTHONHASHSEED": "0",
        "PYTHONPYCACHEPREFIX": str(BUILD / "pycache"),
        "LD_LIBRARY_PATH": str(library),
        "NTAPI_LIBRARY": str(library / "libntapi.so.0"),
        "PYTHONPATH": str(ROOT / "bindings/python/src"),
    }
