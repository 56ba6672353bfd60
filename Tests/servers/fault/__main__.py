"""Starts every listener, prints their URLs as one line of JSON, and serves until a pipe at stdin
ends.

`--certs DIR` names the folder that `ca.py` filled; without it there are no TLS listeners.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import signal
import ssl
import threading
import warnings
from pathlib import Path
from typing import Any

from serving import wait_for_end_of_input

from fault.server import FaultServer


def server_context(certs: Path, name: str) -> ssl.SSLContext:
    """TLS with the certificate of that name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / f"{name}.pem", certs / f"{name}.key")
    return context


async def listen_tls(server: FaultServer, certs: Path) -> None:
    """The TLS listeners: a correct one, and one with each kind of fault."""
    good = server_context(certs, "server")
    port = await server.listen("fault_tls", good, "localhost")
    server.state.urls["plain_to_tls"] = f"http://localhost:{port}"
    server.state.urls["tls_to_plain"] = server.state.urls["fault"].replace("http:", "https:")
    await server.listen("tls_expired", server_context(certs, "expired"), "localhost")
    await server.listen("tls_wrong_host", server_context(certs, "wrong-host"), "localhost")
    await server.listen("tls_self_signed", server_context(certs, "self-signed"), "localhost")
    await server.listen_and_close("tls_close")
    client = server_context(certs, "server")
    client.maximum_version = ssl.TLSVersion.TLSv1_2  # where a missing one fails the handshake
    client.verify_mode = ssl.CERT_REQUIRED
    client.load_verify_locations(certs / "ca.pem")
    await server.listen("tls_client", client, "localhost")
    asking = server_context(certs, "server")
    asking.verify_mode = ssl.CERT_OPTIONAL
    asking.load_verify_locations(certs / "ca.pem")
    for name in ("tls_asking", "tls_asking_other", "tls_asking_named"):
        await server.listen(name, asking, "localhost")
    old = server_context(certs, "server")
    old.set_ciphers("DEFAULT:@SECLEVEL=0")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    await server.listen("tls_old", old, "localhost")
    await server.listen_silent("h2_silent", server_context(certs, "server"))


async def end_of_input() -> None:
    """Returns when a pipe at standard input has ended, or on SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, done.set)

    def watch() -> None:
        wait_for_end_of_input()
        loop.call_soon_threadsafe(done.set)

    threading.Thread(target=watch, daemon=True).start()
    await done.wait()


def on_exception(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Clients may leave at any moment: report only our own mistakes."""
    if not isinstance(context.get("exception"), (OSError, type(None))):
        loop.default_exception_handler(context)


async def main() -> None:
    """Opens the listeners, prints their URLs, serves, and ends."""
    parser = argparse.ArgumentParser(prog="fault", description=__doc__)
    parser.add_argument("--certs", type=Path, help="folder with the certificates of ca.py")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(on_exception)
    server = FaultServer()
    await server.listen("fault")
    await server.listen("fault_other")
    server.open_blackhole("blackhole")
    await server.listen_flooding("proxy_flooding")
    if options.certs:
        await listen_tls(server, options.certs)
    print(json.dumps(server.state.urls), flush=True)
    await end_of_input()


if __name__ == "__main__":
    asyncio.run(main())
