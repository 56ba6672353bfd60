"""A server of one process: it prints its base URL, and ends with the process that started it."""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class LocalServer(ThreadingHTTPServer):
    """Listens on 127.0.0.1; port 0 means a free one. `stopping` is set first, so that slow answers
    end immediately.
    """

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0) -> None:
        self.stopping = threading.Event()
        super().__init__(("127.0.0.1", port), handler)

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end."""
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Prints nothing: clients of a test may leave at any moment."""


def wait_for_end_of_input() -> None:
    """Returns when a pipe or socket at standard input has ended. The program that started this one
    has the other end.

    With any other standard input, it waits forever. Scripts and containers give a program /dev/null
    or nothing, which would end immediately. A background program that reads a terminal is stopped.
    """
    if sys.stdin is not None:
        mode = os.fstat(sys.stdin.fileno()).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            while os.read(sys.stdin.fileno(), 4096):
                pass
            return
    threading.Event().wait()


def serve(server: LocalServer) -> None:
    """Serves on another thread; this one waits for a signal or the end of a pipe at standard
    input.
    """
    done = threading.Event()

    def watch() -> None:
        wait_for_end_of_input()
        done.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    threading.Thread(target=watch, daemon=True).start()
    print(server.url, flush=True)
    done.wait()
    server.stopping.set()
    server.shutdown()
