"""A server in a process of its own, for tests in any language: python -m ntapi.testing.server"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import stat
import sys
import threading
from pathlib import Path

from ..._errors import ApiError
from ..doubles import Stub
from ._control import Control
from ._server import Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m ntapi.testing.server",
        description="Answers requests on a free port of 127.0.0.1. Prints one JSON line with its "
        "URL, then reads commands from standard input and ends with it.",
    )
    parser.add_argument("rules", nargs="?", type=Path, help="a JSON file with rules and a queue")
    parser.add_argument("--recording", metavar="FILE", help="replay a recording, of any origin")
    parser.add_argument("--tls", action="store_true", help="https, with an authority of its own")
    parser.add_argument("--client-certificates", choices=("optional", "required"))
    parser.add_argument("--no-http2", action="store_true", help="HTTP/1.1 only")
    return parser.parse_args()


def main() -> int:
    """Returns 1 if an expectation was not met."""
    options = _options()
    ending, over = socket.socketpair()
    # A signal writes to it, whichever thread gets the signal, and before or during the wait.
    over.setblocking(False)
    signal.set_wakeup_fd(over.fileno())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    try:
        recording = options.recording
        stub = Stub.from_recording(recording, any_origin=True) if recording else Stub()
        server = Server(
            stub,
            tls=options.tls,
            client_certificates=options.client_certificates,
            http2=not options.no_http2,
        )
        control = Control(server, lambda line: print(line, flush=True))
        if options.rules:
            control.load(json.loads(options.rules.read_text(encoding="utf-8")))
    except (ApiError, LookupError, OSError, TypeError, ValueError) as error:
        print(f"ntapi.testing.server: {error}", file=sys.stderr)
        return 2
    server.start()
    has_tls = options.tls
    control.reply(
        {
            "url": server.url,
            "port": server.port,
            "ca": str(server.ca_path) if has_tls else None,
            "client_certificate": str(server.client_certificate_path) if has_tls else None,
        }
    )
    threading.Thread(target=_obey, args=(control, over), daemon=True).start()
    ending.recv(1)
    server.close()
    try:
        server.verify()
    except AssertionError as problems:
        print(f"ntapi.testing.server: {problems}", file=sys.stderr)
        return 1
    return 0


def _obey(control: Control, over: socket.socket) -> None:
    """Carries out the commands of standard input. The end of the input ends the
    server, except /dev/null: a script gives that to the programs that it starts in the background.
    """
    control.run(_lines())
    if not stat.S_ISCHR(os.fstat(0).st_mode) or os.isatty(0):
        over.send(b"\0")


def _lines() -> Iterator[bytes]:
    """The lines of standard input. Python's own object would be locked when the process ends."""
    rest = b""
    while data := os.read(0, 65536):
        *lines, rest = (rest + data).split(b"\n")
        yield from lines
    yield rest


if __name__ == "__main__":
    sys.exit(main())
