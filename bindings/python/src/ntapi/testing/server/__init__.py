"""A server on a real port of 127.0.0.1 that answers as a `Stub` does: for tests of any client.

    stub = ntapi.testing.Stub()
    stub.on("GET", "find?q=London").answer(json={"name": "London"})
    with ntapi.testing.Server(stub) as url:
        ...  # any client, in any language

Each request that arrives is sent once more, as a plain exchange, by an `AsyncClient` whose stub is
the server's. So the stub matches, counts and verifies as it does in memory, and recordings replay.
A `ServerAnswer` also has what only a wire can show. It travels through the stub as a header line,
which the server removes, so every rule, queue and function of a stub can give one.

The server has one thread with a loop. It parses with h11 and h2, which do not touch the socket: so
the server can stop inside a head, reset a connection, and send GOAWAY, where a server framework
would correct it.
"""

from __future__ import annotations

NEEDED = ("h11", "h2", "trustme")

for _name in NEEDED:
    try:
        __import__(_name)
    except ModuleNotFoundError as error:
        if error.name != _name:
            raise
        raise ImportError(
            f"ntapi.testing.Server needs {_name}: pip install {' '.join(NEEDED)}", name=_name
        ) from error

from ._answer import Fault, ServerAnswer  # noqa: E402 - after the check of what it needs
from ._latch import Latch  # noqa: E402
from ._log import ReceivedRequest, TLSInfo  # noqa: E402
from ._server import Server  # noqa: E402

__all__ = ["Fault", "Latch", "ReceivedRequest", "Server", "ServerAnswer", "TLSInfo"]
