"""What CONNECT opens: a tunnel to this machine."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address

from ._wire import HungUpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._serving import Serving
    from ._wire import Wire


def address(host: str, port: str, own_port: int) -> tuple[str, int]:
    """Where the tunnel for a host and a port ends: at that address if it is on this machine, else
    at the server itself. So no test reaches a real server.
    """
    if not port.isdigit() or not _is_this_machine(host):
        return "127.0.0.1", own_port
    return host, int(port)


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


async def tunnel(server: Serving, wire: Wire, target: str, early: bytes) -> None:
    """Passes bytes on in both directions until both have ended. `early` came with the CONNECT."""
    host, _, port = target.rpartition(":")
    host = host.strip("[]")
    try:
        reader, writer = await asyncio.open_connection(*address(host, port, server.port))
    except OSError:
        await wire.reset()
        return
    # The server looks for it when the first bytes have come.
    origin = writer.get_extra_info("sockname")
    server.tunnels[origin] = host
    writer.write(early)

    async def out() -> None:
        while data := await wire.read():
            writer.write(data)
            await writer.drain()
        writer.write_eof()

    async def back() -> None:
        while data := await reader.read(65536):
            await wire.write(data)
        await wire.half_close()

    ways = [asyncio.ensure_future(out()), asyncio.ensure_future(back())]
    try:
        # A reset on one side becomes a reset on the other.
        await asyncio.gather(*ways)
    except ConnectionResetError:
        await wire.reset()
    except (OSError, HungUpError):
        writer.transport.abort()
    finally:
        del server.tunnels[origin]
        for way in ways:
            way.cancel()
        await asyncio.wait(ways)
        writer.close()
